"""Origin: what a circuit was trained on, kept beside it for those who must account for it.

It travels with the model file and into reports; predictions never look at it.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Origin:
    """The table that a circuit was trained on, and how.

    Attributes
    ----------
    data
        The name of the file, without its folder.
    digest
        SHA-256 of the file as it lay there; "" where it came through a pipe.
    target
        The column that held the classes.
    n_rows
        How many rows it was trained on.
    test_part, seed
        The part of each class that was held out to test on, and the seed that chose it.
    version
        The dln that trained it.
    settings
        What was asked of the training, where that is not the default: names and values.
    """

    data: str
    digest: str
    target: str
    n_rows: int
    test_part: float
    seed: int
    version: str
    settings: tuple[tuple[str, Setting], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, as they stand in a model file."""
        return {**asdict(self), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Origin:
        """Read what `to_dict` gave; raises ValueError for anything else.

        >>> origin = Origin("heart.csv", "", "disease", 200, 0.25, 0, "0.1.0", (("tau", 4.0),))
        >>> Origin.from_dict(origin.to_dict()) == origin
        True
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(document, Mapping) or set(document) != names:
            raise ValueError(f"the origin must have {', '.join(sorted(names))}")
        for name, kind in _KINDS.items():
            if not isinstance(document[name], kind) or isinstance(document[name], bool):
                raise ValueError(f"{name} of the origin is {reprlib.repr(document[name])}")
        if _is_endless(document["test_part"]):
            raise ValueError(f"test_part of the origin is {document['test_part']!r}")
        for name, value in document["settings"].items():
            if not isinstance(value, Setting) or _is_endless(value):
                raise ValueError(
                    f"setting {reprlib.repr(name)} of the origin is {reprlib.repr(value)}"
                )
        return cls(**{**document, "settings": tuple(document["settings"].items())})


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


def _is_endless(value: object) -> bool:
    """Tell whether a value is NaN or infinite, which a model file cannot hold."""
    return isinstance(value, float) and not math.isfinite(value)
