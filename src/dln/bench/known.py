"""The tables that can be run, and what is refused before the first cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dln.datasets import EMBEDDED, NAMES, load
from dln.datasets.dataset import HONEST
from dln.datasets.folder import find_folder, read_entry
from dln.errors import OptionError, TableError

BEYOND = (HONEST, *EMBEDDED)
"""Tables that the paper does not have: they stand below its own, in no mean or rank."""

KNOWN = (*NAMES, *BEYOND)
"""The tables by name."""

_SEEDS_END = 2**32
"""NumPy takes no larger seed."""


def check_names(datasets: Sequence[str]) -> None:
    """Refuse a name that no table has.

    >>> check_names(["Heart", "iriss"])
    Traceback (most recent call last):
    dln.errors.OptionError: there is no data set 'iriss'; known are BankChurn, ...
    """
    for name in datasets:
        if name not in KNOWN:
            load(name)  # refuses it, and names those that there are


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse numbers that are no seeds.

    >>> check_seeds([0, -1])
    Traceback (most recent call last):
    dln.errors.OptionError: a seed is -1, expected whole numbers from 0 to 4294967295
    """
    for seed in seeds:
        if not 0 <= seed < _SEEDS_END:
            raise OptionError(
                f"a seed is {seed}, expected whole numbers from 0 to {_SEEDS_END - 1}"
            )


def check_tables(datasets: Iterable[str]) -> None:
    """Refuse to begin where none of the tables that need the folder of `DLN_DATA` is in it.

    A table that alone is missing fails for its own cells.
    """
    needed = [name for name in dict.fromkeys(datasets) if name not in EMBEDDED]
    if not needed:
        return
    folder = find_folder()
    refused = []
    for name in needed:
        try:
            read_entry(folder, name.removesuffix("-honest"))
        except TableError as error:
            refused.append(error)
    if len(refused) == len(needed):
        raise refused[0]
