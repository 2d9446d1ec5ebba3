"""`dln.refit`: learn the rules of an edited circuit again, around those that are locked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.edit_record import EditRecord, Refit
from dln.edits.demands import active_demands, check_demands, guards, meet_demand
from dln.edits.draft import Draft
from dln.errors import OptionError
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
        votes. Its demands (`Editing.force`) are met and proven again.
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
    OptionError
        If a number is not that of a rule, or a demand cannot be met.
    """
    check_is_circuit(circuit, "refit")
    draft = Draft.of(circuit)
    numbers = {draft.find(number, None) for number in _numbers(locked)}
    demands = active_demands(circuit)
    of_demands = {place for demand, named in demands for place in guards(named, [demand])}
    kept = sorted((numbers | set(circuit.locked)) - of_demands)
    given = replace(circuit, locked=tuple(kept)) if kept else None
    learner = clone(model if model is not None else DLNClassifier(random_state=0))
    if learner.rules is not None:
        raise OptionError("the model of a refit has rules already; lock them in the circuit")
    learner.set_params(rules=given)
    learned = learner.fit(X, y, sample_weight=sample_weight).circuit_
    if set(learned.classes) != set(circuit.classes):
        raise OptionError(
            f"the rows have the classes {list(learned.classes)}, "
            f"the circuit has {list(circuit.classes)}"
        )
    found = Draft.of(learned)
    for demand, _ in demands:
        found = meet_demand(found, demand)
    record = EditRecord(Refit(len(y)), who, when, why)
    result = replace(found.circuit, edits=(*circuit.edits, record))
    check_demands(result)
    return result


def _numbers(locked: Iterable[int]) -> list[int]:
    found = list(locked)
    if any(type(number) is not int for number in found):
        raise OptionError(f"locked is {found!r}, expected numbers of rules")
    return found
