"""What the readout adds to a JavaScript module: tables and functions for classes or a number."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import assert_never

from dln.core.labels import Label
from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.answer import Answer, Arithmetic, formula
from dln.exporters.program import Program
from dln.exporters.text import ascii_json, fill

_ARITHMETIC = Arithmetic("{x}", "Math.exp({x})")
_EXACT = 2**53


def write_answer(program: Program) -> Answer:
    """Write what depends on the readout."""
    match program.readout:
        case Votes():
            return _write_classes(program.readout)
        case Score():
            return _write_number(program.readout)
        case _:
            assert_never(program.readout)


def _write_classes(readout: Votes) -> Answer:
    functions = fill(
        _CLASSES,
        base=list(readout.base_votes),
        votes=listed([str(list(rule.votes)) for rule in readout.rules]),
        probabilities=_probabilities(readout),
    )
    labels = listed([label_value(label) for label in readout.classes])
    return Answer(_CLASS_NOTES, f"export const classes = [{labels}\n];\n", functions)


def _write_number(score: Score) -> Answer:
    functions = fill(
        _NUMBER,
        offset=score.offset,
        points=[rule.votes[0] for rule in score.rules],
        formula=formula(score),
        prediction=_ARITHMETIC.prediction(score, "total"),
    )
    return Answer(_NUMBER_NOTES, "", functions)


def _probabilities(readout: Votes) -> str:
    calibration = readout.calibration
    if calibration is None:
        return fill(_SOFTMAX, temperature=repr(readout.temperature))
    tables = [str(list(table)) for table in calibration.values]
    return fill(_TABLE, leads=list(calibration.leads), values=listed(tables))


def label_value(label: Label) -> str:
    """Write a label: large integers as BigInt, dates as ISO text."""
    if isinstance(label, (datetime.date, str)):
        return ascii_json(label.isoformat() if isinstance(label, datetime.date) else label)
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, int):
        return str(label) if abs(label) < _EXACT else f"{label}n"
    return repr(label) if math.isfinite(label) else ("Infinity" if label > 0 else "-Infinity")


def listed(items: Sequence[str]) -> str:
    """Write the items of an array, each in its line."""
    return "".join(f"\n  {item}," for item in items)


_CLASS_NOTES = (
    "predict(row) takes an object with a property for each of the inputs and returns the class;",
    "explain(row) also returns the votes and the numbers of the rules that fired. null, undefined",
    "and NaN are missing values.",
)

_NUMBER_NOTES = (
    "predict(row) takes an object with a property for each of the inputs and returns the",
    "prediction; explain(row) also returns the points and the numbers of the rules that fired.",
    "null, undefined and NaN are missing values.",
)

_CLASSES = """\
const baseVotes = @base@;
const ruleVotes = [@votes@
];

/** Return the class, the votes of each class and the numbers of the rules that fired, from 1 on. */
export function explain(row) {
  const fired = [];
  const votes = [...baseVotes];
  run(row).forEach((bit, rule) => {
    if (bit === 1) {
      fired.push(rule + 1);
      ruleVotes[rule].forEach((vote, place) => {
        votes[place] += vote;
      });
    }
  });
  let winner = 0;
  votes.forEach((count, place) => {
    if (count > votes[winner]) winner = place;
  });
  return { class: classes[winner], votes, rules: fired };
}

/** Return the class with the most votes. A tie goes to the first class. */
export function predict(row) {
  return explain(row).class;
}

/** Return the votes of each class. */
export function votes(row) {
  return explain(row).votes;
}

@probabilities@"""

_SOFTMAX = """\
const temperature = @temperature@;

/** Return the probability of each class: the softmax of votes / temperature. */
export function probabilities(row) {
  const counts = votes(row);
  const most = counts.reduce((a, b) => Math.max(a, b));
  const odds = counts.map((count) => Math.exp((count - most) / temperature));
  const total = odds.reduce((a, b) => a + b);
  return odds.map((odd) => odd / total);
}
"""
"""Probabilities of a circuit without a calibration."""

_TABLE = """\
const leads = @leads@;
const values = [@values@
];

/** Return the probability of each class, looked up by vote leads. */
export function probabilities(row) {
  const counts = votes(row);
  if (counts.length === 2) {
    const second = lookUp(counts[1] - counts[0], values[0]);
    return [1 - second, second];
  }
  const weights = counts.map((count, place) => {
    const others = counts.reduce((a, b, k) => (k === place ? a : Math.max(a, b)), -Infinity);
    return lookUp(count - others, values[place % values.length]);
  });
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / total);
}

/** Interpolate linearly between two leads of the table. */
function lookUp(lead, table) {
  if (lead < leads[0]) return table[0];
  for (let k = 1; k < leads.length; k += 1) {
    if (lead < leads[k]) {
      const step = table[k] - table[k - 1];
      return table[k - 1] + (step * (lead - leads[k - 1])) / (leads[k] - leads[k - 1]);
    }
  }
  return table[leads.length - 1];
}
"""
"""Probabilities of a calibrated circuit."""


_NUMBER = """\
const rulePoints = @points@;

/** Return the prediction, the points and the numbers of the rules that fired, from 1 on. */
export function explain(row) {
  const fired = [];
  let total = @offset@;
  run(row).forEach((bit, rule) => {
    if (bit === 1) {
      fired.push(rule + 1);
      total += rulePoints[rule];
    }
  });
  // @formula@
  return { prediction: @prediction@, points: total, rules: fired };
}

/** Return the prediction, a Number. */
export function predict(row) {
  return explain(row).prediction;
}

/** Return the sum of the offset and of the points of all rules that fire. */
export function points(row) {
  return explain(row).points;
}
"""
