"""Everything that training can make satisfies the constraints, and a broken mask is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import DLNClassifier, DLNRegressor, prove_constraints
from dln.core.constraints import read_constraints
from dln.core.gates import GATE_BY_NAME, GATES
from dln.core.limits import make_limits
from dln.core.literals import LiteralKind
from dln.core.score import Score
from dln.encode.bits import EncodedLiteral, LiteralSet
from dln.errors import CircuitError
from dln.train import native
from dln.train.discretise import build_circuit, discretise
from dln.train.fields import draw_fields
from dln.train.levels import Branch, LeadTree, Level, levels
from dln.train.network import Network
from dln.train.number_loss import LossName, NumberBoosting, NumberLoss
from dln.train.options import TrainOptions
from dln.train.refit import solve_bounded
from dln.train.trees import (
    ClassBoosting,
    FeatureLimits,
    TreeOptions,
    grow_trees,
    make_features,
)
from tests.support.constrained import Case, draw_case, draw_shape, shake
from tests.support.strategies import law

SEEDS = st.integers(0, 2**32)
OPTIONS = TrainOptions(phases="unified")


def assert_satisfied(case: Case, network: Network) -> None:
    circuit = case.circuit(network, case.constraints)  # refuses rules that break them
    found = prove_constraints(circuit, time_limit=None)
    assert found, found


# -- what may be learned ----------------------------------------------------------------------


@law
@given(SEEDS, st.booleans())
def test_whatever_a_network_learns_satisfies_the_constraints(seed: int, number: bool) -> None:
    case = draw_case(seed, n_rows=40, number=number)
    network = case.draw_network(draw_shape(case.rng))
    for _ in range(3):
        shake(network, case.rng)
        assert_satisfied(case, network)


def train_native(jobs: Any) -> Any:
    return native.train_population(jobs)


def train_torch(jobs: Any) -> Any:
    pytest.importorskip("torch")
    from dln.train import torch as readable

    return readable.train_population(jobs)


def train_cuda(jobs: Any) -> Any:
    pytest.importorskip("torch")
    from dln.train.cuda import train_population
    from tests.support.emulated import emulated_gpu

    with emulated_gpu():
        return train_population(jobs)


@pytest.mark.parametrize("number", [False, True], ids=["classes", "number"])
@pytest.mark.parametrize("train", [train_native, train_torch, train_cuda])
def test_every_engine_satisfies_the_constraints(train: Callable[[Any], Any], number: bool) -> None:
    cases = [draw_case(seed, number=number) for seed in range(8)]
    jobs = [case.job(OPTIONS) for case in cases]
    starts = [job.network.copy() for job in jobs]
    for case, start, trained in zip(cases, starts, train(jobs), strict=True):
        for before, after in zip(start.parameters(), trained.network.parameters(), strict=True):
            assert_array_equal(before == -np.inf, after == -np.inf)
        low, high = trained.network.weight_limits
        assert ((low <= trained.network.weights) & (trained.network.weights <= high)).all()
        assert_satisfied(case, trained.network)


@law
@given(SEEDS)
def test_trees_satisfy_the_constraints_and_their_rules_vote_as_they_do(seed: int) -> None:
    case = draw_case(seed, n_rows=50)
    features = make_features(case.encoder.literals, case.cells)
    weight = np.ones(len(case.target), dtype=np.float32)
    start = np.zeros((len(case.target), len(case.classes)))
    grown = grow_trees(
        features.matrix,
        ClassBoosting(case.target),
        weight,
        start,
        TreeOptions(6, 0.5),
        case.rng,
        FeatureLimits(features.literals, case.limits),
    )
    trees, unit = list(islice(grown, 4)), 0.01
    circuit = discretise(
        [],
        case.encoder,
        case.table,
        classes=case.classes,
        temperature=1.0,
        tree_rules=[rule for tree in trees for rule in tree.rules(features, unit)],
        constraints=case.constraints,
    )
    assert prove_constraints(circuit, time_limit=None)
    votes = circuit.votes(case.frame)
    expected = sum(np.rint(tree.give(features.matrix) / unit) for tree in trees)
    assert_array_equal(votes - votes[:, :1], expected - expected[:, :1])


LOSSES: list[tuple[LossName, float]] = [
    ("squared", 0.5),
    ("absolute", 0.5),
    ("quantile", 0.8),
    ("poisson", 0.5),
    ("gamma", 0.5),
]


@law
@given(SEEDS, st.sampled_from(LOSSES))
def test_trees_of_a_number_have_its_directions(seed: int, loss: tuple[LossName, float]) -> None:
    case = draw_case(seed, n_rows=50, number=True)
    features = make_features(case.encoder.literals, case.cells)
    target = np.exp(case.target.astype(np.float64))  # also a target of counts and of amounts
    grown = grow_trees(
        features.matrix,
        NumberBoosting(NumberLoss(*loss), target),
        np.ones(len(target), dtype=np.float32),
        np.zeros((len(target), 1)),
        TreeOptions(6, 0.5),
        case.rng,
        FeatureLimits(features.literals, case.limits),
    )
    unit = 0.01
    trees = [tree for tree in islice(grown, 4) if tree.signs is not None]
    rules = [rule for tree in trees for rule in tree.rules(features, unit)]
    readout = Score((), (0,), digits=2)
    circuit = build_circuit(readout, (), rules, case.encoder, case.table)
    circuit = replace(circuit, constraints=case.constraints)
    assert prove_constraints(circuit, time_limit=None)
    expected = np.zeros((len(target), 1))
    for tree in trees:
        expected += np.rint(tree.give(features.matrix) / unit)
    assert_array_equal(circuit.votes(case.frame), expected)


@law
@given(SEEDS)
def test_bounded_coefficients_are_the_best_ones_within_their_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    fires = rng.random((30, n)) < 0.5
    curve = fires.T @ fires / 30 + 0.01 * np.eye(n)
    downhill = rng.normal(size=n)
    low = np.where(rng.random(n) < 0.5, -rng.random(n), -np.inf)
    high = np.where(rng.random(n) < 0.5, rng.random(n), np.inf)
    step = solve_bounded(curve, downhill, low, high)
    assert ((low <= step) & (step <= high)).all()
    # The conditions of an optimum: the rest pulls only against a bound that is reached.
    pull = downhill - curve @ step
    assert (pull[step < high] < 1e-9).all()
    assert (pull[step > low] > -1e-9).all()


def test_levels_of_a_number_add_up_to_its_points() -> None:
    test = EncodedLiteral(LiteralKind.ABOVE, 0, 0.5)
    tree = LeadTree([test, None, None], [1, 0, 0], [1, -1, -1], [2, -1, -1], [0, -3, 5])
    low, high = (
        sum(rule.votes[0] for rule in levels(tree, 0, 1) if _fires(rule, side))
        for side in (False, True)
    )
    assert (low, high) == (-3, 5)


def _fires(rule: Level, is_above: bool) -> bool:
    condition = rule.condition
    while isinstance(condition, Branch):
        condition = condition.high if is_above else condition.low
    return condition != rule.negated


def test_rules_of_a_number_vote_in_their_direction() -> None:
    columns = read_constraints((None,), monotone={"a": "+", "b": "-"})
    limits = make_limits(columns, ("a", "b", "c"), (None,))
    literals = LiteralSet.join(
        [LiteralSet.on_column(c, LiteralKind.ABOVE, np.zeros(2, np.float32)) for c in range(3)]
    )
    inputs = [np.arange(6), np.arange(6, 26)]
    rng = np.random.default_rng(0)
    fields = draw_fields(limits, literals, (20, 30), inputs, GATES, rng)
    last = fields.signs[-30:]
    assert_array_equal(fields.votes[0], (last[:, 0] >= 0) & (last[:, 1] <= 0))
    assert_array_equal(fields.against[0], (last[:, 0] <= 0) & (last[:, 1] >= 0))
    assert {tuple(signs) for signs in last.tolist()} == {(0, 0, 0), (1, -1, 0), (-1, 1, 0)}


@pytest.mark.parametrize(
    "parameters",
    [
        {"layers": (12, 8), "n_networks": 2, "epochs": 5, "n_trees": 10, "selection_fits": 0},
        {"layers": (8,), "n_networks": 2, "ensemble": "boosting", "epochs": 5, "gates": "readable"},
        {"max_rules": 3, "max_literals": 5},
    ],
    ids=["networks and trees", "boosted", "budget"],
)
@pytest.mark.filterwarnings("ignore::dln.DlnWarning")
@pytest.mark.parametrize("seed", range(3))
def test_every_fit_is_proven_to_satisfy_its_constraints(seed: int, parameters: Any) -> None:
    case = draw_case(100 + seed, n_rows=60)
    # The target depends on a column, so that there is something to learn.
    ranks = np.argsort(np.argsort(np.nan_to_num(case.cells[:, -1])))
    y = ranks * len(case.classes) // len(ranks)
    model = DLNClassifier(**case.given, **parameters, random_state=0).fit(case.frame, y)
    path = [] if model.path_ is None else model.path_.points
    for circuit in (model.circuit_, *(point.circuit for point in path)):
        assert circuit.constraints == case.constraints
        assert prove_constraints(circuit, time_limit=None)


@pytest.mark.parametrize(
    "parameters",
    [
        {"layers": (12, 8), "n_networks": 2, "epochs": 5, "n_trees": 10},
        {"effort": "quick", "n_trees": 25, "loss": "quantile", "quantile": (0.2, 0.8)},
        {"effort": "quick", "n_trees": 25, "loss": "poisson"},
        {"layers": (8,), "n_networks": 1, "epochs": 3, "engine": "torch", "loss": "gamma"},
        {"max_rules": 3, "max_literals": 5},
        {"max_rules": 2, "max_literals": 3, "loss": "absolute"},
    ],
    ids=["networks and trees", "quantiles", "counts", "torch", "budget", "budget of a median"],
)
@pytest.mark.filterwarnings("ignore::dln.DlnWarning")
@pytest.mark.parametrize("seed", range(2))
def test_every_fit_of_a_number_is_proven_to_satisfy_its_constraints(
    seed: int, parameters: Any
) -> None:
    if parameters.get("engine") == "torch":
        pytest.importorskip("torch")
    case = draw_case(200 + seed, n_rows=60, number=True)
    y = 1.0 + np.argsort(np.argsort(np.nan_to_num(case.cells[:, -1]))) % 17
    model = DLNRegressor(**case.given, **parameters, random_state=0).fit(case.frame, y)
    path = [] if model.path_ is None else model.path_.points
    for circuit in (*model.circuits_, *(point.circuit for point in path)):
        assert circuit.constraints == case.constraints
        assert prove_constraints(circuit, time_limit=None)


# -- broken masks -----------------------------------------------------------------------------


def case_with_directions() -> Case:
    return next(
        case
        for case in map(draw_case, range(1000, 2000))
        if len(case.constraints.monotone) > 1 and len(case.classes) == 2
    )


def number_case_with_directions() -> Case:
    cases = (draw_case(seed, number=True) for seed in range(1000, 2000))
    return next(case for case in cases if len(case.constraints.monotone) > 1)


def test_a_vote_for_the_wrong_class_is_found() -> None:
    case = case_with_directions()
    found = 0
    for _ in range(20):
        network = case.draw_network(draw_shape(case.rng))
        shake(network, case.rng)
        wrong = network.vote_logits == -np.inf
        network.vote_logits[wrong] = 9.0
        network.vote_logits[:, wrong.any(axis=0)] *= np.where(wrong[:, wrong.any(axis=0)], 1, -9)
        found += refused_and_refuted(case, network)
    assert found > 3


def test_a_weight_of_the_wrong_sign_is_found() -> None:
    case = number_case_with_directions()
    found = 0
    for _ in range(20):
        network = case.draw_network(draw_shape(case.rng))
        shake(network, case.rng)
        network.weights[:-1] *= np.where(np.isfinite(network.weight_limits[:, :-1]).any(0), -1, 1)
        found += refused_and_refuted(case, network)
    assert found > 3


def test_a_tree_of_the_wrong_direction_is_found() -> None:
    case = number_case_with_directions()
    features = make_features(case.encoder.literals, case.cells)
    wrong = replace(case.limits, signs=-case.limits.signs)
    grown = grow_trees(
        features.matrix,
        NumberBoosting(NumberLoss("squared"), case.target.astype(np.float64)),
        np.ones(len(case.target), dtype=np.float32),
        np.zeros((len(case.target), 1)),
        TreeOptions(6, 0.5),
        case.rng,
        FeatureLimits(features.literals, wrong),
    )
    rules = [rule for tree in islice(grown, 9) for rule in tree.rules(features, 0.001)]
    circuit = build_circuit(Score((), (0,)), (), rules, case.encoder, case.table)
    assert prove_constraints(circuit, case.constraints, time_limit=None).refuted
    with pytest.raises(CircuitError, match="may break that the prediction never"):
        replace(circuit, constraints=case.constraints)


@pytest.mark.parametrize("number", [False, True], ids=["classes", "number"])
def test_a_function_of_the_wrong_direction_is_found(number: bool) -> None:
    case = number_case_with_directions() if number else case_with_directions()
    xor = GATE_BY_NAME["XOR"].code
    found = 0
    for _ in range(40):
        network = case.draw_network(draw_shape(case.rng))
        if xor not in network.gate_choices:
            continue
        shake(network, case.rng)
        network.gate_logits[:, network.gate_choices == xor] = 99.0
        found += refused_and_refuted(case, network)
    assert found > 3


@pytest.mark.parametrize("number", [False, True], ids=["classes", "number"])
def test_a_link_to_another_group_is_found(number: bool) -> None:
    case = next(
        case
        for case in (draw_case(seed, number=number) for seed in range(1000, 2000))
        if case.constraints.interactions == () and len(case.frame.columns) > 2
    )
    both = GATE_BY_NAME["AND"].code
    found = 0
    for _ in range(20):
        network = case.draw_network(draw_shape(case.rng))
        shake(network, case.rng)
        network.link_wires[: network.layers[0]] = case.rng.integers(
            network.n_literals, size=network.link_wires[: network.layers[0]].shape
        )
        network.gate_logits[:, network.gate_choices == both] = 99.0
        found += refused_and_refuted(case, network)
    assert found > 3


def refused_and_refuted(case: Case, network: Network) -> bool:
    """Return whether the proof refutes the constraints. A circuit that states them is refused."""
    verdict = prove_constraints(case.circuit(network, None), case.constraints, time_limit=None)
    if verdict:
        return False
    assert verdict.refuted
    with pytest.raises(CircuitError, match="does not satisfy its constraints: a rule"):
        case.circuit(network, case.constraints)
    return True
