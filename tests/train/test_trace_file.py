"""The record of a training: what is written is read, and nothing else is."""

from __future__ import annotations

import io
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dln import DLNClassifier, OptionError
from dln.train.network import Network
from dln.train.trace import Trace
from dln.train.trace_file import TrainingRecord, read_record, write_record
from tests.support.classifiers import UNDERTRAINED


@UNDERTRAINED
def test_what_is_written_is_read(tmp_path: Path) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, ["a", "a", "b", "b"] * 5
    model = DLNClassifier(
        layers=(4, 2), tau=2.0, epochs=5, n_networks=2, trace_every=1, random_state=0
    ).fit(X, y)
    record = TrainingRecord(tuple(model.traces_), model.history_, ("size",), "2")
    with (tmp_path / "run.npz").open("wb") as stream:
        write_record(record, stream)
    found = read_record(tmp_path / "run.npz")
    assert (found.names, found.phase_order) == (("size",), "2")
    assert list(found.history) == list(model.history_)
    for one, other in zip(found.traces, record.traces, strict=True):
        for field in fields(Trace):
            if field.name != "network":
                assert_array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(Network):
            got, expected = (getattr(trace.network, field.name) for trace in (one, other))
            assert_array_equal(got, expected)
            assert type(got) is type(expected)


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04broken"])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    with pytest.raises(
        OptionError, match="is not a record of a training; write one with dln train"
    ):
        read_record(tmp_path / "run.npz")


def test_other_arrays_and_pickles_are_refused(tmp_path: Path) -> None:
    for arrays in ({"x": np.zeros(2)}, {"version": np.array([{}], dtype=object)}):
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        (tmp_path / "run.npz").write_bytes(buffer.getvalue())
        with pytest.raises(OptionError, match="is not a record"):
            read_record(tmp_path / "run.npz")
