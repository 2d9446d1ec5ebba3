"""Options as fields of a dataclass: each states its type, default, range and purpose once.

The type of a field says what an option may be: an `int` or `float` in a range, a name of a
`Literal`, an object of a class, `None`. Checks, messages and documentation follow from it.
"""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from inspect import cleandoc, signature
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

import numpy as np

from dln.errors import OptionError

T = TypeVar("T")

AUTO = "auto"
"""The value of an option that the data decides."""


@dataclass(frozen=True)
class Facts:
    """What is known of an option besides its name, type and default.

    Attributes
    ----------
    doc, more
        What the option does, in one sentence, and what else a user should know.
    low, high
        The smallest and largest number. With `below`, the largest is excluded.
    usual
        For an option that is "auto" by default: its value if nothing is known of the data.
    only_in
        Maps an engine to the only value that it supports. Engines that are missing support all.
    scheduled
        Whether engines read it by epoch, from the `Schedule`.
    checked
        Whether the type and range are everything to check. If not, the code that uses it does.
    searched
        Whether a search may vary it.
    """

    doc: str = ""
    more: str = ""
    low: float = -math.inf
    high: float = math.inf
    below: bool = False
    usual: Any = None
    only_in: Mapping[str, Any] = field(default_factory=dict)
    scheduled: bool = False
    checked: bool = True
    searched: bool = True


def option(default: Any, doc: str, **facts: Any) -> Any:
    """Make a field of a dataclass that is an option; see `Facts`."""
    return field(default=default, metadata={"facts": Facts(doc, **facts)})


def decided(table: type, name: str) -> Any:
    """Make a field for an option of another table, after "auto" has been decided."""
    facts: Facts = table.__dataclass_fields__[name].metadata["facts"]  # type: ignore[attr-defined]
    return field(default=facts.usual, metadata={"facts": facts})


def unused(default: Any) -> Any:
    """Make a field for an option of the parent table that this table does not have."""
    return field(default=default, init=False)


@dataclass(frozen=True)
class Option:
    """An option of a table: its name, the alternatives of its type, its default and its facts."""

    name: str
    alternatives: tuple[Any, ...]
    default: Any
    facts: Facts

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it may be, except "auto"."""
        return tuple(x for x in self.alternatives if isinstance(x, str) and x != AUTO)

    @property
    def expected(self) -> str:
        """What it may be, for messages."""
        return " or ".join(_expected(x, self.facts) for x in _grouped(self.alternatives))

    @property
    def type_text(self) -> str:
        """What it may be, for documentation.

        >>> Option("x", (int, "auto"), "auto", Facts()).type_text
        'int or "auto"'
        """
        *first, last = (_described(x) for x in _grouped(self.alternatives))
        return f"{', '.join(first)} or {last}" if first else last

    def read(self, value: Any) -> Any:
        """Check a value and convert NumPy's numbers to Python's, whose sums do not overflow."""
        value = value.item() if isinstance(value, np.generic) else value
        if not self.facts.checked:
            return value
        if isinstance(value, (tuple, list)) and value and tuple in self.alternatives:
            for size in value:
                replace(self, name=f"{self.name} holds a size that", alternatives=(int,)).read(size)
            return tuple(int(size) for size in value)
        if not any(self._is(x, value) for x in self.alternatives):
            raise OptionError(f"{self.name} is {value!r}, expected {self.expected}")
        return value

    def check_engine(self, value: Any, engine: str) -> None:
        """Check that an engine supports a value."""
        only = self.facts.only_in.get(engine, value)
        if value != only:
            raise OptionError(
                f"{self.name} is {value!r}, but the {engine} engine supports only {only!r}; "
                'use engine="torch" for the others'
            )

    def _is(self, alternative: Any, value: Any) -> bool:
        if isinstance(alternative, str):
            return isinstance(value, str) and value == alternative
        if alternative not in (int, float):
            kind = get_origin(alternative) or alternative
            return isinstance(value, kind) and kind is not tuple
        number = numbers.Integral if alternative is int else numbers.Real
        is_number = isinstance(value, number) and not isinstance(value, bool)
        low, high = self.facts.low, self.facts.high
        return is_number and low <= value <= high and not (self.facts.below and value == high)


@cache
def options_of(table: type) -> dict[str, Option]:
    """Return the options of a dataclass by name.

    >>> @dataclass
    ... class Table:
    ...     size: int = option(3, "How large it is.", low=1, high=9)
    >>> options_of(Table)["size"].expected
    'an integer from 1 to 9'
    """
    types = get_type_hints(table)
    return {
        own.name: Option(
            own.name, tuple(_alternatives(types[own.name])), own.default, own.metadata["facts"]
        )
        for own in fields(table)
        if own.init
    }


class Checked:
    """A frozen dataclass of options, checked when it is made."""

    def __post_init__(self) -> None:
        table: type = type(self)
        for name, own in options_of(table).items():
            object.__setattr__(self, name, own.read(getattr(self, name)))


# -- types ----------------------------------------------------------------------------------------


def _alternatives(kind: Any) -> Iterable[Any]:
    """List what a type allows: names of a literal, then classes; "auto" and None come last."""
    found = list(_flat(kind))
    return sorted(found, key=lambda x: (x is NoneType, x == AUTO, not isinstance(x, str)))


def _flat(kind: Any) -> Iterable[Any]:
    if get_origin(kind) in (Union, UnionType):
        for part in get_args(kind):
            yield from _flat(part)
    elif get_origin(kind) is OneOf:
        yield from get_args(kind)
    else:
        # The documentation also names the type of the elements of a sequence.
        yield kind if get_origin(kind) is Sequence else get_origin(kind) or kind


def _grouped(alternatives: tuple[Any, ...]) -> Iterable[Any]:
    """Put the names together, without "auto"."""
    names = tuple(x for x in alternatives if isinstance(x, str) and x != AUTO)
    if names:
        yield names
    yield from (x for x in alternatives if x not in names)


def _expected(alternative: Any, facts: Facts) -> str:
    if isinstance(alternative, tuple):
        return f"one of {', '.join(map(repr, alternative))}"
    if alternative is int:
        return f"an integer {_range_text(facts, str)}"
    if alternative is float:
        return f"a number {_range_text(facts, '{:g}'.format)}"
    if alternative is tuple:
        return "a tuple of integers"
    text = _described(alternative)
    is_class = isinstance(alternative, type) and alternative is not NoneType
    return f"{'an' if text[0] in 'AEIOU' else 'a'} {text}" if is_class else text


def _described(alternative: Any) -> str:
    if isinstance(alternative, tuple):
        names = ", ".join(f'"{name}"' for name in alternative)
        return names if len(alternative) == 1 else f"{{{names}}}"
    if isinstance(alternative, str):
        return f'"{alternative}"'
    if get_origin(alternative) is Sequence:
        return f"sequence of {_items(*get_args(alternative))}"
    return _TYPE_NAMES.get(alternative) or str(alternative.__name__)


def _items(kind: Any) -> str:
    """Describe what a sequence has: "str", or "sequences of str"."""
    if get_origin(kind) is Sequence:
        return f"sequences of {_items(*get_args(kind))}"
    if get_origin(kind) is tuple:
        return f"pairs of {_items(get_args(kind)[0])}"
    return _described(kind)


_TYPE_NAMES = {
    NoneType: "None",
    tuple: "tuple of int",
    Mapping: "dict",
}


def _range_text(facts: Facts, show: Callable[[float], str]) -> str:
    if facts.high == math.inf:
        return f"of at least {show(facts.low)}"
    return f"from {show(facts.low)} to {'below ' if facts.below else ''}{show(facts.high)}"


# -- documentation --------------------------------------------------------------------------------


def documented(table: type) -> Callable[[type[T]], type[T]]:
    """Write the parameters of a class, which are options of a table, in the class's docstring."""

    def complete(owner: type[T]) -> type[T]:
        if owner.__doc__:  # None with python -OO
            text = parameters_text(
                [options_of(table)[name] for name in signature(owner).parameters]
            )
            owner.__doc__ = cleandoc(owner.__doc__).replace("<parameters>", text)
        return owner

    return complete


def parameters_text(options: Iterable[Option]) -> str:
    """Describe options as the lines of a parameters section in NumPy's style."""
    wrap = partial(textwrap.wrap, width=96, break_on_hyphens=False)
    lines = []
    for own in options:
        text = f"{own.facts.doc} {own.facts.more}".strip()
        lines.append(f"{own.name} : {own.type_text}")
        lines += wrap(text, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return "\n".join(lines)


# -- checks of single values ----------------------------------------------------------------------


def check_integer(name: str, value: Any, low: int, high: int) -> None:
    """Check that a parameter is an integer from `low` to `high`."""
    Option(name, (int,), None, Facts(low=low, high=high)).read(value)


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Check that a parameter is a number from `low` to `high`."""
    Option(name, (float,), None, Facts(low=low, high=high)).read(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...], *others: type) -> None:
    """Check that a parameter is one of the `choices` or an instance of the `others`."""
    Option(name, (*choices, *others), None, Facts()).read(value)
