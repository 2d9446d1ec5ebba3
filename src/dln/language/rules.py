"""Rules as text, as `print(circuit)` and `dln rules` write them -> Circuit.

Promise: what a circuit prints is read as a circuit with the same votes on every possible row.
Notes, statistics, probabilities and comments are skipped. The grammar is in
docs/reference/rules-language.md.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dln._util.messages import no_such_name
from dln.core.builder import CircuitBuilder, LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.labels import DATE, Label, label_text, plain_labels
from dln.core.literals import Column
from dln.core.readout import Votes
from dln.errors import RuleTextError
from dln.language.comparison import plain_value
from dln.language.condition import ConditionReader
from dln.language.expression import Condition, add_condition, names_in
from dln.language.scanner import Scanner

_NOTES = ("Most votes win;", "Missing values fail ")
_PROBABILITIES = re.compile(r"(Probability of .*|Weight of a class) by its lead in votes ")
_EVIDENCE = re.compile(r"\s*(\d+ of \d+ rows|fires in none of \d+ rows)")
_VOTES = re.compile(r"([+-]\d+)(?=\s|$)", re.ASCII)
_PART = re.compile(r"([^\W\d]\w*):")


def read_rules(
    text: str, columns: Iterable[Column], classes: Iterable[Label] | None = None
) -> Circuit:
    """Read the rules of a circuit; raises `RuleTextError` with the place of a mistake."""
    table = tuple(columns)
    found = _Lines(None if classes is None else plain_labels(classes))
    for number, line in enumerate(text.splitlines(), start=1):
        if not found.add(line, number):
            break
    if not found.classes:
        raise RuleTextError(
            'the text has no class; write a class, a colon, and its rules, such as "ill:" and '
            '"  +1  age > 54"'
        )
    reader = ConditionReader(table, frozenset(found.parts))
    for name, scanner in found.parts.items():
        if any(column.name == name for column in table):
            raise scanner.error(f"part {name!r} has the name of a column; use another name", 0)
    parts = {name: reader.read(scanner) for name, scanner in found.parts.items()}
    rules = [(reader.read(scanner), votes) for scanner, votes in found.rules]
    readout = Votes.without_rules(tuple(found.classes))
    builder = CircuitBuilder(table, readout)
    signals = _add_parts(parts, found.parts, builder)
    for condition, (place, vote) in rules:
        votes = [0] * len(found.classes)
        votes[place] = vote
        builder.vote(add_condition(condition, builder, signals), tuple(votes))
    return builder.finish()


def read_condition(text: str, columns: tuple[Column, ...], builder: LogicBuilder) -> Signal:
    """Add the condition of a single rule to logic under construction."""
    return add_condition(ConditionReader(columns).read(Scanner(text)), builder, {})


@dataclass
class _Lines:
    """The lines of a text, sorted into classes, rules and parts."""

    given: tuple[Label, ...] | None
    classes: list[Label] = field(init=False)
    rules: list[tuple[Scanner, tuple[int, int]]] = field(default_factory=list)
    parts: dict[str, Scanner] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _section: int | None = None
    _in_parts: bool = False

    def __post_init__(self) -> None:
        self.classes = list(self.given or ())

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
                'a rule comes before the first class; start with a class, such as "ill:"'
            )
        elif not _EVIDENCE.match(line):
            self._add_rule(scanner, self._section)
        return True

    def _add_heading(self, line: str, scanner: Scanner) -> bool:
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

    def _add_class(self, label: Label, scanner: Scanner) -> None:
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
        votes = scanner.take(_VOTES)
        if votes is None:
            raise scanner.error("expected the votes of the rule, such as +1 or -2")
        self.rules.append((scanner, (section, int(votes[1]))))

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
