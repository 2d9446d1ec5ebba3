"""`dln.refit`: learn the rules of an edited circuit again, around those that are locked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from dln._util.messages import type_name
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.edit_record import EditRecord, Refit
from dln.core.locked import split_locked
from dln.core.readout import Readout
from dln.core.score import Score
from dln.edits.demands import active_demands, check_demands, guards, meet_demand
from dln.edits.draft import Draft
from dln.errors import OptionError
from dln.estimators.classifier import DLNClassifier
from dln.estimators.plan import read_number_parameters
from dln.estimators.regressor import DLNRegressor


def refit(
    circuit: Circuit,
    X: Any,
    y: Any,
    *,
    locked: Iterable[int] = (),
    model: DLNClassifier | DLNRegressor | None = None,
    sample_weight: Any = None,
    who: str = "",
    when: str = "",
    why: str = "",
) -> Circuit:
    """Learn the rules of a circuit again, except those that are locked.

    Parameters
    ----------
    circuit
        A circuit, for example one that was edited. Its locked rules keep their conditions, and
        their votes or what they add to a number. Its demands (`Editing.force`) are met and proven
        again. Its constraints are satisfied, unless `model` states others.
    X, y, sample_weight
        Training rows, as for `DLNClassifier.fit` or `DLNRegressor.fit`.
    locked
        Numbers of further rules to keep, from 1 on as `print(dln.edit(circuit))` shows them. They
        are locked in the result.
    model
        An estimator whose parameters are used, such as `DLNClassifier(max_rules=8)`. A circuit that
        predicts a number needs a `DLNRegressor`; state its loss if that is not "squared".
    who, when, why
        Recorded with the refit in `circuit.edits`.

    Returns
    -------
    Circuit
        It has the edits of the given circuit, and a record of the refit.

    Raises
    ------
    OptionError
        If a number is not that of a rule, a demand cannot be met, or the model does not suit the
        circuit.
    """
    check_is_circuit(circuit, "refit")
    learner = _learner(circuit, model)
    if learner.rules is not None:
        raise OptionError("the model of a refit has rules already; lock them in the circuit")
    learner.set_params(rules=kept_rules(circuit, locked), **kept_constraints(circuit, learner))
    learned = learner.fit(X, y, sample_weight=sample_weight).circuit_
    return carry_over(circuit, learned, EditRecord(Refit(len(y)), who, when, why))


def _learner(
    circuit: Circuit, model: DLNClassifier | DLNRegressor | None
) -> DLNClassifier | DLNRegressor:
    """Return a copy of the model, or the default one for what the circuit predicts."""
    wanted = DLNClassifier if circuit.task == "classes" else DLNRegressor
    if model is None:
        learner = wanted(random_state=0)
    elif isinstance(model, wanted):
        learner = clone(model)
    else:
        predicts = "classes" if circuit.task == "classes" else "a number"
        raise OptionError(
            f"model is {type_name(model)}, but the circuit predicts {predicts}; give a "
            f"{wanted.__name__}"
        )
    if isinstance(learner, DLNRegressor):
        own, link = circuit.number_readout.link, read_number_parameters(learner).losses[0].link
        if own != link:
            raise OptionError(
                f"the circuit has the link {own!r}, but loss={learner.loss!r} has {link!r}; give "
                "the model of the refit the loss that the circuit was trained with"
            )
    return learner


def kept_constraints(circuit: Circuit, learner: DLNClassifier | DLNRegressor) -> dict[str, Any]:
    """Return the constraints of a circuit as parameters, unless the learner states its own."""
    constraints = circuit.constraints
    if constraints is None:
        return {}
    asked = constraints.to_parameters()
    return {} if any(getattr(learner, name) is not None for name in asked) else asked


def kept_rules(circuit: Circuit, locked: Iterable[int] = ()) -> Circuit | None:
    """Return the rules that a refit keeps, alone: locked ones and those with these numbers.

    The rules of demands are left out, since demands are met again. None if no rule is left.
    """
    draft = Draft.of(circuit)
    numbers = {draft.find(number, None) for number in _numbers(locked)}
    of_demands = {
        place for demand, named in active_demands(circuit) for place in guards(named, [demand])
    }
    kept = sorted((numbers | set(circuit.locked)) - of_demands)
    if not kept:
        return None
    _, alone = split_locked(replace(circuit, locked=tuple(kept), origin=None, edits=()))
    return alone


def carry_over(before: Circuit, learned: Circuit, record: EditRecord) -> Circuit:
    """Return a learned circuit with the edits and the demands of the one before, proven again."""
    if isinstance(before.readout, Score):
        name = before.readout.name
        learned = replace(learned, readout=replace(learned.number_readout, name=name))
    elif set(learned.classes) != set(before.classes):
        raise OptionError(
            f"the rows have the classes {list(learned.classes)}, "
            f"the circuit has {list(before.classes)}"
        )
    found = Draft.of(learned)
    # A demand is in the words of its time; columns and classes may have been renamed since.
    for demand, named in active_demands(replace(learned, edits=before.edits)):
        met = meet_demand(found.with_circuit(_named_like(found.circuit, named)), demand)
        found = met.with_circuit(_named_like(met.circuit, learned))
    result = replace(found.circuit, edits=(*before.edits, record))
    check_demands(result)
    return result


def _named_like(circuit: Circuit, other: Circuit) -> Circuit:
    """Give the columns of a circuit, and its classes or its number, the names of another's."""
    columns = tuple(
        replace(column, name=named.name)
        for column, named in zip(circuit.columns, other.columns, strict=True)
    )
    readout: Readout
    if isinstance(circuit.readout, Score):
        readout = replace(circuit.readout, name=other.number_readout.name)
    else:
        readout = replace(circuit.readout, classes=other.classes)
    return replace(circuit, logic=replace(circuit.logic, columns=columns), readout=readout)


def _numbers(locked: Iterable[int]) -> list[int]:
    found = list(locked)
    if any(type(number) is not int for number in found):
        raise OptionError(f"locked is {found!r}, expected numbers of rules")
    return found
