"""What the readout adds to a Rust module: tables and functions for classes or for a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.answer import Answer, Arithmetic, formula
from dln.exporters.program import Program
from dln.exporters.text import fill, label_words


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
    names = [rust_string(label_words(label)) for label in readout.classes]
    functions = fill(
        _CLASSES,
        n_classes=len(names),
        n_rules=len(readout.rules),
        base=list(readout.base_votes),
        votes=listed([str(list(rule.votes)) for rule in readout.rules]),
        probabilities=_probabilities(readout),
    )
    tables = f"pub const CLASSES: [&str; {len(names)}] = [{listed(names)}\n];\n"
    return Answer(_CLASS_NOTES, tables, functions)


def _write_number(score: Score) -> Answer:
    functions = fill(
        _NUMBER,
        n_rules=len(score.rules),
        offset=score.offset,
        points=[rule.votes[0] for rule in score.rules],
        formula=formula(score),
        prediction=_ARITHMETIC.prediction(score, "points"),
    )
    return Answer(_NUMBER_NOTES, "", functions)


def _probabilities(readout: Votes) -> str:
    calibration = readout.calibration
    if calibration is None:
        return ""
    sizes = {"n_classes": len(readout.classes), "n_tables": len(calibration.values)}
    body = _TABLE_OF_TWO if len(readout.classes) == 2 else _TABLE_OF_MORE
    return fill(
        _TABLE,
        **sizes,
        n_leads=len(calibration.leads),
        leads=list(calibration.leads),
        values=listed([f"[{', '.join(map(rust_float, x))}]" for x in calibration.values]),
        body=fill(body, **sizes),
    )


def listed(items: Sequence[str]) -> str:
    """Write the items of an array, each in its line."""
    return "".join(f"\n    {item}," for item in items)


def rust_string(text: str) -> str:
    r"""Write a string literal in ASCII; half a surrogate pair is shown as an escape.

    >>> print(rust_string('é"\\'))
    "\u{e9}\"\\"
    """
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    letters = [
        f"\\{letter}"
        if letter in '"\\'
        else (letter if " " <= letter <= "~" else f"\\u{{{ord(letter):x}}}")
        for letter in shown
    ]
    return '"' + "".join(letters) + '"'


def rust_float(value: float) -> str:
    """Write a number of type f64."""
    if math.isinf(value):
        return "f64::INFINITY" if value > 0 else "f64::NEG_INFINITY"
    return f"{value!r}_f64"


_ARITHMETIC = Arithmetic("f64::from({x})", "({x}).exp()", rust_float)

_CLASS_NOTES = (
    "predict(&row) returns the index of a class in CLASSES; explain(&row) also returns the votes",
    "and the rules that fired. probabilities(&votes), if there, turns the votes of explain into",
    "probabilities. None and NaN are missing values.",
)

_NUMBER_NOTES = (
    "predict(&row) returns the prediction; explain(&row) also returns the points and the rules",
    "that fired, points(&row) only the points. None and NaN are missing values.",
)

_CLASSES = """\
const BASE_VOTES: [i32; @n_classes@] = @base@;
const RULE_VOTES: [[i32; @n_classes@]; @n_rules@] = [@votes@
];

pub struct Explanation {
    /// The index of the class with the most votes; the first one if classes are tied.
    pub class_number: usize,
    pub votes: [i32; @n_classes@],
    /// For each rule, whether it fired.
    pub rules: [bool; @n_rules@],
}

pub fn explain(row: &Row) -> Explanation {
    let w = run(row);
    let mut votes = BASE_VOTES;
    let mut rules = [false; @n_rules@];
    for (rule, &slot) in RULE_SLOTS.iter().enumerate() {
        rules[rule] = w[slot];
        if w[slot] {
            for (count, more) in votes.iter_mut().zip(RULE_VOTES[rule].iter()) {
                *count += more;
            }
        }
    }
    let mut class_number = 0;
    for (place, count) in votes.iter().enumerate() {
        if *count > votes[class_number] {
            class_number = place;
        }
    }
    Explanation { class_number, votes, rules }
}

pub fn predict(row: &Row) -> usize {
    explain(row).class_number
}
@probabilities@"""

_TABLE = """\

const LEADS: [i64; @n_leads@] = @leads@;
const VALUES: [[f64; @n_leads@]; @n_tables@] = [@values@
];

/// Interpolate linearly between two leads of the table.
fn look_up(lead: i64, values: &[f64; @n_leads@]) -> f64 {
    if lead < LEADS[0] {
        return values[0];
    }
    for k in 1..LEADS.len() {
        if lead < LEADS[k] {
            let step = (values[k] - values[k - 1]) * (lead - LEADS[k - 1]) as f64;
            return values[k - 1] + step / (LEADS[k] - LEADS[k - 1]) as f64;
        }
    }
    values[LEADS.len() - 1]
}

/// Return the probability of each class from the votes of `explain`.
pub fn probabilities(votes: &[i32; @n_classes@]) -> [f64; @n_classes@] {
@body@
}
"""
_TABLE_OF_TWO = """\
    let second = look_up(votes[1] as i64 - votes[0] as i64, &VALUES[0]);
    [1.0 - second, second]"""
_TABLE_OF_MORE = """\
    let mut shares = [0.0; @n_classes@];
    let mut total = 0.0;
    for (k, share) in shares.iter_mut().enumerate() {
        let mut most = i64::MIN;
        for (other, &count) in votes.iter().enumerate() {
            if other != k && count as i64 > most {
                most = count as i64;
            }
        }
        *share = look_up(votes[k] as i64 - most, &VALUES[k % @n_tables@]);
        total += *share;
    }
    for share in shares.iter_mut() {
        *share /= total;
    }
    shares"""


_NUMBER = """\
const RULE_POINTS: [i32; @n_rules@] = @points@;

pub struct Explanation {
    pub prediction: f64,
    pub points: i32,
    /// For each rule, whether it fired.
    pub rules: [bool; @n_rules@],
}

pub fn explain(row: &Row) -> Explanation {
    let w = run(row);
    let mut points = @offset@_i32;
    let mut rules = [false; @n_rules@];
    for (rule, &slot) in RULE_SLOTS.iter().enumerate() {
        rules[rule] = w[slot];
        if w[slot] {
            points += RULE_POINTS[rule];
        }
    }
    // @formula@
    Explanation { prediction: @prediction@, points, rules }
}

/// Return the sum of the offset and of the points of all rules that fire.
pub fn points(row: &Row) -> i32 {
    explain(row).points
}

pub fn predict(row: &Row) -> f64 {
    explain(row).prediction
}
"""
