"""A circuit predicts the same as its networks on every training row."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from dln.core.circuit import Circuit
from dln.core.literals import Above, Among, LiteralKind, Missing
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.train.discretise import discretise
from dln.train.jobs import Job, TrainingRows
from dln.train.native import train_population
from dln.train.network import Network, Shape, build_network
from dln.train.options import TrainOptions
from tests.support.random_tables import KINDS, problems, random_column

VOTE_THRESHOLD = 0.8


def hard_votes(network: Network, cells: Any, n_classes: int) -> Any:
    """Run the hard network in plain NumPy: (n_rows, n_classes)."""
    wires = []
    literals = zip(network.literal_kind, network.literal_column, network.cutoffs, strict=True)
    for kind, column, value in literals:
        x = cells[:, column]
        wires.append(
            x > value
            if kind == LiteralKind.ABOVE
            else x == value
            if kind == LiteralKind.AMONG
            else np.isnan(x)
        )
    for gate in range(network.n_gates):
        code = network.gate_choices[np.argmax(network.gate_logits[gate])]
        sources = [
            network.link_wires[gate, side, np.argmax(network.link_logits[gate, side])]
            for side in (0, 1)
        ]
        a, b = (wires[source].astype(int) for source in sources)
        wires.append((int(code) >> (3 - 2 * a - b) & 1).astype(bool))
    votes = np.zeros((len(cells), n_classes), dtype=int)
    with np.errstate(over="ignore"):
        on = network.vote_logits >= np.float32(np.log(VOTE_THRESHOLD / (1 - VOTE_THRESHOLD)))
    for rule, wire in enumerate(network.rule_wires):
        votes += np.outer(wires[wire], on[:, rule])
    return votes


def train(
    frame: pd.DataFrame, target: Any, n_classes: int, seed: int, *, layers: Any, **options: Any
) -> tuple[Any, list[Network], Any]:
    table = read_table(frame)
    weight = np.ones(len(target), dtype=np.float32)
    encoder, cells = fit_encoder(table, target, weight, EncodeOptions())
    rng = np.random.default_rng(seed)
    networks = [
        build_network(
            encoder.literals,
            Shape(layers, n_links=4, n_gates=16),
            n_classes=n_classes,
            slope=20.0,
            vote_threshold=VOTE_THRESHOLD,
            vote_density=0.4,
            rng=rng,
        )
        for _ in range(2)
    ]
    requested = TrainOptions(
        epochs=3, batch_size=16, learning_rate=0.3, threshold_rate=0.5, **options
    )
    rows = np.arange(len(target))
    data = TrainingRows(cells, target, weight)
    train_population([Job(network, data, rows, requested) for network in networks])
    return encoder, networks, cells


def to_circuit(frame: Any, encoder: Any, networks: list[Network], cells: Any, n: int) -> Circuit:
    return discretise(
        networks,
        encoder,
        read_table(frame),
        classes=tuple(range(n)),
        temperature=1.0,
    )


def assert_same_decisions(circuit: Circuit, frame: pd.DataFrame, expected: Any) -> None:
    # Votes that all classes get are left out. Compare the vote differences to the first class.
    votes = circuit.votes(frame)
    assert_array_equal(votes - votes[:, :1], expected - expected[:, :1])
    assert_array_equal(circuit.winners(frame), expected.argmax(axis=1))


# -- the law -----------------------------------------------------------------------------------


@settings(max_examples=150)
@given(problem=problems(), layers=st.sampled_from([(4,), (8, 4), (6, 6, 3)]))
def test_the_circuit_predicts_every_training_row_like_its_networks(
    problem: tuple[pd.DataFrame, Any, int, int], layers: tuple[int, ...]
) -> None:
    frame, target, n_classes, seed = problem
    encoder, networks, cells = train(frame, target, n_classes, seed, layers=layers)
    circuit = to_circuit(frame, encoder, networks, cells, n_classes)
    expected = sum(hard_votes(network, cells, n_classes) for network in networks)
    assert_same_decisions(circuit, frame, expected)


@settings(max_examples=100)
@given(problem=problems(), places=st.data())
def test_a_cutoff_may_lie_anywhere(
    problem: tuple[pd.DataFrame, Any, int, int], places: Any
) -> None:
    frame, target, n_classes, seed = problem
    encoder, (network, _), cells = train(frame, target, n_classes, seed, layers=(8, 4))
    known = cells[~np.isnan(cells)]
    odd = [-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan, *known[:4].tolist()]
    for wire in np.flatnonzero(network.literal_kind == LiteralKind.ABOVE):
        network.cutoffs[wire] = places.draw(st.sampled_from(odd))
    circuit = to_circuit(frame, encoder, [network], cells, n_classes)
    assert_same_decisions(circuit, frame, hard_votes(network, cells, n_classes))


@pytest.mark.parametrize("seed", range(5))
def test_the_trainer_reports_the_accuracy_of_the_circuit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({kind: random_column(rng, kind, 90) for kind in KINDS})
    target = rng.integers(3, size=90).astype(np.int32)
    encoder, (network, _), cells = train(frame, target, 3, seed, layers=(8, 6))
    rows = np.arange(90)
    data = TrainingRows(cells, target, np.ones(90, dtype=np.float32))
    options = TrainOptions(epochs=4, eval_every=1, seed=seed)
    [trained] = train_population([Job(network, data, rows[:60], options, rows[60:])])
    circuit = to_circuit(frame, encoder, [network], cells, 3)
    found = balanced_accuracy_score(target[60:], circuit.winners(frame.iloc[60:]))
    assert trained.history[-1, 2] == pytest.approx(found, abs=1e-6)


# -- literals of the circuit ---------------------------------------------------------------------


def one_threshold(column: Any, cutoffs: list[float], **frame_options: Any) -> Circuit:
    """Create the circuit of a network whose gates copy literals with these scaled cutoffs."""
    frame = pd.DataFrame({"x": column}, **frame_options)
    target = (np.arange(len(frame)) % 2).astype(np.int32)
    encoder, (network, _), cells = train(frame, target, 2, 0, layers=(len(cutoffs),))
    n = len(cutoffs)
    network = replace(
        network,
        literal_kind=np.full(n, LiteralKind.ABOVE, dtype=np.uint8),
        literal_column=np.zeros(n, dtype=np.int32),
        cutoffs=np.array(cutoffs, dtype=np.float32),
        slopes=np.ones(n, dtype=np.float32),
        link_wires=np.arange(n, dtype=np.int32)[:, None, None].repeat(2, axis=1),
        link_logits=np.zeros((n, 2, 1), dtype=np.float32),
        gate_choices=np.array([3], dtype=np.uint8),
        gate_logits=np.zeros((n, 1), dtype=np.float32),
        rule_wires=np.arange(n, 2 * n, dtype=np.int32),
        vote_logits=np.array([[-9.0] * n, [9.0] * n], dtype=np.float32),
    )
    return to_circuit(frame, encoder, [network], cells, 2)


def test_cutoffs_are_in_the_users_units() -> None:
    assert one_threshold([1000.0, 1007.0, 2000.0, 2004.0], [0.5]).literals == (Above(0, 1500.0),)
    assert one_threshold([1, 2, 8, 9], [0.5]).literals == (Above(0, 5.0),)
    dates = pd.to_datetime(["2020-03-01", "2020-04-01", "2023-04-01", "2023-05-01"])
    assert str(one_threshold(dates, [0.5])).endswith("x > 2021-01-01")


def test_cutoffs_in_one_gap_become_one_literal() -> None:
    circuit = one_threshold([1.0, 2.0, 8.0, 9.0], [0.4, 0.5, 0.6])
    assert circuit.literals == (Above(0, 5.0),)
    assert circuit.n_gates == 0
    assert [rule.votes for rule in circuit.rules] == [(0, 3)]


def test_a_cutoff_above_all_values_never_fires_and_one_below_always_does() -> None:
    circuit = one_threshold([1.0, 2.0, 8.0, 9.0], [1.5, -0.5, -0.5])
    assert circuit.literals == ()
    assert circuit.base_votes == (0, 2)


def test_a_cutoff_below_all_values_tests_for_missing_values() -> None:
    circuit = one_threshold([1.0, 2.0, np.nan, 9.0], [-0.5])
    assert circuit.literals == (Missing(0),)
    assert_array_equal(circuit.winners(pd.DataFrame({"x": [5.0, np.nan]})), [1, 0])


def test_groups_of_categories_become_sets() -> None:
    cells = ["a"] * 400 + ["b"] * 400 + ["rare", "rarer"]
    frame = pd.DataFrame({"x": cells})
    target = np.array([0] * 400 + [1] * 400 + [2] * 2, dtype=np.int32)
    encoder, networks, encoded = train(frame, target, 3, 1, layers=(12,))
    circuit = to_circuit(frame, encoder, networks, encoded, 3)
    assert set(circuit.literals) <= {Among(0, (0,)), Among(0, (1,)), Among(0, (2, 3))}
    assert circuit.literals


def test_a_table_of_equal_rows_gives_a_circuit_without_literals() -> None:
    frame = pd.DataFrame({"x": [1.0] * 6, "y": [None] * 6})
    encoder, networks, cells = train(
        frame, np.array([0, 1] * 3, dtype=np.int32), 2, 0, layers=(4, 2)
    )
    circuit = to_circuit(frame, encoder, networks, cells, 2)
    assert circuit.literals == ()


def test_merging_networks_shares_equal_literals() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]})
    target = np.array([0, 0, 1, 1], dtype=np.int32)
    encoder, networks, cells = train(frame, target, 2, 0, layers=(4, 2))
    circuit = to_circuit(frame, encoder, networks * 3, cells, 2)
    assert len(set(circuit.literals)) == len(circuit.literals) <= 3
