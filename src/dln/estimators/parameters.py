"""The parameters of the estimators: the options of training, and those of the steps around it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from dln._util.option import option, unused
from dln._util.storage import Storage
from dln.core.circuit import Circuit
from dln.data.target import ClassWeight
from dln.decisions.goal import Probabilities
from dln.errors import OptionError
from dln.estimators.presets import PresetName
from dln.paths.budget import MOST
from dln.shrink.simplify.simplify import Effort
from dln.train.engines import EngineName
from dln.train.jobs import OnInterrupt
from dln.train.number_loss import LossName, NumberLoss
from dln.train.options import FitOptions, NumberEnsemble

CONSTRAINTS = (
    "monotone",
    "interactions",
    "forbidden_pairs",
    "unused_columns",
    "max_columns_per_rule",
)
"""The parameters that state what rules may read and vote for."""


@dataclass(frozen=True, kw_only=True)
class Parameters(FitOptions):
    """All parameters, each stated once; the constructor of `DLNClassifier` repeats them."""

    preset: PresetName | None = option(
        None,
        "A set of options with a name: the text of the paper, or the authors' program.",
        more="Options that are not at their default override it. `preset_options(name)` returns "
        "the options as a dict.",
        searched=False,
    )
    init: Circuit | None = option(
        None,
        "An earlier circuit to continue from, for example that of a model for older rows.",
        more="Its rules are kept, trees are added that correct its errors, and probabilities are "
        "calibrated again. No network is trained. Fit it on rows that the circuit was not trained "
        "on: it looks better than it is on the others.",
        searched=False,
    )
    validation_fraction: float = option(
        0.0,
        "Fraction of the rows that are set aside to choose the best epoch.",
        more="0 trains on all rows and keeps the last epoch.",
        low=0,
        high=1,
        below=True,
    )
    max_rules: int | None = option(
        None,
        "Maximum number of rules.",
        more="With any limit the fit searches for the best circuit within all limits and "
        "trains no network. `dln.paths.size` says how each is counted.",
        low=1,
        high=MOST,
    )
    max_literals: int | None = option(
        None,
        "Maximum number of literals (tests) in all rules together.",
        low=1,
        high=MOST,
    )
    max_literals_per_rule: int | None = option(
        None, "Maximum number of literals in one rule.", low=1, high=MOST
    )
    max_columns: int | None = option(
        None, "Maximum number of columns that the circuit reads.", low=1, high=MOST
    )
    column_costs: Mapping[str, float] | None = option(
        None,
        "Cost of measuring each column, by name.",
        more="Other columns are free. Needs max_cost.",
        checked=False,
        searched=False,
    )
    max_cost: float | None = option(
        None,
        "Maximum cost of all columns that the circuit reads together.",
        low=0,
        high=1e15,
        searched=False,
    )
    path: bool = option(
        False,
        "Whether to add `path_`, circuits of every size from one rule on, to a fit without limits.",
        more="A fit with a limit always has it.",
        searched=False,
    )
    monotone: Mapping[Any, Any] | None = option(
        None,
        'Direction of columns. {"age": "+"} means: as age grows, the second of two classes never '
        'loses votes, or the predicted number never falls. "-" means the opposite.',
        more='With more classes name the class: {"ill": {"age": "+"}}. Every rule satisfies the '
        "constraints, and they are proven, see docs/guides/constraints.md.",
        checked=False,
        searched=False,
    )
    interactions: Sequence[Sequence[str]] | None = option(
        None,
        "Groups of columns. Only columns of the same group occur together in a rule.",
        more="A column in no group occurs alone. With [] every rule reads a single column.",
        checked=False,
        searched=False,
    )
    forbidden_pairs: Sequence[tuple[str, str]] | None = option(
        None,
        "Pairs of columns that never occur together in a rule.",
        checked=False,
        searched=False,
    )
    unused_columns: Sequence[str] | None = option(
        None,
        "Columns that no rule may read.",
        more="They stay in the table and in reports.",
        checked=False,
        searched=False,
    )
    max_columns_per_rule: int | None = option(
        None, "Maximum number of columns in one rule.", low=1, high=MOST, searched=False
    )
    validation_every: int = option(
        1, "Epochs between two looks at the validation rows.", low=1, high=10**9
    )
    rules: Any = option(
        None,
        "Rules that the model must have, with their votes or amounts: text as `dln rules` prints "
        "it, or a `Circuit`.",
        more="They are locked, and the others are learned around them. See docs/guides/edit.md.",
        checked=False,
        searched=False,
    )
    soft_rules: Any = option(
        None,
        "Rules that the model starts from and may change, in the form of `rules`.",
        more="Their conditions, and their votes or amounts, are learned from the rows, starting "
        "from the stated ones. A rule that the rows contradict is dropped. See "
        "docs/guides/edit.md.",
        checked=False,
        searched=False,
    )
    class_weight: ClassWeight | Mapping[Any, float] | None = option(
        "balanced",
        "Weights of the classes.",
        more='"balanced" gives all classes the same total weight. "smoothed" counts 0.1 rows more '
        "in each class (the authors' program).",
        checked=False,
        searched=False,
    )
    probabilities: Probabilities = option(
        "rows",
        "Class frequencies that probabilities refer to: those of the training rows, or equal ones "
        '("balanced").',
        more="Probabilities are calibrated on rows that the networks were not trained on, see "
        '"Probabilities" in docs/explanation/how-it-works.md. "votes" does not calibrate: they '
        "are the softmax of votes / temperature, and base votes stay as trained.",
        searched=False,
    )
    decision_threshold: float | None = option(
        None,
        "Predict the second of two classes from this probability on.",
        more="Sets the base votes of the circuit, as `costs` and `sensitivity_at_least` do; give "
        "at most one of the three.",
        checked=False,
        searched=False,
    )
    costs: Any = option(
        None,
        "Costs of predictions: a matrix with true classes as rows and predicted classes as "
        "columns, or a dict by pairs (true class, predicted class).",
        more="Pairs that a dict leaves out cost 1 if the prediction is wrong, else 0.",
        checked=False,
        searched=False,
    )
    sensitivity_at_least: float | Mapping[Any, float] | None = option(
        None,
        "Fraction of the rows of a class that must be predicted correctly: {class: level}, or a "
        "level for the second of two classes.",
        more="It is reached on rows left out in cross-validation, so new rows may vary around it.",
        checked=False,
        searched=False,
    )
    engine: EngineName = option(
        "native",
        "What trains the networks: compiled code on all cores, PyTorch on any device, or all "
        "networks at once on an NVIDIA GPU.",
        more="PyTorch and CUDA are the extras `torch` and `cuda`.",
        checked=False,
        searched=False,
    )
    device: str = option(
        "cpu",
        'Device of engine="torch" ("cpu", "cuda", "cuda:1") or GPU of engine="cuda" ("cuda:1" is '
        "the second).",
        checked=False,
        searched=False,
    )
    simplify: Effort | None = option(
        "quick",
        "Effort to make the circuit smaller, with the same votes.",
        more="The vote differences between classes do not change, see `dln.simplify`. "
        '"normal" and "high" require the extra `prove` and keep a proof in `circuit_.proof`.',
    )
    random_state: int | np.random.RandomState | None = option(
        None,
        "Seed of every random draw.",
        more="The same seed gives the same circuit.",
        low=0,
        checked=False,
        searched=False,
    )
    n_jobs: int | None = option(
        None,
        "Number of threads.",
        more="None and -1 mean all cores, -2 all but one. With "
        'engine="native" the result does not depend on it; with PyTorch large networks may differ '
        "in their last bits.",
        checked=False,
        searched=False,
    )
    verbose: int | bool = option(
        0, "1 shows a live progress bar on standard error.", low=0, searched=False
    )
    on_interrupt: OnInterrupt = option(
        "raise",
        "On Ctrl-C, raise KeyboardInterrupt, or keep what was learned so far and warn.",
        searched=False,
    )
    storage: str | os.PathLike[str] | Storage | None = option(
        None,
        "A folder to save finished work in. If the fit is killed, the same fit resumes.",
        more="It gives the same circuit as without the interruption. The folder is deleted when "
        'the fit is complete. For engine="native".',
        checked=False,
        searched=False,
    )


@dataclass(frozen=True, kw_only=True)
class NumberParameters(Parameters):
    """The parameters of `DLNRegressor`: those of a classifier without what needs classes."""

    loss: LossName = option(
        "squared",
        "What is minimised: the squared error (predicts the mean), the absolute error (the "
        "median), the quantile loss, or the deviance of Poisson or gamma regression.",
        more='"poisson" needs targets of at least 0 and "gamma" targets above 0. Both predict '
        "through a log link: rules multiply the prediction.",
        searched=False,
    )
    quantile: float | Sequence[float] = option(
        0.5,
        'The level, or levels, that loss="quantile" predicts, between 0 and 1.',
        more="Several levels give an interval: `predict_interval` returns all of them.",
        checked=False,
        searched=False,
    )
    preset: None = unused(None)
    init: Circuit | None = option(
        None,
        "An earlier circuit to continue from, for example that of a model for older rows.",
        more="Its rules are kept, and trees are added that correct its errors. No network is "
        "trained. Fit it on rows that the circuit was not trained on: it looks better than it is "
        "on the others.",
        searched=False,
    )
    ensemble: NumberEnsemble = option(
        "sum",
        'How networks are trained together. "sum": from different starts on all rows. '
        '"bagging": on bootstrap samples. "residuals": one after another, each corrects the '
        "earlier ones.",
        more='All become one circuit. Trees (`n_trees`) are grown only with "sum".',
        searched=False,
    )
    tau: Literal["auto"] = unused("auto")
    vote_gradient: Literal["soft"] = unused("soft")
    vote_threshold: float = unused(0.8)
    vote_density: Literal["auto"] = unused("auto")
    validation_fraction: float = unused(0.0)
    validation_every: int = unused(1)
    validation_score: Literal["validation"] = unused("validation")
    selection_fits: Literal["auto"] = unused("auto")
    class_weight: None = unused(None)
    probabilities: Probabilities = unused("rows")
    decision_threshold: None = unused(None)
    costs: None = unused(None)
    sensitivity_at_least: None = unused(None)

    @property
    def losses(self) -> tuple[NumberLoss, ...]:
        """The loss of each circuit: one, or one for each level of an interval."""
        levels = [0.5]
        if self.loss == "quantile":
            levels = [*self.quantile] if isinstance(self.quantile, Sequence) else [self.quantile]
        return tuple(NumberLoss(self.loss, float(level)) for level in levels)


def read_levels(quantile: Any) -> float | tuple[float, ...]:
    """Check a level, or several in ascending order, between 0 and 1.

    >>> read_levels([0.1, 0.9])
    (0.1, 0.9)
    """
    several = isinstance(quantile, (tuple, list, np.ndarray))
    levels = tuple(quantile) if several else (quantile,)
    valid = all(isinstance(level, (float, np.floating)) and 0 < level < 1 for level in levels)
    if not (levels and valid and all(a < b for a, b in pairwise(levels))):
        raise OptionError(
            f"quantile is {quantile!r}, expected a number between 0 and 1, or several in ascending "
            "order, such as (0.05, 0.5, 0.95)"
        )
    return tuple(map(float, levels)) if several else float(quantile)
