"""The parts of a C header that are the same for every circuit."""

from __future__ import annotations

HEADER = """\
#ifndef @P@_H
#define @P@_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#define @P@_ID "@id@"
#define @P@_N_RULES @n_rules@

/* Marks names that a program may leave unused, so that compilers do not warn. */
#if defined(__GNUC__)
#define @P@_UNUSED __attribute__((unused))
#else
#define @P@_UNUSED
#endif

/* One bit for each of up to @word_bits@ rows. */
typedef uint@word_bits@_t @p@_word;

@tables@/* One row of the table. */
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

static const int32_t @p@_rule_slots[] = {@slots@};

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

@functions@
#endif
"""
