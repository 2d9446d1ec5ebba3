"""`dln.edit`: change a circuit by hand, step by step, with a record of every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypedDict

from dln._util.messages import type_name
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.edit_record import (
    AddRule,
    ChangeRule,
    Drop,
    Edit,
    EditRecord,
    Force,
    Lock,
    MoveCutoff,
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
from dln.core.readout import Readout
from dln.core.score import Score
from dln.core.verdict import Proof
from dln.data.table import read_table
from dln.edits.apply import apply_edit, rename
from dln.edits.demands import check_demands, checked_demand, meet_demand, release_demand
from dln.edits.draft import Draft
from dln.edits.effect import EditEffect, compare_circuits
from dln.edits.number_effect import NumberEditEffect, compare_numbers
from dln.errors import OptionError
from dln.explain.amounts import amount_text
from dln.prove.clock import check_time_limit

RuleName = int | str
"""The number of a rule, from 1 on, or its text."""


@dataclass(frozen=True)
class Editing:
    """A circuit and the edits made to it; returned by `dln.edit`.

    Every method returns a new `Editing`; nothing is changed in place. Rules are named by their
    number, from 1 on, or by their text. A rule keeps its number while others are dropped; an added
    rule gets the next number. `print` shows the numbers.

    Attributes
    ----------
    original
        The circuit before the edits.
    circuit
        The circuit after the edits. Its `edits` are the records of all edits so far.
    proofs
        Proofs of the demands on the circuit (`force`).
    """

    original: Circuit
    draft: Draft = field(repr=False)
    who: str = ""
    when: str = ""
    time_limit: float | None = 60.0
    proofs: tuple[Proof, ...] = ()

    @property
    def circuit(self) -> Circuit:
        """The circuit after the edits."""
        return self.draft.circuit

    @property
    def records(self) -> tuple[EditRecord, ...]:
        """The edits made here, in order."""
        return self.circuit.edits[len(self.original.edits) :]

    # -- edits --------------------------------------------------------------------------------

    def drop(self, rule: RuleName, *, why: str = "") -> Editing:
        """Remove a rule."""
        return self.apply(Drop(*_named(rule)), why=why)

    def change(self, rule: RuleName, to: str, *, why: str = "") -> Editing:
        """Replace the condition of a rule by another one, as text; its votes stay."""
        return self.apply(ChangeRule(*_named(rule), to=to), why=why)

    def add(
        self, text: str, votes: Mapping[Any, int] | float, *, locked: bool = False, why: str = ""
    ) -> Editing:
        """Add a rule: its condition as text, and its votes by class; for a number what it adds."""
        return self.apply(AddRule(text, locked=locked, **_amount(votes)), why=why)

    def set_votes(
        self, rule: RuleName, votes: Mapping[Any, int] | float, *, why: str = ""
    ) -> Editing:
        """Set the votes of a rule by class; classes that are not named get none.

        For a number: what the rule adds, such as 3.2.
        """
        return self.apply(SetVotes(*_named(rule), **_amount(votes)), why=why)

    def set_base_votes(self, votes: Mapping[Any, int] | float, *, why: str = "") -> Editing:
        """Set the votes that every row has; classes that are not named keep theirs.

        For a number: the score before any rule adds to it.
        """
        return self.apply(SetBase(**_amount(votes)), why=why)

    def lock(self, rule: RuleName, *, why: str = "") -> Editing:
        """Lock a rule: `simplify`, `prune`, later edits and `refit` keep it and its votes."""
        return self.apply(Lock(*_named(rule)), why=why)

    def unlock(self, rule: RuleName, *, why: str = "") -> Editing:
        """Unlock a rule."""
        return self.apply(Unlock(*_named(rule)), why=why)

    def move_cutoff(
        self,
        column: str,
        before: float | str,
        after: float | str,
        *,
        rule: int | None = None,
        why: str = "",
    ) -> Editing:
        """Move a cutoff of a column, in all rules that use it or in one; dates are text."""
        return self.apply(MoveCutoff(column, _cutoff(before), _cutoff(after), rule), why=why)

    def rename_column(self, column: str, to: str, *, why: str = "") -> Editing:
        """Give a column another name."""
        return self.apply(RenameColumn(column, to), why=why)

    def rename_class(self, label: Label, to: Label, *, why: str = "") -> Editing:
        """Give a class another label."""
        return self.apply(RenameClass(label, to), why=why)

    def rename_target(self, to: str, *, why: str = "") -> Editing:
        """Give the number that is predicted another name."""
        return self.apply(RenameTarget(to), why=why)

    def force(
        self,
        where: str,
        *,
        never: Label | None = None,
        always: Label | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
        why: str = "",
    ) -> Editing:
        """Demand that a class is never, or always, predicted under a condition.

        For a number: demand that the prediction is at least, or at most, a number there. A locked
        rule is added with as few votes or points as it takes; none if the circuit meets the demand
        already. The proof is in `proofs`. Later edits must keep the demand, until `release`.
        """
        return self.apply(Force(where, *_demand(never, always, at_least, at_most)), why=why)

    def release(
        self,
        where: str,
        *,
        never: Label | None = None,
        always: Label | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
        why: str = "",
    ) -> Editing:
        """Take a demand back; the locked rule that met it can then be unlocked and dropped."""
        return self.apply(Release(where, *_demand(never, always, at_least, at_most)), why=why)

    def apply(self, *edits: Edit | EditRecord, why: str = "") -> Editing:
        """Apply edits, for example those of a file (`dln.load_edits`).

        A record keeps its own who, when and why; those that it leaves out are given here.
        """
        result = self
        for edit in edits:
            given = edit if isinstance(edit, EditRecord) else EditRecord(edit)
            result = result._applied(given, why)
        return result

    def _applied(self, given: EditRecord, why: str) -> Editing:
        draft, edit = apply_edit(self.draft, given.edit)
        if isinstance(edit, Force):
            edit = checked_demand(draft.circuit, edit)
            draft = meet_demand(draft, edit, self.time_limit)
        if isinstance(edit, Release):
            edit = checked_demand(draft.circuit, edit)
            release_demand(draft.circuit, edit)
        record = EditRecord(edit, given.who or self.who, given.when or self.when, given.why or why)
        circuit = replace(draft.circuit, edits=(*draft.circuit.edits, record))
        proofs = check_demands(circuit, self.time_limit)
        return replace(self, draft=draft.with_circuit(circuit), proofs=tuple(proofs))

    # -- results ------------------------------------------------------------------------------

    def effect(
        self, X: Any = None, y: Any = None, *, n: int = 10, time_limit: float | None = 60.0
    ) -> EditEffect | NumberEditEffect:
        """Show what the edits changed.

        Parameters
        ----------
        X
            Rows, to count those that changed their class or number; None for the conditions alone.
            Columns may have the names before or after the edits.
        y
            The class of each row, for the accuracy before and after; or its number, for R².
        n, time_limit
            As for `dln.find_differences`.
        """
        before = self.original
        for record in self.records:
            if isinstance(record.edit, Rename):
                before = rename(before, record.edit)
        if X is not None:
            X = _renamed_table(X, self.original, before)
        if before.task == "number":
            return compare_numbers(before, self.circuit, X, y, n=n, time_limit=time_limit)
        if y is not None and before.classes != self.original.classes:
            new = dict(zip(self.original.classes, before.classes, strict=True))
            y = [new.get(label, label) for label in y]
        return compare_circuits(before, self.circuit, X, y, n=n, time_limit=time_limit)

    def __str__(self) -> str:
        """List the rules with their numbers."""
        draft, circuit = self.draft, self.circuit
        lines = []
        if any(circuit.base_votes):
            lines.append(f"   -  {_votes_text(circuit.base_votes, circuit.readout)}  always")
        for place, rule in enumerate(circuit.rules):
            mark = "  (locked)" if place in circuit.locked else ""
            votes = _votes_text(rule.votes, circuit.readout)
            lines.append(f"{draft.numbers[place]:>4}  {votes}  {draft.text(place)}{mark}")
        parts = circuit._written_rules.parts
        lines += ["where", *(f"  {name}: {text}" for name, text in parts)] if parts else []
        return "\n".join(lines) or "no rules"


def edit(
    circuit: Circuit, *, who: str = "", when: str = "", time_limit: float | None = 60.0
) -> Editing:
    r"""Start to edit a circuit.

    Parameters
    ----------
    circuit
        Any circuit; it is not changed.
    who, when
        Recorded with every edit, such as "A. Weber" and "2024-05-31".
    time_limit
        Seconds for the proofs of the demands after each edit; None for no limit.

    Examples
    --------
    >>> from dln import Column
    >>> circuit = Circuit.from_rules(
    ...     "healthy:\n  +1  always\nill:\n  +2  age > 54\n  +1  smoker",
    ...     columns=[Column("age", "integer"), Column("smoker", "boolean")],
    ... )
    >>> editing = edit(circuit, who="A. Weber").move_cutoff("age", 54, 60, why="guideline")
    >>> editing = editing.add("smoker and age > 40", {"ill": 1}).force("age <= 18", never="ill")
    >>> print(editing)
       -  healthy +1  always
       1  ill +2  age > 60
       2  ill +1  smoker
       3  ill +1  smoker and age > 40
    >>> print(editing.proofs[0])  # doctest: +ELLIPSIS
    never ill where age <= 18 (proven by bounds, ...)
    >>> print(editing.effect([[58, False], [50, True], [30, True]], ["ill", "ill", "healthy"]))
    2 of 3 rows changed their class (66.7 %).
    Accuracy: 66.7 % before, 66.7 % after.
    Balanced accuracy: 75.0 % before, 75.0 % after.
    The models differ (66.7 % of the rows) exactly where
      ill and healthy: 54 < age <= 60 and not smoker (33.3 %)
      healthy and ill: 40 < age <= 54 and smoker (33.3 %)
    """
    check_is_circuit(circuit, "edit")
    check_time_limit(time_limit)
    for name, value in (("who", who), ("when", when)):
        if not isinstance(value, str):
            raise OptionError(f"{name} is {type_name(value)}, expected text")
    return Editing(circuit, Draft.of(circuit), who, when, time_limit)


def _named(rule: RuleName) -> tuple[int | None, str | None]:
    if isinstance(rule, str):
        return None, rule
    if type(rule) is not int:
        raise OptionError(f"the rule is {type_name(rule)}, expected its number or its text")
    return rule, None


def _cutoff(value: float | str) -> float | str:
    if isinstance(value, str):
        return value
    if not _is_number(value):
        raise OptionError(f"the cutoff is {value!r}, expected a number, or a date as text")
    return float(value)


class _Amount(TypedDict, total=False):
    votes: tuple[tuple[str, int], ...]
    adds: float


def _amount(votes: Mapping[Any, int] | float) -> _Amount:
    """Return the votes by class, or what a rule of a number adds."""
    if isinstance(votes, Mapping):
        if all(type(vote) is int for vote in votes.values()):
            return {"votes": tuple((str(label), vote) for label, vote in votes.items())}
    elif _is_number(votes):
        return {"adds": float(votes)}
    raise OptionError(
        f"votes are {votes!r}, expected whole numbers by class: {{'ill': 2}}, or for a model that "
        "predicts a number what is added: 3.2"
    )


def _demand(
    never: Label | None, always: Label | None, at_least: Any, at_most: Any
) -> tuple[Label | None, bool, float | None, float | None]:
    limits = _limit("at_least", at_least), _limit("at_most", at_most)
    if (never is not None) + (always is not None) + (limits != (None, None)) != 1:
        raise OptionError(
            "give the class as never=… or always=…, one of the two; for a number give at_least=… "
            "or at_most=…"
        )
    return always if never is None else never, always is None, *limits


def _limit(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not _is_number(value):
        raise OptionError(f"{name} is {value!r}, expected a number")
    return float(value)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _renamed_table(X: Any, old: Circuit, new: Circuit) -> Any:
    """Give the columns of a table their new names, if it has the old ones."""
    table = read_table(X).kept()
    if table.names is None:
        return table
    names = {
        column.name: after.name for column, after in zip(old.columns, new.columns, strict=True)
    }
    return replace(table, names=tuple(names.get(name, name) for name in table.names))


def _votes_text(votes: tuple[int, ...], readout: Readout) -> str:
    if isinstance(readout, Score):
        return amount_text(readout, votes[0])
    return ", ".join(
        f"{label_text(label)} {vote:+d}"
        for label, vote in zip(readout.classes, votes, strict=True)
        if vote
    )
