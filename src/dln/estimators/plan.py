"""A classifier's parameters -> the plan of its fit, for the classifier and for searches."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, get_args

from dln.encode.encoder import EncodeOptions
from dln.errors import OptionError
from dln.shrink.simplify.simplify import Effort, choose_effort
from dln.train.fit import FitPlan, Problem
from dln.train.jobs import OnInterrupt
from dln.train.options import check_choice, check_integer
from dln.train.recipe import FitOptions, make_candidates

if TYPE_CHECKING:
    from dln.estimators.classifier import DLNClassifier

_KNOTS = {"quantiles": 33, "range": 2}
"""Knots of each scaling, see `EncodeOptions`."""


def plan_fit(model: DLNClassifier, problem: Problem) -> FitPlan:
    """Plan what to compare and what to train on a table."""
    candidates = make_candidates(
        read_fit_options(model),
        len(problem.target),
        len(problem.classes),
        problem.table.n_columns,
        problem.heaviest_class(),
    )
    encode = EncodeOptions(int(model.n_cutoffs), _KNOTS[model.scaling])
    return FitPlan(candidates, encode, model.validation_fraction)


def read_fit_options(model: DLNClassifier) -> FitOptions:
    """Collect a classifier's options; raises `OptionError` for a parameter out of its range."""
    _check_others(model)
    return FitOptions(
        layers=model.layers,
        n_networks=model.n_networks,
        n_links=model.n_links,
        n_gates=model.n_gates,
        concatenation=model.concatenation,
        tau=model.tau,
        epochs=model.epochs,
        batch_size=model.batch_size,
        rate=model.learning_rate,
        final_rate=model.final_rate,
        threshold_rate=model.threshold_rate,
        slope=model.slope,
        phases=model.phases,
        relaxation=model.relaxation,
        gate_gradient=model.gate_gradient,
        temperature=model.temperature,
        freezing=model.freezing,
        pruning=model.pruning,
        grad_factor=model.grad_factor,
        vote_threshold=model.vote_threshold,
        vote_density=model.vote_density,
        # PyTorch trains networks one by one, which is too slow to compare hundreds of them.
        selection_fits=0 if _is_auto_on_torch(model) else model.selection_fits,
        trace_every=model.trace_every,
    )


def _check_others(model: DLNClassifier) -> None:
    """Check the parameters that `FitOptions` does not contain."""
    check_choice("on_interrupt", model.on_interrupt, get_args(OnInterrupt))
    part = model.validation_fraction
    if isinstance(part, bool) or not isinstance(part, numbers.Real) or not 0 <= part < 1:
        raise OptionError(f"validation_fraction is {part!r}, expected a number from 0 to below 1")
    if model.simplify is not None:
        check_choice("simplify", model.simplify, get_args(Effort))
        choose_effort(model.simplify)
    check_choice("scaling", model.scaling, tuple(_KNOTS))
    check_integer("n_cutoffs", model.n_cutoffs, 1, 10**9)
    if not isinstance(model.verbose, numbers.Integral) or model.verbose < 0:
        raise OptionError(f"verbose is {model.verbose!r}, expected an integer of at least 0")


def _is_auto_on_torch(model: DLNClassifier) -> bool:
    return model.engine == "torch" and isinstance(model.selection_fits, str)
