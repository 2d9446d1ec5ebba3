"""Document: notes and tables of plain text -> Markdown and HTML.

Promise: every cell is shown as text. HTML or Markdown in names, categories and classes has no
effect, and the output has no scripts, styles or links. (Some Markdown viewers turn a bare address,
such as www.example.org, into a link.)
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

_MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]|~#$!]")


@dataclass(frozen=True)
class Section:
    """A table with its title; a section without rows shows its title alone.

    `class_number` is that of the class that the section is about, if any.
    """

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    class_number: int | None = None


@dataclass(frozen=True)
class Document:
    """Lines of text, then tables; cells are text without line breaks.

    `headline`, if any, comes before the notes.
    """

    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    headline: str | None = None


def to_markdown(document: Document) -> str:
    r"""Write a document as GitHub-flavoured Markdown.

    >>> print(to_markdown(Document(("a < b",), (Section("t", ("x|y",), (("*1*",),)),))))
    a &lt; b
    <BLANKLINE>
    **t**
    <BLANKLINE>
    | x\|y |
    | --- |
    | \*1\* |
    """
    first = () if document.headline is None else (document.headline,)
    blocks = [_markdown_text(note) for note in (*first, *document.notes)]
    for section in document.sections:
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
    """Escape Markdown; HTML is escaped by entities, since some viewers ignore a backslash there."""
    marked = _MARKDOWN_SIGNS.sub(r"\\\g<0>", text)
    return marked.replace("&", "&amp;").replace("<", "&lt;")


_CELL_CLASSES = {
    **dict.fromkeys(("votes", "points", "rows", "share", "precision", "lift"), "number"),
    **dict.fromkeys(("adds", "mean prediction", "mean where it fires"), "number"),
    **dict.fromkeys(("mean elsewhere", "lowest", "highest"), "number"),
    **dict.fromkeys(("rule", "if", "because", "part", "stands for"), "code"),
    **dict.fromkeys(("feature", "value", "from", "to", "so that"), "code"),
}
"""CSS classes of cells, by the header of their column."""

_MOST_CLASSES = 8
"""Classes beyond this many share a colour."""


def to_html(document: Document) -> str:
    """Write a document as an HTML fragment; the page may style its CSS classes.

    >>> print(to_html(Document(("a < b",), (Section("t", ("x",), (("1",),)),))))
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
    lines = ['<div class="dln-sheet">']
    if document.headline is not None:
        lines.append(f'<p class="headline">{html.escape(document.headline)}</p>')
    lines += [f"<p>{html.escape(note)}</p>" for note in document.notes]
    for section in document.sections:
        lines += _html_table(section) if section.rows else [f"<p>{html.escape(section.title)}</p>"]
    return "\n".join([*lines, "</div>"])


def _html_table(section: Section) -> list[str]:
    marks = [_class_of(_CELL_CLASSES.get(name)) for name in section.header]
    heads = "".join(
        f'<th scope="col"{mark}>{html.escape(name)}</th>'
        for name, mark in zip(section.header, marks, strict=True)
    )
    number = section.class_number
    colour = None if number is None else f"class-{min(number, _MOST_CLASSES - 1)}"
    lines = ["<table>", f"<caption{_class_of(colour)}>{html.escape(section.title)}</caption>"]
    lines += [f"<thead><tr>{heads}</tr></thead>", "<tbody>"]
    for row in section.rows:
        cells = (
            f"<td{mark}>{html.escape(cell)}</td>" for cell, mark in zip(row, marks, strict=True)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return [*lines, "</tbody>", "</table>"]


def _class_of(name: str | None) -> str:
    return "" if name is None else f' class="{name}"'
