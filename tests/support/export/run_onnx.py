"""Run exported ONNX models with onnxruntime."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dln
from dln.core.literals import Column
from dln.exporters.categories import spell
from dln.exporters.onnx import is_text, missing_text
from tests.support.export.nasty import Answers, Case
from tests.support.export.run_sql import expected_labels
from tests.support.tools import find_module

_EPOCH = datetime.datetime(1970, 1, 1)


def run_onnxruntime(cases: Sequence[Case], folder: Path) -> list[Answers]:
    find_module("onnx")
    find_module("onnxruntime")
    return [_run(case) for case in cases]


def _run(case: Case) -> Answers:
    import onnx
    import onnxruntime

    export = dln.export(case.circuit, to="onnx", explain=True)
    onnx.checker.check_model(onnx.load_from_string(export.data), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export.data, options, providers=["CPUExecutionProvider"])
    index_of = {column.name: index for index, column in enumerate(case.circuit.columns)}
    feed = {}
    for given in export.inputs:
        index = index_of[given.column]
        cells = [row[index] for row in case.rows]
        feed[given.name] = as_tensor(cells, case.circuit.columns[index])
    *answers, rules = session.run(None, feed)
    fired = [np.flatnonzero(row).tolist() for row in rules]
    if case.predicts_number:
        prediction, points = answers
        return Answers(prediction.tolist(), [[total] for total in points.tolist()], fired)
    label, probabilities, votes = answers
    labels = expected_labels(case)
    places = [labels.index(x) for x in label.tolist()]
    return Answers(places, votes.tolist(), fired, probabilities.tolist())


def as_tensor(cells: Sequence[Any], column: Column) -> NDArray[Any]:
    """Return a column as the tensor that the model expects."""
    if is_text(column):
        missing = missing_text(column)
        words = [missing if cell is None else spell(cell) for cell in cells]
        # Text that equals the mark of missing values would be read as missing, so it is replaced.
        known = zip(words, cells, strict=True)
        words = ["other" if w == missing and c is not None else w for w, c in known]
        return np.array(words, dtype=object).reshape(-1, 1)
    return np.array([_number(cell) for cell in cells], dtype=np.float64).reshape(-1, 1)


def _number(cell: Any) -> float:
    if cell is None or isinstance(cell, str):
        return np.nan
    if isinstance(cell, datetime.datetime):
        return (cell - _EPOCH) // datetime.timedelta(microseconds=1) / 1e6
    return float(cell)
