"""Edits on the command line, as text -> edits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from dln.core.circuit import Circuit
from dln.core.edit_record import (
    AddRule,
    ChangeRule,
    Drop,
    Edit,
    Force,
    Lock,
    MoveCutoff,
    Release,
    RenameClass,
    RenameColumn,
    RenameTarget,
    SetBase,
    SetVotes,
    Unlock,
)
from dln.core.labels import Label
from dln.errors import OptionError
from dln.language.comparison import NUMBER

Read = Callable[[Circuit, str], Edit]


def read_edits(circuit: Circuit, options: Mapping[str, Sequence[str] | None]) -> list[Edit]:
    """Read the texts of the options, in the order in which the edits are applied."""
    return [_READERS[name](circuit, text) for name in _READERS for text in options[name] or ()]


def _drop(_: Circuit, text: str) -> Edit:
    return Drop(*_rule(text))


def _lock(_: Circuit, text: str) -> Edit:
    return Lock(*_rule(text))


def _unlock(_: Circuit, text: str) -> Edit:
    return Unlock(*_rule(text))


def _change(_: Circuit, text: str) -> Edit:
    number, rule = _numbered(text, "--change", "3: age > 54 and smoker")
    return ChangeRule(number, to=rule)


def _votes(circuit: Circuit, text: str) -> Edit:
    is_number = circuit.task == "number"
    number, votes = _numbered(text, "--votes", "3: +2.5" if is_number else "3: ill +2")
    if is_number:
        return SetVotes(number, adds=_read_amount(votes, "--votes"))
    return SetVotes(number, votes=_read_votes(votes, "--votes"))


def _base(circuit: Circuit, text: str) -> Edit:
    if circuit.task == "number":
        return SetBase(adds=_read_amount(text, "--base"))
    return SetBase(_read_votes(text, "--base"))


def _add(circuit: Circuit, text: str) -> Edit:
    is_number = circuit.task == "number"
    votes, colon, rule = text.partition(": ")
    if not colon or not rule.strip():
        expected = "an amount" if is_number else "votes"
        example = "+2.5: age > 54" if is_number else "ill +2: age > 54"
        raise OptionError(
            f"--add is {text!r}, expected {expected}, a colon and a condition: {example!r}"
        )
    if is_number:
        return AddRule(rule.strip(), adds=_read_amount(votes, "--add"))
    return AddRule(rule.strip(), _read_votes(votes, "--add"))


def _move(_: Circuit, text: str) -> Edit:
    number, rest = None, text
    first, colon, after = text.partition(": ")
    if colon and first.strip().isdigit():
        number, rest = int(first), after
    start, word, end = rest.rpartition(" to ")
    column, space, before = start.strip().rpartition(" ")
    if not word or not space or not end.strip():
        raise OptionError(
            f"--move is {text!r}, expected a column, its cutoff and the new one: 'age 54 to 60', "
            "or '3: age 54 to 60' for rule 3 alone"
        )
    return MoveCutoff(column.strip(), _cutoff(before), _cutoff(end.strip()), number)


def _rename_column(_: Circuit, text: str) -> Edit:
    return RenameColumn(*_pair(text, "--rename-column", "age=years"))


def _rename_class(circuit: Circuit, text: str) -> Edit:
    old, new = _pair(text, "--rename-class", "ill=sick")
    return RenameClass(_label(circuit, old), new)


def _rename_target(_: Circuit, text: str) -> Edit:
    return RenameTarget(text)


def _at_least(_: Circuit, text: str) -> Edit:
    where, limit = _bound(text, "--at-least")
    return Force(where, at_least=limit)


def _at_most(_: Circuit, text: str) -> Edit:
    where, limit = _bound(text, "--at-most")
    return Force(where, at_most=limit)


def _never(circuit: Circuit, text: str) -> Edit:
    return Force(*_demand(circuit, text, "--never"), never=True)


def _always(circuit: Circuit, text: str) -> Edit:
    return Force(*_demand(circuit, text, "--always"), never=False)


def _release(circuit: Circuit, text: str) -> Edit:
    if circuit.task == "number":
        if text.startswith("at least "):
            where, limit = _bound(text.removeprefix("at least "), "--release")
            return Release(where, at_least=limit)
        if text.startswith("at most "):
            where, limit = _bound(text.removeprefix("at most "), "--release")
            return Release(where, at_most=limit)
        raise OptionError(f"--release is {text!r}, expected a demand: 'at least 3: age <= 18'")
    word, _, rest = text.partition(" ")
    if word not in ("never", "always"):
        raise OptionError(f"--release is {text!r}, expected a demand: 'never ill: age <= 18'")
    return Release(*_demand(circuit, rest, "--release"), never=word == "never")


_READERS: dict[str, Read] = {
    "change": _change,
    "move": _move,
    "votes": _votes,
    "base": _base,
    "add": _add,
    "drop": _drop,
    "lock": _lock,
    "unlock": _unlock,
    "release": _release,
    "never": _never,
    "always": _always,
    "at_least": _at_least,
    "at_most": _at_most,
    "rename_column": _rename_column,
    "rename_class": _rename_class,
    "rename_target": _rename_target,
}
"""How each option is read, in the order of application."""


def _rule(text: str) -> tuple[int | None, str | None]:
    return (int(text), None) if text.strip().isdigit() else (None, text)


def _numbered(text: str, option: str, example: str) -> tuple[int, str]:
    number, colon, rest = text.partition(":")
    if not colon or not number.strip().isdigit() or not rest.strip():
        raise OptionError(
            f"{option} is {text!r}, expected the number of a rule and a colon: {example!r}"
        )
    return int(number), rest.strip()


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not sign or not old or not new:
        raise OptionError(f"{option} is {text!r}, expected two names: {example!r}")
    return old, new


def _read_votes(text: str, option: str) -> tuple[tuple[str, int], ...]:
    votes = {}
    for part in text.split(","):
        label, _, number = part.strip().rpartition(" ")
        try:
            votes[label.strip()] = int(number)
        except ValueError:
            label = ""
        if not label:
            raise OptionError(
                f"{option} has the votes {part.strip()!r}, expected a class and a whole number: "
                "'ill +2'"
            )
    return tuple(votes.items())


def _read_amount(text: str, option: str) -> float:
    amount = text.strip()
    if not NUMBER.fullmatch(amount) or not math.isfinite(float(amount)):
        raise OptionError(
            f"{option} has the amount {amount!r}, expected a number, since the model predicts one: "
            "'+2.5'"
        )
    return float(amount)


def _bound(text: str, option: str) -> tuple[str, float]:
    limit, colon, where = text.partition(":")
    is_number = NUMBER.fullmatch(limit.strip()) and math.isfinite(float(limit))
    if not colon or not is_number or not where.strip():
        raise OptionError(
            f"{option} is {text!r}, expected a number, a colon and a condition: '3: age <= 18'"
        )
    return where.strip(), float(limit)


def _cutoff(text: str) -> float | str:
    return float(text) if NUMBER.fullmatch(text) else text


def _demand(circuit: Circuit, text: str, option: str) -> tuple[str, Label]:
    if circuit.task == "number":
        raise OptionError(
            f"{option} is for classes, and the model predicts a number; use --at-least or "
            "--at-most, such as --at-least '3: age <= 18'"
        )
    # A class may contain a colon: the longest label that fits is meant.
    fits = [label for label in circuit.classes if text.startswith(f"{label}: ")]
    if not fits:
        name, colon, _ = text.partition(": ")
        if not colon:
            raise OptionError(f"{option} is {text!r}, expected 'CLASS: CONDITION'")
        return text[len(name) + 2 :].strip(), name
    label = max(fits, key=lambda each: len(str(each)))
    return text[len(str(label)) + 2 :].strip(), label


def _label(circuit: Circuit, text: str) -> Label:
    labels = circuit.classes if circuit.task == "classes" else ()
    return next((label for label in labels if str(label) == text), text)
