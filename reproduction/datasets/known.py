"""The tables that can be run, and the checks before the first cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dln import OptionError, TableError
from reproduction.datasets import EMBEDDED, NAMES, load
from reproduction.datasets.dataset import HONEST
from reproduction.datasets.folder import find_folder, read_entry

BEYOND = (HONEST, *EMBEDDED)
"""Tables that the paper does not have: listed below its own, and in no mean or rank."""

KNOWN = (*NAMES, *BEYOND)
"""The names of all tables."""

_SEEDS_END = 2**32
"""NumPy's limit for seeds."""


def check_names(datasets: Sequence[str]) -> None:
    """Raise an error for an unknown table name.

    >>> check_names(["Heart", "iriss"])
    Traceback (most recent call last):
    dln.errors.OptionError: there is no data set 'iriss'; known are BankChurn, ...
    """
    for name in datasets:
        if name not in KNOWN:
            load(name)  # raises an error that lists the known names


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise an error for an invalid seed.

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
    """Raise an error if none of the tables that `DLN_DATA` should contain is there.

    If only some are missing, their own cells fail.
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
