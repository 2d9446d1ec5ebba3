"""Find CuPy and a GPU, and compile the kernel for it.

CuPy provides everything in one package: memory, sorting, CUDA's run-time compiler (NVRTC) and a
cache of compiled kernels in `~/.cupy/kernel_cache`. Installing dln does not require a CUDA toolkit.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from dln._util.extras import import_extra
from dln.errors import OptionError
from dln.train.cuda.layout import BATCH, MAX_WORDS, PLAN, STATE, Limits, Variant

OLDEST = (7, 0)
"""The oldest compute capability with all the instructions that the kernel uses."""

KERNEL = Path(__file__).parent / "kernel"
SOURCES = (KERNEL, Path(__file__).parent.parent / "headers")
"""The folders of the kernel's source: its own, and the headers that native code shares."""

# Subnormal numbers are 0, and divisions and roots are fast, with an error of a last bit or two. But
# products are fused into sums only where the kernel does it explicitly: the compiler would choose
# differently in each variant, and all variants must give the same bits.
_ARITHMETIC = ("--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--fmad=false")


def import_cupy() -> Any:
    """Import CuPy. The import works without a GPU."""
    return import_extra("cupy", "engine 'cuda'", "cupy-cuda13x[ctk]")


def find_gpu(device: str) -> int:
    """Return the number of the GPU with a name.

    "cuda" and the default "cpu" mean the first GPU, because the cuda engine trains only on GPUs.
    """
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise OptionError(f'device is {device!r}, expected "cuda", or "cuda:1" for the second GPU')
    cupy = import_cupy()
    try:
        n_gpus = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise OptionError(
            f'engine is "cuda", but no GPU was found ({error}); '
            'use engine="native", or install NVIDIA\'s driver'
        ) from None
    number = int(match[1] or 0)
    if number >= n_gpus:
        raise OptionError(
            f"device is {device!r}, but this machine has only {n_gpus} GPUs: "
            f"{', '.join(f'cuda:{gpu}' for gpu in range(n_gpus))}"
        )
    check_capability(device_name(number), cupy.cuda.Device(number).compute_capability)
    return number


def check_capability(name: str, capability: str) -> None:
    """Check that a GPU has the instructions; its capability is text, for example "90"."""
    found = int(capability[:-1]), int(capability[-1])
    if found < OLDEST:
        raise OptionError(
            f"{name} has compute capability {found[0]}.{found[1]}, but the cuda engine needs "
            f'{OLDEST[0]}.{OLDEST[1]} or later; use engine="native"'
        )


def limits_of(cupy: Any, number: int) -> Limits:
    """Return the limits of a GPU."""
    attributes = cupy.cuda.Device(number).attributes
    return Limits(
        n_multiprocessors=int(attributes["MultiProcessorCount"]),
        shared_bytes=int(attributes["MaxSharedMemoryPerMultiprocessor"]),
        block_bytes=int(attributes["MaxSharedMemoryPerBlockOptin"]),
    )


def include() -> list[str]:
    """Return the folders of the source as compiler options."""
    return [f"-I{folder}" for folder in SOURCES]


def define(variant: Variant) -> list[str]:
    """Return the definitions that the kernel's source requires, as compiler options."""
    settings = {
        "THREADS": variant.threads,
        "BLOCKS": variant.blocks,
        "WORDS": variant.words,
        "MAX_WORDS": MAX_WORDS,
        "SPILL": variant.spill,
        "PLAN_BYTES": PLAN.itemsize,
        "STATE_BYTES": STATE.itemsize,
        "BATCH_BYTES": BATCH.itemsize,
    }
    return [f"-DDLN_{name}={value}" for name, value in settings.items()]


@lru_cache(maxsize=64)
def compile_kernel(variant: Variant, source: str, number: int) -> Any:
    """Compile a source file of the kernel for a GPU. CuPy caches the result on disk."""
    cupy = import_cupy()
    files = sorted(path for folder in SOURCES for path in folder.iterdir())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    # CuPy's cache depends only on the source file, not on the files that it includes.
    definitions = (*define(variant), f"-DDLN_DIGEST=0x{digest}")
    with cupy.cuda.Device(number):
        return cupy.RawModule(
            code=(KERNEL / source).read_text(),
            options=("--std=c++17", *_ARITHMETIC, *include(), *definitions),
            backend="nvrtc",
        )


def device_name(number: int = 0) -> str:
    """Return the manufacturer's name of a GPU."""
    return str(import_cupy().cuda.runtime.getDeviceProperties(number)["name"].decode())
