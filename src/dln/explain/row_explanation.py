"""What the explanations of a class and of a number share: rules, changes, texts and tables."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from dln.core.conditions import Cell
from dln.core.literals import format_name
from dln.core.values import cell_text
from dln.explain.change import Change
from dln.explain.document import Document, Section
from dln.explain.formatted import Formatted
from dln.explain.outcome import Outcome, rule_lines
from dln.explain.row import OneRow
from dln.explain.writer import MISSING_RULE

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


class RowExplanation(Formatted):
    """Why a row gets its answer; the subclasses say what rules give, and what changes give."""

    row: Mapping[str, Cell]
    rules: tuple[Outcome, ...]
    changes: tuple[Change, ...]
    parts: tuple[tuple[str, str], ...]
    immutable: tuple[str, ...]

    _rule_heads: ClassVar[tuple[str, str]]
    """Heads of the columns with what a rule gives, and with the rule."""
    _answer_head: ClassVar[str]
    """Head of the column with the answer after a change."""
    _lesser_rules: ClassVar[str]
    """What is said of the rules that a text leaves out."""

    @property
    def fired(self) -> tuple[Outcome, ...]:
        """The rules that are true in the row."""
        return tuple(rule for rule in self.rules if rule.fired)

    @property
    def silent(self) -> tuple[Outcome, ...]:
        """The rules that are false in the row."""
        return tuple(rule for rule in self.rules if not rule.fired)

    @property
    def change(self) -> Change | None:
        """The smallest change of a single feature; None if there is none."""
        return self.changes[0] if self.changes else None

    # -- what differs -------------------------------------------------------------------------

    @abstractmethod
    def _headline(self) -> str:
        """Write the answer."""

    @abstractmethod
    def _given(self, votes: tuple[int, ...]) -> str:
        """Write what a rule gives."""

    @abstractmethod
    def _answer(self, change: Change) -> str:
        """Write the answer after a change."""

    @abstractmethod
    def _aim(self) -> tuple[str, str] | None:
        """Say what a change does and what changes do; None if none was asked for."""

    def _about_answer(self) -> tuple[str, ...]:
        """Return lines that follow the headline."""
        return ()

    def _before_rules(self) -> tuple[str, ...]:
        """Say what every row gets."""
        return ()

    def _after_answer(self) -> tuple[str, ...]:
        """Return lines that a text has before the rules."""
        return ()

    def _more_sections(self) -> tuple[Section, ...]:
        """Return tables that come before those of rules."""
        return ()

    # -- formats ------------------------------------------------------------------------------

    def to_text(self, more: Sequence[Formatted] = (), *, single_changes: bool = True) -> str:
        """Write the explanation line by line: the answer, what would change it, and the rules.

        The texts of `more`, such as a reason, follow the answer. Changes of a single feature can be
        left out.
        """
        lines = [self._headline(), *self._about_answer(), *self._missing()]
        lines += (line for part in more for line in part.to_text().split("\n"))
        if single_changes and self._aim() is not None:
            lines += _change_lines(self.changes) or [self._change_title()]
        lines += self._after_answer()
        for title, rules in (("fired", self.fired), ("did not fire", self.silent)):
            lines += rule_lines(title, rules, self._given, self._lesser_rules)
        lines += self._before_rules()
        where = [f"  {name}: {text}" for name, text in _named_parts(lines, self.parts)]
        return "\n".join([*lines, *(["where"] if where else []), *where])

    def _document(self) -> Document:
        cells = tuple((format_name(name), cell_text(cell)) for name, cell in self.row.items())
        fired = tuple((self._given(rule.votes), rule.text, rule.because) for rule in self.fired)
        silent = tuple((self._given(rule.votes), rule.text) for rule in self.silent)
        changes = tuple(
            (
                format_name(change.feature),
                cell_text(change.before),
                cell_text(change.after),
                change.condition,
                self._answer(change),
            )
            for change in self.changes
        )
        heads = ("feature", "from", "to", "so that", self._answer_head)
        sections = (
            Section("Row", ("feature", "value"), cells),
            Section(self._change_title(), heads, changes),
            *self._more_sections(),
            Section("Rules that fired", (*self._rule_heads, "because"), fired),
            Section("Rules that did not fire", self._rule_heads, silent),
            Section("where", ("part", "stands for"), self.parts),
        )
        has_aim = self._aim() is not None
        kept = tuple(
            section
            for section in sections
            if section.rows or (has_aim and section.title == self._change_title())
        )
        notes = (*self._about_answer(), *self._before_rules(), *self._missing())
        return Document(notes, kept, self._headline())

    def _change_title(self) -> str:
        """Introduce the changes, or say that there are none."""
        one, several = self._aim() or ("", "")
        if self.changes:
            return f"Changes of a single feature that {several}, smallest first"
        which = " that is not immutable" if self.immutable else ""
        return f"No change of a single feature{which} {one}."

    def _missing(self) -> tuple[str, ...]:
        """Name the columns with missing values, to show why a test such as `x != c` is true."""
        names = [format_name(name) for name, cell in self.row.items() if cell is None]
        return (f"missing: {', '.join(names)}. {MISSING_RULE}",) if names else ()


def _change_lines(changes: Sequence[Change]) -> list[str]:
    """Write changes of a single feature, smallest first."""
    if not changes:
        return []
    first, *others = map(str, changes)
    more = ["other changes:", *(f"  {other}" for other in others)] if others else []
    return [f"smallest change: {first}", *more]


def _named_parts(lines: Sequence[str], parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parts that some lines name, directly or through other parts."""
    texts = dict(parts)
    named: set[str] = set()
    waiting = list(lines)
    while waiting:
        found = {word for word in re.findall(r"\w+", waiting.pop()) if word in texts} - named
        named |= found
        waiting += [texts[name] for name in found]
    return [(name, text) for name, text in parts if name in named]


def cells_by_name(circuit: Circuit, row: OneRow) -> dict[str, Cell]:
    """Return the values of the columns that the circuit reads."""
    return {circuit.columns[index].name: row.cell(index) for index in sorted(row.cells)}


def immutable_names(circuit: Circuit, row: OneRow) -> tuple[str, ...]:
    """Return the names of the immutable columns that the circuit reads."""
    columns = (circuit.columns[index] for index in sorted(row.cells))
    return tuple(column.name for column in columns if column.immutable)
