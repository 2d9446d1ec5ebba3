"""What the readout adds to a C header: tables and functions for classes or for a number.

The votes of a batch are added and compared bit by bit. The points of a number are added row by row,
because most of their bits differ from rule to rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.answer import Answer, Arithmetic, formula
from dln.exporters.c_literals import c_double
from dln.exporters.program import Program
from dln.exporters.text import c_string, fill, label_words

_ARITHMETIC = Arithmetic("(double){x}", "exp({x})", c_double)


def write_answer(program: Program) -> Answer:
    """Write what depends on the readout."""
    match program.readout:
        case Votes():
            return _write_classes(program, program.readout)
        case Score():
            return _write_number(program, program.readout)
        case _:
            assert_never(program.readout)


def _write_classes(program: Program, readout: Votes) -> Answer:
    p, n_classes = program.name, len(readout.classes)
    names = {"p": p, "P": p.upper()}
    votes = [rule.votes for rule in readout.rules] or [(0,) * n_classes]
    notes = [
        f"Fill a {p}_row and call {p}_predict; {p}_explain also returns the rules that fired.",
        f"{p}_predict_batch reads arrays. Classes are returned as indices into {p}_classes.",
    ]
    if readout.calibration is not None:
        notes.append(f"{p}_probabilities turns the votes of {p}_explain into probabilities.")
    functions = fill(
        _CLASSES,
        **names,
        n_bits=program.most_votes.bit_length() + 1,
        index_bits=max(1, (n_classes - 1).bit_length()),
        vote_type=_smallest_type(vote for row in votes for vote in row),
        votes=",\n    ".join("{" + ", ".join(map(str, row)) + "}" for row in votes),
        base=", ".join(map(str, readout.base_votes)),
    )
    batch = fill(
        _BATCH, **names, what="index of the class", type="int32_t", out="classes", store="classify"
    )
    labels = [label_words(label) for label in readout.classes]
    return Answer(
        tuple(notes),
        fill(_NAMES, **names, n_classes=n_classes, classes=_strings(labels)),
        functions + batch + _probabilities(program, readout),
    )


def _write_number(program: Program, score: Score) -> Answer:
    p = program.name
    names = {"p": p, "P": p.upper()}
    points = [rule.votes[0] for rule in score.rules] or [0]
    needs_math = score.link != "identity"
    notes = [
        f"Fill a {p}_row and call {p}_predict; {p}_explain also returns the points and the rules",
        f"that fired, and {p}_points only the points. {p}_predict_batch reads arrays.",
        *(["Link with the mathematical library (-lm), which has exp."] * needs_math),
    ]
    functions = fill(
        _NUMBER,
        **names,
        point_type=_smallest_type(points),
        points=", ".join(map(str, points)),
        offset=score.offset,
        formula=formula(score),
        prediction=_ARITHMETIC.prediction(score, "points"),
    )
    batch = fill(
        _BATCH, **names, what="prediction", type="double", out="predictions", store="add_up"
    )
    include = "#include <math.h>\n\n" * needs_math
    return Answer(tuple(notes), include, functions + batch)


def _probabilities(program: Program, readout: Votes) -> str:
    calibration, p = readout.calibration, program.name
    if calibration is None:
        return ""
    names = {"p": p, "P": p.upper()}
    body = _TABLE_OF_TWO if len(readout.classes) == 2 else _TABLE_OF_MORE
    return fill(
        _TABLE,
        **names,
        n_leads=len(calibration.leads),
        leads=", ".join(f"INT64_C({lead})" for lead in calibration.leads),
        values=",\n    ".join(
            "{" + ", ".join(map(c_double, table)) + "}" for table in calibration.values
        ),
        body=fill(body, **names, n_tables=len(calibration.values)),
    )


def _strings(texts: list[str]) -> str:
    # Half a surrogate pair has no UTF-8. It is shown as an escape and never matches.
    shown = [text.encode("utf-8", "backslashreplace").decode("utf-8") for text in texts]
    return ",\n    ".join(c_string(text) for text in shown)


def _smallest_type(numbers: Iterable[int]) -> str:
    """Return the smallest type that fits; votes take most of the memory on a microcontroller."""
    most = max(max(number, -number - 1) for number in numbers)
    return next(f"int{bits}_t" for bits in (8, 16, 32) if most < 2 ** (bits - 1))


_NAMES = """\
#define @P@_N_CLASSES @n_classes@

/* The names of the classes. */
@P@_UNUSED static const char *const @p@_classes[] = {
    @classes@
};

"""

_CLASSES = """\
#define @P@_VOTE_BITS @n_bits@
#define @P@_CLASS_BITS @index_bits@

static const @vote_type@ @p@_rule_votes[][@P@_N_CLASSES] = {
    @votes@
};
static const int32_t @p@_base_votes[] = {@base@};

/* Return the index of the predicted class in @p@_classes. Store the votes of all @P@_N_CLASSES
 * classes in votes, and 1 or 0 for each of the @P@_N_RULES rules in fired, which may be a null
 * pointer. */
@P@_UNUSED static inline int @p@_explain(const @p@_row *row, int32_t *votes, uint8_t *fired)
{
    @p@_word w[@P@_SLOTS];
    int r, k, best = 0;
    @p@_run_row(row, w);
    for (k = 0; k < @P@_N_CLASSES; k++) votes[k] = @p@_base_votes[k];
    for (r = 0; r < @P@_N_RULES; r++) {
        const int bit = (int)(w[@p@_rule_slots[r]] & 1);
        if (fired != 0) fired[r] = (uint8_t)bit;
        if (bit)
            for (k = 0; k < @P@_N_CLASSES; k++) votes[k] += @p@_rule_votes[r][k];
    }
    for (k = 1; k < @P@_N_CLASSES; k++)
        if (votes[k] > votes[best]) best = k;
    return best;
}

/* Return the index of the class with the most votes; the first one if classes are tied. */
@P@_UNUSED static inline int @p@_predict(const @p@_row *row)
{
    int32_t votes[@P@_N_CLASSES];
    return @p@_explain(row, votes, 0);
}

/* Add weight to the sum of every row whose bit is set. Sums have @P@_VOTE_BITS bits in two's
 * complement; sum[b] holds bit b of the sums of all rows. */
static inline void @p@_add(@p@_word *sum, @p@_word bits, int32_t weight)
{
    @p@_word carry = 0;
    int b;
    for (b = 0; b < @P@_VOTE_BITS; b++) {
        const @p@_word more = ((uint32_t)weight >> b & 1u) ? bits : 0;
        const @p@_word both = (sum[b] & more) | (carry & (sum[b] ^ more));
        sum[b] = sum[b] ^ more ^ carry;
        carry = both;
    }
}

/* Return the rows in which the sum a is less than the sum b. */
static inline @p@_word @p@_less(const @p@_word *a, const @p@_word *b)
{
    @p@_word less = 0;
    int bit;
    for (bit = 0; bit < @P@_VOTE_BITS - 1; bit++)
        less = (b[bit] & ~a[bit]) | (less & ~(a[bit] ^ b[bit]));
    /* The last bit is the sign. */
    return (a[bit] & ~b[bit]) | (less & ~(a[bit] ^ b[bit]));
}

/* Store the index of the class of each row, for up to one word of rows. */
static inline void @p@_classify(const @p@_word *w, int n, int32_t *classes)
{
    @p@_word best[@P@_VOTE_BITS], sum[@P@_VOTE_BITS], place[@P@_CLASS_BITS];
    int r, k, b, i;
    for (b = 0; b < @P@_CLASS_BITS; b++) place[b] = 0;
    for (k = 0; k < @P@_N_CLASSES; k++) {
        @p@_word *const to = k == 0 ? best : sum;
        for (b = 0; b < @P@_VOTE_BITS; b++)
            to[b] = ((uint32_t)@p@_base_votes[k] >> b & 1u) ? ~(@p@_word)0 : 0;
        for (r = 0; r < @P@_N_RULES; r++)
            if (@p@_rule_votes[r][k] != 0) @p@_add(to, w[@p@_rule_slots[r]], @p@_rule_votes[r][k]);
        if (k > 0) {
            const @p@_word won = @p@_less(best, sum);
            for (b = 0; b < @P@_VOTE_BITS; b++)
                best[b] = (sum[b] & won) | (best[b] & ~won);
            for (b = 0; b < @P@_CLASS_BITS; b++)
                place[b] = (k >> b & 1) ? (place[b] | won) : (place[b] & ~won);
        }
    }
    for (i = 0; i < n; i++) {
        int32_t number = 0;
        for (b = 0; b < @P@_CLASS_BITS; b++) number |= (int32_t)(place[b] >> i & 1) << b;
        classes[i] = number;
    }
}

"""

_NUMBER = """\
static const @point_type@ @p@_rule_points[] = {@points@};

/* Return the prediction for some points: @formula@. */
@P@_UNUSED static inline double @p@_number(int32_t points)
{
    return @prediction@;
}

/* Return the prediction. Store the points, and 1 or 0 for each of the @P@_N_RULES rules in fired,
 * which may be a null pointer. */
@P@_UNUSED static inline double @p@_explain(const @p@_row *row, int32_t *points, uint8_t *fired)
{
    @p@_word w[@P@_SLOTS];
    int r;
    @p@_run_row(row, w);
    *points = @offset@;
    for (r = 0; r < @P@_N_RULES; r++) {
        const int bit = (int)(w[@p@_rule_slots[r]] & 1);
        if (fired != 0) fired[r] = (uint8_t)bit;
        if (bit) *points += @p@_rule_points[r];
    }
    return @p@_number(*points);
}

/* Return the sum of the offset and of the points of all rules that fire. */
@P@_UNUSED static inline int32_t @p@_points(const @p@_row *row)
{
    int32_t points;
    (void)@p@_explain(row, &points, 0);
    return points;
}

/* Return the prediction. */
@P@_UNUSED static inline double @p@_predict(const @p@_row *row)
{
    return @p@_number(@p@_points(row));
}

/* Store the prediction of each row, for up to one word of rows. */
static inline void @p@_add_up(const @p@_word *w, int n, double *predictions)
{
    int32_t points[8 * sizeof(@p@_word)];
    int r, i;
    for (i = 0; i < n; i++) points[i] = @offset@;
    for (r = 0; r < @P@_N_RULES; r++) {
        const @p@_word bits = w[@p@_rule_slots[r]];
        const int32_t more = @p@_rule_points[r];
        for (i = 0; i < n; i++) points[i] += (int32_t)(bits >> i & 1) * more;
    }
    for (i = 0; i < n; i++) predictions[i] = @p@_number(points[i]);
}

"""

_BATCH = """\
/* Predict n rows: store the @what@ of each row in @out@. */
@P@_UNUSED static inline void @p@_predict_batch(const @p@_columns *c, size_t n, @type@ *@out@)
{
    const size_t most = 8 * sizeof(@p@_word);
    @p@_word w[@P@_SLOTS];
    size_t first;
    for (first = 0; first < n; first += most) {
        const int here = n - first < most ? (int)(n - first) : (int)most;
        @p@_run(c, first, here, w);
        @p@_@store@(w, here, @out@ + first);
    }
}
"""

_TABLE = """\

#define @P@_N_LEADS @n_leads@

static const int64_t @p@_leads[] = {@leads@};
static const double @p@_values[][@P@_N_LEADS] = {
    @values@
};

/* Interpolate linearly between two leads of the table. */
static inline double @p@_look_up(int64_t lead, const double *values)
{
    int k;
    if (lead < @p@_leads[0]) return values[0];
    for (k = 1; k < @P@_N_LEADS; k++)
        if (lead < @p@_leads[k]) {
            const double step = (values[k] - values[k - 1]) * (double)(lead - @p@_leads[k - 1]);
            return values[k - 1] + step / (double)(@p@_leads[k] - @p@_leads[k - 1]);
        }
    return values[@P@_N_LEADS - 1];
}

/* Store the probability of each class in probabilities. The votes are those of @p@_explain. */
@P@_UNUSED static inline void @p@_probabilities(const int32_t *votes, double *probabilities)
{
@body@
}
"""
"""Probabilities of a calibrated circuit. The softmax of others would need a library."""

_TABLE_OF_TWO = """\
    probabilities[1] = @p@_look_up((int64_t)votes[1] - votes[0], @p@_values[0]);
    probabilities[0] = 1.0 - probabilities[1];"""

_TABLE_OF_MORE = """\
    double total = 0.0;
    int k, other;
    for (k = 0; k < @P@_N_CLASSES; k++) {
        int64_t most = INT64_MIN;
        for (other = 0; other < @P@_N_CLASSES; other++)
            if (other != k && votes[other] > most) most = votes[other];
        probabilities[k] = @p@_look_up(votes[k] - most, @p@_values[k % @n_tables@]);
        total += probabilities[k];
    }
    for (k = 0; k < @P@_N_CLASSES; k++) probabilities[k] /= total;"""
