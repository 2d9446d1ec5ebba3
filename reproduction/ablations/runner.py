"""Run the ablations that have no result yet, small tables first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from reproduction.ablations.results import ablation_store, write_ablations
from reproduction.ablations.variants import VARIANTS, run_variant
from reproduction.datasets import check_name, load
from reproduction.datasets.folder import check_tables
from reproduction.models.outcome import EngineName
from reproduction.published import size_of


def run_ablations(
    datasets: Sequence[str],
    folder: Path,
    say: Callable[[str], None],
    *,
    threads: int = 1,
    engine: EngineName = "native",
    seconds: float | None = None,
) -> int:
    """Run the missing (dataset, variant) pairs with all their seeds; return how many remain."""
    for name in datasets:
        check_name(name)
    end = None if seconds is None else monotonic() + seconds
    store = ablation_store(folder)
    pairs = [
        (name, variant)
        for name in sorted(datasets, key=size_of)
        for variant in VARIANTS
        if not store.has((name, variant))
    ]
    check_tables(name for name, _ in pairs)
    for done, (name, variant) in enumerate(pairs):
        if end is not None and monotonic() >= end:
            return len(pairs) - done
        start = monotonic()
        results = run_variant(load(name), variant, threads=threads, engine=engine)
        write_ablations(results, folder, engine)
        mean = sum(result.accuracy for result in results) / len(results)
        taken = monotonic() - start
        say(f"[{done + 1}/{len(pairs)}] {name}, {variant}: {mean:.1f} % in {taken:.1f} s")
    return 0
