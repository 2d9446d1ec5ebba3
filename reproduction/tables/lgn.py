"""Two tables about the LGN: its cost before simplification, and its binning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.datasets import NAMES
from reproduction.protocol import SEEDS, layer_sizes
from reproduction.published import Measure, figures, published
from reproduction.run.lgn_inputs import LgnInputs
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT, percent_text, short
from reproduction.tables.means import geometric_mean, make_grid
from reproduction.tables.sheet import Section, Sheet

_MEASURES: tuple[Measure, ...] = ("operations", "gate_operations", "parameters")
_COST_HEADER = tuple(
    f"{what}, {when}"
    for what in ("operations", "gate-level operations", "parameters")
    for when in ("before", "after")
)
_BINNING_HEADER = ("dataset", "trees", "uniform", "difference", "±")
_NOTE = (
    "LGN before simplification: all its tests, gates and votes, counted from its shape without "
    "training it again. Gate-level operations are at least these: gates cost 0, 1 or 3 each, and "
    "here 0. After simplification: as in the other tables. In brackets: the ratio to the paper."
)
_BINNING = (
    "Binning of the LGN, balanced accuracy on test rows in percent: thresholds from decision "
    "trees (the column LGN of the other tables) and at equal distances, each with its own search. "
    "The difference is the mean over seeds, with its standard error."
)


@dataclass(frozen=True)
class Shape:
    """The parts of a logic gate network before simplification."""

    inputs: LgnInputs
    layers: tuple[int, ...]
    n_classes: int

    def cost(self, measure: Measure) -> int:
        """Count as the paper does; every gate of the last layer gives one vote.

        >>> shape = Shape(LgnInputs("Heart", 0, 2, 1), (6, 4), 2)
        >>> [shape.cost(measure) for measure in ("operations", "gate_operations", "parameters")]
        [15, 425, 32]
        """
        n_tests = self.inputs.comparisons + self.inputs.bits
        n_gates, n_votes = sum(self.layers), self.layers[-1]
        if measure == "operations":
            return n_tests + n_gates + self.n_classes
        if measure == "gate_operations":
            return 183 * self.inputs.comparisons + 3 * self.inputs.bits + 14 * n_votes
        return 2 * n_tests + -(-n_gates // 8) + 2 * n_gates + n_votes


def lgn_sheet(results: Sequence[Result], inputs: Sequence[LgnInputs]) -> Sheet:
    """Make both tables from the stored results and the inputs of the networks."""
    known = {(one.dataset, one.seed): one for one in inputs}
    shapes: dict[str, list[Shape]] = {}
    for result in results:
        key = result.dataset, result.seed
        if result.model == "lgn" and result.dataset in NAMES and key in known:
            n_classes = published()["tables"][result.dataset]["classes"]
            first, ratio, n_layers = (result.params[x] for x in ("first", "ratio", "layers"))
            layers = layer_sizes(first, ratio, n_layers, n_classes)
            shapes.setdefault(result.dataset, []).append(Shape(known[key], layers, n_classes))
    return Sheet((_NOTE, _BINNING), (_cost_section(results, shapes), _binning_section(results)))


def _cost_section(results: Sequence[Result], shapes: dict[str, list[Shape]]) -> Section:
    names = [name for name in NAMES if len(shapes.get(name, ())) == len(SEEDS)]
    columns = []
    for measure in _MEASURES:
        grid, paper = make_grid(results, measure), figures(measure)
        before = {name: float(np.mean([x.cost(measure) for x in shapes[name]])) for name in names}
        after = {name: grid[name]["lgn"].value for name in names}
        columns += [(before, paper), (after, paper)]
    rows = [
        (name, *(_beside(found[name], paper[name]["LGN"]) for found, paper in columns))
        for name in names
    ]
    ratios = [[found[name] / paper[name]["LGN"] for name in names] for found, paper in columns]
    means = (f"×{geometric_mean(some):.2f}" if some else ABSENT for some in ratios)
    rows.append((f"mean of ratios (geometric) over {len(names)}", *means))
    title = "Cost of the LGN before and after simplification"
    return Section(title, ("dataset", *_COST_HEADER), tuple(rows))


def _beside(found: float, paper: float) -> str:
    return f"{short(found)} (×{found / paper:.2f})"


def _binning_section(results: Sequence[Result]) -> Section:
    accuracies = {(one.dataset, one.model, one.seed): one.accuracy for one in results}
    rows, means, errors = [], [], []
    for name in NAMES:
        pairs = [
            (accuracies.get((name, "lgn", seed)), accuracies.get((name, "lgn-uniform", seed)))
            for seed in SEEDS
        ]
        whole = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
        if len(whole) < len(SEEDS):
            continue
        difference = whole[:, 0] - whole[:, 1]
        means.append(whole.mean(axis=0))
        errors.append(float(difference.std(ddof=1)) / len(whole) ** 0.5)
        rows.append((name, *_figures(means[-1], errors[-1])))
    if rows:
        error = float(np.linalg.norm(errors)) / len(errors)
        label = f"mean over {len(rows)}"
        rows.append((label, *_figures(np.mean(means, axis=0), error)))
    return Section("Binning of the LGN", _BINNING_HEADER, tuple(rows))


def _figures(means: Sequence[float], error: float) -> tuple[str, ...]:
    tree, uniform = means
    return percent_text(tree), percent_text(uniform), f"{tree - uniform:+.1f}", f"{error:.1f}"
