"""Data that many jobs share, stored and processed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Item = TypeVar("Item")


class Distinct(Generic[Item]):
    """The distinct items among one item per job, compared by a key.

    >>> distinct = Distinct(["ox", "cow", "ox"], str)
    >>> distinct.items, distinct.which.tolist()
    (['ox', 'cow'], [0, 1, 0])
    >>> distinct.join([np.array([1, 2]), np.array([3])]).tolist()
    [1, 2, 3, 1, 2]
    """

    def __init__(self, items: Iterable[Item], key: Callable[[Item], Hashable]) -> None:
        places: dict[Hashable, int] = {}
        self.items: list[Item] = []
        which = []
        for item in items:
            place = places.setdefault(key(item), len(self.items))
            if place == len(self.items):
                self.items.append(item)
            which.append(place)
        self.which = np.array(which, dtype=np.intp)

    def spread(self, values: Sequence[int]) -> NDArray[np.int64]:
        """Return a value for each job, given the values of the items."""
        return np.array(values, dtype=np.int64)[self.which]

    def join(self, parts: Sequence[Array], kind: Any = np.int32) -> Array:
        """Concatenate the arrays of all jobs, given the arrays of the items."""
        return flat([parts[place] for place in self.which.tolist()], kind)

    def starts(self, lengths: Sequence[int]) -> NDArray[np.int64]:
        """Return where the item of each job starts, if the items are stored one after the other."""
        return np.cumsum([0, *lengths], dtype=np.int64)[self.which]


def flat(parts: Sequence[Array], kind: Any = np.int32) -> Array:
    """Concatenate arrays. The result has at least one element, so that it has an address."""
    rows = [part.reshape(-1) for part in parts]
    if not any(map(len, rows)):
        return np.zeros(1, dtype=kind)
    return np.concatenate(rows, dtype=kind, casting="unsafe")
