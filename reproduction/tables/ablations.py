"""The ablation table: paired differences with standard errors, next to the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.ablations.variants import ORIGINAL, SHORT, VARIANTS, Ablated
from reproduction.models.registry import BASELINES
from reproduction.published import Measure, published
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT, rank_text
from reproduction.tables.means import (
    average_ranks,
    complete,
    geometric_mean,
    make_grid,
    whole_figures,
)
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
    pairs = {name: _pairs(results, name) for name in VARIANTS if name not in (ORIGINAL, SHORT)}
    return [_effect(name, own) for name, own in pairs.items() if own]


def _pairs(results: Sequence[Ablated], variant: str) -> list[tuple[Ablated, Ablated]]:
    """Pair each result of a variant with that of its original."""
    original = VARIANTS[variant].original
    found = {(one.dataset, one.seed): one for one in results if one.variant == original}
    return [
        (one, found[one.dataset, one.seed])
        for one in results
        if one.variant == variant and (one.dataset, one.seed) in found
    ]


def _ratio(pairs: Sequence[tuple[Ablated, Ablated]]) -> float:
    """Return the geometric mean of the ratios of gate-level operations."""
    # A constant circuit costs 0 operations; count it as 1 to keep the ratio finite.
    return geometric_mean([max(a.gate_operations, 1) / max(b.gate_operations, 1) for a, b in pairs])


def _effect(name: str, pairs: Sequence[tuple[Ablated, Ablated]]) -> Effect:
    datasets = tuple(dict.fromkeys(one.dataset for one, _ in pairs))
    differences = {
        dataset: np.array([a.accuracy - b.accuracy for a, b in pairs if a.dataset == dataset])
        for dataset in datasets
    }
    return Effect(
        variant=name,
        points=float(np.mean([some.mean() for some in differences.values()])),
        error=_error(list(differences.values())),
        ratio=_ratio(pairs),
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


def ablation_sheet(results: Sequence[Ablated], found: Sequence[Result] = ()) -> Sheet:
    """Return the effects, the ranks, and the accuracies and differences by dataset.

    Ranks place each variant among the results of the paper's other models.
    """
    effects = find_effects(results)
    note = (
        "Differences from the original in points of balanced accuracy on validation rows, paired "
        "by dataset and seed, with standard errors. The paper's are differences of its test "
        "accuracies on the same datasets. A difference below two standard errors is not clear."
    )
    ranks = (
        "Ranks: the variant takes the place of the DLN among the paper's eight models (1 is best). "
        "Its figures are those of DLN (paper) on test rows, plus the paired difference of accuracy "
        "or times the paired ratio of gate-level operations. The paper's ranks are over its 20 "
        "tables."
    )
    sections = (
        _effects_section(effects),
        _ranks_section(results, effects, found),
        _accuracies_section(results),
        _datasets_section(results, effects),
    )
    return Sheet((note, ranks), sections)


def _accuracies_section(results: Sequence[Ablated]) -> Section:
    """Return the mean accuracy of each variant on each dataset, with the paper's in brackets."""
    names = list(dict.fromkeys(one.dataset for one in results))
    variants = [name for name in VARIANTS if any(one.variant == name for one in results)]
    rows = []
    for name in names:
        cells = []
        for variant in variants:
            own = [one.accuracy for one in results if (one.dataset, one.variant) == (name, variant)]
            paper = published()["ablations"].get(name, {}).get(variant)
            text = f"{np.mean(own):.1f}" if own else ABSENT
            cells.append(text if paper is None else f"{text} ({paper:.1f})")
        rows.append((name, *cells))
    title = "Ablations: accuracy on validation rows, in brackets the paper's on test rows"
    return Section(title, ("dataset", *variants), tuple(rows))


def _ranks_section(
    results: Sequence[Ablated], effects: Sequence[Effect], found: Sequence[Result]
) -> Section:
    """Return the average ranks of the original and of each variant, with the paper's beside."""
    theirs = published()["ablation_ranks"]
    rows = []
    for name in (ORIGINAL, *(effect.variant for effect in effects)):
        cells = [name]
        for measure in _RANKED:
            ranks = _ranks(results, name, measure, found)
            paper = theirs[measure].get(name)
            cells += [rank_text(ranks), ABSENT if paper is None else rank_text(paper)]
        rows.append(tuple(cells))
    header = ("variant", "accuracy rank", "paper", "gate-level operations rank", "paper")
    return Section("Ablations: average ranks among the paper's models", header, tuple(rows))


_RANKED: tuple[Measure, ...] = ("accuracy", "gate_operations")
_DLN = "paper"


def _ranks(
    results: Sequence[Ablated], variant: str, measure: Measure, found: Sequence[Result]
) -> float | None:
    """Return the average rank of a variant in place of the DLN; None without results."""
    table = whole_figures(make_grid(found, measure))
    placed = {}
    for dataset in complete(table, (*BASELINES, _DLN)):
        pairs = _pairs([one for one in results if one.dataset == dataset], variant)
        if pairs:
            figure = _change(table[dataset][_DLN], pairs, measure)
            placed[dataset] = {**table[dataset], _DLN: figure}
    return average_ranks(placed, (*BASELINES, _DLN), list(placed), measure).get(_DLN)


def _change(figure: float, pairs: Sequence[tuple[Ablated, Ablated]], measure: Measure) -> float:
    if measure == "accuracy":
        return figure + float(np.mean([a.accuracy - b.accuracy for a, b in pairs]))
    return figure * _ratio(pairs)


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
    rows = []
    for name in names:
        own = [one for one in results if one.dataset == name]
        cells = []
        for effect in effects:
            differences = [a.accuracy - b.accuracy for a, b in _pairs(own, effect.variant)]
            cells.append(f"{np.mean(differences):+.1f}" if differences else ABSENT)
        rows.append((name, *cells))
    header = ("dataset", *(effect.variant for effect in effects))
    return Section("Ablations: differences by dataset", header, tuple(rows))
