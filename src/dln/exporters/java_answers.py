"""What the readout adds to a Java class: tables and functions for classes or for a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.answer import Answer, Arithmetic, formula
from dln.exporters.java_parts import (
    Functions,
    cut,
    functions,
    java_double,
    parts_of,
    text_functions,
)
from dln.exporters.program import Program
from dln.exporters.text import fill, label_words

_ARITHMETIC = Arithmetic("(double) {x}", "Math.exp({x})")


def write_answer(program: Program, slots: Sequence[int]) -> Answer:
    """Write what depends on the readout; `slots` has the slot of each rule."""
    match program.readout:
        case Votes():
            return _write_classes(program.readout, slots)
        case Score():
            return _write_number(program.readout, slots)
        case _:
            assert_never(program.readout)


def _write_classes(readout: Votes, slots: Sequence[int]) -> Answer:
    classes = text_functions("classes", map(label_words, readout.classes))
    votes = _adding(
        readout.rules,
        slots,
        lambda rule: [f"e.votes[{k}] += {vote};" for k, vote in enumerate(rule.votes) if vote],
    )
    written = fill(
        _CLASSES,
        base=", ".join(map(str, readout.base_votes)),
        n_rules=len(readout.rules),
        adding="\n".join(part.text for part in (classes, votes) if part.text),
        run=_run(votes),
        probabilities=_probabilities(readout),
    )
    tables = f"    public static final String[] CLASSES = joined({', '.join(classes.calls)});\n"
    return Answer(_CLASS_NOTES, tables, written)


def _write_number(score: Score, slots: Sequence[int]) -> Answer:
    points = _adding(score.rules, slots, lambda rule: [f"e.points += {rule.votes[0]};"])
    written = fill(
        _NUMBER,
        offset=score.offset,
        n_rules=len(score.rules),
        adding=points.text,
        run=_run(points),
        formula=formula(score),
        prediction=_ARITHMETIC.prediction(score, "e.points"),
    )
    return Answer(_NUMBER_NOTES, "", written)


def _adding(
    rules: Sequence[Rule], slots: Sequence[int], statements: Callable[[Rule], list[str]]
) -> Functions:
    """Write functions that run the statements of each rule that fires."""

    def lines() -> Iterator[tuple[int, str]]:
        for number, (rule, slot) in enumerate(zip(rules, slots, strict=True)):
            for piece in cut([f"e.rules[{number}] = true;", *statements(rule)]):
                yield len(piece), f"        if (w[{slot}]) {{ {' '.join(piece)} }}"

    return functions("void", "votes", "boolean[] w, Explanation e", parts_of(lines()))


def _run(adding: Functions) -> str:
    return "\n".join(f"        {call};" for call in adding.calls)


def _probabilities(readout: Votes) -> str:
    calibration = readout.calibration
    if calibration is None:
        return fill(_SOFTMAX, temperature=java_double(readout.temperature))
    tables = (", ".join(map(java_double, table)) for table in calibration.values)
    return fill(
        _TABLE,
        leads=", ".join(f"{lead}L" for lead in calibration.leads),
        values=",\n        ".join(f"{{{table}}}" for table in tables),
    )


_CLASS_NOTES = (
    "Fill a Row and call predict(row). It returns the index of a class in CLASSES. explain(row)",
    "also returns the votes and the rules that fired. probabilities(votes) turns votes into",
    "probabilities. null and NaN are missing values.",
)

_NUMBER_NOTES = (
    "Fill a Row and call predict(row), which returns the prediction. explain(row) also returns",
    "the points and the rules that fired, points(row) only the points. null and NaN are missing",
    "values.",
)

_CLASSES = """\
    public static final class Explanation {
        /** The index of the class with the most votes; the first one if classes are tied. */
        public int classNumber;
        public final int[] votes = {@base@};
        /** For each rule, whether it fired. */
        public final boolean[] rules = new boolean[@n_rules@];
    }

@adding@
    public static Explanation explain(Row row) {
        final boolean[] w = run(row);
        final Explanation e = new Explanation();
@run@
        for (int k = 1; k < e.votes.length; k++) {
            if (e.votes[k] > e.votes[e.classNumber]) {
                e.classNumber = k;
            }
        }
        return e;
    }

    public static int predict(Row row) {
        return explain(row).classNumber;
    }

@probabilities@"""

_SOFTMAX = """\
    /** Return the probability of each class from its votes: the softmax of votes / temperature. */
    public static double[] probabilities(int[] votes) {
        int most = votes[0];
        for (int vote : votes) {
            most = Math.max(most, vote);
        }
        final double[] shares = new double[votes.length];
        double total = 0.0;
        for (int k = 0; k < votes.length; k++) {
            shares[k] = Math.exp(((double) votes[k] - most) / @temperature@);
            total += shares[k];
        }
        for (int k = 0; k < votes.length; k++) {
            shares[k] /= total;
        }
        return shares;
    }
"""
_TABLE = """\
    private static final long[] LEADS = {@leads@};
    private static final double[][] VALUES = {
        @values@
    };

    /** Interpolate linearly between two leads of the table. */
    private static double lookUp(long lead, double[] values) {
        if (lead < LEADS[0]) {
            return values[0];
        }
        for (int k = 1; k < LEADS.length; k++) {
            if (lead < LEADS[k]) {
                final double step = (values[k] - values[k - 1]) * (lead - LEADS[k - 1]);
                return values[k - 1] + step / (LEADS[k] - LEADS[k - 1]);
            }
        }
        return values[LEADS.length - 1];
    }

    /** Return the probability of each class from the votes of an explanation. */
    public static double[] probabilities(int[] votes) {
        if (votes.length == 2) {
            final double second = lookUp((long) votes[1] - votes[0], VALUES[0]);
            return new double[] {1.0 - second, second};
        }
        final double[] shares = new double[votes.length];
        double total = 0.0;
        for (int k = 0; k < votes.length; k++) {
            long most = Long.MIN_VALUE;
            for (int other = 0; other < votes.length; other++) {
                if (other != k) {
                    most = Math.max(most, votes[other]);
                }
            }
            shares[k] = lookUp(votes[k] - most, VALUES[k % VALUES.length]);
            total += shares[k];
        }
        for (int k = 0; k < votes.length; k++) {
            shares[k] /= total;
        }
        return shares;
    }
"""


_NUMBER = """\
    public static final class Explanation {
        public double prediction;
        public int points = @offset@;
        /** For each rule, whether it fired. */
        public final boolean[] rules = new boolean[@n_rules@];
    }

@adding@
    /** The prediction is @formula@. */
    public static Explanation explain(Row row) {
        final boolean[] w = run(row);
        final Explanation e = new Explanation();
@run@
        e.prediction = @prediction@;
        return e;
    }

    /** Return the sum of the offset and of the points of all rules that fire. */
    public static int points(Row row) {
        return explain(row).points;
    }

    public static double predict(Row row) {
        return explain(row).prediction;
    }
"""
