"""The table of dataset characteristics, with the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.datasets.characteristics import Characteristics
from reproduction.published import published
from reproduction.tables.formats import ABSENT, dataset_text
from reproduction.tables.sheet import Section, Sheet

_PUBLISHED = {
    "train": "training rows",
    "test": "test rows",
    "classes": "classes",
    "continuous": "continuous",
    "categorical": "categorical, one-hot",
}
_OURS = {"categories": "categorical, as they are", "missing": "missing values"}
_NOTE = (
    "Characteristics of the tables after preparation. In brackets: the paper's figure (its table "
    f"of characteristics and accuracy). {ABSENT}: not available. A DLN reads categorical columns "
    "and missing values as they are; the other models read one-hot columns without missing values."
)


def dataset_sheet(found: Sequence[Characteristics]) -> Sheet:
    """Make the table of characteristics."""
    known = {one.name: one for one in found}
    names = [*published()["tables"], *(name for name in known if name not in published()["tables"])]
    rows = tuple((dataset_text(name), *_cells(name, known.get(name))) for name in names)
    header = ("dataset", *_PUBLISHED.values(), *_OURS.values())
    return Sheet((_NOTE,), (Section("Characteristics of the datasets", header, rows),))


def _cells(name: str, found: Characteristics | None) -> list[str]:
    paper = published()["tables"].get(name)
    cells = []
    for field in (*_PUBLISHED, *_OURS):
        here = ABSENT if found is None else str(getattr(found, field))
        beside = f" ({paper[field]})" if paper and field in _PUBLISHED else ""
        cells.append(here + beside)
    return cells
