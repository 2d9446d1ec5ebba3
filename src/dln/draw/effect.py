"""Plot what one feature adds to a predicted number, by its value."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from dln._util.colours import COLOURS, GREY
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Gap
from dln.core.literals import format_value
from dln.core.score import Score
from dln.draw.canvas import escape_dollars, figure_of, make_axes, name_text
from dln.draw.cells import find_feature
from dln.explain.effects import Effect, find_effects, rule_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST = 30
_MOST_LEVEL = 6
"""More labels of thresholds are written vertically."""


def draw_effect(circuit: Circuit, feature: str, *, ax: Axes | None = None) -> Figure:
    """Plot what a feature adds to the prediction by its value.

    Rules that read only this feature are added up exactly. Rules that read other features too are
    counted below the plot. Numbers and dates are shown as steps between thresholds, categories and
    booleans as bars.

    Parameters
    ----------
    circuit
        A circuit that predicts a number.
    feature
        Name of the column.
    ax
        Axes to draw on. By default a new figure is created.

    Raises
    ------
    TaskError
        If the circuit predicts classes.
    OptionError
        If the circuit does not have this feature.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dln import Above, Column, Logic, Rule
    >>> logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
    >>> price = Circuit(logic=logic, readout=Score((Rule(0, (32,)),), (125,), 1, name="price"))
    >>> draw_effect(price, "age").axes[0].get_ylabel()
    'added to price'
    """
    check_is_circuit(circuit, "draw_effect")
    score = circuit.number_readout
    index = find_feature(circuit, feature)
    effects = find_effects(circuit)
    effect = next((effect for effect in effects.alone if effect.column == index), None)
    reads = rule_columns(circuit)
    shared = [rule for rule in effects.joint if index in reads[rule]]
    is_ordered = circuit.columns[index].kind not in ("category", "boolean")
    (ax,) = make_axes(ax, 1, (7.0, 4.0))
    if effect is None:
        ax.axhline(0.0, color=COLOURS[0], lw=2)
        ax.set_xticks([])
    elif is_ordered:
        _draw_steps(ax, circuit, score, effect)
    else:
        _draw_bars(ax, score, effect)
    name = name_text(circuit.columns[index].name)
    many = "1 rule" if len(shared) == 1 else f"{len(shared)} rules"
    verb = "reads" if len(shared) == 1 else "read"
    note = [f"{many} that also {verb} other features: not shown"] if shared else []
    ax.set_xlabel("\n".join([name, *note]))
    ax.set_ylabel(f"added to {_scale(score)}")
    ax.set_title(f"What {name} adds", fontsize="medium")
    return figure_of(ax)


def _scale(score: Score) -> str:
    name = name_text(score.name)
    return {"identity": name, "log": f"log({name})", "logit": f"log-odds of {name}"}[score.link]


def _draw_steps(ax: Axes, circuit: Circuit, score: Score, effect: Effect) -> None:
    """Draw a level between each two thresholds; the outer levels end at the edge of the plot."""
    points = effect.points
    gaps = [(a, points[n]) for n, a in enumerate(effect.found.atoms) if isinstance(a, Gap)]
    cutoffs = [gap.high for gap, _ in gaps if math.isfinite(gap.high)]
    levels = [float(score.decimal(value)) for _, value in gaps]
    low, high = (cutoffs[0], cutoffs[-1]) if cutoffs else (0.0, 0.0)
    margin = 0.15 * (high - low) or max(1.0, 0.1 * abs(low))
    edges = [low - margin, *cutoffs, high + margin]
    ax.stairs(levels, edges, baseline=None, color=COLOURS[0], lw=2)
    ax.axhline(0.0, color=GREY, lw=0.8)
    changed = [c for c, (a, b) in zip(cutoffs, pairwise(levels), strict=True) if a != b]
    ax.set_xticks(changed, [_cutoff_text(circuit, effect, cutoff) for cutoff in changed])
    if len(changed) > _MOST_LEVEL:
        ax.tick_params(axis="x", rotation=90)
    ax.set_xlim(edges[0], edges[-1])
    missing = [points[n] for n, atom in enumerate(effect.found.atoms) if atom.cell is None]
    if missing:
        ax.axhline(float(score.decimal(missing[0])), color=COLOURS[1], lw=1.2, ls="--")
        ax.annotate(
            "missing",
            (1.0, float(score.decimal(missing[0]))),
            xycoords=ax.get_yaxis_transform(),
            ha="right",
            va="bottom",
            color=COLOURS[1],
            fontsize="small",
        )


def _cutoff_text(circuit: Circuit, effect: Effect, cutoff: float) -> str:
    return escape_dollars(format_value(cutoff, circuit.columns[effect.column]))


def _shortened(condition: str) -> str:
    text = condition if len(condition) <= _LONGEST else f"{condition[: _LONGEST - 1]}…"
    return escape_dollars(text)


def _draw_bars(ax: Axes, score: Score, effect: Effect) -> None:
    levels = [float(score.decimal(step.points)) for step in effect.steps]
    names = [_shortened(step.condition) for step in effect.steps]
    ax.bar(range(len(levels)), levels, color=COLOURS[0])
    ax.axhline(0.0, color=GREY, lw=0.8)
    ax.set_xticks(range(len(levels)), names)
    if sum(map(len, names)) > 70:  # they would overlap
        ax.tick_params(axis="x", rotation=30)
        for text in ax.get_xticklabels():
            text.set_horizontalalignment("right")
