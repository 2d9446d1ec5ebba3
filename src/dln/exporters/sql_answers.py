"""What the readout adds to SQL: stages after the votes `v0`, `v1`, …, and the output columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.errors import OptionError
from dln.exporters.sql_dialects import Database
from dln.exporters.sql_labels import label_expressions
from dln.exporters.sql_lookups import Columns, Lookups

PROBABILITY = "probability_"
"""The columns of probabilities begin with this and end with the number of the class."""
_MOST = "most"
"""The column with the most votes of any class, if there are more than two classes."""
_SCORE = "score"
"""The column with the score, if a link turns it into the prediction."""
_FEW_CLASSES = 2


@dataclass(frozen=True)
class SqlAnswer:
    """How votes or points become output columns.

    Attributes
    ----------
    stages
        The columns that each further stage adds, computed from the stage before.
    outputs
        The names of the output columns, the prediction first, and their expressions over the
        columns of the last stage.
    explained
        The votes or points as the first member of a JSON object: text, texts to join, text.
    """

    stages: tuple[Columns, ...]
    outputs: dict[str, str]
    explained: tuple[str, list[str], str]


def write_answer(readout: Readout, database: Database, proba: bool) -> SqlAnswer:
    """Write what depends on the readout."""
    match readout:
        case Votes():
            return _write_classes(readout, database, proba)
        case Score():
            if proba:
                raise OptionError(
                    "the circuit predicts a number and has no probabilities; leave out proba"
                )
            return _write_number(readout, database)
        case _:
            assert_never(readout)


def _write_classes(readout: Votes, database: Database, proba: bool) -> SqlAnswer:
    labels = label_expressions(readout.classes, database)
    votes = [f"v{place}" for place in range(len(labels))]
    stages: list[Columns] = []
    if len(labels) > _FEW_CLASSES:
        stages.append(((_MOST, database.greatest(votes)),))
    outputs = {"predicted_class": _winner(labels)}
    if proba:
        if readout.calibration is None:
            raise OptionError(
                "the circuit has no calibration, so SQL cannot give probabilities; "
                "calibrate it first: dln.calibrate(circuit, X, y)"
            )
        lookups = Lookups(readout, database)
        stages += lookups.stages(_MOST)
        for number, value in enumerate(lookups.results()):
            outputs[f"{PROBABILITY}{number}"] = value
    texts = [f"CAST({vote} AS TEXT)" for vote in votes]
    listed = [texts[0], *(f"',' || {text}" for text in texts[1:])]
    return SqlAnswer(tuple(stages), outputs, ('"votes":[', listed, "]"))


def _winner(labels: list[str]) -> str:
    """Write the expression for the first class with the most votes."""
    if len(labels) == 1:
        return labels[0]
    if len(labels) <= _FEW_CLASSES:
        return f"CASE WHEN v0 >= v1 THEN {labels[0]} ELSE {labels[1]} END"
    cases = " ".join(
        f"WHEN v{place} = {_MOST} THEN {label}" for place, label in enumerate(labels[:-1])
    )
    return f"CASE {cases} ELSE {labels[-1]} END"


def _write_number(score: Score, database: Database) -> SqlAnswer:
    arithmetic = database.arithmetic
    # A stage of its own, because an expression of the link may read the score several times.
    stage = ((_SCORE, arithmetic.score(score, "v0")),)
    outputs = {"prediction": arithmetic.linked(score, _SCORE)}
    return SqlAnswer((stage,), outputs, ('"points":', ["CAST(v0 AS TEXT)"], ""))
