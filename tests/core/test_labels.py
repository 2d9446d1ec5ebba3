"""Class labels keep their type and value, through arrays and JSON."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from dln.core.labels import Label, label_array, label_from_json, label_to_json, plain_labels
from dln.errors import TableError
from tests.support.strategies import LABELS, law


@law
@given(LABELS)
def test_labels_survive_arrays_and_json_with_their_types(labels: list[Label]) -> None:
    texts = [json.dumps(label_to_json(label), allow_nan=False) for label in labels]
    for same in (label_array(labels).tolist(), [label_from_json(json.loads(x)) for x in texts]):
        assert same == labels
        assert [type(label) for label in same] == [type(label) for label in labels]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ((1, 2), "int64"),
        ((1.5, 2.0), "float64"),
        ((False, True), "bool"),
        (("no", "yes"), "<U3"),
        (("no", "yes\0"), "object"),  # NumPy would drop the NUL
        ((2**63, -1), "object"),  # NumPy would make floats
        ((1, "1"), "object"),
        ((1, True), "object"),
        ((datetime.date(2020, 1, 1),), "object"),
    ],
)
def test_label_arrays_have_type_object_only_if_needed(labels: Any, dtype: str) -> None:
    assert label_array(labels).dtype == dtype


@pytest.mark.parametrize(
    ("spelling", "label"),
    [
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.bool_(True), True),
        (np.datetime64("2020-01-02T03:04:05"), datetime.datetime(2020, 1, 2, 3, 4, 5)),
        (pd.Timestamp("2020-01-02 03:04:05.000006"), datetime.datetime(2020, 1, 2, 3, 4, 5, 6)),
        (datetime.date(2020, 1, 2), datetime.date(2020, 1, 2)),
        (math.inf, math.inf),
    ],
)
def test_other_spellings_become_plain_labels(spelling: Any, label: Label) -> None:
    (plain,) = plain_labels([spelling])
    assert plain == label
    assert type(plain) is type(label)


@pytest.mark.parametrize("value", [None, math.nan, [1], b"a", 1j, np.datetime64("NaT"), pd.NA])
def test_a_value_that_cannot_be_a_label_is_refused(value: Any) -> None:
    with pytest.raises(TableError, match=r"class label .* expected text, a number, a boolean or a"):
        plain_labels([value])


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"date": 3},
        {"date": "soon"},
        {"moment": "2020-13-01"},
        {"number": "nan"},
        {"date": "2020-01-01", "more": 1},
        math.inf,
    ],
)
def test_json_that_is_not_a_label_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|too large|isoformat|month"):
        label_from_json(value)


def test_one_long_label_does_not_enlarge_the_others() -> None:
    """An array of text would take 4 MB for each of the labels."""
    labels = ["x" * 2**20, *map(str, range(1000))]
    array = label_array(labels)
    assert array.nbytes < 10_000
    assert array.tolist() == labels
