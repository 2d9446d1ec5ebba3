"""Write tables as Markdown, CSV and LaTeX files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dln.bench.cells import Result
from dln.bench.grid import make_grid, published_figures
from dln.bench.published import Measure
from dln.bench.tables import accuracy_sheet, beyond_sheet, cost_sheet
from dln.explain.sheet import Section, Sheet, to_markdown

_FIELDS = (
    "dataset",
    "model",
    "measure",
    "mean",
    "standard_error",
    "seeds",
    "paper",
    "difference",
    "ratio",
)
_LATEX = {"\\": r"\textbackslash{}", "–": "--", "×": r"$\times$", "…": r"\ldots{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}

_TABLES: Mapping[str, tuple[Measure, ...]] = {
    "accuracy": ("accuracy",),
    "operations": ("operations", "gate_operations"),
    "parameters": ("parameters", "bytes"),
}


def write_tables(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write the tables of accuracy and cost; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, measures in _TABLES.items():
        sheet = accuracy_sheet(results) if name == "accuracy" else cost_sheet(results, measures)
        written += write_sheet(sheet, folder / name)
        written.append(_write_csv(results, measures, folder / f"{name}.csv"))
    if (beyond := beyond_sheet(results)) is not None:
        written += write_sheet(beyond, folder / "beyond")
    return written


def write_sheet(sheet: Sheet, stem: Path) -> list[Path]:
    """Write a table as Markdown and as LaTeX."""
    writers: Mapping[str, Callable[[Sheet], str]] = {".md": to_markdown, ".tex": to_latex}
    paths = []
    for suffix, write in writers.items():
        path = stem.with_suffix(suffix)
        path.write_text(write(sheet) + "\n", "utf-8")
        paths.append(path)
    return paths


def to_latex(sheet: Sheet) -> str:
    r"""Format the sections as LaTeX tables (package booktabs).

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
    return "\n".join([*notes, *(_latex_table(section) for section in sheet.sections)])


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


def _write_csv(results: Sequence[Result], measures: Sequence[Measure], path: Path) -> Path:
    """Write means and the paper's figures as CSV, one line per dataset, model and measure."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, _FIELDS, lineterminator="\n")
        writer.writeheader()
        for measure in measures:
            published = published_figures(measure)
            for dataset, models in make_grid(results, measure).items():
                for model, mean in models.items():
                    paper = published.get(dataset, {}).get(model)
                    writer.writerow(
                        {
                            "dataset": dataset,
                            "model": model,
                            "measure": measure,
                            "mean": f"{mean.value:.6g}",
                            "standard_error": f"{mean.error:.3g}",
                            "seeds": mean.n_seeds,
                            "paper": "" if paper is None else paper,
                            "difference": "" if paper is None else f"{mean.value - paper:.6g}",
                            "ratio": "" if paper is None else f"{mean.value / paper:.4g}",
                        }
                    )
    return path
