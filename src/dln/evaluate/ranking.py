"""The area under the ROC curve, exactly: how well votes rank the rows of a class above the others.

Rows are counted by vote margin, so ties are exact. Rankings of parts of a table add up to the
ranking of the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.evaluate.scores import count_pairs


@dataclass(frozen=True, eq=False)
class ClassRanking:
    """Rows counted by the vote margin of one class over the best other class.

    Attributes
    ----------
    values
        (n,): the vote margins that occur, ascending; negative if another class has more votes.
    rows
        (n, 2): number of rows of other classes and of the class with this margin.
    """

    values: NDArray[np.int64]
    rows: NDArray[np.int64]

    def __add__(self, other: ClassRanking) -> ClassRanking:
        values, places = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        rows = np.zeros((len(values), 2), dtype=np.int64)
        np.add.at(rows, places, np.concatenate([self.rows, other.rows]))
        return ClassRanking(values, rows)

    @property
    def area(self) -> float:
        """The fraction of pairs (a row of the class, another row) that are ranked correctly.

        Ties count half. NaN if there is no pair.
        """
        others, own = self.rows.T
        below = np.cumsum(others) - others
        twice_won = int((own * (2 * below + others)).sum())
        n_pairs = int(own.sum()) * int(others.sum())
        return twice_won / (2 * n_pairs) if n_pairs else float("nan")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rankings of all classes."""

    classes: tuple[ClassRanking, ...]

    def __add__(self, other: Ranking) -> Ranking:
        pairs = zip(self.classes, other.classes, strict=True)
        return Ranking(tuple(mine + yours for mine, yours in pairs))

    @property
    def area(self) -> float:
        """The area under the ROC curve: the mean of each class against the rest.

        For two classes both areas are equal, the usual AUC. Classes without rows are left out. NaN
        if all rows are of one class.
        """
        areas = [ranking.area for ranking in self.classes]
        known = [area for area in areas if area == area]
        return sum(known) / len(known) if known else float("nan")


def rank(target: NDArray[np.int64], votes: NDArray[np.int64]) -> Ranking:
    """Count rows by class index and by the margins of their votes (n_rows, n_classes).

    >>> votes = np.array([[1, 0], [1, 1], [0, 1], [1, 1]])
    >>> rank(np.array([0, 0, 1, 1]), votes).area
    0.875
    """
    ordered = np.sort(votes, axis=1)[:, -2:]
    best, second = ordered[:, -1:], ordered[:, :1]
    margins = votes - np.where(votes == best, second, best)
    return Ranking(
        tuple(_count(margins[:, number], target == number) for number in range(votes.shape[1]))
    )


def _count(margins: NDArray[np.int64], own: NDArray[np.bool_]) -> ClassRanking:
    values, places = np.unique(margins, return_inverse=True)
    return ClassRanking(values, count_pairs(places, own, (len(values), 2)))
