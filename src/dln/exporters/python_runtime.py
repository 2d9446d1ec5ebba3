"""The parts of a Python module that are the same for every circuit."""

from __future__ import annotations

RUNTIME = '''\
@imports@

MODEL_ID = @id@
INPUTS = [@inputs@
]
@tables@RULES = [@rules@
]
PARTS = {@parts@
}

_RULE_SLOTS = @slots@
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


def _row_columns(row):
    return {name: [row[name]] for name in INPUTS if name in row}


def _count_rows(columns, n_rows):
    lengths = {len(columns[name]) for name in INPUTS if name in columns}
    if len(lengths | {n_rows} - {None}) > 1:
        raise ValueError(f"the columns differ in length: {sorted(lengths)}")
    return lengths.pop() if lengths else n_rows or 0


@functions@'''

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
