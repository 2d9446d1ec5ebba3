"""Origin: a record of the table and the settings that a circuit was trained with.

It is part of the model file and of reports. Predictions do not use it.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dln.core.row_sketch import RowSketch

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Origin:
    """The table that a circuit was trained on, and the settings of the training.

    Attributes
    ----------
    data
        The name of the file, without its folder.
    digest
        SHA-256 of the file; "" if the table came from standard input.
    target
        The column that held the classes.
    n_rows
        The number of training rows.
    test_part, seed
        The share of each class that was kept as test rows, and the seed that chose them.
    version
        The version of dln.
    settings
        Names and values of the training options that differ from the defaults.
    rows
        Hashes of the training rows and test rows; None if they were not saved.
    """

    data: str
    digest: str
    target: str
    n_rows: int
    test_part: float
    seed: int
    version: str
    settings: tuple[tuple[str, Setting], ...] = ()
    rows: RowSketch | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the model file."""
        document = {name: getattr(self, name) for name in _KINDS}
        document["settings"] = dict(self.settings)
        if self.rows is not None:
            document["rows"] = self.rows.to_dict()
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Origin:
        """Read what `to_dict` returned; raises ValueError for anything else.

        >>> origin = Origin("heart.csv", "", "disease", 200, 0.25, 0, "0.1.0", (("tau", 4.0),))
        >>> Origin.from_dict(origin.to_dict()) == origin
        True
        """
        if not isinstance(document, Mapping) or set(document) - {"rows"} != set(_KINDS):
            raise ValueError(f"the origin must have {', '.join(sorted(_KINDS))}")
        for name, kind in _KINDS.items():
            if not isinstance(document[name], kind) or isinstance(document[name], bool):
                raise ValueError(f"{name} of the origin is {reprlib.repr(document[name])}")
        if _is_not_finite(document["test_part"]):
            raise ValueError(f"test_part of the origin is {document['test_part']!r}")
        for name, value in document["settings"].items():
            if not isinstance(value, Setting) or _is_not_finite(value):
                raise ValueError(
                    f"setting {reprlib.repr(name)} of the origin is {reprlib.repr(value)}"
                )
        parts = {**document, "settings": tuple(document["settings"].items())}
        if "rows" in document:
            parts["rows"] = RowSketch.from_dict(document["rows"])
        return cls(**parts)


_KINDS: dict[str, Any] = {
    "data": str,
    "digest": str,
    "target": str,
    "n_rows": int,
    "test_part": (int, float),
    "seed": int,
    "version": str,
    "settings": dict,
}


def _is_not_finite(value: object) -> bool:
    """Return whether a value is NaN or infinite, which a model file cannot hold."""
    return isinstance(value, float) and not math.isfinite(value)
