"""Probabilities in SQL: stages that look up vote leads in the table of a calibration."""

from __future__ import annotations

from collections.abc import Iterator

from dln.core.readout import Votes
from dln.exporters.sql_dialects import Database

Columns = tuple[tuple[str, str], ...]
"""Names and expressions."""

_TWO = 2


class Lookups:
    """Writes the stages after the votes `v0`, `v1`, …, and the probabilities at the end."""

    def __init__(self, readout: Votes, database: Database) -> None:
        assert readout.calibration is not None
        self._calibration = readout.calibration
        self._n_classes = len(readout.classes)
        self._database = database

    def stages(self, most: str) -> Iterator[Columns]:
        """Yield the columns that each stage adds; `most` is the column with the most votes."""
        if self._n_classes == _TWO:
            yield (("d1", "CAST(v1 AS BIGINT) - v0"),)
            yield (("p1", self._look_up("d1", 0)),)
            return
        places = range(self._n_classes)
        cases = " ".join(f"WHEN v{place} = {most} THEN {place}" for place in places)
        yield (("won", f"CASE {cases} END"),)
        # The winner itself is left out: it gets fewer votes than any class can have.
        others = [f"CASE WHEN won = {place} THEN -4294967296 ELSE v{place} END" for place in places]
        yield (("second", self._database.greatest(others)),)
        best = f"CASE WHEN won = {{place}} THEN second ELSE {most} END"
        yield tuple(
            (f"d{place}", f"CAST(v{place} AS BIGINT) - {best.format(place=place)}")
            for place in places
        )
        yield tuple((f"p{place}", self._look_up(f"d{place}", place)) for place in places)
        yield (("total", " + ".join(f"p{place}" for place in places)),)

    def results(self) -> list[str]:
        """Write the probability of each class, from the columns of the last stage."""
        if self._n_classes == _TWO:
            return ["1.0 - p1", "p1"]
        return [f"p{place} / total" for place in range(self._n_classes)]

    def _look_up(self, lead: str, number: int) -> str:
        """Write the value at a lead, interpolated linearly."""
        leads, values = self._calibration.leads, self._calibration.table_of(number)
        write = self._database.float64
        cases = [f"WHEN {lead} < {leads[0]} THEN {write(values[0])}"]
        for low, high, value, following in zip(leads, leads[1:], values, values[1:], strict=False):
            step = f"({write(following)} - {write(value)}) * ({lead} - {low}) / {high - low}"
            cases.append(f"WHEN {lead} < {high} THEN {write(value)} + {step}")
        return f"CASE {' '.join(cases)} ELSE {write(values[-1])} END"
