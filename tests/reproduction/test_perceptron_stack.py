"""Perceptrons that train together give the same results on a GPU and on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)

from reproduction.models.perceptron_stack import Member, Stack  # noqa: E402


def test_recorded_steps_of_perceptrons_are_those_of_the_cpu() -> None:
    for fit in range(10):
        rng = np.random.default_rng(fit)
        cells = rng.random((300, 5))
        target = (3 * cells[:, 0]).astype(np.intp)
        members = [
            Member((int(width), 8), 0.01, 1e-4, rng.permutation(300)[:240])
            for width in rng.integers(5, 20, 6)
        ]
        left, right = (
            Stack(members, cells, target, n_classes=3, batch_size=64, seed=fit, device=device)
            for device in ("cuda", "cpu")
        )
        for stack in (left, right):
            stack.train(3)
            stack.keep(np.arange(6) % 2 == 0)  # the remaining networks are recorded again
            stack.train(3)
        for member in range(3):
            pairs = zip(left.weights(member), right.weights(member), strict=True)
            for (matrix, offsets), (other_matrix, other_offsets) in pairs:
                assert_allclose(matrix, other_matrix, atol=1e-3)
                assert_allclose(offsets, other_offsets, atol=1e-3)
