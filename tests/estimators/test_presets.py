"""The presets of `DLNClassifier`: a name stands for its options, and stated options win."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dln import DLNClassifier, OptionError, preset_options
from dln._util.option import options_of
from dln.encode.encoder import EncodeOptions
from dln.estimators.parameters import Parameters
from dln.estimators.plan import plan_fit, read_parameters
from dln.estimators.presets import PRESETS, PresetName
from dln.estimators.reading import read_problem
from dln.train.jobs import Engine, Job
from dln.train.network import Shape, draw_with_replacement, vote_limit
from dln.train.options import TrainOptions
from tests.support.classifiers import (
    UNDERTRAINED,
    iris_table,  # noqa: F401 - a fixture
    mixed_table,  # noqa: F401 - a fixture
    small,
)
from tests.support.jobs import random_job

pytest.importorskip("torch")

from tests.support.engines import both_engines

every_preset = pytest.mark.parametrize("name", PRESETS)


@every_preset
def test_a_preset_holds_parameters_in_their_range(name: PresetName) -> None:
    known = options_of(Parameters)
    for option, value in PRESETS[name].items():
        assert known[option].read(value) == value
        assert value != known[option].default or option in ("concatenation", "gate_gradient")


@every_preset
@UNDERTRAINED
def test_a_preset_is_its_options(name: PresetName, mixed: Any) -> None:
    by_name = DLNClassifier(preset=name, epochs=20, random_state=1).fit(*mixed)
    options = {**preset_options(name), "epochs": 20, "batch_size": 64}
    stated = DLNClassifier(**options, random_state=1).fit(*mixed)
    assert by_name.circuit_ == stated.circuit_


def test_a_stated_option_overrides_the_preset() -> None:
    found = read_parameters(DLNClassifier(preset="program", n_links=5, slope=3.0))
    assert (found.n_links, found.slope, found.n_gates) == (5, 3.0, 8)
    assert found.vote_density == "undecided"
    # A value that is the default of dln counts as not stated.
    assert read_parameters(DLNClassifier(preset="program", n_links=16)).n_links == 8
    stated = DLNClassifier(**{**preset_options("program"), "n_links": 16})
    assert read_parameters(stated).n_links == 16


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"^preset is 'papers', expected one of 'paper', 'program'"
    ):
        preset_options("papers")  # type: ignore[arg-type]


@every_preset
@pytest.mark.parametrize(("n_classes", "size"), [(2, 64), (3, 128)])
def test_the_batch_depends_on_the_classes(name: PresetName, n_classes: int, size: int) -> None:
    X = np.random.default_rng(0).normal(size=(90, 2))
    model = DLNClassifier(preset=name)
    problem, _ = read_problem(model, X, np.arange(90) % n_classes, None, None)
    plan = plan_fit(model, problem)
    assert plan.candidates.usual.options.batch_size == size
    assert plan.validation_every == 10
    assert plan.candidates.usual.encode == EncodeOptions(4, 2, screening=False)
    assert plan.candidates.n_fits == 0


# -- the options that the presets set -------------------------------------------------------------


@UNDERTRAINED
def test_validation_rows_are_looked_at_every_tenth_epoch_and_at_the_end(mixed: Any) -> None:
    model = small(epochs=25, validation_fraction=0.2, validation_every=10).fit(*mixed)
    looked = np.flatnonzero(~np.isnan(model.history_["valid_accuracy"][0])) + 1
    assert looked.tolist() == [10, 20, 25]


@both_engines
def test_the_best_epoch_has_the_largest_sum_of_both_accuracies(engine: Engine) -> None:
    options = TrainOptions(
        epochs=30, eval_every=3, learning_rate=0.1, final_rate=1.0, validation_score="both"
    )
    rows, valid = np.arange(70), np.arange(70, 100)
    differs = False
    for seed in range(6):

        def job(looked_at: Any, seed: int = seed, **change: Any) -> Job:
            one = random_job(seed, options=replace(options, seed=seed, **change))
            return replace(one, rows=rows, valid_rows=looked_at)

        on_both, on_train, on_valid = engine(
            [
                job(valid),
                job(rows, validation_score="validation"),
                job(valid, validation_score="validation"),
            ]
        )
        total = on_train.valid_score.astype(np.float64) + on_valid.valid_score
        looked = np.flatnonzero(~np.isnan(total))
        best = [i for i in looked if total[i] >= total[looked].max() - 1e-6]
        assert on_both.best_epoch in best
        assert_array_equal(on_both.valid_score, on_valid.valid_score)
        differs |= on_both.best_epoch != on_valid.best_epoch
    assert differs


def test_eight_draws_of_sixteen_give_six_and_a_half_on_average() -> None:
    lists = draw_with_replacement(np.arange(16), 20_000, 8, np.random.default_rng(0))
    assert lists.shape == (20_000, 8)
    mean = np.mean([len(set(row)) for row in lists.tolist()])
    assert mean == pytest.approx(16 * (1 - (15 / 16) ** 8), abs=0.03)  # 6.45


def test_a_repeated_candidate_is_masked() -> None:
    job = random_job(0, shape=Shape((30, 20), n_links=8, link_drawing="repeated"))
    network = job.network
    is_open = network.link_logits > -np.inf
    assert not is_open.all()
    wires, logits = network.link_wires.reshape(-1, 8), is_open.reshape(-1, 8)
    for drawn, own in zip(wires.tolist(), logits.tolist(), strict=True):
        kept = [wire for wire, open_ in zip(drawn, own, strict=True) if open_]
        assert sorted(kept) == sorted(set(drawn))


@UNDERTRAINED
def test_undecided_votes_are_all_off_and_near_zero(iris: Any) -> None:
    model = small(vote_density="undecided", epochs=1, trace_every=1).fit(*iris)
    start = model.traces_[0].vote_logits[0]
    assert np.abs(start).max() <= 0.1 < vote_limit(0.8)
