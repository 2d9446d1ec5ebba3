"""The engines that give the same results, and the mark that runs a test with each of them."""

from __future__ import annotations

import numpy as np
import pytest

from dln.train import native
from dln.train import torch as readable
from dln.train.jobs import Engine, Trained

ENGINES: dict[str, Engine] = {
    "native": native.train_population,
    "torch": readable.train_population,
}
both_engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def runs_agree(left: Trained, right: Trained) -> bool:
    """Whether two runs have the same history, masks and, for the most part, parameters."""
    for one, other in zip(left.network.parameters(), right.network.parameters(), strict=True):
        if not np.array_equal(np.isinf(one), np.isinf(other)):
            return False
        apart = np.abs(np.where(np.isinf(one), 0, one) - np.where(np.isinf(other), 0, other))
        if apart.size and np.quantile(apart, 0.8) > 1e-4:
            return False
    same = np.allclose(left.history, right.history, atol=1e-3, equal_nan=True)
    return bool(same and left.best_epoch == right.best_epoch)
