"""Draft: a circuit under edit, whose rules keep their numbers while others come and go.

Rules are numbered from 1 in the order of the circuit. A dropped rule leaves its number unused; an
added rule gets the next one. So several edits can refer to the numbers that people see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from dln._util.messages import list_names, nearest_name
from dln.core.builder import LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.literals import Literal
from dln.core.locked import with_entries
from dln.core.parts import Rule
from dln.errors import CircuitError, OptionError, RuleTextError
from dln.language.rules import read_condition
from dln.prove.equal import prove_equal

_SECONDS = 5.0
"""Time to find out whether a text and a rule say the same."""


class Entry(NamedTuple):
    """A rule under edit."""

    number: int
    signal: Signal
    votes: tuple[int, ...]
    locked: bool


Change = Callable[[list[Entry], LogicBuilder], list[Entry]]


@dataclass(frozen=True)
class Draft:
    """A circuit and the numbers of its rules.

    Attributes
    ----------
    circuit
        The circuit as edited so far.
    numbers
        The number of each rule.
    last
        The largest number used so far.
    """

    circuit: Circuit
    numbers: tuple[int, ...]
    last: int

    @classmethod
    def of(cls, circuit: Circuit) -> Draft:
        """Give every rule of a circuit a number."""
        n_rules = len(circuit.rules)
        return cls(circuit, tuple(range(1, n_rules + 1)), n_rules)

    def text(self, place: int) -> str:
        """Write a rule as `dln rules` does."""
        return self.circuit._written_rules.texts[place]

    def find(self, rule: int | None, text: str | None) -> int:
        """Return the place of a rule, given its number, its text or both, which must agree."""
        if rule is None:
            assert text is not None
            return self._find_text(text)
        if rule not in self.numbers:
            known = list_names(map(str, self.numbers)) or "none"
            raise OptionError(f"there is no rule {rule}; the numbers of the rules are: {known}")
        place = self.numbers.index(rule)
        if text is not None and not self._says(place, text):
            raise OptionError(
                f"rule {rule} is {self.text(place)!r}, but the edit is about {text!r}; "
                "the edit was made for another model"
            )
        return place

    def _find_text(self, text: str) -> int:
        texts = [self.text(place) for place in range(len(self.numbers))]
        found = [place for place, own in enumerate(texts) if own == text] or self._equal(text)
        if len(found) == 1:
            return found[0]
        if not found:
            raise OptionError(f"no rule of the model is {text!r}{self._nearest(text, texts)}")
        numbers = list_names(str(self.numbers[place]) for place in found)
        raise OptionError(f"rules {numbers} say {text!r}; give the number of one")

    def _nearest(self, text: str, texts: list[str]) -> str:
        """Return the end of a message that names the rule with the most similar text."""
        # The order of the words does not matter: "a and b" is "b and a".
        keys = [" ".join(sorted(each.split())) for each in texts]
        close = nearest_name(" ".join(sorted(text.split())), keys)
        if close is None:
            return "; print the rules with their numbers: dln edit MODEL"
        place = keys.index(close)
        return f"; did you mean rule {self.numbers[place]}: {texts[place]!r}?"

    def _says(self, place: int, text: str) -> bool:
        """Check whether a text states the condition of a rule, however it is written."""
        return self.text(place) == text or place in self._equal(text, [place])

    def _equal(self, text: str, places: Iterable[int] | None = None) -> list[int]:
        """Return the places of the rules, of all or of some, whose condition a text states."""
        circuit = self.circuit
        builder = LogicBuilder(circuit.columns)
        signals = builder.copy(circuit.logic)
        try:
            stated = read_condition(text, circuit.columns, builder)
        except RuleTextError:
            if "part" in text:  # it may be a printed rule of another circuit, with a named part
                return []
            raise
        places = range(len(circuit.rules)) if places is None else places
        own = {place: signals[circuit.rules[place].wire] for place in places}
        same = [place for place, signal in own.items() if signal == stated]
        if same or stated.part is None:
            return same
        reads = _columns_read(builder, stated)
        # Rules of other columns are left out first, since a proof for each rule would take long.
        return [
            place
            for place, signal in own.items()
            if signal.part is not None
            and _columns_read(builder, signal) == reads
            and self._is_equal(builder, stated, signal)
        ]

    def _is_equal(self, builder: LogicBuilder, stated: Signal, own: Signal) -> bool:
        logic, wires = builder.build([stated, own])
        alone = [
            Circuit(
                *(logic.columns, logic.literals, logic.nodes),
                *((Rule(wires[signal], (0, 1)),), (0, 0), (0, 1)),
            )
            for signal in (stated, own)
        ]
        return bool(prove_equal(*alone, time_limit=_SECONDS))

    def rebuilt(
        self,
        change: Change,
        *,
        base_votes: tuple[int, ...] | None = None,
        literal: Callable[[LogicBuilder, Literal], Signal] | None = None,
    ) -> Draft:
        """Change the rules; `literal` adds literals in another way."""
        circuit = self.circuit
        builder = LogicBuilder(circuit.columns)
        signals = builder.copy(
            circuit.logic, None if literal is None else lambda each: literal(builder, each)
        )
        entries = [
            Entry(number, signals[rule.wire], rule.votes, place in circuit.locked)
            for place, (number, rule) in enumerate(zip(self.numbers, circuit.rules, strict=True))
        ]
        entries = change(entries, builder)
        edited = with_entries(
            circuit,
            builder,
            [(entry.signal, entry.votes) for entry in entries],
            circuit.base_votes if base_votes is None else base_votes,
            tuple(place for place, entry in enumerate(entries) if entry.locked),
        )
        numbers = tuple(entry.number for entry in entries if entry.signal.part is not None)
        return Draft(edited, numbers, max((self.last, *numbers)))

    def replaced(self, place: int, **parts: object) -> Draft:
        """Replace parts of one rule, such as its votes."""

        def change(entries: list[Entry], _: LogicBuilder) -> list[Entry]:
            new = entries[place]._replace(**parts)  # type: ignore[arg-type]
            return [*entries[:place], new, *entries[place + 1 :]]

        return self.rebuilt(change)

    def guarded(self, where: str, votes: tuple[int, ...]) -> Draft:
        """Add a locked rule with a condition as text."""

        def change(entries: list[Entry], builder: LogicBuilder) -> list[Entry]:
            signal = read_condition(where, self.circuit.columns, builder)
            return [*entries, Entry(self.last + 1, signal, votes, True)]

        return self.rebuilt(change)

    def amount(self, value: float) -> tuple[Draft, int]:
        """Return what a rule of a number adds as points, and the draft with decimals for them."""
        score = self.circuit.number_readout
        exact = Decimal(repr(float(value))).normalize()
        digits = max(score.digits, -int(exact.as_tuple().exponent))
        if digits > score.digits and exact:
            try:
                finer = replace(self.circuit, readout=score.with_digits(digits))
            except CircuitError as error:
                raise OptionError(
                    f"{value!r} has too many decimals for this model ({error}); round it"
                ) from error
            return self.with_circuit(finer), int(exact.scaleb(digits))
        return self, int(exact.scaleb(score.digits))

    def with_circuit(self, circuit: Circuit) -> Draft:
        """Return a draft of a circuit with the same rules."""
        return replace(self, circuit=circuit)


def _columns_read(builder: LogicBuilder, signal: Signal) -> tuple[int, ...]:
    logic, _ = builder.build([signal])
    return tuple(sorted({literal.column for literal in logic.literals}))
