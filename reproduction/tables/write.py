"""Write tables as Markdown, CSV and LaTeX files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reproduction.published import Measure
from reproduction.run.results import Result
from reproduction.tables.accuracy_and_cost import accuracy_sheet, beyond_sheet, cost_sheet
from reproduction.tables.means import make_grid, published_figures
from reproduction.tables.sheet import Sheet, to_latex, to_markdown

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
