"""What the readout adds to SQL: stages after that of the votes, and the output columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.errors import OptionError
from dln.exporters.databases.database import Database, StageColumn
from dln.exporters.sql_labels import label_expressions
from dln.exporters.sql_lookups import VOTES, Lookups, Stage

PROBABILITY = "probability_"
"""The columns of probabilities begin with this and end with the number of the class."""
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

    stages: tuple[Stage, ...]
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
    votes = [database.read(VOTES, f"v{place}") for place in range(len(labels))]
    stages: list[Stage] = []
    most = database.read("leader", "most")
    if len(labels) > _FEW_CLASSES:
        column = StageColumn("most", database.greatest(votes), "integer")
        stages.append(Stage("leader", (column,)))
    outputs = {"predicted_class": _winner(labels, votes, most)}
    if proba:
        if readout.calibration is None:
            raise OptionError(
                "the circuit has no calibration, so SQL cannot give probabilities; "
                "calibrate it first: dln.calibrate(circuit, X, y)"
            )
        lookups = Lookups(readout, database)
        stages += lookups.stages(votes, most)
        for number, value in enumerate(lookups.results()):
            outputs[f"{PROBABILITY}{number}"] = value
    first, *others = (database.texts.cast.format(x=vote) for vote in votes)
    listed = [first, *(part for text in others for part in ("','", text))]
    return SqlAnswer(tuple(stages), outputs, ('"votes":[', listed, "]"))


def _winner(labels: list[str], votes: list[str], most: str) -> str:
    """Write the expression for the first class with the most votes."""
    if len(labels) == 1:
        return labels[0]
    if len(labels) <= _FEW_CLASSES:
        return f"CASE WHEN {votes[0]} >= {votes[1]} THEN {labels[0]} ELSE {labels[1]} END"
    cases = " ".join(
        f"WHEN {vote} = {most} THEN {label}"
        for vote, label in zip(votes[:-1], labels[:-1], strict=True)
    )
    return f"CASE {cases} ELSE {labels[-1]} END"


def _write_number(score: Score, database: Database) -> SqlAnswer:
    arithmetic = database.arithmetic
    points = database.read(VOTES, "v0")
    # A stage of its own, because an expression of the link may read the score several times.
    column = StageColumn("score", arithmetic.score(score, points), "number")
    prediction = arithmetic.linked(score, database.read("scores", "score"))
    if score.link == "logit" and database.infinity == "NULL":
        prediction = f"COALESCE({prediction}, {database.float64(0.0)})"
    text = database.texts.cast.format(x=points)
    return SqlAnswer(
        (Stage("scores", (column,)),), {"prediction": prediction}, ('"points":', [text], "")
    )
