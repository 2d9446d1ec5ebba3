"""Rules as text, as `print(circuit)` and `dln rules` write them -> Circuit.

Promise: what a circuit prints is read as a circuit with the same votes, or the same number, on
every possible row. Notes, statistics, probabilities, factors and comments are skipped. The grammar
is in docs/reference/rules-language.md.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from dln._util.messages import no_such_name
from dln.core.builder import TRUE, CircuitBuilder, LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.labels import DATE, Label, label_text, plain_labels
from dln.core.literals import Column
from dln.core.readout import Readout, Votes
from dln.core.score import Link, Score
from dln.errors import CircuitError, RuleTextError
from dln.language.comparison import plain_value
from dln.language.condition import ConditionReader
from dln.language.expression import Condition, add_condition, names_in
from dln.language.scanner import Scanner
from dln.language.sums import Sum, points_and_digits, read_sum, skip_factor

_NOTES = ("Most votes win;", "Missing values fail ", "Satisfied by every rule: ")
_PROBABILITIES = re.compile(r"(Probability of .*|Weight of a class) by its lead in votes ")
_EVIDENCE = re.compile(r"\s*(\d+ of \d+ rows|fires in none of \d+ rows)")
_VOTES = re.compile(r"([+-]\d+)(?=\s|$)", re.ASCII)
_ADDS = re.compile(r"([+-](?:\d+\.?\d*|\.\d+))(?=\s|$)", re.ASCII)
_PART = re.compile(r"([^\W\d]\w*):")


def read_rules(
    text: str, columns: Iterable[Column], classes: Iterable[Label] | None = None
) -> Circuit:
    """Read the rules of a circuit; raises `RuleTextError` with the place of a mistake."""
    return _read(text, tuple(columns), _Lines(None if classes is None else plain_labels(classes)))


def read_number_rules(text: str, columns: Iterable[Column], link: Link) -> Circuit:
    """Read rules that add to a number whose start is not known yet.

    The first line, which says how rules add up, may be left out. If it is there, its link is
    checked, and its start is ignored.
    """
    return _read(text, tuple(columns), _Lines(None, Sum("prediction", link, Decimal(0)), True))


def _read(text: str, table: tuple[Column, ...], found: _Lines) -> Circuit:
    for number, line in enumerate(text.splitlines(), start=1):
        if not found.add(line, number):
            break
    if not found.classes and found.sum is None:
        raise RuleTextError(
            'the text has no class; write a class, a colon, and its rules, such as "ill:" and '
            '"  +1  age > 54"; rules of a number start with a line such as '
            '"price is 12.5 plus what the rules add."'
        )
    reader = ConditionReader(table, frozenset(found.parts))
    for name, scanner in found.parts.items():
        if any(column.name == name for column in table):
            raise scanner.error(f"part {name!r} has the name of a column; use another name", 0)
    parts = {name: reader.read(scanner) for name, scanner in found.parts.items()}
    conditions = [reader.read(rule.scanner) for rule in found.rules]
    readout, given = _readout(found)
    builder = CircuitBuilder(table, readout)
    signals = _add_parts(parts, found.parts, builder)
    builder.vote(TRUE, readout.base_votes)
    try:
        for condition, votes in zip(conditions, given, strict=True):
            builder.vote(add_condition(condition, builder, signals), votes)
        return builder.finish()
    except CircuitError as error:
        raise RuleTextError(f"the rules cannot be added up: {error}") from error


def _readout(found: _Lines) -> tuple[Readout, list[tuple[int, ...]]]:
    """Return what the rules answer, without the rules, and the votes or points of each rule."""
    if found.sum is None:
        votes = [
            tuple(
                int(rule.amount) if place == rule.section else 0
                for place in range(len(found.classes))
            )
            for rule in found.rules
        ]
        return Votes.without_rules(tuple(found.classes)), votes
    stated = found.sum
    (start, *points), digits = points_and_digits(
        [stated.start, *(rule.amount for rule in found.rules)]
    )
    try:
        readout = Score((), (start,), digits, stated.link, stated.name)
    except CircuitError as error:
        raise RuleTextError(f"the rules cannot be added up: {error}") from error
    return readout, [(each,) for each in points]


def read_condition(text: str, columns: tuple[Column, ...], builder: LogicBuilder) -> Signal:
    """Add the condition of a single rule to logic under construction."""
    return add_condition(ConditionReader(columns).read(Scanner(text)), builder, {})


class _RuleLine(NamedTuple):
    """A rule: its condition is still to be read. `section` is the number of its class."""

    scanner: Scanner
    section: int
    amount: Decimal


@dataclass
class _Lines:
    """The lines of a text, sorted into classes, rules and parts.

    `sum` is how the rules add up to a number; None if they vote for classes. If it `is_given`, it
    is that of the rules to be learned, and the text need not state it.
    """

    given: tuple[Label, ...] | None
    sum: Sum | None = None
    is_given: bool = False
    classes: list[Label] = field(init=False)
    rules: list[_RuleLine] = field(default_factory=list)
    parts: dict[str, Scanner] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _is_stated: bool = False
    _section: int | None = None
    _in_parts: bool = False

    def __post_init__(self) -> None:
        self.classes = list(self.given or ())
        self._section = 0 if self.is_given else None

    def add(self, line: str, number: int) -> bool:
        """Add a line; return False if the rest of the text has no rules."""
        scanner = Scanner(line, 0, number)
        if scanner.is_at_end or scanner.rest.startswith("#"):
            return True
        if scanner.place == 0:
            return self._add_heading(line.rstrip(), scanner)
        if self._in_parts:
            self._add_part(scanner)
        elif self._section is None:
            raise scanner.error(
                'a rule comes before the first class; start with a class, such as "ill:", or with '
                '"price is 12.5 plus what the rules add."'
            )
        elif not _EVIDENCE.match(line):
            self._add_rule(scanner, self._section)
        return True

    def _add_heading(self, line: str, scanner: Scanner) -> bool:
        stated = read_sum(line, scanner)
        if stated is not None:
            self._add_sum(stated, scanner)
            return True
        if line.startswith(_NOTES) and line.endswith("."):
            return True
        if _PROBABILITIES.match(line):
            return False
        self._in_parts = line == "where"
        if self._in_parts:
            return True
        for ending in (": no votes", ":"):
            if line.endswith(ending):
                self._add_class(_read_label(line.removesuffix(ending), scanner), scanner)
                return True
        raise scanner.error(
            'expected a class followed by a colon, such as "ill:", or an indented rule'
        )

    def _add_sum(self, stated: Sum, scanner: Scanner) -> None:
        if self.given is not None:
            raise scanner.error("the rules add up to a number; expected rules for classes", 0)
        if self._is_stated or self.classes:
            raise scanner.error("the text states twice what the rules are for", 0)
        if self.rules:
            raise scanner.error("this line comes before the rules; move it up, or leave it out", 0)
        if self.sum is not None:  # what is to be learned; the start is part of it
            if stated.link != self.sum.link:
                raise scanner.error(
                    f"the rules have the link {stated.link!r}, but the loss has {self.sum.link!r}; "
                    "write the line as this loss prints it, or leave it out",
                    0,
                )
            stated = self.sum
        self.sum = stated
        self._is_stated = True
        self._section = 0

    def _add_class(self, label: Label, scanner: Scanner) -> None:
        if self.is_given and not self._is_stated:
            raise scanner.error("the rules vote for a class; expected rules of a number", 0)
        if self.sum is not None:
            raise scanner.error("a class among the rules of a number; give one or the other", 0)
        if self.given is None:
            if label in self.classes:
                raise scanner.error(f"class {label_text(label)} occurs twice")
            self.classes.append(label)
            self._section = len(self.classes) - 1
            return
        by_text = {str(known): place for place, known in enumerate(self.classes)}
        place = self.classes.index(label) if label in self.classes else by_text.get(str(label))
        if place is None:
            raise scanner.error(no_such_name("class", label, list(by_text), "classes"))
        if place in self._seen:
            raise scanner.error(f"class {label_text(label)} occurs twice")
        self._seen.add(place)
        self._section = place

    def _add_rule(self, scanner: Scanner, section: int) -> None:
        amount = scanner.take(_VOTES if self.sum is None else _ADDS)
        if amount is None and self.sum is None:
            raise scanner.error("expected the votes of the rule, such as +1 or -2")
        if amount is None:
            raise scanner.error("expected what the rule adds, such as +3.2 or -1")
        if self.sum is not None:
            skip_factor(scanner, self.sum.link)
        self.rules.append(_RuleLine(scanner, section, Decimal(amount[1])))

    def _add_part(self, scanner: Scanner) -> None:
        start = scanner.place
        name = scanner.take(_PART)
        if name is None:
            raise scanner.error('expected the name of a part and a colon, such as "part1:"')
        if name[1] in self.parts:
            raise scanner.error(f"part {name[1]!r} is defined twice", start)
        self.parts[name[1]] = scanner


def _read_label(text: str, scanner: Scanner) -> Label:
    """Read a class label as `label_text` writes it."""
    quoted = scanner.take_quoted()
    if quoted is not None:
        if scanner.place != len(text):
            raise scanner.error("expected a colon after the class")
        return quoted
    if not text.strip():
        raise scanner.error("expected a class before the colon")
    plain = plain_value(text)
    if plain is not None:
        return plain
    if DATE.fullmatch(text):
        read = datetime.datetime if " " in text else datetime.date
        try:
            return read.fromisoformat(text)
        except ValueError:
            return text
    return text


def _add_parts(
    parts: Mapping[str, Condition], scanners: Mapping[str, Scanner], builder: LogicBuilder
) -> dict[str, Signal]:
    """Add the named parts, each after those that it uses; they may be nested deeply."""
    signals: dict[str, Signal] = {}
    for first in parts:
        stack, open_parts = [first], {first}
        while stack:
            name = stack[-1]
            missing = [used for used in names_in(parts[name]) if used.name not in signals]
            if not missing:
                signals[name] = add_condition(parts[name], builder, signals)
                open_parts.discard(stack.pop())
                continue
            used = missing[0]
            if used.name in open_parts:
                raise scanners[name].error(f"part {used.name!r} is defined by itself", used.place)
            stack.append(used.name)
            open_parts.add(used.name)
    return signals
