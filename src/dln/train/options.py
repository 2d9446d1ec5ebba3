"""How a network is trained: one frozen value, the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

Phases = OneOf["unified", "epochs", "batches"]


@dataclass(frozen=True)
class TrainOptions:
    """Hyperparameters of one training run.

    Attributes
    ----------
    epochs, batch_size, rate
        Length, rows per step and Adam's first learning rate.
    final_rate
        The last rate as a part of the first, reached by cosine decay; 1 keeps it constant.
    threshold_rate
        Rate of cutoffs and slopes as a part of the others'; 0 keeps the thresholds fixed.
    tau
        Divides the class sums before the softmax (the paper's tau_out).
    grad_factor
        Multiplies the gradient behind every layer.
    vote_threshold
        A vote link is on when the sigmoid of its logit reaches this.
    phases
        Train gates and links together ("unified"), or in turn by epochs or by batches.
    phase_epochs
        With phases="epochs": epochs before the phase changes.
    eval_every, patience, keep_best
        Epochs between two looks at validation rows (0: never), epochs without a better look
        before stopping (0: never), and whether to end with the best look's parameters.
    seed
        Decides the order of the rows.
    """

    epochs: int = 100
    batch_size: int = 64
    rate: float = 0.05
    final_rate: float = 0.03
    threshold_rate: float = 0.1
    tau: float = 3.0
    grad_factor: float = 1.0
    vote_threshold: float = 0.8
    phases: Phases = "batches"
    phase_epochs: int = 1
    eval_every: int = 0
    patience: int = 0
    keep_best: bool = False
    seed: int = 0
