"""The records that the host and the GPU share, and the memory layout of a block.

Each record here has a struct of the same fields in `kernel/records.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dln.train.compiled import RECORD

_OFFSETS = (
    "parameter link literal gate wire rule layer level epoch row batch valid count "
    "trace cells table offset shuffle jump limit slopes gates links votes"
)
_COUNTS = (
    "n_parameters n_literals n_gates n_links n_choices n_rules n_classes n_weights n_layers "
    "n_levels n_columns n_rows n_valid n_batches n_shuffles "
    "first_freeze vote_freeze prune_first prune_last rules_on_literals"
)

PLAN = np.dtype(
    [(name, RECORD[name]) for name in RECORD.names or ()]
    + [(name, np.int64) for name in _OFFSETS.split()]
    + [(name, np.int32) for name in _COUNTS.split()]
    + [("convergence", np.float32), ("choice", np.uint8, 16)],
    align=True,
)
"""A network: its options, where its arrays start in the pools, its sizes."""

STATE = np.dtype(
    [("random", np.uint64, 4)]
    + [(name, np.float64) for name in ("best", "loss", "weight")]
    + [(name, np.int32) for name in ("epoch", "batch", "best_epoch", "n_records", "done", "pad")],
    align=True,
)
"""The progress of a network."""

BATCH = np.dtype(
    [("weight", np.float64)]
    + [(name, np.float32) for name in ("scale", "rate", "epsilon")]
    + [("phase", np.int32)],
    align=True,
)
"""A batch of the current epoch; written and read by the kernel."""

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
    "limits",
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
    "offset",
    "jump",
)
"""The arrays of all networks, one after the other, in the order of the kernel's `Pools`."""

MAX_WORDS = 2
"""Maximum number of words of 32 rows that are processed in one pass."""

BLOCK_RESERVED = 1024
"""Bytes of shared memory that CUDA reserves in each block."""

BLOCK_STATIC = 1184
"""Maximum number of bytes of shared memory that the kernel uses besides a network's."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network that determine the memory of a block.

    A network that predicts a number has no classes; `n_weights` counts its rules and the bias.
    """

    n_literals: int
    n_gates: int
    n_rules: int
    n_classes: int
    n_columns: int
    n_weights: int = 0

    @property
    def n_outputs(self) -> int:
        """Number of outputs: classes, or one number."""
        return 1 if self.n_weights else self.n_classes

    @property
    def n_votes(self) -> int:
        """Number of vote links or weights."""
        return self.n_classes * self.n_rules + self.n_weights


@dataclass(frozen=True)
class Variant:
    """Settings to compile the kernel with. They do not change results.

    Attributes
    ----------
    threads, blocks
        Threads per block, and blocks per multiprocessor.
    words
        Words of 32 rows that are processed in one pass.
    spill
        What is in global memory: nothing (0), the parts that grow with rows (1), all (2).
    """

    threads: int
    blocks: int
    words: int
    spill: int


@dataclass(frozen=True)
class Limits:
    """Limits of a GPU: multiprocessors, and bytes of shared memory for each and for a block."""

    n_multiprocessors: int
    shared_bytes: int
    block_bytes: int


def block_bytes(sizes: Sizes, words: int) -> tuple[int, int]:
    """Return the bytes of the parts of a block that grow with rows, and of the others."""
    stride = 32 * words + 4
    large = _padded(4 * sizes.n_gates * stride) + _padded(4 * sizes.n_columns * stride)
    small = (
        _padded(4 * sizes.n_outputs * stride)
        + _padded(4 * max((sizes.n_literals + sizes.n_gates) * words, 2 * sizes.n_gates))
        + _padded(8 * sizes.n_gates * words)
        + 2 * _padded(8 * sizes.n_gates)
        + _padded(4 * sizes.n_rules)
        + 2 * _padded(sizes.n_gates)
        + _padded(sizes.n_votes)
        + _padded(4 * sizes.n_votes)
    )
    return large, small


def memory_of(sizes: Sizes, variant: Variant) -> tuple[int, int]:
    """Return the bytes of shared and of global memory that a block of a variant needs."""
    large, small = block_bytes(sizes, variant.words)
    shared = (large if variant.spill < 1 else 0) + (small if variant.spill < 2 else 0)
    return shared, large + small - shared


THREADS = {4: 160, 2: 256, 1: 512}
"""Threads per block, by the number of blocks per multiprocessor.

With more threads, each would have too few registers.
"""


def choose_variant(sizes: Sizes, crowd: int, limits: Limits) -> Variant:
    """Choose the variant for a network of these sizes.

    Small blocks wait less for their slowest thread, and several of them share a multiprocessor. If
    there are few networks, large blocks keep a multiprocessor busy. Two words of rows per pass are
    always better than one.

    Parameters
    ----------
    crowd
        Networks per multiprocessor.
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
    """Return how much of a multiprocessor's fast memory is shared memory, in percent.

    It is as small as the blocks allow, because the rest is the cache. GPUs have few sizes and use
    the next larger one, so rounding up a percentage could halve the cache.
    """
    needed = variant.blocks * (shared_bytes + BLOCK_STATIC + BLOCK_RESERVED)
    return min(100, 100 * needed // limits.shared_bytes)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // 16) * 16
