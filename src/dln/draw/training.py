"""One figure of a training: learning curves, a threshold and a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dln.core.literals import LiteralKind
from dln.draw.canvas import make_axes
from dln.draw.gate import draw_gate
from dln.draw.learning import draw_learning
from dln.draw.threshold import draw_threshold
from dln.draw.trace_checks import check_number, check_trace
from dln.errors import OptionError
from dln.train.settings import Alternating
from dln.train.trace import Trace
from dln.train.trace_file import TrainingRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_training(
    record: TrainingRecord,
    *,
    network: int = 0,
    threshold: int | None = None,
    gate: int | None = None,
) -> Figure:
    """Draw the learning curves of all networks, and a threshold and a gate of one network.

    By default these are the threshold that moved furthest and the gate that changed most, of those
    that are decided at the end.
    """
    if not record.traces:
        raise OptionError("the record has no trace; the training recorded none")
    trace = record.traces[check_number("network", network, len(record.traces))]
    check_trace(trace)
    make_axes(None, 1, (1.0, 1.0))  # reports a missing matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 15.0), layout="constrained")
    # Five rows: loss, accuracy, gates, a threshold, a gate.
    axes = figure.subplots(5, 1, height_ratios=(1.0, 1.0, 1.0, 2.0, 2.4))
    phases = (
        Alternating(int(record.phase_order)) if record.phase_order.isdigit() else record.phase_order
    )
    draw_learning(record.history, phases=phases, axes=axes[:3])  # type: ignore[arg-type]
    literal = moved_threshold(trace) if threshold is None else threshold
    if literal is None:
        axes[3].set_axis_off()
        axes[3].set_title("no column of numbers, so no thresholds", fontsize="medium")
    else:
        draw_threshold(trace, literal, names=record.names, ax=axes[3])
    draw_gate(trace, settled_gate(trace) if gate is None else gate, ax=axes[4])
    return figure


def moved_threshold(trace: Trace) -> int | None:
    """Return the threshold that moved furthest and ended in the range; None without thresholds."""
    thresholds = np.flatnonzero(trace.network.literal_kind == LiteralKind.ABOVE)
    if len(thresholds) == 0:
        return None
    end = trace.cutoffs[-1, thresholds]
    moved = np.abs(end - trace.cutoffs[0, thresholds])
    inside = (end >= 0) & (end <= 1)
    return int(thresholds[np.where(inside, moved, -1.0).argmax()])


def settled_gate(trace: Trace) -> int:
    """Return the gate whose function became most likely, from the least likely start."""
    probabilities = trace.gate_probabilities()
    best = probabilities[-1].argmax(axis=-1)
    gates = np.arange(len(best))
    return int((probabilities[-1, gates, best] - probabilities[0, gates, best]).argmax())
