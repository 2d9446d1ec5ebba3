"""The records that the host and the card share, and how a block's memory is laid out.

Each record here has a struct of the same fields in `kernel/records.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

_OFFSETS = (
    "parameter link literal gate wire rule layer level epoch row batch valid count "
    "trace cells table shuffle jump slopes gates links votes"
)
_COUNTS = (
    "n_parameters n_literals n_gates n_links n_choices n_rules n_classes n_layers "
    "n_levels n_columns n_rows n_valid n_batches n_shuffles "
    "epochs phases phase_epochs eval_every patience keep_best trace_every mixture "
    "first_freeze vote_freeze prune_first prune_last rules_on_literals pad"
)
_NUMBERS = "rate final_rate threshold_rate tau grad_factor vote_limit convergence"

PLAN = np.dtype(
    [(name, np.int64) for name in _OFFSETS.split()]
    + [(name, np.int32) for name in _COUNTS.split()]
    + [(name, np.float32) for name in _NUMBERS.split()]
    + [("choice", np.uint8, 16)],
    align=True,
)
"""A network: where its arrays start in the pools, its sizes, its options."""

STATE = np.dtype(
    [("random", np.uint64, 4)]
    + [(name, np.float64) for name in ("best", "loss", "weight")]
    + [(name, np.int32) for name in ("epoch", "batch", "best_epoch", "n_records", "done", "pad")],
    align=True,
)
"""How far a network is."""

BATCH = np.dtype(
    [("weight", np.float64)]
    + [(name, np.float32) for name in ("scale", "rate", "epsilon")]
    + [("phase", np.int32)],
    align=True,
)
"""A batch of the epoch at hand; the kernel makes and reads it."""

POOLS = (
    "plans",
    "states",
    "parameters",
    "gradient",
    "best",
    "trace",
    "literal_column",
    "literal_kind",
    "literal_freeze",
    "gate_freeze",
    "mixture",
    "pulls",
    "gate_pruned",
    "link_wire",
    "reader_slot",
    "reader_input",
    "reader_start",
    "rule_wire",
    "rule_reader",
    "rule_start",
    "layer_start",
    "layer_prune",
    "level_start",
    "temperature",
    "history",
    "order",
    "shuffle",
    "batches",
    "valid",
    "right",
    "total",
    "cells",
    "target",
    "weight",
    "jump",
)
"""The arrays of all networks, one after the other, in the order of the kernel's `Pools`."""

MAX_WORDS = 2
"""Words of 32 rows, at most, that are at work at a time."""

BLOCK_RESERVED = 1024
"""Bytes of shared memory that a card keeps for itself in every block."""

BLOCK_STATIC = 1088
"""Bytes of shared memory, at most, that the kernel takes besides a network's."""


@dataclass(frozen=True)
class Sizes:
    """What decides how much memory a block needs for a network."""

    n_literals: int
    n_gates: int
    n_rules: int
    n_classes: int
    n_columns: int


@dataclass(frozen=True)
class Variant:
    """One way to compile the kernel; none of them changes a result.

    Attributes
    ----------
    threads, blocks
        Threads of a block, and blocks that share a multiprocessor.
    words
        Words of 32 rows that are at work at a time.
    spill
        What does not fit into shared memory: nothing (0), what grows with rows (1), all (2).
    """

    threads: int
    blocks: int
    words: int
    spill: int


@dataclass(frozen=True)
class Limits:
    """What a card offers: multiprocessors, and shared memory in bytes for each and for a block."""

    n_multiprocessors: int
    shared_bytes: int
    block_bytes: int


def block_bytes(sizes: Sizes, words: int) -> tuple[int, int]:
    """Return the bytes of a block's large parts, which grow with rows, and of its small ones."""
    stride = 32 * words + 4
    large = _padded(4 * sizes.n_gates * stride) + _padded(4 * sizes.n_columns * stride)
    small = (
        _padded(4 * sizes.n_classes * stride)
        + _padded(4 * max((sizes.n_literals + sizes.n_gates) * words, 2 * sizes.n_gates))
        + _padded(8 * sizes.n_gates * words)
        + 2 * _padded(8 * sizes.n_gates)
        + _padded(4 * sizes.n_rules)
        + 2 * _padded(sizes.n_gates)
        + _padded(sizes.n_classes * sizes.n_rules)
        + _padded(4 * sizes.n_classes * sizes.n_rules)
    )
    return large, small


def memory_of(sizes: Sizes, variant: Variant) -> tuple[int, int]:
    """Return the bytes of shared and of global memory that a block of a variant needs."""
    large, small = block_bytes(sizes, variant.words)
    shared = (large if variant.spill < 1 else 0) + (small if variant.spill < 2 else 0)
    return shared, large + small - shared


THREADS = {4: 160, 2: 256, 1: 512}
"""Threads of a block, by the number of blocks that share a multiprocessor.

More of them would leave each too few registers.
"""


def choose_variant(sizes: Sizes, crowd: int, limits: Limits) -> Variant:
    """Choose how to train a network of these sizes.

    A small block waits less for its slowest thread and leaves room for others, which work while
    it waits; with few networks, large blocks keep a multiprocessor busy. Two words of rows at a
    time are better than one, whatever the blocks.

    Parameters
    ----------
    crowd
        Networks for each multiprocessor.
    """
    wanted = [blocks for blocks in THREADS if blocks <= max(1, crowd)]
    for words in (MAX_WORDS, 1):
        for blocks in wanted:
            variant = Variant(THREADS[blocks], blocks, words, 0)
            room = min(limits.shared_bytes // blocks - BLOCK_RESERVED, limits.block_bytes)
            if memory_of(sizes, variant)[0] + BLOCK_STATIC <= room:
                return variant
    spilled = Variant(THREADS[1], 1, MAX_WORDS, 1)
    fits = memory_of(sizes, spilled)[0] + BLOCK_STATIC <= limits.block_bytes
    return spilled if fits else replace(spilled, spill=2)


def shared_part(variant: Variant, shared_bytes: int, limits: Limits) -> int:
    """Return the part of a multiprocessor's fast memory, in percent, that is to be shared memory.

    No more than the blocks need: the rest is the cache of everything else. Cards offer few sizes
    and take the next larger one, so that a percent that is rounded up may cost the cache half.
    """
    needed = variant.blocks * (shared_bytes + BLOCK_STATIC + BLOCK_RESERVED)
    return min(100, 100 * needed // limits.shared_bytes)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // 16) * 16
