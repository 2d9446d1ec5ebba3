"""An emulated GPU for tests: the kernel compiled for the CPU, and a replacement of CuPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dln.train.cuda.gpu import compile_kernel
from tests.support.emulated import cupy


@contextmanager
def emulated_gpu() -> Iterator[None]:
    """Make the cuda engine use the emulated GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cupy)
        compile_kernel.cache_clear()
        try:
            yield
        finally:
            compile_kernel.cache_clear()
            cupy.forget()
