"""A sheet: notes and tables of plain text -> Markdown and HTML.

Promise: whatever stands in a cell comes out as text. Names, categories and classes are the user's;
HTML or Markdown in them does nothing, and nothing here makes a script, a style or a link. (A name
that is a bare address, such as www.example.org, some readers of Markdown make a link of.)
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

_MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]|~#$!]")


@dataclass(frozen=True)
class Section:
    """A table with its title; a section without rows shows its title alone."""

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Sheet:
    """Lines of text, then tables; cells are text without line breaks."""

    notes: tuple[str, ...]
    sections: tuple[Section, ...]


def to_markdown(sheet: Sheet) -> str:
    r"""Write a sheet as GitHub-flavoured Markdown.

    >>> print(to_markdown(Sheet(("a < b",), (Section("t", ("x|y",), (("*1*",),)),))))
    a &lt; b
    <BLANKLINE>
    **t**
    <BLANKLINE>
    | x\|y |
    | --- |
    | \*1\* |
    """
    blocks = [_markdown_text(note) for note in sheet.notes]
    for section in sheet.sections:
        blocks.append(f"**{_markdown_text(section.title)}**")
        if section.rows:
            lines = [_markdown_line(section.header), _markdown_rule(len(section.header))]
            blocks.append("\n".join([*lines, *map(_markdown_line, section.rows)]))
    return "\n\n".join(blocks)


def _markdown_line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_markdown_text, cells))} |"


def _markdown_rule(n_columns: int) -> str:
    return f"| {' | '.join(['---'] * n_columns)} |"


def _markdown_text(text: str) -> str:
    """Escape what Markdown would read; a backslash does not stop HTML in every reader."""
    marked = _MARKDOWN_SIGNS.sub(r"\\\g<0>", text)
    return marked.replace("&", "&amp;").replace("<", "&lt;")


def to_html(sheet: Sheet) -> str:
    """Write a sheet as an HTML fragment.

    >>> print(to_html(Sheet(("a < b",), (Section("t", ("x",), (("1",),)),))))
    <div class="dln-sheet">
    <p>a &lt; b</p>
    <table>
    <caption>t</caption>
    <thead><tr><th scope="col">x</th></tr></thead>
    <tbody>
    <tr><td>1</td></tr>
    </tbody>
    </table>
    </div>
    """
    lines = ['<div class="dln-sheet">', *(f"<p>{html.escape(note)}</p>" for note in sheet.notes)]
    for section in sheet.sections:
        if not section.rows:
            lines.append(f"<p>{html.escape(section.title)}</p>")
            continue
        heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in section.header)
        lines += ["<table>", f"<caption>{html.escape(section.title)}</caption>"]
        lines += [f"<thead><tr>{heads}</tr></thead>", "<tbody>"]
        for row in section.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
            lines.append(f"<tr>{cells}</tr>")
        lines += ["</tbody>", "</table>"]
    return "\n".join([*lines, "</div>"])
