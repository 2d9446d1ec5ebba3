"""The engines that give the same results, and the mark that runs a test with each of them."""

from __future__ import annotations

import pytest

from dln.train import native
from dln.train import torch as readable
from dln.train.jobs import Engine

ENGINES: dict[str, Engine] = {
    "native": native.train_population,
    "torch": readable.train_population,
}
both_engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
