"""Trees on coded columns: native code and its definition agree, and literals agree with codes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.data.table import read_table
from dln.encode.bits import evaluate_literals
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.train.coded_trees import (
    N_CODES,
    CodedColumns,
    ColumnTests,
    Derivatives,
    GrowOptions,
    code_columns,
    define_leaves,
    define_tree,
    find_leaves,
    grow_tree,
)
from tests.support.random_tables import problems
from tests.support.strategies import law

Case = tuple[Any, Any, Derivatives, GrowOptions]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw codes, rows, derivatives and options."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(1, 200)), draw(st.integers(1, 4))
    n_outputs, n_codes = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 5, N_CODES]))
    codes = rng.integers(0, n_codes, (n_columns, n_rows)).astype(np.uint8)
    rows = np.flatnonzero(rng.random(n_rows) < 0.8).astype(np.int32)
    rows = rows if len(rows) else np.zeros(1, dtype=np.int32)
    pulls = rng.normal(size=(len(rows), n_outputs)).round(draw(st.sampled_from([0, 3])))
    signs = rng.integers(-1, 2, n_columns) if n_outputs == 1 else np.zeros(n_columns)
    options = GrowOptions(
        draw(st.integers(1, 12)),
        draw(st.integers(1, 6)),
        rng.integers(0, len(ColumnTests), n_columns).astype(np.uint8),
        signs.astype(np.int8),
    )
    return codes, rows, Derivatives.of(pulls, rng.random(len(rows)), 0.5), options


@law
@given(cases())
def test_native_trees_are_those_of_the_definition(case: Case) -> None:
    codes, rows, found, options = case
    expected = define_tree(codes, rows, found, options)
    for n_threads in (1, 3):
        for own, wanted in zip(
            grow_tree(codes, rows, found, options, n_threads), expected, strict=True
        ):
            assert_array_equal(own, wanted)
    leaves = define_leaves(codes, expected)
    assert_array_equal(find_leaves(codes, expected, 2), leaves)
    counts = np.bincount(leaves[rows], minlength=expected.node_count)
    used = counts[np.flatnonzero(expected.feature < 0)]
    assert len(used) <= options.n_leaves
    assert len(used) == 1 or used.min() >= options.least_rows


def test_the_order_of_rows_and_the_number_of_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_CODES, (8, 40_000)).astype(np.uint8)  # enough rows for threads
    pulls = (codes[0] * 1.0 - codes[1] > 20) + rng.normal(size=40_000)
    holds = rng.random(40_000)
    options = GrowOptions(31, 20, np.full(8, ColumnTests.ABOVE, np.uint8), np.zeros(8, np.int8))
    order = rng.permutation(40_000)
    trees = [
        grow_tree(
            codes,
            rows.astype(np.int32),
            Derivatives.of(pulls[rows, None], holds[rows], 1.0),
            options,
            n_threads,
        )
        for rows, n_threads in product((np.arange(40_000), order), (1, 2, 5))
    ]
    assert trees[0].node_count == 61
    for tree in trees[1:]:
        for own, wanted in zip(tree, trees[0], strict=True):
            assert_array_equal(own, wanted)


@pytest.mark.parametrize("sign", [1, -1])
def test_splits_with_a_direction_have_it(sign: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(1, 20, (1, 3000)).astype(np.uint8)
    found = Derivatives.of(rng.normal(size=(3000, 1)), np.ones(3000), 1.0)
    tests, signs = np.array([ColumnTests.ABOVE], np.uint8), np.array([sign], np.int8)
    tree = grow_tree(codes, np.arange(3000, dtype=np.int32), found, GrowOptions(2, 5, tests, signs))
    leaf = tree.apply(codes)
    low, high = (found.pulls[0, leaf == node].mean() for node in (1, 2))
    assert sign * (high - low) > 0


@law
@given(problems())
def test_codes_pass_the_tests_of_their_literals(problem: Any) -> None:
    frame, target, _, _ = problem
    weight = np.ones(len(target), dtype=np.float32)
    encoder, cells = fit_encoder(read_table(frame), target, weight, EncodeOptions())
    rows = np.arange(len(target))
    columns = code_columns(encoder.literals, cells, rows)
    assert_array_equal(columns.on(cells, rows).codes, columns.codes)
    for place, tests in enumerate(columns.tests.tolist()):
        codes = columns.codes[place]
        values = cells[:, columns.columns[place]]
        assert_array_equal(codes == 0, np.isnan(values))
        equal = range(1 + codes.max() if tests == ColumnTests.AMONG else 1)
        splits = [(code, True) for code in equal]
        if tests == ColumnTests.ABOVE:
            splits += [(code, False) for code in range(1, 1 + len(columns.edges[place]))]
        for code, is_equal in splits:
            feature = place + len(columns.columns) * is_equal
            literal = columns.split_literal(feature, code)
            bits = evaluate_literals(literal.kind, values, np.float32(literal.value))
            assert_array_equal(codes == code if is_equal else codes > code, bits)


def test_a_column_with_many_values_has_parts_of_about_the_same_size() -> None:
    values = np.random.default_rng(0).random((100_000, 1), dtype=np.float32)
    encoder, cells = fit_encoder(
        read_table(values),
        (values[:, 0] > 0.5).astype(np.int32),
        np.ones(100_000, np.float32),
        EncodeOptions(),
    )
    columns: CodedColumns = code_columns(encoder.literals, cells, np.arange(100_000))
    counts = np.bincount(columns.codes[0], minlength=N_CODES)
    assert counts[0] == 0
    assert np.count_nonzero(counts) >= 250
    assert np.median(counts[counts > 0]) == pytest.approx(100_000 / (N_CODES - 1), abs=2)
    assert counts.max() < 1000  # values beyond the scale are clipped


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([5], np.int32)}, "a row is out of range"),
        ({"holds": np.array([-1], np.int32)}, "a hold is negative"),
        ({"tests": np.array([9], np.uint8)}, "a number of tests is unknown"),
        ({"tests": np.zeros(2, np.uint8)}, "tests or signs differ in length"),
        ({"least_rows": 0}, "an option is out of range"),
    ],
)
def test_native_code_checks_its_arguments(change: dict[str, Any], message: str) -> None:
    native = pytest.importorskip("dln._native")
    given_arguments: dict[str, Any] = {
        "codes": np.zeros((1, 1), np.uint8),
        "rows": np.zeros(1, np.int32),
        "pulls": np.zeros((1, 1), np.int32),
        "holds": np.ones(1, np.int32),
        "tests": np.zeros(1, np.uint8),
        "signs": np.zeros(1, np.int8),
        "n_leaves": 2,
        "least_rows": 1,
        "penalty": 1.0,
        "n_threads": 1,
    }
    with pytest.raises(ValueError, match=message):
        native.grow_tree(**(given_arguments | change))
