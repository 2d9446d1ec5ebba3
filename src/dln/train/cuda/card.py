"""Find CuPy and a card, and compile the kernel for it.

CuPy brings all that is needed in one package: memory, sorting, the compiler of CUDA's own run time
(NVRTC) and a cache of what it compiled, in `~/.cupy/kernel_cache`. No CUDA toolkit is needed when
dln is installed.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from dln.errors import ExtraMissingError, OptionError
from dln.train.cuda.layout import BATCH, MAX_WORDS, PLAN, STATE, Limits, Variant

OLDEST = (7, 0)
"""The oldest compute capability with all the instructions that the kernel uses."""

KERNEL = Path(__file__).parent / "kernel"
"""The folder of the kernel's source."""

# Subnormal numbers are 0, and divisions and roots are quick, at the price of a last bit or two. But
# a product is fused into a sum only where the kernel says so: the compiler would choose anew in
# each variant, and all variants are to give the same bits.
_ARITHMETIC = ("--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--fmad=false")


def import_cupy() -> Any:
    """Import CuPy, which does without a card until it is asked for one."""
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ExtraMissingError.for_packages("engine 'cuda'", "cupy-cuda13x[ctk]") from error
    return cupy


def find_card(device: str) -> int:
    """Find a card by its name, and give its number.

    "cuda" and the default "cpu" mean the first card: the cuda engine trains nowhere else.
    """
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise OptionError(f'device is {device!r}, expected "cuda", or "cuda:1" for the second card')
    cupy = import_cupy()
    try:
        n_cards = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise OptionError(
            f'engine is "cuda", but there is no card to use here ({error}); '
            'use engine="native", or install NVIDIA\'s driver'
        ) from None
    number = int(match[1] or 0)
    if number >= n_cards:
        raise OptionError(
            f"device is {device!r}, but there are only {n_cards} cards here: "
            f"{', '.join(f'cuda:{card}' for card in range(n_cards))}"
        )
    check_capability(device_name(number), cupy.cuda.Device(number).compute_capability)
    return number


def check_capability(name: str, capability: str) -> None:
    """Refuse a card that lacks instructions; its capability is text such as "90"."""
    found = int(capability[:-1]), int(capability[-1])
    if found < OLDEST:
        raise OptionError(
            f"{name} has compute capability {found[0]}.{found[1]}, but the cuda engine needs "
            f'{OLDEST[0]}.{OLDEST[1]} or later; use engine="native"'
        )


def limits_of(cupy: Any, number: int) -> Limits:
    """Say what a card offers."""
    attributes = cupy.cuda.Device(number).attributes
    return Limits(
        n_multiprocessors=int(attributes["MultiProcessorCount"]),
        shared_bytes=int(attributes["MaxSharedMemoryPerMultiprocessor"]),
        block_bytes=int(attributes["MaxSharedMemoryPerBlockOptin"]),
    )


def define(variant: Variant) -> list[str]:
    """Write what the kernel's source wants defined, as a compiler's options."""
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
    """Compile a source file of the kernel for a card; CuPy remembers it on disk."""
    cupy = import_cupy()
    sources = sorted(KERNEL.iterdir())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    # CuPy's memory knows the source alone, not what it includes.
    definitions = (*define(variant), f"-DDLN_DIGEST=0x{digest}")
    with cupy.cuda.Device(number):
        return cupy.RawModule(
            code=(KERNEL / source).read_text(),
            options=("--std=c++17", *_ARITHMETIC, f"-I{KERNEL}", *definitions),
            backend="nvrtc",
        )


def device_name(number: int = 0) -> str:
    """Return the name that a card has from its maker."""
    return str(import_cupy().cuda.runtime.getDeviceProperties(number)["name"].decode())
