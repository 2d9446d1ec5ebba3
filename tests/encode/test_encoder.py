"""An encoder is fitted on training rows only; values that it has not seen match no literal."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dln.core.literals import LiteralKind
from dln.data.table import read_table
from dln.encode.encoder import MAX_GROUPS, EncodeOptions, Encoder, fit_encoder


def fit(X: Any, target: Any = None, **options: Any) -> tuple[Encoder, Any]:
    table = read_table(X)
    if target is None:
        target = np.arange(table.n_rows) % 2
    ones = np.ones(table.n_rows, dtype=np.float32)
    return fit_encoder(table, np.asarray(target, dtype=np.int32), ones, EncodeOptions(**options))


def kinds(encoder: Encoder, column: int = 0) -> list[int]:
    return encoder.literals.kind[encoder.literals.column == column].tolist()


def text_column(*cells: str | None) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(cells, dtype=object)})


def test_encoding_the_training_rows_again_gives_the_same_values() -> None:
    frame = pd.DataFrame(
        {
            "n": [1.5, np.nan, 3.0, np.inf],
            "c": ["a", None, "b", "a"],
            "d": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2022-01-01"]),
            "b": [True, False, True, False],
        }
    )
    encoder, cells = fit(frame)
    assert cells.dtype == np.float32
    assert cells.flags.c_contiguous
    assert_array_equal(encoder.encode(read_table(frame)), cells)
    assert [column.kind for column in encoder.columns] == ["number", "category", "date", "boolean"]


def test_rows_outside_the_training_rows_change_nothing() -> None:
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    wild = np.vstack([X, [[1e9, -1e9]] * 20])
    table = read_table(wild).take(np.arange(60))
    ones = np.ones(60, dtype=np.float32)
    encoder, cells = fit_encoder(table, target.astype(np.int32), ones, EncodeOptions())
    alone, expected = fit(X, target)
    assert_array_equal(cells, expected)
    assert_array_equal(encoder.literals.value, alone.literals.value)


def test_categories_come_from_training_rows_only() -> None:
    table = read_table(text_column("a", "a", "b", "b", "later"))
    ones = np.ones(4, dtype=np.float32)
    target = np.array([0, 0, 1, 1], dtype=np.int32)
    encoder, _ = fit_encoder(table.take(np.arange(4)), target, ones, EncodeOptions())
    assert encoder.columns[0].categories == ("a", "b")


def test_unseen_categories_and_missing_values_match_no_group() -> None:
    encoder, _ = fit(text_column(*"aabbcc"))
    encoded = encoder.encode(read_table(text_column("a", "new", None)))[:, 0]
    groups = encoder.literals.value[encoder.literals.kind == LiteralKind.AMONG]
    assert_array_equal(np.isin(encoded, groups), [True, False, False])
    assert_array_equal(np.isnan(encoded), [False, False, True])


def test_rare_categories_share_one_group() -> None:
    encoder, cells = fit(text_column(*["a"] * 500, *["b"] * 500, *["rare"] * 3, "rarer"))
    assert encoder.codes[0].groups == ((0,), (1,), (2, 3))
    assert cells[-1, 0] == cells[-2, 0] == 2


def test_a_category_that_is_common_enough_stays_alone() -> None:
    encoder, _ = fit(text_column(*"aaabbbcc"))
    assert encoder.codes[0].groups == ((0,), (1,), (2,))


def test_ten_thousand_categories_become_few_groups() -> None:
    names = [f"city {index}" for index in range(10_000)]
    encoder, cells = fit(text_column(*names, *names[:70] * 100))
    groups = encoder.codes[0].groups
    assert len(groups) == len(kinds(encoder)) == MAX_GROUPS
    assert sorted(index for group in groups for index in group) == list(range(10_000))
    assert len(groups[-1]) == 10_000 - MAX_GROUPS + 1
    assert cells.min() == 0
    assert cells.max() == MAX_GROUPS - 1


def test_ten_thousand_distinct_categories_are_pooled_without_a_literal() -> None:
    encoder, _ = fit(pd.DataFrame({"id": [f"id{i}" for i in range(10_000)], "n": range(10_000)}))
    assert len(encoder.codes[0].groups) == 1
    assert kinds(encoder, 0) == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], [LiteralKind.ABOVE] * 3),
        ([1.0, np.nan, 3.0, 3.0], [LiteralKind.ABOVE, LiteralKind.MISSING]),
        ([1.0, np.nan, 1.0, np.nan], [LiteralKind.MISSING]),
    ],
)
def test_only_a_column_with_missing_and_known_values_has_a_literal_for_missing_values(
    cells: list[float], expected: list[int]
) -> None:
    encoder, _ = fit(np.column_stack([cells, np.arange(4.0)]))
    assert kinds(encoder) == expected


def test_two_categories_need_one_literal_and_three_need_three() -> None:
    assert kinds(fit(text_column(*"aabb"))[0]) == [LiteralKind.AMONG]
    assert kinds(fit(text_column(*"aabbcc"))[0]) == [LiteralKind.AMONG] * 3
    assert kinds(fit(text_column(*"aabb", None))[0]) == [
        LiteralKind.AMONG,
        LiteralKind.AMONG,
        LiteralKind.MISSING,
    ]
    assert kinds(fit(text_column(*"aa", None))[0]) == [LiteralKind.MISSING]


@pytest.mark.parametrize("constant", [0.0, np.nan, np.inf])
def test_a_column_of_one_value_has_no_literal(constant: float) -> None:
    encoder, _ = fit(np.column_stack([np.full(4, constant), np.arange(4.0)]))
    assert kinds(encoder) == []


def test_a_table_with_equal_rows_still_has_a_literal_to_train_with() -> None:
    encoder, _ = fit(np.zeros((4, 2)))
    assert encoder.literals.kind.tolist() == [LiteralKind.MISSING]


def test_infinite_values_are_separated_from_finite_ones() -> None:
    column = np.array([0.0, 1.0, np.inf, 0.0, 1.0, np.inf, -np.inf, -np.inf])
    encoder, cells = fit(column[:, None], target=[0, 0, 1, 0, 0, 1, 1, 1])
    bits = cells > encoder.literals.value
    patterns = {value: tuple(bits[column == value][0]) for value in np.unique(column)}
    assert patterns[0.0] == patterns[1.0]
    assert len({patterns[-np.inf], patterns[0.0], patterns[np.inf]}) == 3


@pytest.mark.parametrize("n_cutoffs", [1, 4, 6])
def test_a_column_has_at_most_n_cutoffs(n_cutoffs: int) -> None:
    rng = np.random.default_rng(1)
    encoder, _ = fit(rng.normal(size=(200, 1)), rng.integers(2, size=200), n_cutoffs=n_cutoffs)
    assert kinds(encoder) == [LiteralKind.ABOVE] * n_cutoffs


def test_two_knots_make_the_papers_min_max_scaling() -> None:
    _, cells = fit(np.arange(1001.0)[:, None], n_knots=2)
    assert cells[500, 0] == np.float32(0.5)
    assert cells[100, 0] == np.float32(95 / 990)


def test_mixed_numbers_and_text_are_sorted() -> None:
    encoder, _ = fit([[1], ["b"], [1], ["b"], [0.5], ["a"]])
    assert encoder.columns[0].categories == (0.5, 1, "a", "b")
