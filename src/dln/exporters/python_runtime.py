"""The parts of a Python module that are the same for every circuit."""

from __future__ import annotations

RUNTIME = '''\
@imports@

MODEL_ID = @id@
INPUTS = [@inputs@
]
CLASSES = [@classes@
]
RULES = [@rules@
]
PARTS = {@parts@
}

_VOTE_BITS = @n_bits@
_BASE_VOTES = @base@
_RULE_SLOTS = @slots@
_RULE_VOTES = [@votes@
]
@codes@

def _cells(columns, name):
    if name not in columns:
        raise KeyError(f"the model reads {name!r}, but the input has no such column")
    return columns[name]


def _is_missing(cell):
    return cell is None or cell != cell


@readers@_DIGITS = bytes([48, 49]) + bytes(254)


def _word(bits):
    """Pack one truth value for each row into an integer, the first row in the lowest bit."""
    return int(bytes(bits)[::-1].translate(_DIGITS) or b"0", 2)


def _above(cells, cutoff):
    return _word(map(cutoff.__lt__, cells))


def _among(codes, choice):
    return _word(map(choice.__contains__, codes))


def _missing(cells):
    return _word(cell != cell for cell in cells)


@literals@

def _run(columns, n_rows):
    """Return the word of every rule: one bit for each row."""
    ones = (1 << n_rows) - 1
    w = [0] * @n_slots@
    cells = (
@cells@
    )
@run@
    return [w[slot] for slot in _RULE_SLOTS]


@calls@'''

READERS = {
    "categories": '''\
def _read_categories(columns, name, codes):
    """Return the code of each value: NaN if missing, -1 for unknown categories."""
    cells = _cells(columns, name)
    return [math.nan if _is_missing(cell) else codes.get(cell, -1) for cell in cells]


''',
    "dates": """\
_EPOCH = datetime.datetime(1970, 1, 1)
_TICK = datetime.timedelta(microseconds=1)


def _read_dates(columns, name):
    return [_seconds(cell, name) for cell in _cells(columns, name)]


def _seconds(cell, name):
    if _is_missing(cell):
        return math.nan
    if isinstance(cell, datetime.datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return (cell - _EPOCH) // _TICK / 1e6
    if isinstance(cell, datetime.date):
        return (cell - _EPOCH.date()) // _TICK / 1e6
    if isinstance(cell, (str, bytes)):
        raise TypeError(f"column {name!r} holds {cell!r}, expected a date; use fromisoformat")
    return float(cell)


""",
    "numbers": """\
def _read_numbers(columns, name):
    return [_number(cell, name) for cell in _cells(columns, name)]


def _number(cell, name):
    if _is_missing(cell):
        return math.nan
    if isinstance(cell, (str, bytes)):
        raise TypeError(f"column {name!r} holds {cell!r}, expected a number; convert it")
    return float(cell)


""",
}
"""Functions that turn values into numbers or codes, for each kind of column."""

CALLS = '''\
def _row_columns(row):
    return {name: [row[name]] for name in INPUTS if name in row}


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
    return {"class": CLASSES[winner], "votes": counts, "rules": fired}


@probabilities@def predict_batch(columns, n_rows=None):
    """Return the class of each row. Columns are lists; n_rows is needed if no column is read."""
    lengths = {len(columns[name]) for name in INPUTS if name in columns}
    if len(lengths | {n_rows} - {None}) > 1:
        raise ValueError(f"the columns differ in length: {sorted(lengths)}")
    n_rows = lengths.pop() if lengths else n_rows or 0
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

SOFTMAX = '''\
_TEMPERATURE = @temperature@


def probabilities(row):
    """Return the probability of each class: the softmax of votes / temperature."""
    counts = votes(row)
    most = max(counts)
    odds = [math.exp((count - most) / _TEMPERATURE) for count in counts]
    return [odd / sum(odds) for odd in odds]


'''
"""Probabilities of a circuit without a calibration."""

TABLE = '''\
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
