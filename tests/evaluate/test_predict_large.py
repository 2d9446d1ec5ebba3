"""Large circuits: bounded memory, and other threads run while the native program works."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import _native
from dln.core.circuit import Circuit
from dln.core.literals import Above, Column
from dln.core.parts import Rule
from dln.evaluate import predictor
from dln.evaluate.predictor import Predictor, compile_circuit, native_arguments, numpy_evaluate
from tests.support.strategies import as_rows, circuits, law, plain_votes, rows_for


def voting_circuit(n_rules: int, n_classes: int, most: int) -> Circuit:
    """Make a circuit whose rules give random votes to all classes."""
    votes = np.random.default_rng(0).integers(0, most, (n_rules, n_classes)).tolist()
    return Circuit(
        columns=(Column("x", "number"),),
        literals=tuple(Above(0, float(index)) for index in range(n_rules)),
        nodes=(),
        rules=tuple(Rule(wire, tuple(row)) for wire, row in enumerate(votes)),
        base_votes=(0,) * n_classes,
        classes=tuple(range(n_classes)),
    )


# -- memory -----------------------------------------------------------------------------------


def test_a_circuit_that_is_too_large_to_plan_still_predicts() -> None:
    circuit = voting_circuit(400, 400, 2**13)
    with pytest.raises(OverflowError, match="too large to plan"):
        compile_circuit(circuit)
    rows = np.array([[-1.0], [0.5], [200.0], [1e9], [np.nan]])
    votes = numpy_evaluate(circuit, rows, len(rows))[1]
    assert_array_equal(circuit.votes(rows), votes)
    assert_array_equal(circuit.predict(rows), votes.argmax(axis=1))


@law
@given(data=st.data(), circuit=circuits())
def test_numpy_counts_the_same_votes_in_parts(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit))
    table, expected = as_rows(circuit, rows), plain_votes(circuit, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor, "_NATIVE_PROGRAM", None)
        patch.setattr(predictor, "_NUMPY_VALUES", data.draw(st.sampled_from([1, 40, 100])))
        numpy = Predictor(circuit)
        assert_array_equal(numpy.votes(table), expected)
        assert_array_equal(numpy.winners(table), expected.argmax(axis=1))


# The child prints how many MB its memory grew while it worked.
MEASURE = """
import resource
import numpy as np
from dln.evaluate.predictor import native_arguments
from dln import _native
from tests.evaluate.test_predict_large import voting_circuit

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
"""

LITERALS = """
# 2,000 literals look for 20 categories each, far apart: a table of bits for each would take 250 MB.
arguments = native_arguments(voting_circuit(2000, 2, 2))
codes = np.arange(20, dtype=np.int32) * 50_000
arguments |= {
    "column_is_category": np.ones(1, dtype=np.uint8),
    "literal_kind": np.ones(2000, dtype=np.uint8),
    "category_start": np.arange(2001, dtype=np.int64) * 20,
    "category_code": np.tile(codes, 2000),
}
before = peak()
program = _native.Program(**arguments)
column = np.array([0, 50_000, 950_000, 25, -1], dtype=np.int32)
assert (program.votes([column])[:3] > 0).any() and not program.votes([column])[3:].any()
print(peak() - before)
"""

VOTES = """
circuit = voting_circuit(600, 600, 1000)
before = peak()
circuit.predict([[3.0]])
print(peak() - before)
"""


@pytest.mark.parametrize(
    ("work", "most"), [(LITERALS, 60), (VOTES, 200)], ids=["literals", "votes"]
)
def test_a_small_file_cannot_require_much_memory(work: str, most: int) -> None:
    child = subprocess.run(
        [sys.executable, "-c", MEASURE + work],
        cwd=Path(__file__).parents[2],  # where the child finds this module
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) < most


def test_a_set_without_categories_is_empty() -> None:
    """The native program accepts it, although `Among` refuses it."""
    arguments = native_arguments(voting_circuit(1, 2, 2)) | {
        "column_is_category": np.ones(1, dtype=np.uint8),
        "literal_kind": np.ones(1, dtype=np.uint8),
    }
    column = np.array([0, 1, -1], dtype=np.int32)
    assert not _native.Program(**arguments).votes([column]).any()


# -- the interpreter's lock -------------------------------------------------------------------


def lets_others_run(call: Callable[[], Any], attempts: int) -> bool:
    """Return whether another thread ran while `call` was at work.

    Python never takes the lock away during this test, because the switch interval is an hour. The
    other thread can run only if the call itself releases the lock.
    """
    interval = sys.getswitchinterval()
    started, go, ran = threading.Lock(), threading.Lock(), []
    started.acquire()
    go.acquire()

    def wait_and_run() -> None:
        started.release()
        go.acquire()
        ran.append(True)

    thread = threading.Thread(target=wait_and_run)
    thread.start()
    started.acquire()
    sys.setswitchinterval(3600)
    try:
        go.release()
        for _ in range(attempts):
            call()
            if ran:
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_planning_a_circuit_lets_other_threads_run() -> None:
    arguments = native_arguments(voting_circuit(100, 100, 8))
    assert lets_others_run(lambda: _native.Program(**arguments), attempts=1000)


def test_one_row_of_a_large_circuit_lets_other_threads_run() -> None:
    program, row = compile_circuit(voting_circuit(100, 100, 8)), np.zeros((1, 1))
    assert lets_others_run(lambda: program.votes(row), attempts=100_000)
    assert lets_others_run(lambda: program.classify(row), attempts=100_000)


def test_many_rows_of_a_small_circuit_let_other_threads_run() -> None:
    program, rows = compile_circuit(voting_circuit(2, 2, 2)), np.zeros((100_000, 1))
    assert lets_others_run(lambda: program.classify(rows), attempts=10_000)


def test_the_test_of_the_lock_notices_a_call_that_keeps_it() -> None:
    program, row = compile_circuit(voting_circuit(2, 2, 2)), np.zeros((1, 1))
    assert not lets_others_run(lambda: program.classify(row), attempts=10_000)
