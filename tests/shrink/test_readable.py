"""Readable gates: no XOR, the same votes; and a promise that every engine keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from dln import Circuit, DLNClassifier
from dln.shrink.readable import is_readable, make_readable
from dln.train.engines import EngineName
from tests.support.strategies import every_row, law, logic_circuits


@law
@given(circuit=logic_circuits())
def test_readable_circuits_keep_every_vote(circuit: Circuit) -> None:
    readable = make_readable(circuit)
    assert is_readable(readable)
    assert_array_equal(readable.votes(every_row(circuit)), circuit.votes(every_row(circuit)))


@pytest.mark.parametrize("engine", ["native", "torch"])
@pytest.mark.parametrize("simplify", ["quick", None])
def test_every_engine_keeps_gates_readable(engine: EngineName, simplify: str | None) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    rows = np.array(list(np.ndindex(2, 2, 2)) * 20, dtype=np.float64)
    y = rows.sum(axis=1) % 2  # parity, for which XOR is tempting
    model = DLNClassifier(
        gates="readable",
        layers=(24, 12),
        n_networks=1,
        tau=1.0,
        epochs=10,
        engine=engine,
        simplify=simplify,  # type: ignore[arg-type]
        random_state=0,
    )
    assert is_readable(model.fit(rows, y).circuit_)
