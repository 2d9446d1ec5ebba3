"""`dln.refit`: learn the rules of an edited circuit again, around those that are locked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.edit_record import EditRecord, Refit
from dln.core.locked import split_locked
from dln.edits.demands import active_demands, check_demands, guards, meet_demand
from dln.edits.draft import Draft
from dln.errors import OptionError, TaskError
from dln.estimators.classifier import DLNClassifier


def refit(
    circuit: Circuit,
    X: Any,
    y: Any,
    *,
    locked: Iterable[int] = (),
    model: DLNClassifier | None = None,
    sample_weight: Any = None,
    who: str = "",
    when: str = "",
    why: str = "",
) -> Circuit:
    """Learn the rules of a circuit again, except those that are locked.

    Parameters
    ----------
    circuit
        A circuit, for example one that was edited. Its locked rules keep their conditions and
        votes. Its demands (`Editing.force`) are met and proven again. Its constraints are
        satisfied, unless `model` states others.
    X, y, sample_weight
        Training rows, as for `DLNClassifier.fit`.
    locked
        Numbers of further rules to keep, from 1 on as `print(dln.edit(circuit))` shows them. They
        are locked in the result.
    model
        A classifier whose parameters are used, such as `DLNClassifier(max_rules=8)`.
    who, when, why
        Recorded with the refit in `circuit.edits`.

    Returns
    -------
    Circuit
        It has the edits of the given circuit, and a record of the refit.

    Raises
    ------
    TaskError
        If the circuit predicts a number.
    OptionError
        If a number is not that of a rule, or a demand cannot be met.
    """
    check_is_circuit(circuit, "refit")
    if circuit.task == "number":
        raise TaskError(
            f"refit is for classes, but the circuit predicts a number "
            f"({circuit.number_readout.name}); fit a DLNRegressor and edit its circuit instead"
        )
    learner = clone(model if model is not None else DLNClassifier(random_state=0))
    if learner.rules is not None:
        raise OptionError("the model of a refit has rules already; lock them in the circuit")
    learner.set_params(rules=kept_rules(circuit, locked), **kept_constraints(circuit, learner))
    learned = learner.fit(X, y, sample_weight=sample_weight).circuit_
    return carry_over(circuit, learned, EditRecord(Refit(len(y)), who, when, why))


def kept_constraints(circuit: Circuit, learner: DLNClassifier) -> dict[str, Any]:
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
    if set(learned.classes) != set(before.classes):
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
    """Give the columns and classes of a circuit the names of another circuit's."""
    columns = tuple(
        replace(column, name=named.name)
        for column, named in zip(circuit.columns, other.columns, strict=True)
    )
    return replace(
        circuit,
        logic=replace(circuit.logic, columns=columns),
        readout=replace(circuit.class_readout, classes=other.classes),
    )


def _numbers(locked: Iterable[int]) -> list[int]:
    found = list(locked)
    if any(type(number) is not int for number in found):
        raise OptionError(f"locked is {found!r}, expected numbers of rules")
    return found
