"""Run the ablations that have no result yet, several splits in parallel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic

from dln import DlnError
from reproduction.ablations.results import ablation_store, split_key, write_ablated
from reproduction.ablations.variants import VARIANTS, run_split
from reproduction.datasets import Dataset, check_name, load
from reproduction.datasets.folder import check_tables
from reproduction.models.outcome import EngineName
from reproduction.published import size_of
from reproduction.run.workers import run_items


@dataclass(frozen=True)
class Split:
    """One variant on one split of one dataset."""

    dataset: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.variant} {self.seed}"


def run_ablations(
    datasets: Sequence[str],
    folder: Path,
    say: Callable[[str], None],
    *,
    jobs: int = 1,
    engine: EngineName = "native",
    seconds: float | None = None,
) -> int:
    """Run the missing splits; return how many remain. Each result is written when it is there."""
    for name in datasets:
        check_name(name)
    end = None if seconds is None else monotonic() + seconds
    left = missing_splits(datasets, folder)
    n_missing, waiting, done = len(left), iter(left), 0

    def take(running: Collection[Split]) -> Split | None:
        return None if end is not None and monotonic() >= end else next(waiting, None)

    for split, ended in run_items(take, lambda one: partial(_run, one, folder, engine), jobs):
        done += not (error := ended.error or ended.value)
        say(f"[{done}/{n_missing}] {split}" + (f": {error}" if error else ""))
    return n_missing - done


def missing_splits(datasets: Sequence[str], folder: Path) -> list[Split]:
    """List the splits without a result: small tables and first seeds first, variants together.

    So a run that stops early leaves large tables with fewer seeds, and hardly any split with a
    part of its variants.
    """
    check_tables(datasets)
    store = ablation_store(folder)
    splits = [
        Split(name, variant, seed)
        for name in datasets
        for variant, entry in VARIANTS.items()
        for seed in range(entry.effort(name).seeds)
        if not store.has(split_key(name, variant, seed))
    ]
    return sorted(splits, key=lambda one: ((one.seed + 1) * size_of(one.dataset), one.dataset))


def _run(split: Split, folder: Path, engine: EngineName) -> str:
    """Run a split and write its result; return an error message or nothing."""
    try:
        result = run_split(_load(split.dataset), split.variant, split.seed, engine)
    except DlnError as error:
        return str(error)
    write_ablated(result, folder, engine)
    return ""


@lru_cache(maxsize=2)
def _load(name: str) -> Dataset:
    return load(name)
