"""Edits of a circuit as plain records: what was changed, by whom, when and why.

They are kept in the model file, and files of edits hold them too. `dln.edits` applies them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar

from dln.core.labels import Label, label_from_json, label_to_json


def _part(name: str, read: Callable[[Any], Any], *instead: str) -> dict[str, Any]:
    """Describe a field: its name in JSON, the function that checks its value, and replacements.

    A field without a value may be left out of a file if one of the replacements is there.
    """
    return {"name": name, "read": read, "instead": instead}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def _some_text(value: Any) -> str:
    if not _text(value).strip():
        raise ValueError("expected text that is not empty")
    return str(value)


def _rule_number(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("expected the number of a rule, from 1 on")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("expected true or false")
    return value


def _number_or_date(value: Any) -> float | str:
    if isinstance(value, str):
        return value
    if type(value) in (int, float) and abs(value) < 2.0**1023:
        return float(value)
    raise ValueError("expected a number, or a date as text")


def _number(value: Any) -> float:
    if type(value) in (int, float) and abs(value) < 2.0**1023:
        return float(value)
    raise ValueError("expected a number")


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("expected a whole number")
    return value


def _votes(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError('expected votes for classes, such as {"ill": 2}')
    for label, vote in value.items():
        if not isinstance(label, str) or type(vote) is not int:
            raise ValueError('expected whole numbers of votes for classes, such as {"ill": 2}')
    return tuple(value.items())


@dataclass(frozen=True)
class _OfRule:
    """An edit of one rule: its number, its text, or both, which must then agree."""

    rule: int | None = field(default=None, metadata=_part("rule", _rule_number))
    text: str | None = field(default=None, metadata=_part("text", _some_text))

    def __post_init__(self) -> None:
        if self.rule is None and self.text is None:
            raise ValueError('expected "rule", the number of a rule, or "text", the rule itself')


@dataclass(frozen=True)
class Drop(_OfRule):
    """Remove a rule."""

    action: ClassVar = "drop"


@dataclass(frozen=True)
class Lock(_OfRule):
    """Lock a rule: simplification, pruning and another fit keep it and its votes."""

    action: ClassVar = "lock"


@dataclass(frozen=True)
class Unlock(_OfRule):
    """Unlock a rule."""

    action: ClassVar = "unlock"


@dataclass(frozen=True)
class ChangeRule(_OfRule):
    """Replace the condition of a rule; its votes stay."""

    to: str = field(default="", metadata=_part("to", _some_text))
    action: ClassVar = "change"


@dataclass(frozen=True)
class SetVotes(_OfRule):
    """Set the votes of a rule; classes that are not named get none. For a number: what it adds."""

    votes: tuple[tuple[str, int], ...] = field(default=(), metadata=_part("votes", _votes, "adds"))
    adds: float | None = field(default=None, metadata=_part("adds", _number))
    action: ClassVar = "votes"


@dataclass(frozen=True)
class AddRule:
    """Add a rule with votes by class or, for a number, with what it adds."""

    text: str = field(metadata=_part("text", _some_text))
    votes: tuple[tuple[str, int], ...] = field(default=(), metadata=_part("votes", _votes, "adds"))
    locked: bool = field(default=False, metadata=_part("locked", _truth))
    adds: float | None = field(default=None, metadata=_part("adds", _number))
    action: ClassVar = "add"


@dataclass(frozen=True)
class SetBase:
    """Set the votes that every row has; classes that are not named keep theirs.

    For a number: what the score is before any rule adds to it.
    """

    votes: tuple[tuple[str, int], ...] = field(default=(), metadata=_part("votes", _votes, "adds"))
    adds: float | None = field(default=None, metadata=_part("adds", _number))
    action: ClassVar = "base"


@dataclass(frozen=True)
class MoveCutoff:
    """Move a cutoff of a column, in one rule or in all rules that compare with it."""

    column: str = field(metadata=_part("column", _text))
    before: float | str = field(metadata=_part("from", _number_or_date))
    after: float | str = field(metadata=_part("to", _number_or_date))
    rule: int | None = field(default=None, metadata=_part("rule", _rule_number))
    action: ClassVar = "cutoff"


@dataclass(frozen=True)
class RenameColumn:
    """Give a column another name."""

    column: str = field(metadata=_part("column", _text))
    to: str = field(metadata=_part("to", _text))
    action: ClassVar = "rename column"


@dataclass(frozen=True)
class RenameClass:
    """Give a class another label."""

    label: Label = field(metadata=_part("class", label_from_json))
    to: Label = field(metadata=_part("to", label_from_json))
    action: ClassVar = "rename class"


@dataclass(frozen=True)
class RenameTarget:
    """Give the number that is predicted another name."""

    to: str = field(metadata=_part("to", _text))
    action: ClassVar = "rename target"


@dataclass(frozen=True)
class _Demand:
    """A class is never, or always, predicted under a condition; or a number stays within limits."""

    where: str = field(metadata=_part("where", _some_text))
    label: Label | None = field(
        default=None, metadata=_part("class", label_from_json, "at least", "at most")
    )
    never: bool = field(default=True, metadata=_part("never", _truth))
    at_least: float | None = field(default=None, metadata=_part("at least", _number))
    at_most: float | None = field(default=None, metadata=_part("at most", _number))

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The least and the largest number that may be predicted."""
        return self.at_least, self.at_most

    @property
    def key(self) -> tuple[Any, ...]:
        """What is demanded; a demand and its release have the same key."""
        return self.where, self.label, self.never, *self.limits


@dataclass(frozen=True)
class Force(_Demand):
    """Make a demand."""

    action: ClassVar = "force"


@dataclass(frozen=True)
class Release(_Demand):
    """Take a demand back; its rule, if it needed one, can then be dropped."""

    action: ClassVar = "release"


@dataclass(frozen=True)
class Refit:
    """Learn all rules again that are not locked; `n_rows` is the number of training rows."""

    n_rows: int = field(metadata=_part("rows", _count))
    action: ClassVar = "refit"


OfRule = Drop | Lock | Unlock | ChangeRule | SetVotes
Rename = RenameColumn | RenameClass | RenameTarget
Edit = OfRule | AddRule | SetBase | MoveCutoff | Rename | Force | Release | Refit

_KINDS: dict[str, type[Any]] = {
    kind.action: kind
    for kind in (
        *(Drop, ChangeRule, AddRule, SetVotes, SetBase, Lock, Unlock, MoveCutoff),
        *(RenameColumn, RenameClass, RenameTarget, Force, Release, Refit),
    )
}
_ABOUT = ("who", "when", "why")


@dataclass(frozen=True)
class EditRecord:
    """An edit, and who made it, when and why.

    Attributes
    ----------
    edit
        What was changed.
    who, when, why
        As the person who made the edit stated them; "" if not stated.
    """

    edit: Edit
    who: str = ""
    when: str = ""
    why: str = ""

    def __str__(self) -> str:
        """Write the edit as one line.

        >>> print(EditRecord(Drop(3, "age > 54"), who="A. Weber", why="not causal"))
        drop: rule 3, text 'age > 54' (A. Weber: not causal)
        """
        parts = {name: value for name, value in self.to_dict().items() if name not in _ABOUT}
        parts.pop("edit")
        details = ", ".join(f"{name} {_shown(value)}" for name, value in parts.items())
        by = ", ".join(text for text in (self.who, self.when) if text)
        about = ": ".join(text for text in (by, self.why) if text)
        return f"{self.edit.action}: {details}" + (f" ({about})" if about else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the model file and for files of edits."""
        document: dict[str, Any] = {"edit": self.edit.action}
        for part in fields(self.edit):
            value = getattr(self.edit, part.name)
            if value != part.default:
                document[part.metadata["name"]] = _to_json(value)
        return {**document, **{name: text for name in _ABOUT if (text := getattr(self, name))}}

    @classmethod
    def from_dict(cls, document: Any) -> EditRecord:
        """Read what `to_dict` returned; raises ValueError for anything else.

        >>> record = EditRecord(Drop(3), who="A. Weber", why="not causal")
        >>> record.to_dict()
        {'edit': 'drop', 'rule': 3, 'who': 'A. Weber', 'why': 'not causal'}
        >>> EditRecord.from_dict(record.to_dict()) == record
        True
        """
        if not isinstance(document, Mapping):
            raise ValueError('expected an object in "{ }"')
        kind = _KINDS.get(document.get("edit", "")) if _is_text(document.get("edit")) else None
        if kind is None:
            found = reprlib.repr(document.get("edit"))
            raise ValueError(f'"edit" is {found}, expected one of {", ".join(_KINDS)}')
        parts = {part.metadata["name"]: part for part in fields(kind)}
        for name in document:
            if name not in ("edit", *parts, *_ABOUT):
                known = ", ".join((*parts, *_ABOUT))
                raise ValueError(f"{reprlib.repr(name)} is none of {known}")
        values = {}
        for name, part in parts.items():
            if name in document:
                values[part.name] = _read(name, document[name], part.metadata["read"])
            elif not any(other in document for other in part.metadata["instead"]) and (
                part.default is MISSING or part.default in ("", ()) or part.metadata["instead"]
            ):
                raise ValueError(f'"{name}" is missing')
        about = {name: _read(name, document.get(name, ""), _text) for name in _ABOUT}
        return cls(kind(**values), **about)


def _shown(value: Any) -> str:
    if isinstance(value, dict) and all(type(vote) is int for vote in value.values()):
        return " ".join(f"{label} {vote:+d}" for label, vote in value.items())
    return repr(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _read(name: str, value: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f'"{name}" is {reprlib.repr(value)}: {error}') from error


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return dict(value)
    return value if value is None else label_to_json(value)
