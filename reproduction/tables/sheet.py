"""A sheet: notes and tables of plain text -> Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]|~#$!]")
_LATEX = {"\\": r"\textbackslash{}", "–": "--", "×": r"$\times$", "…": r"\ldots{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}


@dataclass(frozen=True)
class Section:
    """A table with its title."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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
        rule = f"| {' | '.join(['---'] * len(section.header))} |"
        lines = [_markdown_line(section.header), rule, *map(_markdown_line, section.rows)]
        blocks += [f"**{_markdown_text(section.title)}**", "\n".join(lines)]
    return "\n\n".join(blocks)


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_text, cells))} |"


def _markdown_text(text: str) -> str:
    """Escape Markdown; HTML is escaped by entities, since some viewers ignore a backslash there."""
    return _MARKDOWN_SIGNS.sub(r"\\\g<0>", text).replace("&", "&amp;").replace("<", "&lt;")


def to_latex(sheet: Sheet) -> str:
    r"""Write a sheet as LaTeX tables (package booktabs).

    >>> print(to_latex(Sheet((), (Section("Cost", ("a_b", "c"), (("1", "×2"),)),))))
    \begin{table}
    \caption{Cost}
    \begin{tabular}{lr}
    \toprule
    a\_b & c \\
    \midrule
    1 & $\times$2 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    notes = [f"% {note}" for note in sheet.notes]
    return "\n".join([*notes, *map(_latex_table, sheet.sections)])


def _latex_table(section: Section) -> str:
    columns = "l" + "r" * (len(section.header) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_latex_text(section.title)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _latex_line(section.header),
            r"\midrule",
            *map(_latex_line, section.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex_text, cells)) + r" \\"


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)
