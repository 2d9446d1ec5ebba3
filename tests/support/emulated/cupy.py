"""The part of CuPy that the cuda engine uses, on the CPU.

Arrays are those of NumPy, with guard bytes that are checked at every wait. A kernel is compiled
by g++ with `gpu.h` and runs in the background, as on a GPU, until it is waited for.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, ClassVar

import numpy as np

from tests.support.tools import find_tool

_HERE = Path(__file__).parent
_GUARD = 64
_UNKNOWN = 0xFF  # as floats these bytes are not a number
_FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-pthread", "-w"),
    "-ffp-contract=off",  # products are fused into sums only where the kernel does it explicitly
    "-U_FORTIFY_SOURCE",  # it would report a jump between the stacks of two fibers as an attack
    "-fno-gnu-unique",  # variants that are loaded at the same time have separate variables
)
_OF_A_CARD = {
    "extern __shared__ float4 near_memory[];": "",
    'asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));': "now = gpu::nanoseconds();",
}
"""Replacements of CUDA code in the kernel that a compiler for the CPU does not know."""


class Array(np.ndarray):  # type: ignore[type-arg]
    """An array on the emulated GPU."""

    @property
    def data(self) -> Any:
        """Return its address."""
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> Any:
        """Fetch it, when all kernels are done."""
        synchronize()
        return np.array(self)

    def set(self, values: Any) -> None:
        """Overwrite it."""
        self[...] = values


_memories: list[Any] = []
_under_way: list[Any] = []
_seeds = np.random.default_rng(0)


def empty(shape: Any, dtype: Any = float) -> Array:
    """Make an array of bytes that must be written before they are read."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(n_bytes + 2 * _GUARD, _UNKNOWN, dtype=np.uint8)
    _memories.append(memory)
    inside = memory[_GUARD : _GUARD + n_bytes]
    return inside.view(dtype).reshape(shape).view(Array)


def asarray(values: Any, dtype: Any = None) -> Array:
    """Upload an array."""
    values = np.asarray(values, dtype=dtype)
    array = empty(values.shape, values.dtype)
    array[...] = values
    return array


def zeros(shape: Any, dtype: Any = float) -> Array:
    """Make an array of zeros."""
    return asarray(np.zeros(shape, dtype=dtype))


def ndarray(length: int, dtype: Any, memptr: int) -> Array:
    """Make an array of existing memory."""
    memory = (ctypes.c_uint8 * (length * np.dtype(dtype).itemsize)).from_address(memptr)
    return np.frombuffer(memory, dtype=dtype).view(Array)


def synchronize() -> None:
    """Wait for all kernels. Raises if one failed or wrote outside an array."""
    while _under_way:
        _under_way.pop().wait()
    for memory in _memories:
        if (memory[:_GUARD] != _UNKNOWN).any() or (memory[-_GUARD:] != _UNKNOWN).any():
            raise RuntimeError("a kernel wrote beside an array")


def forget() -> None:
    """Forget all arrays."""
    _memories.clear()


class _Launch:
    """A running kernel."""

    def __init__(self, function: Any, shape: Any, arguments: Sequence[Any]) -> None:
        self._kept = [
            ctypes.c_void_p(argument.ctypes.data)
            if isinstance(argument, np.ndarray)
            else ctypes.create_string_buffer(argument.tobytes())
            for argument in arguments
        ]
        self._arguments = (ctypes.c_void_p * len(self._kept))(*map(ctypes.addressof, self._kept))
        self._shape = shape
        self._error = b""
        self._thread = threading.Thread(target=self._run, args=(function,))
        self._thread.start()

    def _run(self, function: Any) -> None:
        self._error = function(*self._shape, self._arguments)

    def wait(self) -> None:
        self._thread.join()
        if self._error:
            raise RuntimeError(self._error.decode())


class _Kernel:
    """A function of a compiled kernel."""

    def __init__(self, function: Any) -> None:
        self._function = function
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64,
                             ctypes.c_void_p]  # fmt: skip

    def __call__(
        self,
        blocks: tuple[int],
        threads: tuple[int],
        arguments: Sequence[Any],
        shared_mem: int = 0,
    ) -> None:
        shape = *blocks, *threads, shared_mem, int(_seeds.integers(2**31))
        _under_way.append(_Launch(self._function, shape, arguments))


class RawModule:
    """The compiled kernels of a variant. All are compiled, whichever is requested."""

    def __init__(self, code: str, options: Sequence[str], backend: str) -> None:
        definitions = tuple(option for option in options if option.startswith("-D"))
        folders = tuple(Path(option[2:]) for option in options if option.startswith("-I"))
        self._library = _compile(definitions, folders)

    def get_function(self, name: str) -> _Kernel:
        """Find a kernel."""
        return _Kernel(getattr(self._library, f"launch_{name}"))

    def get_global(self, name: str) -> int:
        """Find a variable."""
        return ctypes.addressof(ctypes.c_char.in_dll(self._library, name))


@cache
def _compile(definitions: tuple[str, ...], sources: tuple[Path, ...]) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        for path in (path for source in sources for path in source.iterdir()):
            (Path(folder) / path.name).write_text(_for_the_cpu(path.read_text("utf-8")), "utf-8")
        library = Path(folder) / "kernel.so"
        options = [*_FLAGS, *definitions, f"-I{folder}", "-o", str(library)]
        source = str(_HERE / "launch.cpp")
        subprocess.run([find_tool("c++", package="g++"), *options, source], check=True, timeout=300)
        return ctypes.CDLL(str(library))


def _for_the_cpu(source: str) -> str:
    for text, instead in _OF_A_CARD.items():
        source = source.replace(text, instead)
    return source


class _Context:
    """A GPU or a stream."""

    attributes: ClassVar = {
        "MultiProcessorCount": 2,
        "MaxSharedMemoryPerMultiprocessor": 228 * 1024,
        "MaxSharedMemoryPerBlockOptin": 227 * 1024,
    }
    compute_capability = "90"
    mem_info = 2**40, 2**40

    def __init__(self, number: int = 0, non_blocking: bool = False) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def synchronize(self) -> None:
        synchronize()


class _Event:
    """The end of all launches so far; `synchronize` waits for them."""

    def __init__(self, block: bool, disable_timing: bool) -> None:
        pass

    def record(self) -> None:
        pass

    def synchronize(self) -> None:
        synchronize()


cuda = SimpleNamespace(
    Device=_Context,
    Stream=_Context,
    Event=_Event,
    memory=SimpleNamespace(OutOfMemoryError=MemoryError),
    runtime=SimpleNamespace(
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda number: {"name": b"a CPU"},
        CUDARuntimeError=RuntimeError,
    ),
)


def get_default_memory_pool() -> Any:
    """Return a memory pool that holds no free memory."""
    return SimpleNamespace(free_bytes=lambda: 0)


def arange(*arguments: Any, **options: Any) -> Array:
    """Count."""
    return asarray(np.arange(*arguments, **options))


def searchsorted(*arguments: Any) -> Array:
    """Find the positions at which values would be inserted."""
    return asarray(np.searchsorted(*arguments))


def __getattr__(name: str) -> Any:
    return getattr(np, name)
