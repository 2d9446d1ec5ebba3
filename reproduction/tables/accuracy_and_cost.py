"""Tables of accuracy and cost, with the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reproduction.datasets import BEYOND, NAMES
from reproduction.models.registry import BASELINES, COMPARED_COLUMNS, DLN_COLUMNS, MODELS
from reproduction.protocol import SEEDS
from reproduction.published import Measure, figures
from reproduction.run.results import Result
from reproduction.tables.formats import (
    ABSENT,
    TITLES,
    beside,
    change,
    dataset_text,
    figure_text,
    of_all,
    rank_text,
)
from reproduction.tables.means import (
    Grid,
    average_ranks,
    complete,
    geometric_mean,
    make_grid,
    published_figures,
    whole_figures,
)
from reproduction.tables.same_splits import same_splits_section
from reproduction.tables.sheet import Section, Sheet

_LEAST_RANKED = 8
"""Models beyond the paper's with fewer tables than this are not ranked."""

_BESIDE = "In brackets: the paper's figure, and the difference from it in points or as a ratio. "
_MARKS = f"{ABSENT}: no result. *: the mean of fewer than {len(SEEDS)} seeds."


def accuracy_sheet(results: Sequence[Result]) -> Sheet:
    """Make the table of accuracy with ranks."""
    columns = (*BASELINES, *DLN_COLUMNS)
    section = _section("accuracy", results, columns)
    return Sheet((_BESIDE + _MARKS, *_notes(results)), (section,))


def cost_sheet(results: Sequence[Result], measures: Sequence[Measure]) -> Sheet:
    """Make the cost table, with one section per measure."""
    columns = (*BASELINES, *DLN_COLUMNS)
    sections = tuple(_section(measure, results, columns) for measure in measures)
    return Sheet((_BESIDE + _MARKS, *_notes(results)), sections)


def beyond_sheet(results: Sequence[Result]) -> Sheet | None:
    """Make the table of models that the paper does not have, with the DLN; None if empty."""
    others = [name for name, entry in MODELS.items() if entry.published is None]
    present = [name for name in others if any(result.model == name for result in results)]
    if not present:
        return None
    columns = (*present, *COMPARED_COLUMNS)
    table = whole_figures(make_grid(results, "accuracy"))
    counts = {model: len(complete(table, [model])) for model in columns}
    least = min(_LEAST_RANKED, max(counts.values()))
    ranked = [model for model in columns if counts[model] >= least]
    section = _section("accuracy", results, columns, ranked=ranked)
    note = (
        "Models beyond the paper's: with default parameters, or searched with the same folds and "
        "number of trials. "
    )
    return Sheet((note + _BESIDE + _MARKS,), (section, same_splits_section(results, present)))


def _section(
    measure: Measure,
    results: Sequence[Result],
    columns: Sequence[str],
    ranked: Sequence[str] = (),
) -> Section:
    grid = make_grid(results, measure)
    published = published_figures(measure)
    names = [*figures(measure), *(name for name in BEYOND if name in grid)]
    rows = [
        (dataset_text(name), *_cells(name, grid, published, columns, measure)) for name in names
    ]
    if ranked:
        summary = [_summary_row(measure, grid, columns), _own_ranks(measure, grid, columns, ranked)]
    else:
        summary = [
            _summary_row(measure, grid, columns),
            _ranks_here(measure, grid, columns),
            _ranks_in_paper(measure, grid, columns),
        ]
    headings = ("dataset", *(MODELS[name].heading for name in columns))
    return Section(TITLES[measure], headings, (*rows, *summary))


def _cells(
    name: str,
    grid: Grid,
    published: dict[str, dict[str, float]],
    columns: Sequence[str],
    measure: Measure,
) -> Iterable[str]:
    here, paper = grid.get(name, {}), published.get(name, {})
    return (beside(here.get(model), paper.get(model), measure) for model in columns)


def _summary_row(measure: Measure, grid: Grid, columns: Sequence[str]) -> tuple[str, ...]:
    """Average over the paper's public tables with complete results: a mean, or of ratios."""
    table, published = whole_figures(grid), published_figures(measure)
    cells = []
    for model in columns:
        names = complete(table, [model])
        paper = [published[name][model] for name in names if model in published[name]]
        here = [table[name][model] for name in names]
        cells.append(_average(measure, here, paper) + of_all(len(names)))
    label = "mean" if measure == "accuracy" else "mean of ratios (geometric)"
    return (f"{label} over {len(NAMES)}", *cells)


def _average(measure: Measure, here: Sequence[float], paper: Sequence[float]) -> str:
    if not here:
        return ABSENT
    write = figure_text(measure)
    if measure != "accuracy":
        if not paper:
            return ABSENT
        return f"×{geometric_mean([x / y for x, y in zip(here, paper, strict=True)]):.2f}"
    mean = float(np.mean(here))
    if not paper:
        return write(mean)
    theirs = float(np.mean(paper))
    return f"{write(mean)} ({write(theirs)}, {change(mean, theirs, measure)})"


def _own_ranks(
    measure: Measure, grid: Grid, columns: Sequence[str], ranked: Sequence[str]
) -> tuple[str, ...]:
    """Rank some of the columns; the others have too few tables."""
    table = whole_figures(grid)
    names = complete(table, ranked)
    ranks = average_ranks(table, ranked, names, measure)
    label = f"average rank among these{of_all(len(names))}"
    return (label, *(rank_text(ranks.get(model)) for model in columns))


def _ranks_here(measure: Measure, grid: Grid, columns: Sequence[str]) -> tuple[str, ...]:
    """Rank each DLN column among the other seven models run here."""
    table = whole_figures(grid)
    cells, counts = [], set()
    for model in columns:
        eight = (*BASELINES, model if model in DLN_COLUMNS else DLN_COLUMNS[0])
        names = complete(table, eight)
        counts.add(len(names))
        cells.append(rank_text(average_ranks(table, eight, names, measure).get(model)))
    return (f"average rank among eight run here{of_all(max(counts))}", *cells)


def _ranks_in_paper(measure: Measure, grid: Grid, columns: Sequence[str]) -> tuple[str, ...]:
    """Rank in the paper's table, with its DLN replaced by a column from here."""
    here, cells, counts = whole_figures(grid), [], set()
    for model in columns:
        if model not in DLN_COLUMNS:
            cells.append("")
            continue
        names = complete(here, [model])
        counts.add(len(names))
        mixed = {
            name: {**published_figures(measure)[name], model: here[name][model]} for name in names
        }
        ranks = average_ranks(mixed, (*BASELINES, model), names, measure)
        cells.append(rank_text(ranks.get(model)))
    return (f"average rank in the paper's table{of_all(max(counts))}", *cells)


def _notes(results: Iterable[Result]) -> list[str]:
    """List the notes, once per model and dataset."""
    noted = {(result.model, result.dataset): result.note for result in results if result.note}
    return [f"{model} on {dataset}: {note}" for (model, dataset), note in sorted(noted.items())]
