"""Average ranks: those that the paper prints, and those of the models run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from reproduction.datasets import NAMES
from reproduction.models.registry import BASELINES, DLN_COLUMNS, MODELS
from reproduction.published import Measure, published
from reproduction.run.results import Result
from reproduction.tables.formats import TITLES, of_all, rank_text
from reproduction.tables.means import (
    average_ranks,
    complete,
    make_grid,
    published_figures,
    whole_figures,
)
from reproduction.tables.sheet import Section, Sheet

_NOTE = (
    "Rank 1 is best. The paper prints ranks over its 20 tables. For its 19 public tables they are "
    "computed here from its printed figures; equal figures share their mean rank. For the models "
    "run here, each DLN column in turn takes the place of the DLN, which changes the ranks of the "
    "others."
)


def rank_sheet(results: Sequence[Result]) -> Sheet:
    """Make one table of ranks for each measure."""
    sections = tuple(_section(measure, results) for measure in get_args(Measure))
    return Sheet((_NOTE,), sections)


def _section(measure: Measure, results: Sequence[Result]) -> Section:
    table = whole_figures(make_grid(results, measure))
    theirs = published_figures(measure)
    dln, *_ = DLN_COLUMNS
    recomputed = average_ranks(theirs, (*BASELINES, dln), NAMES, measure)
    ours, here = [], []
    for column in DLN_COLUMNS:
        eight = (*BASELINES, column)
        names = complete(table, eight)
        ranks = average_ranks(table, eight, names, measure)
        ours.append({**ranks, dln: ranks.get(column)})
        here.append(f"here, with {MODELS[column].heading}{of_all(len(names))}")
    rows = tuple(
        (
            "DLN" if model == dln else MODELS[model].heading,
            rank_text(published()["ranks"][measure][MODELS[model].published]),
            rank_text(recomputed[model]),
            *(rank_text(ranks.get(model)) for ranks in ours),
        )
        for model in (*BASELINES, dln)
    )
    header = ("model", "paper, 20 tables", f"paper, {len(NAMES)} tables", *here)
    return Section(f"Average ranks: {TITLES[measure]}", header, rows)
