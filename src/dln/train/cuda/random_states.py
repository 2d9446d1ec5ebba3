"""Random numbers of many networks: initial states, and the map that skips an epoch.

The generator is xoshiro256**, as in `dln.train.shuffle`. A step is a linear map of its 256 bits
over the field of two elements, and so is any number of steps.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def first_states(seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Seed generators by splitmix64: (seeds, 4)."""
    seed = seeds
    words = []
    for _ in range(4):
        seed = seed + np.uint64(0x9E3779B97F4A7C15)
        z = (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words.append(z ^ (z >> np.uint64(31)))
    return np.stack(words, axis=1).reshape(-1, 4)


@lru_cache(maxsize=64)
def jump_images(n_steps: int) -> NDArray[np.uint64]:
    """Return the images of all 256 single bits of a state after `n_steps` steps: (256, 4)."""
    power = np.eye(256, dtype=np.float32)
    square = _as_bits(_advance(_as_words(np.eye(256, dtype=np.float32))))
    while n_steps:
        if n_steps & 1:
            power = power @ square % 2
        square = square @ square % 2
        n_steps >>= 1
    images = _as_words(power)
    images.flags.writeable = False
    return images


def jump(states: NDArray[np.uint64], n_steps: int) -> NDArray[np.uint64]:
    """Advance states (n, 4) by a number of steps."""
    return _as_words(_as_bits(states) @ _as_bits(jump_images(n_steps)) % 2)


def _advance(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Advance states (n, 4) by a step."""
    a, b, c, d = states.T
    c, d = c ^ a, d ^ b
    return np.stack(
        [a ^ d, b ^ c, c ^ (b << np.uint64(17)), d << np.uint64(45) | d >> np.uint64(19)], axis=1
    )


def _as_bits(states: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Convert states (n, 4) to bits (n, 256), lowest bit of each word first."""
    shifts = np.arange(64, dtype=np.uint64)
    bits = states[:, :, None] >> shifts & np.uint64(1)
    return bits.reshape(len(states), 256).astype(np.float32)


def _as_words(bits: NDArray[np.float32]) -> NDArray[np.uint64]:
    parts = bits.reshape(len(bits), 4, 64).astype(np.uint64) << np.arange(64, dtype=np.uint64)
    return np.asarray(np.bitwise_or.reduce(parts, axis=2))
