"""Probabilities in SQL: stages that look up vote leads in the table of a calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dln.core.readout import Votes
from dln.exporters.databases.database import Database, StageColumn, ValueType

VOTES = "votes"
"""The name of the stage with the votes, in columns v0, v1 and so on."""
_TWO = 2


@dataclass(frozen=True)
class Stage:
    """A stage of the statement: its name in a chain, and the columns that it computes."""

    name: str
    columns: tuple[StageColumn, ...]


class Lookups:
    """Writes the stages after the votes, and the probabilities at the end."""

    def __init__(self, readout: Votes, database: Database) -> None:
        assert readout.calibration is not None
        self._calibration = readout.calibration
        self._n_classes = len(readout.classes)
        self._database = database

    def stages(self, votes: Sequence[str], most: str) -> Iterator[Stage]:
        """Yield the stages; `most` is the column with the most votes."""
        read = self._database.read
        whole = f"CAST({{x}} AS {self._database.integer})"
        if self._n_classes == _TWO:
            lead = f"{whole.format(x=votes[1])} - {votes[0]}"
            yield Stage("leads", (StageColumn("d1", lead, "integer"),))
            found = self._look_up(read("leads", "d1"), 0)
            yield Stage("found", (StageColumn("p1", found, "number"),))
            return
        cases = " ".join(f"WHEN {vote} = {most} THEN {n}" for n, vote in enumerate(votes))
        yield Stage("winner", (StageColumn("won", f"CASE {cases} END", "integer"),))
        won, second = read("winner", "won"), read("others", "second")
        # The winner itself is left out: it gets fewer votes than any class can have.
        others = [
            f"CASE WHEN {won} = {n} THEN -4294967296 ELSE {vote} END"
            for n, vote in enumerate(votes)
        ]
        greatest = self._database.greatest(others)
        yield Stage("others", (StageColumn("second", greatest, "integer"),))
        leads = (
            f"{whole.format(x=vote)} - CASE WHEN {won} = {n} THEN {second} ELSE {most} END"
            for n, vote in enumerate(votes)
        )
        yield Stage("leads", _numbered("d", leads, "integer"))
        found_all = (self._look_up(read("leads", f"d{n}"), n) for n in range(self._n_classes))
        yield Stage("found", _numbered("p", found_all, "number"))
        total = " + ".join(read("found", f"p{n}") for n in range(self._n_classes))
        yield Stage("sums", (StageColumn("total", total, "number"),))

    def results(self) -> list[str]:
        """Write the probability of each class, from the columns of the stages."""
        read = self._database.read
        if self._n_classes == _TWO:
            p1 = read("found", "p1")
            return [f"{self._database.float64(1.0)} - {p1}", p1]
        total = read("sums", "total")
        return [f"{read('found', f'p{n}')} / {total}" for n in range(self._n_classes)]

    def _look_up(self, lead: str, number: int) -> str:
        """Write the value at a lead, interpolated linearly."""
        leads, values = self._calibration.leads, self._calibration.table_of(number)
        write = self._database.float64
        cases = [f"WHEN {lead} < {leads[0]} THEN {write(values[0])}"]
        for low, high, value, following in zip(leads, leads[1:], values, values[1:], strict=False):
            step = f"({write(following)} - {write(value)}) * ({lead} - {low}) / {high - low}"
            cases.append(f"WHEN {lead} < {high} THEN {write(value)} + {step}")
        return f"CASE {' '.join(cases)} ELSE {write(values[-1])} END"


def _numbered(letter: str, values: Iterator[str], kind: ValueType) -> tuple[StageColumn, ...]:
    return tuple(StageColumn(f"{letter}{n}", value, kind) for n, value in enumerate(values))
