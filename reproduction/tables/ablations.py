"""The ablation table: paired differences with standard errors, next to the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.ablations.variants import ORIGINAL, SHORT, VARIANTS, Ablated
from reproduction.published import published
from reproduction.tables.formats import ABSENT
from reproduction.tables.means import geometric_mean
from reproduction.tables.sheet import Section, Sheet

_CLEAR = 2.0
"""A difference of at least this many standard errors counts as clear."""

_PRECISION = 0.1
"""The paper rounds its figures to this many points; a smaller difference has no direction."""


@dataclass(frozen=True)
class Effect:
    """The effect of a variant compared with the original, over datasets and seeds.

    Attributes
    ----------
    points, error
        Mean paired difference of balanced accuracy and its standard error. Every dataset has the
        same weight, whatever its number of seeds.
    ratio
        Geometric mean of the ratios of gate-level operations, variant to original.
    paper
        The paper's difference on the same datasets; None if the paper has no such variant.
    n_pairs
        Number of paired results.
    """

    variant: str
    points: float
    error: float
    ratio: float
    paper: float | None
    datasets: tuple[str, ...]
    n_pairs: int

    @property
    def verdict(self) -> str:
        """Whether the effect has the same direction as in the paper, in words."""
        if self.paper is None:
            return "not in the paper"
        if abs(self.points) < _CLEAR * self.error:
            return "no clear difference here"
        if abs(self.paper) < _PRECISION:
            return "clear only here"
        same = np.sign(self.points) == np.sign(self.paper)
        return "agrees" if same else "disagrees"


def find_effects(results: Sequence[Ablated]) -> list[Effect]:
    """Pair every variant with its original, dataset by dataset and seed by seed."""
    found = {(one.dataset, one.variant, one.seed): one for one in results}
    effects = []
    for name, variant in VARIANTS.items():
        if name in (ORIGINAL, SHORT):
            continue
        pairs = [
            (one, found[one.dataset, variant.original, one.seed])
            for one in results
            if one.variant == name and (one.dataset, variant.original, one.seed) in found
        ]
        if pairs:
            effects.append(_effect(name, pairs))
    return effects


def _effect(name: str, pairs: Sequence[tuple[Ablated, Ablated]]) -> Effect:
    datasets = tuple(dict.fromkeys(one.dataset for one, _ in pairs))
    differences = {
        dataset: np.array([a.accuracy - b.accuracy for a, b in pairs if a.dataset == dataset])
        for dataset in datasets
    }
    sizes = [(a.gate_operations, b.gate_operations) for a, b in pairs]
    return Effect(
        variant=name,
        points=float(np.mean([some.mean() for some in differences.values()])),
        error=_error(list(differences.values())),
        # A constant circuit costs 0 operations; count it as 1 to keep the ratio finite.
        ratio=geometric_mean([max(a, 1) / max(b, 1) for a, b in sizes]),
        paper=_paper_difference(name, datasets),
        datasets=datasets,
        n_pairs=len(pairs),
    )


def _error(differences: Sequence[NDArray[np.float64]]) -> float:
    """Return the standard error of the mean over datasets of the mean over seeds."""
    squares = [some.var(ddof=1) / len(some) for some in differences if len(some) > 1]
    return float(np.sqrt(np.sum(squares)) / max(1, len(differences)))


def _paper_difference(name: str, datasets: Sequence[str]) -> float | None:
    rows = [published()["ablations"].get(dataset, {}) for dataset in datasets]
    known = [row[name] - row[ORIGINAL] for row in rows if name in row]
    return float(np.mean(known)) if known else None


def ablation_sheet(results: Sequence[Ablated]) -> Sheet:
    """Return two tables: the effects, and the differences per dataset."""
    effects = find_effects(results)
    note = (
        "Differences from the original in points of balanced accuracy on validation rows, paired "
        "by dataset and seed, with standard errors. The paper's are differences of its test "
        "accuracies on the same datasets. A difference below two standard errors is not clear."
    )
    return Sheet((note,), (_effects_section(effects), _datasets_section(results, effects)))


def _effects_section(effects: Sequence[Effect]) -> Section:
    header = ("variant", "difference", "±", "paper", "direction", "size", "tables", "pairs")
    rows = tuple(
        (
            effect.variant,
            f"{effect.points:+.2f}",
            f"{effect.error:.2f}",
            ABSENT if effect.paper is None else f"{effect.paper:+.2f}",
            effect.verdict,
            f"×{effect.ratio:.2f}",
            str(len(effect.datasets)),
            str(effect.n_pairs),
        )
        for effect in effects
    )
    return Section("Ablations: differences from the original", header, rows)


def _datasets_section(results: Sequence[Ablated], effects: Sequence[Effect]) -> Section:
    names = list(dict.fromkeys(one.dataset for one in results))
    found = {(one.dataset, one.variant, one.seed): one.accuracy for one in results}
    rows = []
    for name in names:
        cells = []
        for effect in effects:
            original = VARIANTS[effect.variant].original
            differences = [
                accuracy - found[dataset, original, seed]
                for (dataset, variant, seed), accuracy in found.items()
                if (dataset, variant) == (name, effect.variant)
                and (dataset, original, seed) in found
            ]
            cells.append(f"{np.mean(differences):+.1f}" if differences else ABSENT)
        rows.append((name, *cells))
    header = ("dataset", *(effect.variant for effect in effects))
    return Section("Ablations: differences by dataset", header, tuple(rows))
