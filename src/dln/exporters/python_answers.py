"""What the readout adds to a Python module: tables and functions for classes or for a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dln.core.labels import Label
from dln.core.readout import Votes
from dln.core.score import Score
from dln.exporters.answer import Answer, Arithmetic, formula
from dln.exporters.program import Program
from dln.exporters.text import fill

_ARITHMETIC = Arithmetic("{x}", "_exp({x})")


def write_answer(program: Program) -> Answer:
    """Write what depends on the readout."""
    match program.readout:
        case Votes():
            return _write_classes(program, program.readout)
        case Score():
            return _write_number(program.readout)
        case _:
            assert_never(program.readout)


def _write_classes(program: Program, readout: Votes) -> Answer:
    functions = fill(
        _CLASSES,
        n_bits=program.most_votes.bit_length() + 1,
        base=tuple_text(readout.base_votes),
        votes=listed([tuple_text(rule.votes) for rule in readout.rules]),
        probabilities=_probabilities(readout),
    )
    labels = listed([label_value(label) for label in readout.classes])
    return Answer(_CLASS_NOTES, f"CLASSES = [{labels}\n]\n", functions)


def _write_number(score: Score) -> Answer:
    functions = fill(
        _NUMBER,
        offset=score.offset,
        points=tuple_text([rule.votes[0] for rule in score.rules]),
        exp="" if score.link == "identity" else _EXP,
        formula=formula(score),
        prediction=_ARITHMETIC.prediction(score, "points"),
    )
    return Answer(_NUMBER_NOTES, "", functions)


def _probabilities(readout: Votes) -> str:
    calibration = readout.calibration
    if calibration is None:
        return fill(_SOFTMAX, temperature=repr(readout.temperature))
    tables = [tuple_text(table) for table in calibration.values]
    return fill(_TABLE, leads=tuple_text(calibration.leads), values=listed(tables))


def label_value(label: Label) -> str:
    """Write a label or category as a Python value."""
    if isinstance(label, float) and label in (float("inf"), float("-inf")):
        return f"float({str(label)!r})"
    return ascii(label)


def listed(items: Sequence[str]) -> str:
    """Write the items of a list, each in its line."""
    return "".join(f"\n    {item}," for item in items)


def tuple_text(values: Sequence[int] | Sequence[float]) -> str:
    """Write a tuple of numbers."""
    return "(" + "".join(f"{value!r}, " for value in values).rstrip() + ")"


_CLASS_NOTES = (
    "predict(row) takes a mapping of column names to values and returns the class; explain(row)",
    "also returns the votes and the rules that fired. predict_batch(columns) takes a mapping of",
    "column names to lists and returns a list. Columns that INPUTS does not list are ignored.",
    "None and NaN are missing values.",
)

_NUMBER_NOTES = (
    "predict(row) takes a mapping of column names to values and returns the prediction;",
    "explain(row) also returns the points and the rules that fired. predict_batch(columns) takes a",
    "mapping of column names to lists and returns a list. Columns that INPUTS does not list are",
    "ignored. None and NaN are missing values.",
)

_CLASSES = '''\
_VOTE_BITS = @n_bits@
_BASE_VOTES = @base@
_RULE_VOTES = [@votes@
]


def votes(row):
    """Return the votes of each class."""
    return explain(row)["votes"]


def predict(row):
    """Return the class with the most votes. A tie goes to the first class."""
    return explain(row)["class"]


def explain(row):
    """Return the class, the votes of each class and the numbers of the rules that fired."""
    fired = [rule for rule, word in enumerate(_run(_row_columns(row), 1)) if word]
    counts = list(_BASE_VOTES)
    for rule in fired:
        for place, vote in enumerate(_RULE_VOTES[rule]):
            counts[place] += vote
    winner = counts.index(max(counts))
    numbers = [rule + 1 for rule in fired]
    return {"class": CLASSES[winner], "votes": counts, "rules": numbers}


@probabilities@def predict_batch(columns, n_rows=None):
    """Return the class of each row. Columns are lists; n_rows is needed if no column is read."""
    n_rows = _count_rows(columns, n_rows)
    words = _run(columns, n_rows)
    ones = (1 << n_rows) - 1
    best, winners = None, [0] * n_rows
    for place in range(len(CLASSES)):
        total = [ones * (_BASE_VOTES[place] >> bit & 1) for bit in range(_VOTE_BITS)]
        for word, given in zip(words, _RULE_VOTES):
            if given[place]:
                _add(total, word, given[place])
        if best is None:
            best = total
            continue
        won = _less(best, total, ones)
        best = [(new & won) | (old & (won ^ ones)) for old, new in zip(best, total)]
        for row, bit in enumerate(reversed(f"{won:0{n_rows}b}" if n_rows else "")):
            if bit == "1":
                winners[row] = place
    return [CLASSES[winner] for winner in winners]


def _add(total, word, weight):
    """Add a weight to the sum of each row whose bit is set; total[b] holds bit b of all sums."""
    carry = 0
    for bit, old in enumerate(total):
        more = word if weight >> bit & 1 else 0
        total[bit] = old ^ more ^ carry
        carry = (old & more) | (carry & (old ^ more))


def _less(a, b, ones):
    """Return the word of the rows in which sum a is less than sum b; the last bit is the sign."""
    less = 0
    for old, new in zip(a[:-1], b[:-1]):
        less = (new & (old ^ ones)) | (less & (old ^ new ^ ones))
    return (a[-1] & (b[-1] ^ ones)) | (less & (a[-1] ^ b[-1] ^ ones))
'''

_SOFTMAX = '''\
_TEMPERATURE = @temperature@


def probabilities(row):
    """Return the probability of each class: the softmax of votes / temperature."""
    counts = votes(row)
    most = max(counts)
    odds = [math.exp((count - most) / _TEMPERATURE) for count in counts]
    return [odd / sum(odds) for odd in odds]


'''
"""Probabilities of a circuit without a calibration."""

_TABLE = '''\
_LEADS = @leads@
_VALUES = [@values@
]


def probabilities(row):
    """Return the probability of each class, looked up by vote leads."""
    counts = votes(row)
    if len(counts) == 2:
        second = _look_up(counts[1] - counts[0], _VALUES[0])
        return [1.0 - second, second]
    weights = []
    for place, count in enumerate(counts):
        others = max(counts[:place] + counts[place + 1 :])
        weights.append(_look_up(count - others, _VALUES[place % len(_VALUES)]))
    total = sum(weights)
    return [weight / total for weight in weights]


def _look_up(lead, values):
    """Interpolate linearly between two leads of the table."""
    if lead < _LEADS[0]:
        return values[0]
    for low, high, value, next_value in zip(_LEADS, _LEADS[1:], values, values[1:]):
        if lead < high:
            return value + (next_value - value) * (lead - low) / (high - low)
    return values[-1]


'''
"""Probabilities of a calibrated circuit."""


_NUMBER = '''\
_OFFSET = @offset@
_RULE_POINTS = @points@


@exp@def _prediction(points):
    """Return @formula@."""
    return float(@prediction@)


def points(row):
    """Return the sum of the offset and of the points of all rules that fire."""
    return explain(row)["points"]


def predict(row):
    """Return the prediction, a float."""
    return explain(row)["prediction"]


def explain(row):
    """Return the prediction, the points and the numbers of the rules that fired."""
    fired = [rule for rule, word in enumerate(_run(_row_columns(row), 1)) if word]
    total = _OFFSET + sum(_RULE_POINTS[rule] for rule in fired)
    numbers = [rule + 1 for rule in fired]
    return {"prediction": _prediction(total), "points": total, "rules": numbers}


def predict_batch(columns, n_rows=None):
    """Return the prediction of each row. Columns are lists; n_rows is needed if none is read."""
    n_rows = _count_rows(columns, n_rows)
    totals = [_OFFSET] * n_rows
    for word, more in zip(_run(columns, n_rows), _RULE_POINTS):
        bits = reversed(f"{word:0{n_rows}b}" if n_rows else "")
        totals = [total + more if bit == "1" else total for total, bit in zip(totals, bits)]
    return [_prediction(total) for total in totals]
'''

_EXP = """\
def _exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


"""
"""Python raises an error where other languages return infinity."""
