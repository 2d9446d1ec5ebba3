"""The formulas reproduce the figures of the paper's two efficiency tables.

A published figure is a mean over four seeds. Figures that depend only on the shape of a table are
checked for all twenty tables. Where the result depends on the seed (a distance, a number of
stumps), one choice, written down here, must explain all figures of a row. Other model types are
checked on the rows that a single model explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from dln.costs.baselines import cost_of_model
from dln.costs.report import Cost

Cells = tuple[float, float, float, float]
"""Operations, gate operations, parameters and bytes."""


class Published(NamedTuple):
    """A table's shape and its rows: operations, gate operations, parameters and bytes."""

    n_rows: int
    n_features: int
    n_classes: int
    neighbours: str
    euclidean: float
    bayes: str
    boosting: str
    n_stumps: float


# Training rows, features, classes; nearest neighbours and the share of seeds that chose the
# Euclidean distance (the others chose Manhattan); naive Bayes; AdaBoost and its mean number of
# stumps.
TABLES = {
    "BankChurn": Published(
        7500, 11, 2, "316K 106M 90.0K 180K", 0.75, "72 323K 46 92", "300 143K 702 1.4K", 100.25
    ),
    "BreastCancer": Published(
        214, 34, 2, "21.5K 8.2M 7.5K 15.0K", 0.75, "210 386K 138 276", "378 180K 886 1.8K", 126.5
    ),
    "Cardiotocography": Published(
        1594, 41, 3, "162K 37.4M 66.9K 134K", 0.25, "378 608K 249 498", "478 227K 1.1K 2.2K", 159.5
    ),
    "CKD": Published(
        300, 21, 2, "21.1K 9.0M 6.6K 13.2K", 1, "132 350K 86 172", "426 203K 998 2.0K", 142.5
    ),
    "Cirrhosis": Published(
        203, 15, 3, "9.0K 2.7M 3.2K 6.5K", 0.5, "144 501K 93 186", "389 185K 910 1.8K", 130
    ),
    "Compas": Published(
        3958, 13, 2, "185K 64.1M 55.4K 111K", 0.75, "84 328K 54 108", "419 200K 980 2.0K", 140
    ),
    "CreditFraud": Published(
        1107, 30, 2, "76.5K 10.1M 34.3K 68.6K", 0, "186 375K 122 244", "437 208K 1.0K 2.0K", 146
    ),
    "Diabetes": Published(
        292, 14, 2, "14.4K 6.0M 4.4K 8.8K", 1, "90 331K 58 116", "328 156K 766 1.5K", 109.5
    ),
    "EyeMovements": Published(
        8202, 23, 3, "476K 65.3M 197K 394K", 0, "216 534K 141 282", "478 227K 1.1K 2.2K", 159.5
    ),
    "HAR": Published(
        7352, 63, 6, "1.4M 520M 471K 941K", 0.75, "1.1K 1.4M 762 1.5K", "542 258K 1.3K 2.5K", 181
    ),
    "Heart": Published(
        219, 19, 2, "10.8K 2.5M 4.4K 8.8K", 0.25, "120 345K 78 156", "457 218K 1.1K 2.1K", 152.75
    ),
    "HeartFailure": Published(
        224, 11, 2, "7.7K 2.3M 2.7K 5.4K", 0.5, "72 323K 46 92", "376 179K 878 1.8K", 125.5
    ),
    "HepatitisC": Published(
        461, 12, 2, "14.7K 2.1M 6.0K 12.0K", 0, "78 326K 50 100", "527 251K 1.2K 2.5K", 176
    ),
    "Letter": Published(
        15000, 16, 26, "853K 297M 255K 510K", 0.75, "1.3K 4.4M 858 1.7K", "523 249K 1.2K 2.5K",
        174.75,
    ),
    "Liver": Published(
        434, 10, 2, "14.2K 4.2M 4.8K 9.6K", 0.5, "66 320K 42 84", "438 209K 1.0K 2.0K", 146.25
    ),
    "Mushroom": Published(
        5898, 67, 2, "1.1M 332M 401K 802K", 0.5, "408 476K 270 540", "509 242K 1.2K 2.4K", 170
    ),
    "PDAC": Published(
        516, 31, 2, "52.1K 22.7M 16.5K 33.0K", 1, "192 378K 126 252", "368 175K 861 1.7K", 123
    ),
    "SatIm": Published(
        4435, 36, 6, "448K 138M 164K 328K", 0.5, "666 1.2M 438 876", "435 207K 1.0K 2.0K", 145.25
    ),
    "Stroke": Published(
        3831, 14, 2, "176K 51.2M 57.5K 115K", 0.5, "90 331K 58 116", "522 249K 1.2K 2.4K", 174.25
    ),
    "TelcoChurn": Published(
        5262, 23, 2, "362K 109M 126K 253K", 0.5, "144 356K 94 188", "384 183K 900 1.8K", 128.5
    ),
}  # fmt: skip

# Differs from the paper: four cells of 240. HAR: 3 · 6 · (63 + 1) = 1152 operations, 1.2K here.
# Liver: 4.1488M gate operations and 9548 bytes, 4.1M and 9.5K here; 435 rows in half of the seeds
# would give the published figures. Letter: 174.75 stumps of 14 bytes are 2.4K here.
OFF = {
    ("HAR", "bayes"): "1.2K 1.4M 762 1.5K",
    ("Liver", "neighbours"): "14.2K 4.1M 4.8K 9.5K",
    ("Letter", "boosting"): "523 249K 1.2K 2.4K",
}


# scikit-learn 1.7 warns of 26 classes in 52 rows, and of 26 different numbers in `classes`.
MANY_CLASSES = pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%")


def cells_of(cost: Cost) -> Cells:
    return cost.operations, cost.gate_operations, cost.parameters, cost.bytes


def mix(first: Cells, second: Cells, part: float) -> Cells:
    """Return the weighted mean of two rows; `part` is the weight of the second."""
    a, b, c, d = ((1 - part) * x + part * y for x, y in zip(first, second, strict=True))
    return a, b, c, d


def show(cells: Cells, round_small: Callable[[float], int] = round) -> str:
    """Write a row like the paper: 46, 3.8K, 316K, 1.4M."""
    return " ".join(_show_cell(cell, round_small) for cell in cells)


def _show_cell(cell: float, round_small: Callable[[float], int]) -> str:
    for size, unit in ((1e6, "M"), (1e3, "K")):
        if cell >= size:
            return f"{cell / size:.{0 if cell >= 100 * size else 1}f}{unit}"
    return str(round_small(cell))


def rows_of(n_rows: int, n_features: int) -> np.ndarray:
    return np.arange(n_rows * n_features, dtype=float).reshape(n_rows, n_features)


def test_all_but_three_rows_are_as_published() -> None:
    assert len(TABLES) == 20
    assert all(getattr(TABLES[name], column) != row for (name, column), row in OFF.items())


@pytest.mark.parametrize("name", TABLES)
def test_nearest_neighbours_are_as_published(name: str) -> None:
    table = TABLES[name]
    rows = rows_of(table.n_rows, table.n_features)
    target = np.arange(table.n_rows) % table.n_classes
    manhattan, euclidean = (
        cells_of(cost_of_model(KNeighborsClassifier(p=p, algorithm="brute").fit(rows, target)))
        for p in (1, 2)
    )
    shown = show(mix(manhattan, euclidean, table.euclidean))
    assert shown == OFF.get((name, "neighbours"), table.neighbours)


@MANY_CLASSES
@pytest.mark.parametrize("name", TABLES)
def test_naive_bayes_is_as_published(name: str) -> None:
    table = TABLES[name]
    rows = rows_of(2 * table.n_classes, table.n_features)
    model = GaussianNB().fit(rows, np.arange(len(rows)) % table.n_classes)
    assert show(cells_of(cost_of_model(model))) == OFF.get((name, "bayes"), table.bayes)


@pytest.mark.parametrize("name", TABLES)
def test_boosted_stumps_are_as_published(name: str) -> None:
    # Costs are linear in the number of stumps, so that two fits determine the cost of any mean.
    rows, target = rows_of(9, 1), np.arange(9) % 2
    one, two = (
        cells_of(
            cost_of_model(AdaBoostClassifier(n_estimators=n, random_state=0).fit(rows, target))
        )
        for n in (1, 2)
    )
    shown = show(mix(one, two, TABLES[name].n_stumps - 1))
    assert shown == OFF.get((name, "boosting"), TABLES[name].boosting)


def fit_tree(n_splits: int) -> DecisionTreeClassifier:
    """Fit a tree with up to two splits; its depth equals the number of splits."""
    target = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]][n_splits]
    return DecisionTreeClassifier(random_state=0).fit(rows_of(4, 1), target)


def test_trees_are_as_published() -> None:
    bare, stump, two = (cells_of(cost_of_model(fit_tree(n_splits))) for n_splits in (0, 1, 2))
    assert show(stump) == "1 183 6 12"  # Diabetes
    assert show(two) == "2 366 11 22"  # EyeMovements
    # PDAC: three stumps and a tree without a split; the paper rounds small figures of trees up.
    operations, gates, parameters, stored = mix(bare, stump, 0.75)
    assert show((operations, round(gates), parameters, stored), math.ceil) == "1 137 5 10"


def test_a_forest_is_as_published() -> None:
    # PDAC: 7 of 123 trees have one split, the others none.
    rows = rows_of(40, 1)
    stumps = RandomForestClassifier(7, max_depth=1, random_state=0).fit(rows, rows[:, 0] > 19)
    bare = RandomForestClassifier(116, random_state=0).fit(0 * rows, rows[:, 0] > 19)
    assert show(cells_of(cost_of_model(stumps) + cost_of_model(bare))) == "130 3.0K 158 316"


@MANY_CLASSES
@pytest.mark.parametrize(
    ("name", "hidden", "published"),
    [
        ("Cardiotocography", (53, 52), "10.3K 6.3M 5.2K 10.4K"),
        ("EyeMovements", (57, 57), "9.6K 5.9M 4.8K 9.7K"),
        ("HAR", (112, 111), "40.5K 25.1M 20.4K 40.8K"),
        ("Letter", (184,), "15.6K 9.6M 7.9K 15.9K"),
        ("SatIm", (172,), "14.6K 9.0M 7.4K 14.8K"),
    ],
)
def test_a_perceptron_of_some_shape_is_as_published(
    name: str, hidden: tuple[int, ...], published: str
) -> None:
    n_classes = TABLES[name].n_classes
    rows, target = rows_of(n_classes, TABLES[name].n_features), np.arange(n_classes)
    model = MLPClassifier(hidden, random_state=0).partial_fit(rows, target, classes=target)
    assert show(cells_of(cost_of_model(model))) == published
