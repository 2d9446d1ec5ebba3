"""An evaluation holds what single calls and the plain reference compute, from one pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import _native
from dln.core.circuit import Circuit
from dln.core.gates import GATES
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.data.codes import MISSING_CODE, UNSEEN_CODE
from dln.errors import OptionError, TableError
from dln.evaluate import predictor
from dln.evaluate.predictor import Predictor, compile_circuit, numpy_evaluate
from tests.support.strategies import (
    FORMS,
    as_rows,
    circuits,
    law,
    matrices,
    plain_votes,
    plain_wires,
    rows_for,
)

LEVELS = _native.levels()


def unpacked(words: Any, n_rows: int) -> Any:
    """Unpack native words; also check that bits after the last row are 0."""
    assert words.shape[1] == -(-n_rows // 64)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, n_rows:].any()
    return bits[:, :n_rows].astype(bool)


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@law
@given(data=st.data(), circuit=circuits(max_literals=40))
def test_wires_and_votes_are_those_of_the_rows(
    form: str, data: st.DataObject, circuit: Circuit
) -> None:
    rows = data.draw(rows_for(circuit))
    if form == "polars" and not circuit.columns:
        return  # a polars frame without columns has no rows
    found = circuit.evaluate(FORMS[form](circuit, rows))
    expected = plain_wires(circuit, rows)
    assert found.n_rows == len(rows)
    assert_array_equal(found.wires(range(circuit.n_wires)), expected)
    assert_array_equal(found.fired, expected[:, [rule.wire for rule in circuit.rules]])
    assert_array_equal(found.votes, plain_votes(circuit, rows))
    for number in range(circuit.n_wires):
        assert_array_equal(found.wire(number), expected[:, number])
        assert found.bits(number) == sum(1 << row for row in np.flatnonzero(expected[:, number]))


@law
@given(data=st.data(), circuit=circuits())
def test_an_evaluation_says_what_single_calls_return(data: st.DataObject, circuit: Circuit) -> None:
    table = as_rows(circuit, data.draw(rows_for(circuit)))
    found = circuit.evaluate(table)
    pairs = [
        (found.votes, circuit.votes(table)),
        (found.winners, circuit.winners(table)),
        (found.answers, circuit.predict(table)),
        (found.probabilities, circuit.predict_proba(table)),
    ]
    for one, other in pairs:
        assert_array_equal(one, other)
        assert one.dtype == other.dtype


@law
@given(data=st.data(), circuit=circuits(max_gates=30))
def test_levels_and_numpy_give_the_same_wires(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit))
    some = st.lists(st.integers(0, circuit.n_wires - 1)) if circuit.n_wires else st.just([])
    chosen = np.array(data.draw(some), dtype=np.int32)  # in any order, some twice
    source, n_rows = Predictor(circuit)._source(as_rows(circuit, rows))
    wires, votes = numpy_evaluate(circuit, source, n_rows)
    assert_array_equal(wires, plain_wires(circuit, rows).T)
    for level in LEVELS:
        words, found = compile_circuit(circuit, level).evaluate(source, chosen, n_rows=n_rows)
        assert_array_equal(unpacked(words, n_rows), wires[chosen])
        assert_array_equal(found, votes)


@law
@given(data=st.data(), circuit=circuits())
def test_numpy_gives_the_same_evaluation_in_parts(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit, max_rows=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor, "_NATIVE_PROGRAM", None)
        patch.setattr(predictor, "_NUMPY_VALUES", data.draw(st.sampled_from([1, 40, 100])))
        found = Predictor(circuit).evaluate(as_rows(circuit, rows))
    assert_array_equal(found.wires(range(circuit.n_wires)), plain_wires(circuit, rows))
    assert_array_equal(found.votes, plain_votes(circuit, rows))


# -- many rows --------------------------------------------------------------------------------

ROW_COUNTS = (0, 1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 576, 577, 5000)


def mixed_circuit(rng: np.random.Generator, n_numbers: int = 5) -> Circuit:
    """Make a circuit of all kinds of literals; the last column holds categories."""
    columns = [Column(f"x{index}", "number") for index in range(n_numbers)]
    columns.append(Column("c", "category", ("a", "b", "c", "d")))
    literals = [Above(int(rng.integers(5)), float(rng.integers(-9, 9)) / 2) for _ in range(9)]
    literals += [Missing(0), Missing(n_numbers), Among(n_numbers, (1, 3)), Among(n_numbers, (0,))]
    nodes = [
        Node(GATES[code], int(rng.integers(13 + place)), int(rng.integers(13 + place)))
        for place, code in enumerate(rng.integers(0, 16, 40).tolist())
    ]
    rules = [Rule(wire, tuple(rng.integers(-2, 4, 3).tolist())) for wire in range(0, 53, 3)]
    return Circuit(
        tuple(columns), tuple(literals), tuple(nodes), tuple(rules), (1, 0, 0), ("a", "b", "c")
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_blocks_of_many_rows_give_the_wires_of_numpy(level: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    circuit = mixed_circuit(rng)
    program = compile_circuit(circuit, level)
    every = np.arange(circuit.n_wires, dtype=np.int32)
    for n_rows in ROW_COUNTS:
        numbers = rng.integers(-6, 7, (n_rows, 5)) / 2
        with np.errstate(invalid="ignore"):
            cells = numbers.astype(dtype)
        if cells.dtype.kind == "f":
            cells[rng.random(cells.shape) < 0.1] = np.nan
        codes = rng.choice([0, 1, 2, 3, MISSING_CODE, UNSEEN_CODE], n_rows).astype(np.int32)
        wires, votes = numpy_evaluate(circuit, [*cells.T, codes], n_rows)
        assert len({*map(bytes, wires)}) > 20 or n_rows < 63
        for layout in (
            cells.T,
            np.ascontiguousarray(cells.T),
            np.repeat(cells.T, 2, axis=1)[:, ::2],
        ):
            words, found = program.evaluate([*layout, codes], every)
            assert_array_equal(unpacked(words, n_rows), wires)
            assert_array_equal(found, votes)


@pytest.mark.parametrize("level", LEVELS)
def test_layouts_of_matrices_do_not_change_wires(level: str) -> None:
    rng = np.random.default_rng(1)
    full = mixed_circuit(rng)
    circuit = Circuit(full.columns[:5], full.literals[:10], (), (), (0,), ("a",))
    rows = rng.integers(-6, 7, (700, 5)) / 2
    rows[rng.random(rows.shape) < 0.1] = np.nan
    program, every = compile_circuit(circuit, level), np.arange(10, dtype=np.int32)
    expected, _ = numpy_evaluate(circuit, rows, len(rows))
    for matrix in [*matrices(rows)[:-1], rows.astype(np.float32)]:
        assert_array_equal(unpacked(program.evaluate(matrix, every)[0], len(rows)), expected)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_number_of_threads_does_not_change_wires(n_threads: int) -> None:
    rng = np.random.default_rng(2)
    full = mixed_circuit(rng)
    circuit = Circuit(full.columns[:5], full.literals[:10], (), (), (0,), ("a",))
    rows = rng.integers(-6, 7, (200_001, 5)).astype(np.float32) / 2
    every = np.arange(10, dtype=np.int32)
    words, _ = compile_circuit(circuit).evaluate(rows, every, n_threads=n_threads)
    assert_array_equal(unpacked(words, len(rows)), numpy_evaluate(circuit, rows, len(rows))[0])


def test_threads_may_evaluate_for_the_first_time_at_once() -> None:
    circuit = mixed_circuit(np.random.default_rng(3))
    columns = [*np.zeros((5, 1)), np.zeros(1, dtype=np.int32)]
    program, every = compile_circuit(circuit), np.arange(circuit.n_wires, dtype=np.int32)
    expected = compile_circuit(circuit).evaluate(columns, every)[0].tolist()
    found: list[Any] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        found.append(program.evaluate(columns, every)[0].tolist())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# -- chosen wires -----------------------------------------------------------------------------


def test_only_chosen_wires_are_kept() -> None:
    circuit = mixed_circuit(np.random.default_rng(4))
    table = [[1.0, 2.0, 3.0, None, -1.0, "b"], [None, 0.5, 0.0, 1.0, 2.0, "d"]]
    whole = circuit.evaluate(table)
    for chosen in ([], [7], [30, 2, 30], range(13), {rule.wire for rule in circuit.rules}):
        some = circuit.evaluate(table, wires=chosen)
        assert list(some.kept) == sorted(set(chosen))
        assert_array_equal(some.wires(some.kept), whole.wires(some.kept))
        assert_array_equal(some.votes, whole.votes)
    with pytest.raises(OptionError, match="wire 3 was not kept; expected one of the 1 wires"):
        circuit.evaluate(table, wires=[7]).wire(3)
    for wire in (-1, 53):
        with pytest.raises(OptionError, match=f"wires holds {wire}, but the circuit has 53 wires"):
            circuit.evaluate(table, wires=[0, wire])
        with pytest.raises(OptionError, match=f"wire {wire} was not kept"):
            whole.bits(wire)


@pytest.mark.parametrize("wires", [[-1], [53], [2**31 - 1]])
def test_the_native_program_refuses_wires_that_are_not_there(wires: list[int]) -> None:
    program = compile_circuit(mixed_circuit(np.random.default_rng(5)))
    columns = [*np.zeros((5, 1)), np.zeros(1, dtype=np.int32)]
    with pytest.raises(ValueError, match=f"wires holds {wires[0]}, but there are 53 wires"):
        program.evaluate(columns, np.array(wires, dtype=np.int32))
    with pytest.raises(TypeError, match="wires has elements of type int64; expected int32"):
        program.evaluate(columns, np.array([0]))


def test_a_plan_of_all_wires_that_is_too_large_is_evaluated_with_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    circuit = mixed_circuit(np.random.default_rng(6))
    table = [[1.0, 2.0, 3.0, None, -1.0, "b"]]
    expected = circuit.evaluate(table).wires(range(53))

    class TooLarge:
        def evaluate(self, *_: Any, **__: Any) -> Any:
            raise OverflowError

    monkeypatch.setattr(circuit._predictor, "_program", TooLarge())
    assert_array_equal(circuit.evaluate(table).wires(range(53)), expected)


# -- edges ------------------------------------------------------------------------------------


def test_a_circuit_without_wires_and_a_table_without_rows() -> None:
    bare = Circuit((), (), (), (), (0, 3), ("no", "yes"))
    found = bare.evaluate(np.empty((3, 0)))
    assert found.answers.tolist() == ["yes"] * 3
    assert found.fired.shape == (3, 0)
    assert repr(found) == "<Evaluation: 3 rows, 0 wires>"
    none = mixed_circuit(np.random.default_rng(7)).evaluate(np.empty((0, 6), dtype=object))
    assert none.wires(range(53)).shape == (0, 53)
    assert none.bits(5) == 0
    assert none.probabilities.shape == (0, 3)


def test_a_table_that_does_not_fit_is_refused() -> None:
    circuit = mixed_circuit(np.random.default_rng(8))
    with pytest.raises(TableError, match="the table has 2 columns, the circuit was trained on 6"):
        circuit.evaluate([[1.0, 2.0]])
