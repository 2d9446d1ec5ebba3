"""What every engine promises about its head: the same loss, gradient and class as the definition.

The networks here give each row any points. A column for each class holds the points of the rows,
and a class has a rule for every threshold below them. A further rule for each row has no vote. The
gradient of its logit is a quarter of the gradient of the row's points, because it starts at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from dln.core.gates import GATES
from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet
from dln.train.jobs import Engine, Job, TrainingRows
from dln.train.losses import CROSS_ENTROPY, Loss, quantile
from dln.train.network import Network, no_limits, vote_limit
from dln.train.options import TrainOptions
from dln.train.torch.losses import ROW_LOSSES

Floats = NDArray[np.float64]
Step = Callable[[Job], tuple[float, NDArray[np.float32]]]
"""From a job to the loss of its rows and the gradient of its vote logits (classes, rules).

For a number, the gradient of its weights (rules + 1,).
"""

ON, OFF = 5.0, -5.0


def head_job(
    points: NDArray[np.int64],
    target: NDArray[np.int32],
    weight: NDArray[np.float32],
    tau: float,
    loss: Loss = CROSS_ENTROPY,
) -> Job:
    """Make a job whose rows have these points (rows, classes)."""
    n_rows, n_classes = points.shape
    cutoffs = np.arange(points.max(), dtype=np.float32) + 0.5
    rows = np.arange(n_rows, dtype=np.float32)
    literals = LiteralSet.join(
        [LiteralSet.on_column(c, LiteralKind.ABOVE, cutoffs) for c in range(n_classes)]
        + [LiteralSet.on_column(n_classes, LiteralKind.AMONG, rows)]
    )
    logits = np.full((n_classes, len(literals)), OFF, dtype=np.float32)
    for c in range(n_classes):
        logits[c, c * len(cutoffs) : (c + 1) * len(cutoffs)] = ON
    logits[:, -n_rows:] = 0.0
    cells = np.column_stack([points, rows]).astype(np.float32)
    options = TrainOptions(epochs=1, tau=tau, learning_rate=0.0)
    network = plain_network(literals, [1], np.arange(len(literals)), logits)
    return Job(network, TrainingRows(cells, target, weight), np.arange(n_rows), options, loss=loss)


def plain_network(
    literals: LiteralSet,
    codes: list[int],
    rules: NDArray[np.int64],
    vote_logits: Floats,
    vote_threshold: float = 0.8,
) -> Network:
    """Make a network of settled gates that all read the first and the last literal."""
    n_gates, choices = len(codes), np.unique(np.array(codes, dtype=np.uint8))
    ends = np.array([0, len(literals) - 1], dtype=np.int32)
    return Network(
        layers=(n_gates,),
        literal_kind=literals.kind,
        literal_column=literals.column,
        literal_layer=np.zeros(len(literals), dtype=np.int32),
        cutoffs=literals.value.copy(),
        slopes=np.ones(len(literals), dtype=np.float32),
        link_wires=np.tile(ends[None, :, None], (n_gates, 1, 1)),
        link_logits=np.zeros((n_gates, 2, 1), dtype=np.float32),
        gate_choices=choices,
        gate_logits=(choices == np.array(codes)[:, None]).astype(np.float32),
        rule_wires=rules.astype(np.int32),
        vote_logits=vote_logits.astype(np.float32),
        vote_threshold=vote_threshold,
    )


def number_head_job(scores: Floats, target: Floats, weight: NDArray[np.float32], loss: Loss) -> Job:
    """Make a job whose rows have these scores (rows,), each from the rule of its row and a bias."""
    n_rows, bias = len(scores), np.float32(0.5)
    rows = np.arange(n_rows, dtype=np.float32)
    literals = LiteralSet.on_column(0, LiteralKind.AMONG, rows)
    votes = np.empty((0, n_rows), dtype=np.float64)
    network = replace(
        plain_network(literals, [1], np.arange(n_rows), votes),
        weights=np.append(scores.astype(np.float32) - bias, bias),
        weight_limits=no_limits(n_rows + 1),
    )
    data = TrainingRows(rows[:, None], target.astype(np.float32), weight)
    options = TrainOptions(epochs=1, learning_rate=0.0)
    return Job(network, data, np.arange(n_rows), options, loss=loss)


def define_head(job: Job, points: NDArray[Any]) -> tuple[Floats, Floats]:
    """Compute the loss of each row, and the gradient of the mean, in float64 by the definition."""
    free = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    kind = np.int64 if job.loss.readout == "votes" else np.float64
    target = torch.as_tensor(job.data.target.astype(kind))
    weight = torch.as_tensor(job.data.weight.astype(np.float64))
    losses = ROW_LOSSES[job.loss.name](free, target, job)
    ((losses * weight).sum() / weight.sum()).backward()  # type: ignore[no-untyped-call]
    assert free.grad is not None
    gradient = free.grad.numpy()
    if job.loss.readout == "votes":  # p - 1 is only rounding error if p is close to 1, also here
        own = np.arange(len(points)), job.data.target
        gradient[own] = 0.0
        gradient[own] = -gradient.sum(axis=1)
    return losses.detach().numpy(), gradient


def assert_head_agrees(step: Step, loss: Loss, seed: int, n_single: int) -> None:
    """The loss and its gradient are those of the definition, for every kind of target."""
    if loss.readout == "votes":
        assert_class_head_agrees(step, loss, seed, n_single)
    else:
        assert_number_head_agrees(step, loss, seed, n_single)


def assert_number_head_agrees(step: Step, loss: Loss, seed: int, n_single: int) -> None:
    """The rule of each row gets the gradient of the row's score, and the bias gets their sum."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 100))
    if loss.name == "quantile":
        loss = quantile(float(np.float32(rng.choice([0.0, 0.05, 0.5, 0.9, 1.0]))))
    scores = rng.normal(0.0, rng.choice([0.1, 2.0, 40.0]), n_rows)
    target = np.where(rng.random(n_rows) < 0.1, 0.0, rng.gamma(0.7, 2.0, n_rows))
    weight = rng.uniform(0.5, 2.0, n_rows).astype(np.float32)
    job = number_head_job(scores, target, weight, loss)
    # The scores as the engines add them up, because rounding matters if an exponent is large.
    scores = (job.network.weights[:-1] + job.network.weights[-1]).astype(np.float64)
    losses, gradient = define_head(job, scores[:, None])

    found_loss, found = step(job)
    assert_allclose(found_loss, np.average(losses, weights=weight), rtol=1e-5, atol=1e-6)
    # Two terms may cancel, so an error is compared with the larger of them.
    size = np.abs(gradient[:, 0]) + np.abs(target) * weight / weight.sum()
    assert np.all(np.abs(found[:-1] - gradient[:, 0]) <= 1e-5 * size + 1e-30)
    assert abs(found[-1] - gradient.sum()) <= 1e-5 * size.sum() + 1e-30
    for row in range(min(n_single, n_rows)):
        found_loss, _ = step(replace(job, rows=np.array([row])))
        assert_allclose(found_loss, losses[row], rtol=3e-5, atol=1e-5)


def assert_class_head_agrees(step: Step, loss: Loss, seed: int, n_single: int) -> None:
    """The loss and its gradient are those of the definition; also if a class is almost certain."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.integers(1, 100)), int(rng.integers(1, 7))
    points = rng.integers(0, rng.choice([3, 41]), (n_rows, n_classes))
    points[0, 0] = 40
    target = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, n_rows).astype(np.float32)
    job = head_job(points, target, weight, float(rng.choice([0.5, 3.0, 50.0])), loss)
    losses, gradient = define_head(job, points)

    found_loss, found = step(job)
    assert_allclose(found_loss, np.average(losses, weights=weight), rtol=1e-5, atol=1e-15)
    # The exponents are up to 80, in float32. Below 1e-36, numbers may count as 0.
    assert_allclose(4.0 * found[:, -n_rows:].T, gradient, rtol=3e-5, atol=1e-36)
    for row in range(min(n_single, n_rows)):
        found_loss, _ = step(replace(job, rows=np.array([row])))
        assert_allclose(found_loss, losses[row], rtol=3e-5, atol=1e-15)


def assert_losses_stay_finite(step: Step) -> None:
    """The loss of an impossible class is large, but it and its gradient are finite."""
    points = np.array([[400, 0], [0, 400]])
    job = head_job(points, np.array([1, 1], dtype=np.int32), np.ones(2, dtype=np.float32), 0.1)
    loss, found = step(job)
    assert 40 < loss < 100
    assert_allclose(4.0 * found[:, -2:].T, [[5.0, -5.0], [0.0, 0.0]], rtol=1e-6)


def assert_first_of_ties_wins(engine: Engine) -> None:
    """The answer is the class with the most points, for all points up to 2 of three classes."""
    points = np.array(list(product(range(3), repeat=3)))
    weight = np.ones(len(points), dtype=np.float32)
    jobs = []
    for target in range(3):
        job = head_job(points, np.full(len(points), target, dtype=np.int32), weight, 1.0)
        for row in range(len(points)):
            jobs.append(replace(job, rows=np.array([row]), network=job.network.copy()))
    is_right = np.array([trained.history[0, 1] for trained in engine(jobs)])
    assert_array_equal(is_right.reshape(3, -1), np.eye(3)[points.argmax(axis=1)].T)


def gates_job() -> Job:
    """Make a job of all 16 gates, each with a class of its own, on all four rows."""
    bits = np.array(list(product((0, 1), repeat=2)), dtype=np.float32)
    literals = LiteralSet.join(
        [
            LiteralSet.on_column(side, LiteralKind.ABOVE, np.array([0.5], dtype=np.float32))
            for side in (0, 1)
        ]
    )
    votes = np.where(np.eye(16) > 0, ON, OFF)
    network = plain_network(literals, list(range(16)), 2 + np.arange(16), votes)
    ones = np.ones(4, dtype=np.float32)
    data = TrainingRows(bits, np.zeros(4, dtype=np.int32), ones)
    return Job(network, data, np.arange(4), TrainOptions(epochs=1))


def gate_table() -> NDArray[np.int32]:
    """Return the outputs of all gates on all four rows (rows, gates)."""
    return np.array([gate.table for gate in GATES], dtype=np.int32).T


def limits_job(vote_threshold: float) -> Job:
    """Make a job of one row that is true for six rules, with logits around the limit of a vote."""
    limit = np.float32(vote_limit(vote_threshold))
    step = max(np.spacing(abs(limit)), np.float32(1e-37))  # smaller numbers count as 0
    on = np.array([limit, limit + step, limit + 1], dtype=np.float32)
    off = np.array([limit - step, limit - 1, -np.inf], dtype=np.float32)
    logits = np.stack([np.append(on, off), np.append(off, on)])
    literals = LiteralSet.on_column(0, LiteralKind.ABOVE, np.zeros(6, dtype=np.float32))
    network = plain_network(literals, [1], np.arange(6), logits, vote_threshold)
    one = np.ones(1, dtype=np.float32)
    data = TrainingRows(one[:, None], np.zeros(1, dtype=np.int32), one)
    return Job(network, data, np.arange(1), TrainOptions(epochs=1))


THRESHOLDS = np.float32([0.8, 0.6, 0.9, 0.51, 0.5, 0.2, 0.99, 0.01]).tolist()
"""Numbers that float32 can hold: the compiled engines round others."""
