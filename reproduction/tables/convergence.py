"""The table of convergence: how many choices are decided, and what discretising costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.run.refits import DECIDED, SOFT_EPOCHS, Convergence
from reproduction.tables.sheet import Section, Sheet

_NOTE = (
    "Networks of DLN (paper), fitted again with the stored hyperparameters; means over seeds. "
    f"Gates and links: the share whose most likely candidate has a probability of {DECIDED} or "
    "more. Thresholds outside: the share that ended outside [0, 1] and is constant. Soft: balanced "
    "accuracy on the test rows with all choices as mixtures. Circuit: with the most likely choice. "
    "With straight-through estimators the forward pass of training is the circuit, so discretising "
    "loses nothing, and the soft network was never used."
)
_TITLES = {
    "straight-through": "With straight-through estimators, four seeds",
    "soft": f"Without them (PyTorch, at most {SOFT_EPOCHS} epochs), seed 0",
}
_HEADER = (
    "dataset",
    "gates decided, %",
    "links decided, %",
    "thresholds outside, %",
    "soft, %",
    "circuit, %",
    "circuit - soft",
)


def convergence_sheet(records: Sequence[Convergence]) -> Sheet:
    """Make one table for each way of training."""
    sections = []
    for training, title in _TITLES.items():
        own = [record for record in records if record.training == training]
        names = sorted({record.dataset for record in own})
        rows = [_row(name, [one for one in own if one.dataset == name]) for name in names]
        if len(rows) > 1:
            means = np.mean([values for _, values in rows], axis=0)
            rows.append((f"mean over {len(names)}", means))
        sections.append(Section(title, _HEADER, tuple((name, *_texts(x)) for name, x in rows)))
    return Sheet((_NOTE,), tuple(sections))


def _row(name: str, records: Sequence[Convergence]) -> tuple[str, np.ndarray]:
    values = [
        (100 * one.gates, 100 * one.links, 100 * one.outside, one.soft, one.hard) for one in records
    ]
    return name, np.mean(values, axis=0)


def _texts(values: np.ndarray) -> tuple[str, ...]:
    gates, links, outside, soft, hard = values.tolist()
    return (
        f"{gates:.0f}", f"{links:.0f}", f"{outside:.0f}", f"{soft:.1f}", f"{hard:.1f}",
        f"{hard - soft:+.1f}",
    )  # fmt: skip
