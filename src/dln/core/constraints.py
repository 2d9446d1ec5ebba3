"""Constraints: what the rules of a circuit may read, and in which direction they may vote.

A rule satisfies constraints on its own: its columns may occur together, and each of its votes
pushes in the allowed direction. Sums of such rules satisfy them too. So training needs only masks,
and a circuit is checked rule by rule (`dln.core.obedience`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple
from typing import Literal as OneOf

from dln._util.messages import list_names, type_name
from dln._util.option import check_integer
from dln.core.labels import Label, label_from_json, label_text, label_to_json, plain_labels
from dln.core.literals import Column, format_name
from dln.errors import OptionError

Sign = OneOf["+", "-"]
THE_PREDICTION = "the prediction"
"""What a predicted number is called where its name is not known."""


class Monotone(NamedTuple):
    """A class only gains ("+") or only loses ("-") as a column grows.

    Without a label, it is the predicted number that only grows or only shrinks.
    """

    column: str
    sign: Sign
    label: Label | None

    @property
    def direction(self) -> int:
        """The sign as a number, 1 or -1."""
        return 1 if self.sign == "+" else -1


@dataclass(frozen=True)
class Constraints:
    """What the rules of a circuit satisfy. Columns are named as in the user's table.

    Attributes
    ----------
    monotone
        Columns with a direction. With two classes all refer to the second class.
    interactions
        Groups of columns. Only columns of the same group occur together in a rule; None: any may.
    forbidden_pairs
        Pairs of columns that never occur together in a rule.
    unused_columns
        Columns that no rule reads.
    max_columns_per_rule
        Maximum number of columns in a rule; None: no limit.

    Examples
    --------
    >>> print(Constraints((Monotone("age", "+", "ill"),), unused_columns=("name",)))
    ill never loses as age grows
    no rule reads name
    """

    monotone: tuple[Monotone, ...] = ()
    interactions: tuple[tuple[str, ...], ...] | None = None
    forbidden_pairs: tuple[tuple[str, str], ...] = ()
    unused_columns: tuple[str, ...] = ()
    max_columns_per_rule: int | None = None

    def __bool__(self) -> bool:
        return self != Constraints()

    def lines(self, target: str = THE_PREDICTION) -> list[str]:
        """Write each constraint as a claim. `target` is what a predicted number is called."""
        found = [monotone_claim(own, target) for own in self.monotone]
        if self.interactions is not None:
            groups = "; ".join(", ".join(map(format_name, group)) for group in self.interactions)
            only = f"only columns of the same group occur together in a rule: {groups}"
            found.append(only if groups else "every rule reads a single column")
        found += [
            f"{format_name(a)} and {format_name(b)} never occur together in a rule"
            for a, b in self.forbidden_pairs
        ]
        if self.unused_columns:
            found.append(f"no rule reads {' or '.join(map(format_name, self.unused_columns))}")
        if self.max_columns_per_rule is not None:
            n = self.max_columns_per_rule
            found.append(f"every rule reads at most {n} column{'' if n == 1 else 's'}")
        return found

    def to_parameters(self) -> dict[str, Any]:
        """Return the constraints as the parameters of an estimator that ask for them.

        >>> Constraints((Monotone("age", "+", "ill"),)).to_parameters()["monotone"]
        {'ill': {'age': '+'}}
        """
        monotone: dict[Any, Any] = {}
        for column, sign, label in self.monotone:
            own = monotone if label is None else monotone.setdefault(label, {})
            own[column] = sign
        return {
            "monotone": monotone or None,
            "interactions": self.interactions,
            "forbidden_pairs": self.forbidden_pairs or None,
            "unused_columns": self.unused_columns or None,
            "max_columns_per_rule": self.max_columns_per_rule,
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def check(self, columns: Sequence[Column], outputs: Sequence[Label | None]) -> None:
        """Raise `OptionError` for a column or a class that is not there, or a contradiction.

        `outputs` are the classes, or (None,) for an answer that is a number.
        """
        kinds = {column.name: column for column in columns}
        for name, used in self._named().items():
            _check_known(name, used, kinds)
        signs: dict[tuple[str, Label | None], Sign] = {}
        for column, sign, label in self.monotone:
            if sign not in ("+", "-"):
                raise OptionError(f'monotone has {sign!r} for {column!r}, expected "+" or "-"')
            if not kinds[column].is_numeric:
                raise OptionError(
                    f"monotone names {column!r}, which has categories and so no order; name "
                    "columns of numbers, booleans or dates"
                )
            if label not in outputs:
                raise OptionError(
                    f"monotone names the class {label!r}, but the classes are "
                    f"{list_names(map(repr, outputs))}"
                )
            if signs.setdefault((column, label), sign) != sign:
                raise OptionError(f"monotone asks for both directions of {column!r}")
        for column in {column for column, _ in signs} if len(outputs) > 1 else ():
            found = {signs.get((column, label)) for label in outputs}
            if len(found) == 1:
                raise OptionError(
                    f"monotone asks all classes for the same direction of {column!r}; a class can "
                    "only gain if another loses"
                )
        self._check_columns(kinds)

    def _named(self) -> dict[str, list[str]]:
        """List the columns that each constraint names."""
        return {
            "monotone": [own.column for own in self.monotone],
            "interactions": [name for group in self.interactions or () for name in group],
            "forbidden_pairs": [name for pair in self.forbidden_pairs for name in pair],
            "unused_columns": list(self.unused_columns),
        }

    def _check_columns(self, columns: Mapping[str, Column]) -> None:
        unused = set(self.unused_columns)
        named = self._named()
        for other in ("monotone", "interactions", "forbidden_pairs"):
            for name in named[other]:
                if name in unused:
                    raise OptionError(
                        f"{name!r} is in {other} and in unused_columns; leave it out of one of them"
                    )
        if unused and unused >= set(columns):
            raise OptionError("unused_columns names every column; leave at least one to learn from")
        forbidden = {frozenset(pair) for pair in self.forbidden_pairs}
        for group in self.interactions or ():
            for pair in combinations(group, 2):
                if frozenset(pair) in forbidden:
                    raise OptionError(
                        f"{pair[0]!r} and {pair[1]!r} are in a group of interactions and in "
                        "forbidden_pairs; leave the pair out of one of them"
                    )
        if self.max_columns_per_rule is not None:
            check_integer("max_columns_per_rule", self.max_columns_per_rule, 1, 10**9)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is not constrained is left out."""
        found: dict[str, Any] = {}
        if self.monotone:
            found["monotone"] = [_monotone_to_dict(own) for own in self.monotone]
        if self.interactions is not None:
            found["interactions"] = [list(group) for group in self.interactions]
        if self.forbidden_pairs:
            found["forbidden_pairs"] = [list(pair) for pair in self.forbidden_pairs]
        if self.unused_columns:
            found["unused_columns"] = list(self.unused_columns)
        if self.max_columns_per_rule is not None:
            found["max_columns_per_rule"] = self.max_columns_per_rule
        return found

    @classmethod
    def from_dict(cls, document: Any) -> Constraints:
        """Read what `to_dict` returns; raises ValueError for anything else."""
        known = ("monotone", *_ABOUT_COLUMNS)
        if not isinstance(document, dict) or any(name not in known for name in document):
            raise ValueError(f"constraints: expected an object with some of {', '.join(known)}")
        given = document.get("monotone", [])
        if not isinstance(given, list):
            raise ValueError("constraints: expected a list of monotone columns")
        try:
            about = _read_about_columns(*(document.get(name) for name in _ABOUT_COLUMNS))
        except OptionError as error:
            raise ValueError(f"constraints: {error}") from error
        return cls(tuple(map(_monotone_from_dict, given)), **about)


_ABOUT_COLUMNS = ("interactions", "forbidden_pairs", "unused_columns", "max_columns_per_rule")


def read_constraints(
    outputs: Sequence[Label | None],
    *,
    monotone: Any = None,
    interactions: Any = None,
    forbidden_pairs: Any = None,
    unused_columns: Any = None,
    max_columns_per_rule: Any = None,
) -> Constraints:
    """Read constraints as users give them; raises `OptionError`. `check` compares with columns.

    >>> read_constraints(("no", "yes"), monotone={"age": "+"}).monotone
    (Monotone(column='age', sign='+', label='yes'),)
    >>> read_constraints(("no", "yes"), monotone={"no": {"age": "+"}}).monotone
    (Monotone(column='age', sign='-', label='yes'),)
    """
    about = _read_about_columns(interactions, forbidden_pairs, unused_columns, max_columns_per_rule)
    return Constraints(_read_monotone(monotone, outputs), **about)


def monotone_claim(own: Monotone, target: str = THE_PREDICTION) -> str:
    """Write that a class only gains or only loses, or that a number only grows or only shrinks."""
    who = target if own.label is None else label_text(own.label)
    verbs = {"+": "falls", "-": "rises"} if own.label is None else {"+": "loses", "-": "gains"}
    return f"{who} never {verbs[own.sign]} as {format_name(own.column)} grows"


def _read_monotone(given: Any, outputs: Sequence[Label | None]) -> tuple[Monotone, ...]:
    if given is None:
        return ()
    expected = 'expected a dict such as {"age": "+", "income": "-"}'
    if not isinstance(given, Mapping):
        raise OptionError(f"monotone is {given!r}, {expected}")
    nested = [isinstance(signs, Mapping) for signs in given.values()]
    if not any(nested):
        if len(outputs) > 2:
            raise OptionError(
                f"monotone must name the class that gains or loses, as there are {len(outputs)}: "
                f'for example {{{outputs[-1]!r}: {{"age": "+"}}}}'
            )
        return tuple(Monotone(str(name), sign, outputs[-1]) for name, sign in given.items())
    if not all(nested) or len(outputs) == 1:
        raise OptionError(f"monotone is {given!r}, {expected} or one such dict for each class")
    found = []
    for key, signs in given.items():
        (label,) = plain_labels([key])
        for name, sign in signs.items():
            if len(outputs) == 2 and label == outputs[0] and sign in ("+", "-"):
                found.append(Monotone(str(name), "-" if sign == "+" else "+", outputs[1]))
            else:
                found.append(Monotone(str(name), sign, label))
    return tuple(dict.fromkeys(found))


def _read_about_columns(
    interactions: Any, forbidden_pairs: Any, unused_columns: Any, max_columns_per_rule: Any
) -> dict[str, Any]:
    groups = None
    if interactions is not None:
        groups = tuple(
            _read_names("interactions", group, 2) for group in _listed("interactions", interactions)
        )
    pairs = tuple(
        _read_names("forbidden_pairs", pair, 2, 2)
        for pair in _listed("forbidden_pairs", forbidden_pairs)
    )
    if max_columns_per_rule is not None:
        check_integer("max_columns_per_rule", max_columns_per_rule, 1, 10**9)
    return {
        "interactions": groups,
        "forbidden_pairs": pairs,
        "unused_columns": _read_names("unused_columns", unused_columns or (), 0),
        "max_columns_per_rule": max_columns_per_rule,
    }


def _listed(option: str, given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise OptionError(f"{option} is {given!r}, expected a list of lists of column names")
    return list(given)


def _read_names(option: str, given: Any, least: int, most: int | None = None) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise OptionError(f"{option} has {given!r}, expected a list of column names")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"{option} has {name!r}, {type_name(name)}; expected a column name")
    if len(set(names)) < len(names):
        raise OptionError(f"{option} has {list(names)!r}, which names a column twice")
    if len(names) < least or len(names) > (len(names) if most is None else most):
        expected = "two columns" if least == most else f"at least {least} columns"
        raise OptionError(f"{option} has {list(names)!r}, expected {expected}")
    return names


def _check_known(option: str, names: Sequence[str], known: Mapping[str, Column]) -> None:
    unknown = [repr(name) for name in names if name not in known]
    if unknown:
        raise OptionError(
            f"{option} names {list_names(unknown, most=4)}, which the table lacks; its columns are "
            f"{list_names(map(repr, known), most=8)}"
        )


def _monotone_to_dict(own: Monotone) -> dict[str, Any]:
    label = {} if own.label is None else {"class": label_to_json(own.label)}
    return {"column": own.column, "sign": own.sign, **label}


def _monotone_from_dict(part: Any) -> Monotone:
    match part:
        case {"column": str(name), "sign": "+" | "-" as sign, **rest} if set(rest) <= {"class"}:
            label = label_from_json(rest["class"]) if rest else None
            return Monotone(name, sign, label)
    raise ValueError('constraints: expected "column", "sign" and "class" of a monotone column')
