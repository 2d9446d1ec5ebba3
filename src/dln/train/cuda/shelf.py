"""What many jobs have in common, kept and looked at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Item = TypeVar("Item")


class Shelf(Generic[Item]):
    """The different ones among some items, one item of each job, told apart by a key.

    >>> shelf = Shelf(["ox", "cow", "ox"], str)
    >>> shelf.items, shelf.which.tolist()
    (['ox', 'cow'], [0, 1, 0])
    >>> shelf.join([np.array([1, 2]), np.array([3])]).tolist()
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
        """Return every job the number that its item has."""
        return np.array(values, dtype=np.int64)[self.which]

    def join(self, parts: Sequence[Array], kind: Any = np.int32) -> Array:
        """Join what the jobs have, given what the items have."""
        return flat([parts[place] for place in self.which.tolist()], kind)

    def starts(self, lengths: Sequence[int]) -> NDArray[np.int64]:
        """Return for every job where its item starts, the items one after the other."""
        return np.cumsum([0, *lengths], dtype=np.int64)[self.which]


def flat(parts: Sequence[Array], kind: Any = np.int32) -> Array:
    """Join arrays; one number at least, so that there is something to point at."""
    rows = [part.reshape(-1) for part in parts]
    if not any(map(len, rows)):
        return np.zeros(1, dtype=kind)
    return np.concatenate(rows, dtype=kind, casting="unsafe")
