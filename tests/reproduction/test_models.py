"""The models of the experiment that scikit-learn does not have, and the ablations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from dln import DLNClassifier
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.errors import ExtraMissingError, OptionError
from dln.train.jobs import Job, TrainingRows
from dln.train.native import train_population
from dln.train.options import TrainOptions
from dln.train.settings import Alternating
from reproduction.ablations.results import read_ablations
from reproduction.ablations.runner import missing_splits, run_ablations
from reproduction.ablations.variants import (
    ORIGINAL,
    VARIANTS,
    Ablated,
    Effort,
    Variant,
    run_split,
)
from reproduction.datasets import NAMES, Dataset, load
from reproduction.models.dln_search import best, paper, small
from reproduction.models.gate_network import draw_gate_network, gate_network
from reproduction.models.optuna_batches import Params, propose_in_batches
from reproduction.models.outcome import Budget, EngineName, Model
from reproduction.models.perceptron import perceptron
from reproduction.models.perceptron_stack import Member, Stack
from reproduction.models.registry import find_model
from reproduction.protocol import Task
from reproduction.published import published
from reproduction.tables.ablations import Effect, ablation_sheet, find_effects
from tests.support.classifiers import UNDERTRAINED

QUICK = Budget(trials=2, epochs=20)


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(load("iris"), seed=0)


# -- proposals --------------------------------------------------------------------------------


def test_proposals_come_in_batches_and_find_the_best() -> None:
    sizes: list[int] = []

    def evaluate(batch: list[Params]) -> list[float]:
        sizes.append(len(batch))
        return [-abs(params["x"] - 0.5) for params in batch]

    def suggest(trial: Any) -> None:
        trial.suggest_float("x", 0.0, 1.0)

    best_params, score = propose_in_batches(suggest, evaluate, n_trials=20, batch=8, seed=0)
    assert sizes == [8, 8, 4]
    assert score == -abs(best_params["x"] - 0.5) > -0.2


# -- perceptrons ------------------------------------------------------------------------------


def make_stack(members: list[Member], task: Task) -> Stack:
    arrays = task.arrays
    return Stack(members, arrays.train, arrays.train_target, n_classes=3, batch_size=32, seed=0)


def test_a_step_follows_the_gradient_that_autograd_finds(task: Task) -> None:
    rows = np.arange(32)
    stack = make_stack([Member((5, 4), 0.01, 0.1, rows), Member((3, 3), 0.02, 0.0, rows)], task)
    before = [stack.weights(place) for place in (0, 1)]
    stack.train(1)
    cells = torch.tensor(task.arrays.train[rows], dtype=torch.float32)
    target = torch.tensor(task.arrays.train_target[rows])
    counts = torch.bincount(target, minlength=3)
    loss_of = torch.nn.CrossEntropyLoss(weight=32 / (3 * (counts + 0.1)))
    for place, (rate, decay) in enumerate([(0.01, 0.1), (0.02, 0.0)]):
        parts = [torch.tensor(part, requires_grad=True) for pair in before[place] for part in pair]
        values = cells
        for layer in range(3):
            values = values @ parts[2 * layer] + parts[2 * layer + 1]
            values = values.relu() if layer < 2 else values
        loss_of(values, target).backward()
        torch.optim.Adam(parts, lr=rate, weight_decay=decay).step()
        after = [part for pair in stack.weights(place) for part in pair]
        for found, wanted in zip(after, parts, strict=True):
            assert_allclose(found, wanted.detach().numpy(), atol=2e-5)


def test_networks_that_are_left_out_do_not_disturb_the_others(task: Task) -> None:
    rows = np.arange(100)
    alone = make_stack([Member((6,), 0.01, 0.0, rows)], task)
    alone.train(4)
    both = make_stack([Member((6,), 0.01, 0.0, rows), Member((4,), 0.01, 0.0, rows)], task)
    both.train(1)
    both.keep(np.array([True, False]))
    both.train(3)
    assert both.predict(task.arrays.test).shape == (1, 38)
    assert [part.shape for pair in both.weights(0) for part in pair] == [(4, 6), (6,), (6, 3), (3,)]


def test_a_perceptron_learns_and_is_counted(task: Task) -> None:
    outcome = perceptron(task, Budget(trials=4, epochs=60))
    assert outcome.accuracy > 85
    assert outcome.cost is not None
    width, layers = outcome.params["width"], outcome.params["layers"]
    n_weights = 4 * width + (layers - 1) * width**2 + 3 * width
    assert outcome.cost.operations == 2 * n_weights + layers * width
    assert perceptron(task, Budget(trials=4, epochs=60)).accuracy == outcome.accuracy


# -- logic gate networks ----------------------------------------------------------------------


def test_only_the_functions_of_gates_are_trained(task: Task) -> None:
    train = task.rows[0]
    table = read_table(task.dataset.X.iloc[train])
    target = task.arrays.train_target.astype(np.int32)
    weight = np.ones(len(target), dtype=np.float32)
    encoder, cells = fit_encoder(table, target, weight, EncodeOptions(4, 2))
    network = draw_gate_network(encoder, (12, 6), 3, np.random.default_rng(0))
    assert network.link_wires.shape == (18, 2, 1)
    assert ((network.vote_logits > 0).sum(axis=0) == 1).all()
    assert ((network.vote_logits > 0).sum(axis=1) == 2).all()
    start = network.copy()
    options = TrainOptions(epochs=5, threshold_rate=0.0, phases=Alternating(10**6))
    job = Job(network, TrainingRows(cells, target, weight), np.arange(len(target)), options)
    train_population([job])
    for name in ("cutoffs", "slopes", "link_logits", "vote_logits"):
        assert_array_equal(getattr(network, name), getattr(start, name))
    assert not np.array_equal(network.gate_logits, start.gate_logits)


def test_a_gate_network_learns_and_is_counted(task: Task) -> None:
    outcome = gate_network(task, Budget(trials=4, epochs=100))
    assert outcome.accuracy > 75
    assert outcome.cost is not None
    assert outcome.cost.arithmetic.operations == 0
    assert gate_network(task, Budget(trials=4, epochs=100)).params == outcome.params


# -- the DLN ----------------------------------------------------------------------------------


def test_the_three_columns_come_from_two_searches(task: Task) -> None:
    outcome = best(task, QUICK)
    other = small(task, QUICK)
    assert outcome.siblings["dln-small"].accuracy == other.accuracy
    assert other.siblings["dln"].accuracy == outcome.accuracy
    assert outcome.cost is not None
    assert other.cost is not None
    assert other.cost.gate_operations <= outcome.cost.gate_operations
    assert set(outcome.seconds) == {"search", "fit", "simplify"}


def test_the_papers_column_has_its_options(task: Task) -> None:
    outcome = paper(task, Budget(trials=1))
    assert outcome.params["n_links"] == outcome.params["n_gates"] == 8
    assert outcome.params["slope"] == 2.0
    assert outcome.accuracy > 60


@pytest.mark.parametrize("model", [paper, best])
def test_the_budget_says_which_engine_trains(model: Model, task: Task) -> None:
    with pytest.raises(OptionError, match="engine is 'gpu', expected one of 'native', 'torch'"):
        model(task, Budget(trials=1, engine="gpu"))  # type: ignore[arg-type]


# -- ablations --------------------------------------------------------------------------------


def test_every_column_of_the_paper_has_a_variant() -> None:
    assert set(published()["ablations"]["Heart"]) <= set(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_trained_as_much_as_its_original(name: str) -> None:
    variant = VARIANTS[name]
    original = VARIANTS[variant.original]
    for dataset in (*NAMES, "iris"):
        assert variant.effort(dataset) == original.effort(dataset)
        assert variant.effort(dataset).seeds >= 4


@pytest.mark.parametrize("name", [ORIGINAL, "pruning", "freezing", "fixed thresholds"])
@UNDERTRAINED
def test_a_split_of_a_variant_depends_on_its_seed_alone(
    name: str, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Effort(draws=2, epochs=20, seeds=2)
    monkeypatch.setattr(Variant, "effort", lambda variant, dataset: few)
    result = run_split(task.dataset, name, 1)
    assert (result.variant, result.seed) == (name, 1)
    assert 0 <= result.accuracy <= 100
    assert result.gate_operations >= 0
    assert run_split(task.dataset, name, 1) == result


@UNDERTRAINED
def test_only_the_options_of_freezing_are_searched(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Effort(draws=4, epochs=10, seeds=1)
    monkeypatch.setattr(Variant, "effort", lambda variant, dataset: few)
    given: list[dict[str, Any]] = []

    def recorded(**params: Any) -> DLNClassifier:
        given.append(params)
        return DLNClassifier(**params)

    monkeypatch.setattr("reproduction.ablations.variants.DLNClassifier", recorded)
    run_split(task.dataset, "freezing", 0)
    original, freezing = given[:4], given[4:]
    assert len(freezing) == 4
    starts = {params.pop("freezing").start for params in freezing}
    assert len(starts) == 4
    assert all(params in original for params in freezing)
    assert len({params["learning_rate"] for params in freezing}) == 2  # the better half


def pairs(variant: str, differences: list[float], dataset: str = "Heart") -> list[Ablated]:
    original = VARIANTS[variant].original
    return [
        one
        for seed, difference in enumerate(differences)
        for one in (
            Ablated(dataset, original, seed, 70.0, 100),
            Ablated(dataset, variant, seed, 70.0 + difference, 200),
        )
    ]


def test_effects_are_paired_and_weigh_datasets_alike() -> None:
    results = pairs("gumbel", [1.0, 3.0]) + pairs("gumbel", [-2.0] * 6, "Liver")
    (effect,) = find_effects(results)
    assert effect.points == pytest.approx(0.0)
    assert effect.error == pytest.approx(0.5)
    assert effect.ratio == pytest.approx(2.0)
    assert effect.paper == pytest.approx(((77.5 - 81.5) + (67.9 - 66.5)) / 2)
    assert effect.n_pairs == 8


@pytest.mark.parametrize(
    ("points", "error", "published_points", "verdict"),
    [
        (1.0, 0.2, 0.5, "agrees"),
        (-1.0, 0.2, 0.5, "disagrees"),
        (0.3, 0.2, 0.5, "no clear difference here"),
        (1.0, 0.2, -0.03, "clear only here"),
        (1.0, 0.2, None, "not in the paper"),
    ],
)
def test_directions_are_told_plainly(
    points: float, error: float, published_points: float | None, verdict: str
) -> None:
    effect = Effect("x", points, error, 1.0, published_points, ("Heart",), 10)
    assert effect.verdict == verdict


def test_ablations_are_written_read_and_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(dataset: Dataset, name: str, seed: int, engine: EngineName) -> Ablated:
        return Ablated(dataset.name, name, seed, 70.0, 100)

    monkeypatch.setattr("reproduction.ablations.runner.run_split", fake)
    n_splits = sum(variant.effort("iris").seeds for variant in VARIANTS.values())
    said: list[str] = []
    assert run_ablations(["iris"], tmp_path, said.append, seconds=0.0) == n_splits
    assert run_ablations(["iris"], tmp_path, said.append) == 0
    assert len(said) == n_splits
    assert run_ablations(["iris"], tmp_path, said.append) == 0
    assert len(said) == n_splits
    assert len(read_ablations(tmp_path)) == n_splits


def test_a_split_that_fails_is_reported_and_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(dataset: Dataset, name: str, seed: int, engine: EngineName) -> Ablated:
        if (name, seed) == ("pruning", 3):
            raise OptionError("no memory")
        return Ablated(dataset.name, name, seed, 70.0, 100)

    monkeypatch.setattr("reproduction.ablations.runner.run_split", fake)
    said: list[str] = []
    assert run_ablations(["iris"], tmp_path, said.append) == 1
    assert [line for line in said if "no memory" in line] == ["[51/140] iris pruning 3: no memory"]
    assert [str(split) for split in missing_splits(["iris"], tmp_path)] == ["iris pruning 3"]


def test_ablations_begin_with_the_first_seeds_of_small_tables(tmp_path: Path) -> None:
    splits = missing_splits(["wine", "iris"], tmp_path)
    first, second = splits[: len(VARIANTS)], splits[len(VARIANTS) : 2 * len(VARIANTS)]
    assert {(split.dataset, split.seed) for split in first} == {("iris", 0)}
    assert [split.variant for split in first] == list(VARIANTS)
    assert {(split.dataset, split.seed) for split in second} == {("wine", 0)}


def test_the_table_of_ablations_shows_missing_datasets_as_missing() -> None:
    results = pairs("16 links", [1.0, 1.2]) + pairs("freezing", [0.5, -0.5], "Liver")
    sheet = ablation_sheet(results)
    effects = {row[0]: row for row in sheet.sections[0].rows}
    assert effects["16 links"][1:5] == ("+1.10", "0.10", "-1.80", "disagrees")
    by_dataset = {row[0]: row[1:] for row in sheet.sections[3].rows}
    assert by_dataset == {"Heart": ("+1.1", "–"), "Liver": ("–", "+0.0")}


# -- beyond the paper -------------------------------------------------------------------------


def test_peers_are_searched_like_the_papers_models(task: Task) -> None:
    pytest.importorskip("lightgbm")
    outcome = find_model("lightgbm").load()(task, Budget(trials=1))
    assert outcome.accuracy > 80
    assert outcome.cost is None


def test_a_peer_that_is_not_installed_is_named(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imodels", None)
    with pytest.raises(ExtraMissingError, match="FIGSClassifier requires imodels; install"):
        find_model("figs").load()(task, Budget(trials=1))
