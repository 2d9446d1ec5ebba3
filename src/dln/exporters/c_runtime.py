"""The parts of a C header that are the same for every circuit."""

from __future__ import annotations

HEADER = """\
#ifndef @P@_H
#define @P@_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#define @P@_ID "@id@"
#define @P@_N_CLASSES @n_classes@
#define @P@_N_RULES @n_rules@

/* Marks names that a program may leave unused, so that compilers do not warn. */
#if defined(__GNUC__)
#define @P@_UNUSED __attribute__((unused))
#else
#define @P@_UNUSED
#endif

/* One bit for each of up to @word_bits@ rows. */
typedef uint@word_bits@_t @p@_word;

/* The names of the classes. */
@P@_UNUSED static const char *const @p@_classes[] = {
    @classes@
};

/* One row of the table. */
typedef struct {
@members@
} @p@_row;

/* Many rows: one array for each column. */
typedef struct {
@pointers@
} @p@_columns;

"""

LOOKUP = """\
/* Return the code of a category, or -2 if it is unknown. The text is UTF-8, length bytes long, and
 * needs no terminating NUL. */
@P@_UNUSED static inline int32_t @p@_code_@name@(const char *text, size_t length)
{
    static const char *const known[] = {
        @texts@
    };
    static const size_t lengths[] = {@lengths@};
    static const int32_t codes[] = {@codes@};
    int k;
    for (k = 0; k < @count@; k++) {
        size_t i = 0;
        while (i < length && length == lengths[k] && text[i] == known[k][i]) i++;
        if (i == lengths[k] && i == length) return codes[k];
    }
    return -2;
}

"""

LOOKUP_NUMBER = """\
/* Return the code of a category that is a number: -1 for NaN (missing), -2 if it is unknown. */
@P@_UNUSED static inline int32_t @p@_code_@name@_number(double number)
{
    if (number != number) return -1;
@known@
    return -2;
}

"""

_ABOVE = """\
static void @p@_above_NAME(const TYPE *x, int n, @p@_word present, const TYPE *cutoffs,
    const int32_t *slots, int count, @p@_word *w)
{
    int k, i;
    for (k = 0; k < count; k++) {
        const TYPE cutoff = cutoffs[k];
        @p@_word bits = 0;
        for (i = 0; i < n; i++) bits |= (@p@_word)(x[i] > cutoff) << i;
        w[slots[k]] = bits & present;
    }
}

"""

_FIND = """\
static @p@_word @p@_SIGNATURE
{
    @p@_word bits = 0;
    int i;
    for (i = 0; i < n; i++) bits |= (@p@_word)(BIT) << i;
    return bits;
}

"""


def _above(name: str, type_: str) -> str:
    return _ABOVE.replace("NAME", name).replace("TYPE", type_)


def _find(signature: str, bit: str) -> str:
    return _FIND.replace("SIGNATURE", signature).replace("BIT", bit)


HELPERS: dict[str, str] = {
    "flags": """\
static @p@_word @p@_flags(const uint8_t *x, size_t first, int n)
{
    @p@_word bits = 0;
    int i;
    if (x == 0) return 0;
    for (i = 0; i < n; i++) bits |= (@p@_word)(x[first + (size_t)i] != 0) << i;
    return bits;
}

""",
    "above_double": _above("double", "double"),
    **{f"above_int{bits}": _above(f"int{bits}", f"int{bits}_t") for bits in (8, 16, 32, 64)},
    "among": _find(
        "among(const int32_t *x, int n, const uint8_t *set, int32_t size)",
        "x[i] >= 0 && x[i] < size && (set[x[i] / 8] >> (x[i] % 8) & 1)",
    ),
    "listed": """\
/* Look up codes in a sorted list. */
static @p@_word @p@_listed(const int32_t *x, int n, const int32_t *codes, int count)
{
    @p@_word bits = 0;
    int i;
    for (i = 0; i < n; i++) {
        int low = 0, high = count;
        while (low < high) {
            const int middle = low + (high - low) / 2;
            if (codes[middle] < x[i]) low = middle + 1;
            else high = middle;
        }
        if (low < count && codes[low] == x[i]) bits |= (@p@_word)1 << i;
    }
    return bits;
}

""",
    "missing_double": _find("missing_double(const double *x, int n)", "x[i] != x[i]"),
    "missing_int8": _find("missing_int8(const int8_t *x, int n)", "x[i] < 0"),
    "missing_code": _find("missing_code(const int32_t *x, int n)", "x[i] == -1"),
}
"""Functions that turn up to one word of values into bits; only those in use are written."""

RUNTIME = """\
#define @P@_SLOTS @n_slots@
#define @P@_VOTE_BITS @n_bits@
#define @P@_CLASS_BITS @index_bits@

static const int32_t @p@_rule_slots[] = {@slots@};
static const @vote_type@ @p@_rule_votes[][@P@_N_CLASSES] = {
    @votes@
};
static const int32_t @p@_base_votes[] = {@base@};

static inline void @p@_literals(const @p@_columns *c, size_t first, int n, @p@_word *w)
{
    (void)c;
    (void)first;
    (void)n;
    (void)w;
@literals@
}

static inline void @p@_gates(@p@_word *w)
{
    (void)w;
@gates@
}

/* Compute the wires of up to one word of rows; bit i belongs to row first + i. */
static inline void @p@_run(const @p@_columns *c, size_t first, int n, @p@_word *w)
{
    @p@_literals(c, first, n, w);
    @p@_gates(w);
}

static inline void @p@_run_row(const @p@_row *row, @p@_word *w)
{
    @p@_columns c;
@pointers@
    @p@_run(&c, 0, 1, w);
}

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

/* Predict n rows: store the index of the class of each row in classes. */
@P@_UNUSED static inline void @p@_predict_batch(const @p@_columns *c, size_t n, int32_t *classes)
{
    const size_t most = 8 * sizeof(@p@_word);
    @p@_word w[@P@_SLOTS];
    size_t first;
    for (first = 0; first < n; first += most) {
        const int here = n - first < most ? (int)(n - first) : (int)most;
        @p@_run(c, first, here, w);
        @p@_classify(w, here, classes + first);
    }
}
@probabilities@
#endif
"""

TABLE = """\

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

TABLE_OF_TWO = """\
    probabilities[1] = @p@_look_up((int64_t)votes[1] - votes[0], @p@_values[0]);
    probabilities[0] = 1.0 - probabilities[1];"""

TABLE_OF_MORE = """\
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
