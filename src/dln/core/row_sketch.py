"""Row sketch: hashes that recognise the rows a model was trained and tested on.

Rows are recognised by their values, so a table can be shuffled, reformatted or saved in another
format. Fractions that are equal as float32 count as equal.

Promise: two rows with different values share a hash with a probability below 2**-47, and the sketch
never needs more than about `MAX_CHARACTERS` in a model file. For larger tables it keeps the rows
with the smallest hashes. Then only rows with such hashes can be checked.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

HASH_BITS = 48
MAX_CHARACTERS = 40_000
MANY_REPEATS = 0.1
"""If at least this share of the rows is repeated, equal values do not identify a row."""

Part = Literal["training", "test"]
Hashes = NDArray[np.uint64]
Counts = tuple[tuple[int, int], ...]

_KEEP_ALL = 1 << HASH_BITS
_MISSING = np.uint64(0x7FF8_0000_0000_0000)  # the usual NaN
_HASH_BYTES = HASH_BITS // 8
_HASH_CHARACTERS = 8
_REPEAT_CHARACTERS = 14


# -- hashes -----------------------------------------------------------------------------------


def number_codes(values: NDArray[Any]) -> Hashes:
    """Return a code for each number: equal numbers have equal codes, NaN means missing.

    Fractions are compared as float32, so that a table is recognised after it was saved with
    32 bits a number. Integers are compared exactly.

    >>> codes = number_codes(np.array([0.0, -0.0, 1.0, np.nan, -np.nan, 0.1, np.float32(0.1)]))
    >>> bool(codes[0] == codes[1]), bool(codes[3] == codes[4]), bool(codes[5] == codes[6])
    (True, True, True)
    """
    numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    with np.errstate(all="ignore"):
        rounded = numbers.astype(np.float32).astype(np.float64) + 0.0
    numbers = np.where(np.floor(numbers) == numbers, numbers, rounded)
    codes = numbers.view(np.uint64)
    codes[np.isnan(numbers)] = _MISSING
    return codes


def text_codes(texts: Sequence[str | None]) -> Hashes:
    """Return a code for each text; None means missing."""
    return np.array([_MISSING if text is None else _text_code(text) for text in texts], np.uint64)


def _text_code(text: str) -> np.uint64:
    data = text.encode("utf-8", "surrogatepass")
    return np.uint64(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little"))


def derive_key(columns: Sequence[Hashes], seed: int) -> str:
    """Return a key for the hashes of a table: the same table and seed give the same key."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=8)
    for codes in columns:
        digest.update(codes.astype("<u8", copy=False).tobytes())
    return digest.hexdigest()


def row_hashes(columns: Sequence[Hashes], key: str) -> Hashes:
    """Combine the codes of each row into a hash below 2**48."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for place, codes in enumerate(columns):
        salt = hashlib.blake2b(f"{key} {place}".encode(), digest_size=8).digest()
        hashes ^= _mix(codes ^ np.uint64(int.from_bytes(salt, "little")))
        hashes = _mix(hashes)
    return hashes >> np.uint64(64 - HASH_BITS)


def _mix(values: Hashes) -> Hashes:
    """Spread every bit over all others (the finaliser of SplitMix64)."""
    values = values + np.uint64(0x9E37_79B9_7F4A_7C15)
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58_476D_1CE4_E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D0_49BB_1331_11EB)
    values ^= values >> np.uint64(31)
    return values


# -- sketch -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowSketch:
    """Hashes of training rows and test rows, with the number of times that each row occurs.

    Attributes
    ----------
    key
        Changes all hashes, so that sketches of different tables cannot be compared. Not a secret.
    limit
        The sketch holds the rows with a hash below this; 2**48 if it holds all rows.
    training, test
        Pairs of a hash and the number of rows with it, by ascending hash.
    """

    key: str
    limit: int
    training: Counts
    test: Counts

    @classmethod
    def of(cls, training: Hashes, test: Hashes, key: str) -> RowSketch:
        """Make a sketch of the hashes of all training rows and test rows.

        >>> rows = np.array([5, 3, 5, 9], dtype=np.uint64)
        >>> sketch = RowSketch.of(rows[:3], rows[3:], "00")
        >>> sketch.training, sketch.test
        (((3, 1), (5, 2)), ((9, 1),))
        """
        limit = _limit(training, test)
        return cls(key, limit, _counts(training, limit), _counts(test, limit))

    @property
    def is_complete(self) -> bool:
        """Whether the sketch holds all rows."""
        return self.limit == _KEEP_ALL

    @property
    def n_test_rows_in_training(self) -> int:
        """Number of test rows that are identical to a training row; estimated if incomplete."""
        training = dict(self.training)
        n = sum(n for row, n in self.test if row in training)
        return round(n * _KEEP_ALL / self.limit) if self.limit else 0

    def repeated(self, part: Part) -> float:
        """Return the share of all rows that equal another row of this part.

        It estimates how often a new row equals one of the part by chance.
        """
        mine, others = dict(self.training), dict(self.test)
        if part == "test":
            mine, others = others, mine
        n_repeated = sum(n for n in mine.values() if n > 1)
        n_repeated += sum(n for row, n in others.items() if row in mine)
        n_rows = sum(mine.values()) + sum(others.values())
        return n_repeated / n_rows if n_rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the model file."""
        document: dict[str, Any] = {"key": self.key, "limit": self.limit}
        for part, counts in (("training", self.training), ("test", self.test)):
            packed = b"".join(row.to_bytes(_HASH_BYTES, "big") for row, _ in counts)
            document[part] = base64.b64encode(packed).decode("ascii")
            document[f"{part}_repeats"] = [
                [place, n] for place, (_, n) in enumerate(counts) if n > 1
            ]
        return document

    @classmethod
    def from_dict(cls, document: object) -> RowSketch:
        """Read what `to_dict` returned; raises ValueError for anything else."""
        names = ["key", "limit", "test", "test_repeats", "training", "training_repeats"]
        if not isinstance(document, Mapping) or sorted(document) != names:
            raise ValueError(f"rows of the origin must have {', '.join(names)}")
        key, limit = document["key"], document["limit"]
        if not isinstance(key, str):
            raise ValueError(f"key of the rows is {reprlib.repr(key)}, expected text")
        if type(limit) is not int or not 0 <= limit <= _KEEP_ALL:
            raise ValueError(
                f"limit of the rows is {reprlib.repr(limit)}, expected 0 to {_KEEP_ALL}"
            )
        parts = [
            _read_counts(document[part], document[f"{part}_repeats"], limit, part)
            for part in ("training", "test")
        ]
        return cls(key, limit, *parts)


def _limit(training: Hashes, test: Hashes) -> int:
    """Return the largest limit that keeps the sketch within `MAX_CHARACTERS`."""
    rows, size = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    for part in (training, test):
        found, counts = np.unique(part, return_counts=True)
        rows = np.concatenate([rows, found])
        size = np.concatenate([size, _HASH_CHARACTERS + _REPEAT_CHARACTERS * (counts > 1)])
    order = np.argsort(rows, kind="stable")
    too_many = np.flatnonzero(np.cumsum(size[order]) > MAX_CHARACTERS)
    return int(rows[order][too_many[0]]) if len(too_many) else _KEEP_ALL


def _counts(hashes: Hashes, limit: int) -> Counts:
    rows, counts = np.unique(hashes[hashes < np.uint64(limit)], return_counts=True)
    return tuple(zip(rows.tolist(), counts.tolist(), strict=True))


def _read_counts(text: object, repeats: object, limit: int, part: str) -> Counts:
    try:
        packed = base64.b64decode(str(text), validate=True)
    except ValueError as error:
        raise ValueError(f"{part} of the rows is not base64 ({error})") from error
    if not isinstance(text, str) or len(packed) % _HASH_BYTES:
        raise ValueError(f"{part} of the rows is not base64 of {_HASH_BYTES} bytes a row")
    rows = [
        int.from_bytes(packed[start : start + _HASH_BYTES], "big")
        for start in range(0, len(packed), _HASH_BYTES)
    ]
    if any(b <= a for a, b in itertools.pairwise(rows)) or (rows and rows[-1] >= limit):
        raise ValueError(f"{part} of the rows must be ascending and below the limit")
    counts = [1] * len(rows)
    if not isinstance(repeats, list):
        raise ValueError(f"{part}_repeats of the rows is {reprlib.repr(repeats)}, expected a list")
    for repeat in repeats:
        match repeat:
            case [int(place), int(n)] if 0 <= place < len(rows) and 1 < n < 1 << 53:
                counts[place] = n
            case _:
                raise ValueError(
                    f"{part}_repeats of the rows holds {reprlib.repr(repeat)}, "
                    "expected the place of a row and its count"
                )
    return tuple(zip(rows, counts, strict=True))


# -- recognition ------------------------------------------------------------------------------


class RowMatcher:
    """Finds the rows of one part, training or test, in a table that comes in chunks.

    If the part contains n copies of a row, only the first n copies in the table are found.
    """

    def __init__(self, sketch: RowSketch, part: Part) -> None:
        self._sketch, self._part = sketch, part
        training, test = dict(sketch.training), dict(sketch.test)
        rows = sorted(training | test)
        wanted = training if part == "training" else test
        self._rows = np.array(rows, dtype=np.uint64)
        self._wanted = np.array([wanted.get(row, 0) for row in rows], dtype=np.int64)
        self._all = np.array([training.get(r, 0) + test.get(r, 0) for r in rows], dtype=np.int64)
        self._met = np.zeros(len(rows), dtype=np.int64)
        self.n_rows = self.n_checked = self.n_found = self.n_equal = 0

    def find(self, hashes: Hashes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which of the next rows can be checked, and which of these belong to the part."""
        checked = hashes < np.uint64(self._sketch.limit)
        found = np.zeros(len(hashes), dtype=bool)
        self.n_rows += len(hashes)
        self.n_checked += int(checked.sum())
        if len(self._rows):
            places = np.minimum(np.searchsorted(self._rows, hashes), len(self._rows) - 1)
            known = np.flatnonzero(self._rows[places] == hashes)
            places = places[known]
            found[known] = self._copies(places) < self._wanted[places]
            self._met += np.bincount(places, minlength=len(self._rows))
            self.n_equal += int((self._wanted[places] > 0).sum())
            self.n_found += int(found.sum())
        return checked, found

    def _copies(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row how many equal rows came before it."""
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.searchsorted(ordered, ordered)
        before = np.empty(len(places), dtype=np.int64)
        before[order] = np.arange(len(places)) - starts + self._met[ordered]
        return before

    @property
    def is_chance(self) -> bool:
        """Whether rows repeat so often that a new table would have as many equal rows by chance.

        Always false for the complete table that was split into training rows and test rows.
        """
        chance = self._sketch.repeated(self._part)
        if chance < MANY_REPEATS or self._is_whole_table:
            return False
        n, n_known = self.n_checked, int(self._all.sum())
        spread = math.sqrt(n * chance * (1 - chance) * (1 + n / n_known))
        return self.n_equal <= n * chance + 3 * spread

    @property
    def _is_whole_table(self) -> bool:
        n_known = int(self._all.sum())
        return self.n_checked == n_known and bool(np.array_equal(self._met, self._all))
