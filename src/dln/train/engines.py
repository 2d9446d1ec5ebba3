"""Find the engine that trains: native code on the CPU, PyTorch on any device, CUDA on a card."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args
from typing import Literal as OneOf

from dln.errors import OptionError
from dln.train import cuda, native
from dln.train.cuda.card import find_card
from dln.train.jobs import Engine
from dln.train.options import check_choice

EngineName = OneOf["native", "torch", "cuda"]


def find_engine(name: EngineName, device: str = "cpu") -> Engine:
    """Find an engine by its name; the device must be there.

    >>> find_engine("native", "cuda")
    Traceback (most recent call last):
    dln.errors.OptionError: device is 'cuda', but the native engine trains on the cpu alone; ...
    """
    check_choice("engine", name, get_args(EngineName))
    if not isinstance(device, str):
        raise OptionError(f'device is {device!r}, expected text such as "cpu" or "cuda"')
    if name == "native":
        if device != "cpu":
            raise OptionError(
                f"device is {device!r}, but the native engine trains on the cpu alone; "
                'use engine="torch" for other devices'
            )
        return native.train_population
    if name == "cuda":
        find_card(device)
        return partial(cuda.train_population, device=device)
    torch: Any = _import_torch_engine()
    torch.engine.find_device(device)
    engine: Engine = partial(torch.train_population, device=device)
    return engine


def _import_torch_engine() -> Any:
    # Only here, and only when it is asked for: dln works without PyTorch.
    import dln.train.torch

    return dln.train.torch
