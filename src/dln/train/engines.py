"""Find an engine: native code on the CPU, PyTorch on any device, CUDA on an NVIDIA GPU."""

from __future__ import annotations

from functools import partial
from typing import Literal as OneOf
from typing import get_args

from dln._util.option import check_choice
from dln._util.storage import Storage
from dln.errors import OptionError
from dln.train import cuda, native
from dln.train.cuda.gpu import find_gpu
from dln.train.jobs import Engine

EngineName = OneOf["native", "torch", "cuda"]


def find_engine(name: EngineName, device: str = "cpu", storage: Storage | None = None) -> Engine:
    """Return the engine with a name, and check that the device exists.

    With a storage, it saves the states of its runs there; only the native engine can.

    >>> find_engine("native", "cuda")
    Traceback (most recent call last):
    dln.errors.OptionError: device is 'cuda', but the native engine trains only on the cpu; ...
    """
    check_choice("engine", name, get_args(EngineName))
    if not isinstance(device, str):
        raise OptionError(f'device is {device!r}, expected text, for example "cpu" or "cuda"')
    if name == "native":
        if device != "cpu":
            raise OptionError(
                f"device is {device!r}, but the native engine trains only on the cpu; "
                'use engine="torch" for other devices'
            )
        return (
            partial(native.train_population, storage=storage)
            if storage
            else native.train_population
        )
    if storage is not None:
        raise OptionError(
            f"storage is for the native engine, but engine is {name!r}; leave out one of them"
        )
    if name == "cuda":
        find_gpu(device)
        return partial(cuda.train_population, device=device)
    # Imported only here and on demand: dln works without PyTorch.
    from dln.train.torch import engine as torch

    torch.find_device(device)
    return partial(torch.train_population, device=device)
