"""Ensembles: bagged and boosted networks end in one circuit that votes as they do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dln import DLNClassifier, DLNRegressor, OptionError, simplify
from dln.search.space import check_space
from dln.train import ensemble as ensembles
from dln.train import native
from dln.train.ensemble import MOST_VOTES, STEP, temperature_of, train_chains, train_members
from dln.train.jobs import Job, Trained
from dln.train.options import NumberEnsemble, TrainOptions
from dln.train.votes import count_votes
from tests.support.classifiers import (
    UNDERTRAINED,
    iris_table,  # noqa: F401 - a fixture
    mixed_table,  # noqa: F401 - a fixture
    small,
)
from tests.support.jobs import random_job

KINDS = (*get_args(NumberEnsemble), "boosting")


def jobs_of(kind: Any, n_networks: int = 4, n_classes: int = 3) -> tuple[list[Job], Any]:
    """Train an ensemble; return the jobs that were trained, and its members."""
    start = random_job(0, n_rows=120, n_classes=n_classes)
    seen: list[Job] = []

    def draw() -> Job:
        seed = len(seen) + 1
        drawn = random_job(seed, n_rows=120, n_classes=n_classes).network
        return replace(start, network=drawn, options=TrainOptions(epochs=15, seed=seed))

    def train(jobs: Any) -> list[Trained]:
        seen.extend(jobs)
        return native.train_population(jobs)

    members = train_members(kind, draw, train, n_networks, 0, np.random.default_rng(0))
    return seen, members


def test_a_sum_trains_on_all_rows_with_one_vote_each() -> None:
    seen, members = jobs_of("sum")
    assert len(members) == 4
    assert all(member.votes == 1 for member in members)
    for job in seen:
        assert_array_equal(job.rows, np.arange(120))


def test_bags_have_as_many_rows_of_each_class() -> None:
    seen, members = jobs_of("bagging")
    expected = np.bincount(seen[0].data.target)
    for job in seen:
        assert_array_equal(np.bincount(job.data.target[job.rows]), expected)
        assert 0.5 < len(set(job.rows.tolist())) / 120 < 0.75  # 1 - 1/e of the rows
    assert len({job.rows.tobytes() for job in seen}) == len(seen)
    assert all(member.votes == 1 for member in members)


def test_boosting_moves_weight_to_rows_that_are_wrong_and_keeps_the_total() -> None:
    seen, members = jobs_of("boosting")
    for job, later in pairwise(seen):
        points = count_votes([job.network], job.data.cells)
        is_wrong = points.argmax(axis=1) != job.data.target
        before, after = job.data.weight, later.data.weight
        assert after.sum() == pytest.approx(before.sum(), rel=1e-4)
        error = before[is_wrong].sum() / before.sum()
        if error < 2 / 3:  # better than chance
            assert after[is_wrong].sum() > before[is_wrong].sum()
            ratios = after / before
            assert np.ptp(ratios[is_wrong]) < 1e-3 * ratios.max()
            assert np.ptp(ratios[~is_wrong]) < 1e-3 * ratios.max()
        else:
            assert_array_equal(before, after)
    assert all(1 <= member.votes <= MOST_VOTES for member in members)
    assert min(member.votes for member in members) == 1


def test_residuals_are_the_points_that_earlier_networks_leave() -> None:
    seen, members = jobs_of("residuals")
    assert seen[0].data.offset is None
    points = np.zeros((120, 3))
    for job, later in pairwise(seen):
        points += STEP * count_votes([job.network], job.data.cells)
        assert_array_equal(later.data.offset, points.astype(np.float32))
        assert_array_equal(later.data.weight, job.data.weight)
    assert [member.votes for member in members] == [1] * 4
    assert temperature_of("residuals", 3.0, [1] * 4) == 3.0 / STEP


def test_chains_do_not_influence_each_other() -> None:
    def chain(starts: tuple[int, ...]) -> list[list[Trained]]:
        step = iter(range(9))

        def draw() -> list[Job]:
            number = next(step)
            return [random_job(start + number, n_rows=60) for start in starts]

        return train_chains(draw, native.train_population, 3)

    together = chain((0, 10))
    for place, start in enumerate((0, 10)):
        for both, (alone,) in zip(together, chain((start,)), strict=True):
            assert_array_equal(both[place].history, alone.history)


def test_more_accurate_networks_get_more_votes() -> None:
    strengths = [0.5, 1.0, 0.0, 1.3, 99.0]
    found = [(None, strength) for strength in strengths]
    assert ensembles._votes(found) == [1, 2, 1, 3, MOST_VOTES]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@UNDERTRAINED
def test_an_ensemble_is_one_circuit(kind: Any, mixed: Any, monkeypatch: Any) -> None:
    kept: list[Any] = []

    def keep(kind: Any, draw_job: Any, *others: Any) -> Any:
        kept.append((train_members(kind, draw_job, *others), draw_job().data.cells))
        return kept[-1][0]

    monkeypatch.setattr("dln.train.fit.train_members", keep)
    model = small(ensemble=kind, n_networks=3, simplify=None, class_weight=None).fit(*mixed)
    circuit = model.circuit_
    members, cells = kept[-1]
    expected = temperature_of(kind, 2.0, [member.votes for member in members])
    assert circuit.temperature == pytest.approx(expected)
    points = sum(member.votes * count_votes([member.trained.network], cells) for member in members)
    votes = circuit.votes(mixed[0])
    shift = (votes[:, 1] - votes[:, 0]) - (points[:, 1] - points[:, 0])
    assert np.ptp(shift) == 0  # base votes, fitted on rows left out
    smaller = simplify(circuit, "quick", prove=True)
    assert smaller.proof is not None
    assert_array_equal(smaller.winners(mixed[0]), circuit.winners(mixed[0]))


@UNDERTRAINED
def test_the_kinds_differ_and_a_seed_gives_one_circuit(iris: Any) -> None:
    found = {kind: small(ensemble=kind, n_networks=3).fit(*iris).circuit_ for kind in KINDS}
    assert len({str(circuit) for circuit in found.values()}) == len(KINDS)
    for kind in KINDS:
        assert small(ensemble=kind, n_networks=3, n_jobs=1).fit(*iris).circuit_ == found[kind]


def test_a_single_network_is_the_same_summed_or_boosted(iris: Any) -> None:
    one, other = (small(ensemble=kind, n_networks=1).fit(*iris) for kind in ("sum", "boosting"))
    assert one.circuit_ == other.circuit_


def test_a_search_does_not_vary_the_ensemble() -> None:
    with pytest.raises(OptionError, match="'ensemble', which a search does not vary"):
        check_space({"ensemble": ["sum", "bagging"]})
    assert DLNClassifier().ensemble == "sum"


# -- numbers ----------------------------------------------------------------------------------


def numbers(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    return X, (X[:, 0] > 0) + 2.0 * (X[:, 1] > 0.5) * X[:, 2] + rng.normal(0, 0.1, 200)


def regressor(**options: Any) -> DLNRegressor:
    return DLNRegressor(layers=(16, 8), n_networks=3, epochs=15, random_state=0, **options)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_ensembles_of_numbers_differ_and_a_seed_gives_one_circuit(loss: Any) -> None:
    X, y = numbers()
    found = {
        kind: regressor(ensemble=kind, loss=loss).fit(X, y).circuit_
        for kind in get_args(NumberEnsemble)
    }
    assert len({str(circuit) for circuit in found.values()}) == 3
    for kind, circuit in found.items():
        assert regressor(ensemble=kind, loss=loss, n_jobs=1).fit(X, y).circuit_ == circuit


def test_residuals_of_numbers_are_what_earlier_networks_leave(monkeypatch: Any) -> None:
    offsets: list[Any] = []

    def recorded(jobs: Any, **options: Any) -> list[Trained]:
        offsets.extend(job.data.offset for job in jobs if len(jobs) == 1)
        return native.train_population(jobs, **options)

    monkeypatch.setattr("dln.estimators.regressor.find_engine", lambda *_: recorded)
    X, y = numbers()
    model = regressor(ensemble="residuals").fit(X, y)
    first, *later = offsets
    assert first is None
    rest = [np.var((y - y.mean()) / y.std() - offset[:, 0]) for offset in later]
    assert 1 > rest[0] > rest[1]  # coefficients of all networks are fitted together
    assert model.score(X, y) > 1 - rest[1]


def test_numbers_have_no_boosting_by_weights() -> None:
    with pytest.raises(OptionError, match="ensemble is 'boosting', expected one of 'sum', 'bag"):
        regressor(ensemble="boosting").fit(*numbers())
