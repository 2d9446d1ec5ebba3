"""Plots of the experiment: accuracy by gate-level cost, and average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.models.registry import BASELINES, COMPARED_COLUMNS, MODELS
from reproduction.run.results import Result
from reproduction.tables.means import (
    Figures,
    average_ranks,
    complete,
    geometric_mean,
    make_grid,
    published_figures,
    whole_figures,
)

_ALL = (*BASELINES, *COMPARED_COLUMNS)
# After Okabe and Ito: colour-blind readers can distinguish them.
_COLOURS = dict(zip(COMPARED_COLUMNS, ("#0072B2", "#D55E00", "#00875F"), strict=True))
_GREY = "#6B7280"


def write_plots(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write each plot that has data as SVG; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = {"cost": draw_cost, "ranks": draw_ranks}
    written = []
    for name, draw in makers.items():
        figure = draw(results)
        if figure is not None:
            path = folder / f"{name}.svg"
            _save(figure, path)
            written.append(path)
    return written


def _save(figure: Figure, path: Path) -> None:
    """Write a plot without dates or random names: equal results give equal bytes."""
    with rc_context({"svg.hashsalt": "dln"}):
        figure.savefig(path, metadata={"Date": None})


def _new_figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.0, height), layout="constrained")
    return figure, figure.subplots()


def draw_cost(results: Sequence[Result]) -> Figure | None:
    """Plot mean accuracy by mean gate-level operations; the paper's figures are hollow."""
    accuracy = whole_figures(make_grid(results, "accuracy"))
    gates = whole_figures(make_grid(results, "gate_operations"))
    present = [name for name in _ALL if complete(accuracy, [name]) and complete(gates, [name])]
    names = [name for name in complete(accuracy, present) if name in complete(gates, present)]
    if not present or not names:
        return None
    figure, ax = _new_figure(4.5)
    theirs = published_figures("accuracy"), published_figures("gate_operations")
    for model in present:
        colour = _COLOURS.get(model, _GREY)
        x, y = _point(accuracy, gates, model, names)
        ax.plot([x], [y], "o", color=colour)
        ax.annotate(MODELS[model].heading, (x, y), xytext=(5, 3), textcoords="offset points")
        if model in BASELINES or model == COMPARED_COLUMNS[0]:
            x, y = _point(*theirs, model, names)
            ax.plot([x], [y], "o", mfc="none", color=_GREY)
    ax.set_xscale("log")
    ax.set_xlabel("gate-level operations, geometric mean")
    ax.set_ylabel("balanced accuracy, percent")
    ax.set_title(f"{len(names)} tables, paper's figures hollow")
    return figure


def _point(
    accuracy: Figures, gates: Figures, model: str, names: Sequence[str]
) -> tuple[float, float]:
    cost = geometric_mean([max(1.0, gates[name][model]) for name in names])
    return cost, float(np.mean([accuracy[name][model] for name in names]))


def draw_ranks(results: Sequence[Result]) -> Figure | None:
    """Plot the average accuracy ranks of all models on a line, best on the left."""
    accuracy = whole_figures(make_grid(results, "accuracy"))
    present = [name for name in _ALL if complete(accuracy, [name])]
    names = complete(accuracy, present)
    if len(present) < 2 or not names:
        return None
    ranks = average_ranks(accuracy, present, names, "accuracy")
    ordered = sorted(present, key=ranks.__getitem__)
    figure, ax = _new_figure(0.4 + 0.3 * len(ordered))
    for height, model in enumerate(ordered):
        colour = _COLOURS[COMPARED_COLUMNS[0]] if model in COMPARED_COLUMNS else _GREY
        ax.plot([1, ranks[model]], [-height, -height], color=colour, linewidth=1)
        ax.plot([ranks[model]], [-height], "o", color=colour)
        text = f"{MODELS[model].heading} {ranks[model]:.1f}"
        place = (ranks[model], -height)
        ax.annotate(text, place, xytext=(6, 0), textcoords="offset points", va="center")
    ax.set_xlim(1, len(ordered) + 1)
    ax.set_yticks([])
    ax.set_xlabel(f"average rank by accuracy over {len(names)} tables")
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    return figure
