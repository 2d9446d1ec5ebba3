"""Choosing among trials: the Pareto front, the smallest good trial, and stopping early."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from dln import Between, DLNSearchCV, OptionError, cost, simplify
from dln.search import Trial, find_importance
from dln.search.smooth import smooth
from dln.search.trial import find_best, find_front, find_small, rank
from tests.support.classifiers import UNDERTRAINED


@st.composite
def some_trials(draw: st.DrawFn) -> list[Trial]:
    """Draw trials with many equal scores and sizes; at least one was finished."""
    points = draw(
        st.lists(
            st.tuples(*[st.integers(0, 4)] * 4, st.booleans()),
            min_size=1,
            max_size=12,
        ).filter(lambda points: not all(stopped for *_, stopped in points))
    )
    return [
        Trial(number, {}, {}, (0.5,), score / 4, estimate / 4, error / 10, float(size), stopped)
        for number, (score, estimate, size, error, stopped) in enumerate(points)
    ]


def beats(a: Trial, b: Trial) -> bool:
    """Return whether `a` is at least as good and as small as `b`, and better in one of the two."""
    no_worse = a.score >= b.score and a.size <= b.size
    return no_worse and (a.score > b.score or a.size < b.size)


@given(some_trials())
def test_the_front_is_what_no_finished_trial_beats(trials: list[Trial]) -> None:
    front, whole = find_front(trials), [trial for trial in trials if not trial.stopped]
    assert not any(beats(rival, trial) for trial in front for rival in whole)
    for trial in whole:  # every other finished trial is beaten, or has the same score and size
        points = [(other.score, other.size) for other in front]
        assert (trial.score, trial.size) in points or any(beats(other, trial) for other in front)
    assert [trial.size for trial in front] == sorted({trial.size for trial in front})


@given(some_trials())
def test_the_best_has_the_highest_estimate_and_the_small_one_is_good_enough(
    trials: list[Trial],
) -> None:
    best, small = find_best(trials), find_small(trials)
    whole = [trial for trial in trials if not trial.stopped]
    top = max(whole, key=lambda trial: trial.score)
    near = [trial for trial in whole if trial.score >= top.score - top.standard_error]
    assert best in near
    assert best.estimate == max(trial.estimate for trial in near)
    enough = best.estimate - best.standard_error
    good = [trial for trial in whole if trial.score >= enough]
    assert small in [*good, best]
    assert small.size == min(trial.size for trial in [*good, best])


@given(some_trials())
def test_ranks_follow_the_estimates(trials: list[Trial]) -> None:
    ranks = rank(trials)
    assert sorted(ranks) == list(range(1, len(trials) + 1))
    best = min((trial for trial in trials if not trial.stopped), key=lambda t: ranks[t.number])
    assert best == find_best(trials)


def test_a_search_without_finished_trials_is_an_error() -> None:
    stopped = Trial(0, {}, {}, (0.5,), 0.5, 0.5, 0.0, 10.0, True)
    with pytest.raises(OptionError, match="no trial was finished"):
        find_best([stopped])


# -- smoothed scores ------------------------------------------------------------------------------


def noisy(seed: int, noise: float) -> tuple[list[Trial], list[float]]:
    """Return trials whose true scores rise with a parameter, and the true scores."""
    rng = np.random.default_rng(seed)
    taus = rng.uniform(0.0, 1.0, 30).tolist()
    true = [0.7 + 0.05 * tau for tau in taus]
    trials = []
    for number, tau in enumerate(taus):
        score = true[number] + noise * rng.normal()
        values = {"tau": tau, "phases": rng.choice(["batches", "unified"])}
        trials.append(Trial(number, values, values, (score,), score, score, 0.01, 5.0, False))
    return trials, true


NOISY_SPACE = {"tau": Between(0.0, 1.0), "phases": ["batches", "unified"], "epochs": 3}


def test_estimates_are_nearer_to_the_truth_than_scores() -> None:
    errors = np.zeros(2)
    for seed in range(10):
        trials, true = noisy(seed, 0.03)
        smoothed = smooth(trials, NOISY_SPACE)
        errors += [
            np.abs(np.subtract([t.score for t in trials], true)).mean(),
            np.abs(np.subtract([t.estimate for t in smoothed], true)).mean(),
        ]
    assert errors[1] < 0.5 * errors[0]


def test_scores_without_noise_stay_about_what_they_are() -> None:
    trials, _ = noisy(0, 0.0)
    for trial in smooth(trials, NOISY_SPACE):
        assert trial.estimate == pytest.approx(trial.score, abs=0.003)


def test_estimates_do_not_depend_on_stopped_trials() -> None:
    trials, _ = noisy(0, 0.03)
    lost = replace(trials[0], number=30, score=0.1, estimate=0.1, stopped=True)
    smoothed = smooth([*trials, lost], NOISY_SPACE)
    assert smoothed[:-1] == smooth(trials, NOISY_SPACE)
    assert smoothed[-1] == lost


def test_few_or_equal_scores_are_not_smoothed() -> None:
    trials, _ = noisy(0, 0.03)
    assert smooth(trials[:7], NOISY_SPACE) == tuple(trials[:7])
    equal = [replace(trial, score=0.5, estimate=0.5) for trial in trials]
    assert smooth(equal, NOISY_SPACE) == tuple(equal)


# -- in a search ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def both(iris: Any) -> DLNSearchCV:
    """Run a search for accuracy and size in which some trials learn almost nothing."""
    space = {
        "layers": [(2, 2), (4, 3), (12, 6), (32, 16)],
        "epochs": [1, 20],
        "tau": Between(1.0, 4.0),
        "n_networks": 1,
    }
    search = DLNSearchCV(space=space, n_trials=16, objective="pareto", random_state=1)
    return search.fit(*iris)


def test_the_front_of_a_search_trades_accuracy_for_size(both: DLNSearchCV) -> None:
    assert both.pareto_ == find_front(both.trials_)
    assert len(both.pareto_) > 1
    assert max(trial.score for trial in both.trials_) == both.pareto_[-1].score


@UNDERTRAINED
def test_a_trial_of_the_front_gives_a_circuit_of_about_its_size(
    both: DLNSearchCV, iris: Any
) -> None:
    small, large = (both.fit_trial(both.pareto_[end].number, *iris).circuit_ for end in (0, -1))
    assert cost(small).gate_operations < cost(large).gate_operations
    assert cost(simplify(small, "quick", prove=False)) == cost(small)


def test_clearly_worse_trials_are_stopped_early(iris: Any) -> None:
    space = {"layers": (12, 6), "epochs": [1, 30], "n_networks": 1, "tau": 2.0}
    found = DLNSearchCV(space=space, n_trials=8, random_state=0).fit(*iris)
    stopped = [trial for trial in found.trials_ if trial.stopped]
    assert {trial.params["epochs"] for trial in stopped} == {1}
    assert all(len(trial.fold_scores) == 5 for trial in stopped)
    assert not found.trials_[found.best_index_].stopped
    worst = found.cv_results_["rank_test_score"][[trial.number for trial in stopped]]
    assert min(worst) > len(found.trials_) - len(stopped)
    assert np.isnan(found.cv_results_["split5_test_score"][stopped[0].number])


def test_a_smaller_trial_is_not_stopped_if_size_counts(both: DLNSearchCV) -> None:
    for trial in both.trials_:
        rivals = [other for other in both.trials_ if other.size <= trial.size]
        if trial.stopped:
            assert any(np.mean(other.fold_scores[:5]) > trial.score for other in rivals)


def test_the_smallest_within_a_standard_error_can_be_fitted(iris: Any) -> None:
    space = {"layers": [(4, 3), (64, 32)], "epochs": 30, "tau": 2.0, "n_networks": 1}
    found = DLNSearchCV(space=space, n_trials=4, refit="small", random_state=0).fit(*iris)
    assert found.best_index_ == found.small_index_ == find_small(found.trials_).number
    assert found.best_params_ == found.trials_[found.best_index_].params


# -- pictures -------------------------------------------------------------------------------------


def test_importance_has_a_share_for_each_parameter(both: DLNSearchCV) -> None:
    parts = find_importance(both.trials_, both.space_)
    assert set(parts) == {"layers", "epochs", "tau"}
    assert sum(parts.values()) == pytest.approx(1.0)
    assert parts["tau"] < max(parts.values())
    assert set(find_importance(both.trials_[:1], both.space_).values()) == {0.0}


def test_the_picture_shows_every_trial(both: DLNSearchCV) -> None:
    left, right = both.draw().axes
    shown = sum(len(points.get_offsets()) for points in left.collections)
    assert shown == len(both.trials_) + 1  # and the star
    assert left.get_xlabel() == "gate-level operations"
    assert [label.get_text() for label in right.get_yticklabels()] == list(
        find_importance(both.trials_, both.space_)
    )


def test_the_picture_can_be_drawn_on_given_axes(both: DLNSearchCV) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    assert both.draw(axes=figure.subplots(2, 1)) is figure
    with pytest.raises(OptionError, match="expected 2 matplotlib Axes"):
        both.draw(axes=figure.axes[0])
    with pytest.raises(NotFittedError):
        DLNSearchCV().draw()
