"""A reader of model files, written from docs/reference/model-file.md alone.

It shares no code with dln and needs only the standard library. Fuzzers compare it with dln.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

GATES = [
    "FALSE",
    "AND",
    "A_AND_NOT_B",
    "A",
    "NOT_A_AND_B",
    "B",
    "XOR",
    "OR",
    "NOR",
    "XNOR",
    "NOT_B",
    "A_OR_NOT_B",
    "NOT_A",
    "NOT_A_OR_B",
    "NAND",
    "TRUE",
]
EPOCH = datetime.datetime(1970, 1, 1)


class Model:
    """A model file that votes on rows, given as one Python value for each column."""

    def __init__(self, text: str) -> None:
        document = json.loads(text)
        assert document["format"] == "dln-circuit"
        assert document["version"] == 1 or (document["version"], document["readout"]) == (
            2,
            "votes",
        )
        self.columns = document["columns"]
        self.literals = document["literals"]
        self.gates = document["gates"]
        self.rules = document["rules"]
        self.base_votes = document["base_votes"]
        self.labels = [read_label(label) for label in document["classes"]]
        self.temperature = document["temperature"]
        self.calibration = document.get("calibration")

    def literal(self, literal: dict[str, Any], row: list[Any]) -> bool:
        """Evaluate one literal."""
        value, column = row[literal["column"]], self.columns[literal["column"]]
        if is_missing(value):
            return "missing" in literal
        if "above" in literal:
            return to_number(value) > literal["above"]
        if "among" in literal:
            categories = [read_label(column["categories"][index]) for index in literal["among"]]
            return any(value == category for category in categories)
        return False

    def wires(self, row: list[Any]) -> list[int]:
        """Evaluate the literals and the gates."""
        wires = [int(self.literal(literal, row)) for literal in self.literals]
        for name, a, b in self.gates:
            table = f"{GATES.index(name):04b}"
            wires.append(int(table[2 * wires[a] + wires[b]]))
        return wires

    def votes(self, row: list[Any]) -> list[int]:
        """Count the votes for each class."""
        wires = self.wires(row)
        votes = list(self.base_votes)
        for rule in self.rules:
            if wires[rule["wire"]]:
                votes = [vote + more for vote, more in zip(votes, rule["votes"], strict=True)]
        return votes

    def winner(self, row: list[Any]) -> int:
        """Return the index of the class with the most votes, the first of several."""
        votes = self.votes(row)
        return votes.index(max(votes))

    def probabilities(self, row: list[Any]) -> list[float]:
        """Look up the leads in the calibration, or return the softmax of votes / temperature."""
        votes = self.votes(row)
        if self.calibration and len(votes) == 2:
            second = self.value_at(votes[1] - votes[0], 0)
            return [1 - second, second]
        if self.calibration:
            weights = []
            for number, vote in enumerate(votes):
                best_other = max(votes[:number] + votes[number + 1 :])
                weights.append(self.value_at(vote - best_other, number))
            return [weight / sum(weights) for weight in weights]
        odds = [math.exp((vote - max(votes)) / self.temperature) for vote in votes]
        return [each / sum(odds) for each in odds]

    def value_at(self, lead: int, number: int) -> float:
        """Interpolate in the table of a class."""
        leads, tables = self.calibration["leads"], self.calibration["values"]
        values = tables[number] if len(tables) > 1 else tables[0]
        known = sorted(zip(leads, values, strict=True))
        below = [pair for pair in known if pair[0] <= lead]
        above = [pair for pair in known if pair[0] > lead]
        if not below:
            return values[0]
        if not above:
            return values[-1]
        (x, low), (next_x, high) = below[-1], above[0]
        return low + (high - low) * ((lead - x) / (next_x - x))


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or NaT."""
    return value is None or value != value


def to_number(value: Any) -> float:
    """Convert a number, a boolean or a date to the float64 that thresholds are compared with."""
    if isinstance(value, datetime.datetime):
        utc = value if value.tzinfo is None else value.replace(tzinfo=None) - value.utcoffset()
        return (utc - EPOCH) / datetime.timedelta(seconds=1)
    if isinstance(value, datetime.date):
        return to_number(datetime.datetime(value.year, value.month, value.day))
    return float(value)


def read_label(value: Any) -> Any:
    """Read a class label or a category."""
    match value:
        case {"number": text}:
            return float(text)
        case {"date": text}:
            return datetime.date.fromisoformat(text)
        case {"moment": text}:
            return datetime.datetime.fromisoformat(text)
    return value
