"""A draft and an edit -> the edited draft, and the edit with the number and text of its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from dln._util.messages import list_names, no_such_name
from dln.core.builder import LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.edit_record import (
    AddRule,
    ChangeRule,
    Drop,
    Edit,
    Force,
    Lock,
    MoveCutoff,
    Refit,
    Release,
    Rename,
    RenameClass,
    RenameColumn,
    RenameTarget,
    SetBase,
    SetVotes,
    Unlock,
)
from dln.core.labels import Label, label_text
from dln.core.literals import Above, Literal, format_value
from dln.edits.draft import Draft, Entry
from dln.errors import OptionError
from dln.language.comparison import value_of
from dln.language.rules import read_condition


def apply_edit(draft: Draft, edit: Edit) -> tuple[Draft, Edit]:
    """Apply an edit. Demands (`Force`, `Release`) change nothing here; `dln.edits.demands` does."""
    match edit:
        case Drop() | Lock() | Unlock() | ChangeRule() | SetVotes():
            place = draft.find(edit.rule, edit.text)
            recorded = replace(edit, rule=draft.numbers[place], text=draft.text(place))
            return _edit_rule(draft, edit, place), recorded
        case AddRule():
            return _add(draft, edit), edit
        case SetBase():
            draft, given = _amounts(draft, edit, draft.circuit.base_votes)
            return draft.rebuilt(lambda entries, _: entries, base_votes=given), edit
        case MoveCutoff():
            return _move(draft, edit), edit
        case RenameColumn() | RenameClass() | RenameTarget():
            return draft.with_circuit(rename(draft.circuit, edit)), edit
        case Force() | Release():
            return draft, edit
        case Refit():
            raise OptionError(
                "a refit needs training rows; use dln.refit or dln train --rules MODEL"
            )
        case _:
            assert_never(edit)


def _edit_rule(
    draft: Draft, edit: Drop | Lock | Unlock | ChangeRule | SetVotes, place: int
) -> Draft:
    match edit:
        case Drop():
            _refuse_locked(draft, place, "dropped")
            return draft.rebuilt(lambda entries, _: [*entries[:place], *entries[place + 1 :]])
        case Lock():
            return draft.replaced(place, locked=True)
        case Unlock():
            return draft.replaced(place, locked=False)
        case SetVotes():
            _refuse_locked(draft, place, "changed")
            draft, votes = _amounts(draft, edit, _nothing(draft.circuit))
            return draft.replaced(place, votes=votes)
        case ChangeRule():
            _refuse_locked(draft, place, "changed")

            def change(entries: list[Entry], builder: LogicBuilder) -> list[Entry]:
                signal = _condition(edit.to, draft.circuit, builder)
                return [
                    entry._replace(signal=signal) if number == place else entry
                    for number, entry in enumerate(entries)
                ]

            return draft.rebuilt(change)
        case _:
            assert_never(edit)


def _refuse_locked(draft: Draft, place: int, what: str) -> None:
    if place in draft.circuit.locked:
        number = draft.numbers[place]
        raise OptionError(f"rule {number} is locked and cannot be {what}; unlock it first")


def _add(draft: Draft, edit: AddRule) -> Draft:
    draft, votes = _amounts(draft, edit, _nothing(draft.circuit))
    if not any(votes) and draft.circuit.task == "number":
        raise OptionError(f"the rule {edit.text!r} adds nothing; give another amount than 0")
    if not any(votes):
        raise OptionError(f"the rule {edit.text!r} has no votes; give at least one class a vote")

    def change(entries: list[Entry], builder: LogicBuilder) -> list[Entry]:
        signal = _condition(edit.text, draft.circuit, builder)
        return [*entries, Entry(draft.last + 1, signal, votes, edit.locked)]

    return draft.rebuilt(change)


def _condition(text: str, circuit: Circuit, builder: LogicBuilder) -> Signal:
    signal = read_condition(text, circuit.columns, builder)
    if signal.part is None:
        raise OptionError(
            f"the condition {text!r} {'always' if signal.negated else 'never'} holds; "
            "use base votes for votes that every row gets, and drop a rule that never fires"
        )
    return signal


def _amounts(
    draft: Draft, edit: AddRule | SetVotes | SetBase, others: tuple[int, ...]
) -> tuple[Draft, tuple[int, ...]]:
    """Return the votes or points that an edit states.

    The draft of a number gets as many decimals as the points need.
    """
    if draft.circuit.task == "classes":
        if edit.adds is not None:
            raise OptionError(
                "the model predicts classes; give votes by class instead of an amount, such as "
                f"{str(draft.circuit.classes[0])!r} +1"
            )
        return draft, class_votes(draft.circuit, dict(edit.votes), others)
    if edit.adds is None or edit.votes:
        raise OptionError(
            "the model predicts a number and has no classes; give what is added instead of votes, "
            "such as +3.2"
        )
    draft, points = draft.amount(edit.adds)
    return draft, (points,)


def _nothing(circuit: Circuit) -> tuple[int, ...]:
    return (0,) * circuit.readout.n_outputs


def class_votes(
    circuit: Circuit, votes: Mapping[str, int], others: tuple[int, ...]
) -> tuple[int, ...]:
    """Return votes for all classes; classes that are not named get those of `others`."""
    found = list(others)
    for name, vote in votes.items():
        found[find_label(circuit, name)] = vote
    return tuple(found)


def find_label(circuit: Circuit, label: Label) -> int:
    """Return the number of a class, given its label or the text of it."""
    for names in (list(circuit.classes), [str(each) for each in circuit.classes]):
        same = [place for place, each in enumerate(names) if each == label]
        if same:
            return same[0]
    known = [str(each) for each in circuit.classes]
    raise OptionError(no_such_name("class", label, known, "classes"))


# -- cutoffs ----------------------------------------------------------------------------------


def _move(draft: Draft, edit: MoveCutoff) -> Draft:
    circuit = draft.circuit
    index = _find_column(circuit, edit.column)
    before, after = (_number(circuit, index, value) for value in (edit.before, edit.after))
    place = None if edit.rule is None else draft.find(edit.rule, None)
    old, new = Above(index, before), Above(index, after)
    places = range(len(circuit.rules)) if place is None else [place]
    readers = [each for each in places if _reads(circuit, each, old)]
    if not readers:
        _refuse_cutoff(draft, index, before, places)
    for each in readers:
        _refuse_locked(draft, each, "changed")
    moved = draft.rebuilt(
        lambda entries, _: entries,
        literal=lambda builder, literal: builder.literal(new if literal == old else literal),
    )
    if place is None:
        return moved

    # Only this rule changes: the others are taken from the circuit as it was.
    def change(entries: list[Entry], builder: LogicBuilder) -> list[Entry]:
        def literal(each: Literal) -> Signal:
            return builder.literal(new if each == old else each)

        signal = builder.copy(circuit.logic, literal)[circuit.rules[place].wire]
        return [
            entry._replace(signal=signal) if number == place else entry
            for number, entry in enumerate(entries)
        ]

    return draft.rebuilt(change)


def _reads(circuit: Circuit, place: int, literal: Above) -> bool:
    cone = circuit.logic.cone([circuit.rules[place].wire])
    return any(wire < circuit.n_literals and circuit.literals[wire] == literal for wire in cone)


def _refuse_cutoff(draft: Draft, index: int, cutoff: float, places: Iterable[int]) -> None:
    circuit = draft.circuit
    column = circuit.columns[index]
    cone = circuit.logic.cone(circuit.rules[place].wire for place in places)
    found = {
        each
        for wire in cone
        if wire < circuit.n_literals and circuit.literals[wire].column == index
        for each in circuit.literals[wire].cutoffs
    }
    known = list_names(format_value(each, column) for each in sorted(found)) or "none"
    raise OptionError(
        f"no rule compares {column.name!r} with {format_value(cutoff, column)}; "
        f"its cutoffs are: {known}"
    )


def _number(circuit: Circuit, index: int, value: float | str) -> float:
    column = circuit.columns[index]
    if not column.is_numeric:
        raise OptionError(f"column {column.name!r} holds categories and has no cutoffs")
    number = value_of(value, column) if isinstance(value, str) else value
    if number is None:
        expected = "a date such as 2024-05-31" if column.kind == "date" else "a number"
        raise OptionError(f"cutoff {value!r} of column {column.name!r} is not {expected}")
    return number


# -- names ------------------------------------------------------------------------------------


def rename(circuit: Circuit, edit: Rename) -> Circuit:
    """Rename a column, a class or the number that is predicted."""
    match edit:
        case RenameColumn():
            index = _find_column(circuit, edit.column)
            if any(column.name == edit.to for column in circuit.columns):
                raise OptionError(f"there is a column {edit.to!r} already; use another name")
            columns = tuple(
                replace(column, name=edit.to) if number == index else column
                for number, column in enumerate(circuit.columns)
            )
            return replace(circuit, logic=replace(circuit.logic, columns=columns))
        case RenameClass():
            number = find_label(circuit, edit.label)
            if edit.to in circuit.classes:
                raise OptionError(f"there is a class {label_text(edit.to)} already")
            classes = tuple(
                edit.to if place == number else label for place, label in enumerate(circuit.classes)
            )
            return replace(circuit, readout=replace(circuit.class_readout, classes=classes))
        case RenameTarget():
            return replace(circuit, readout=replace(circuit.number_readout, name=edit.to))
        case _:
            assert_never(edit)


def _find_column(circuit: Circuit, name: str) -> int:
    names = [column.name for column in circuit.columns]
    if name not in names:
        raise OptionError(no_such_name("column", name, names))
    return names.index(name)
