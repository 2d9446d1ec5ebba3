"""The memory of a block on a GPU, and the variant of the kernel that is chosen for a network."""

from __future__ import annotations

import subprocess
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dln.train.cuda.gpu import define, include
from dln.train.cuda.layout import (
    BLOCK_RESERVED,
    BLOCK_STATIC,
    MAX_WORDS,
    THREADS,
    Limits,
    Sizes,
    Variant,
    block_bytes,
    choose_variant,
    memory_of,
    shared_part,
)
from tests.support.tools import find_tool

H200 = Limits(n_multiprocessors=132, shared_bytes=233_472, block_bytes=232_448)


# -- a block's memory -----------------------------------------------------------------------------

ARRANGE = r"""
#include <cstdio>
#define __device__
#include "records.h"

int main() {
  Plan plan = {};
  while (std::scanf("%d %d %d %d %d %d", &plan.n_literals, &plan.n_gates, &plan.n_rules,
                    &plan.n_classes, &plan.n_columns, &plan.n_weights) == 6) {
    const Offsets at = arrange(plan);
    std::printf("%u %u %u %u\n", at.score, at.bits, at.words, at.shares);
  }
}
"""


def arrange(folder: Path, words: int, some: list[Sizes]) -> NDArray[np.int64]:
    """Compute with the kernel's code where votes, bits, words and shares begin in a block."""
    compiler = find_tool("c++", package="g++")
    source, program = folder / "arrange.cpp", folder / "arrange"
    source.write_text(ARRANGE)
    definitions = define(Variant(THREADS[1], 1, words, 0))
    options = ["-std=c++17", *include(), *definitions, "-o", str(program)]
    subprocess.run([compiler, *options, str(source)], check=True, timeout=120)
    text = "\n".join(" ".join(map(str, astuple(sizes))) for sizes in some)
    done = subprocess.run(
        [program], input=text, capture_output=True, text=True, check=True, timeout=60
    )
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=np.int64)


def draw_sizes(n: int) -> list[Sizes]:
    rng = np.random.default_rng(0)
    largest = (2_000, 4_000, 300, 30, 700)
    some = [Sizes(*(int(rng.integers(1, most + 1)) for most in largest)) for _ in range(n)]
    numbers = [replace(sizes, n_classes=0, n_weights=sizes.n_rules + 1) for sizes in some[::5]]
    return some + numbers


@pytest.mark.parametrize("words", range(1, MAX_WORDS + 1))
def test_the_layout_of_a_block_matches_the_counted_bytes(words: int, tmp_path: Path) -> None:
    some = draw_sizes(500)
    for sizes, (score, _, _, shares) in zip(some, arrange(tmp_path, words, some), strict=True):
        large, small = block_bytes(sizes, words)
        assert score == large
        last = 4 * sizes.n_votes
        assert shares + -(-last // 16) * 16 == large + small


@pytest.mark.parametrize("words", range(1, MAX_WORDS + 1))
def test_there_is_room_for_a_list_of_all_inputs(words: int, tmp_path: Path) -> None:
    some = draw_sizes(500)
    assert any(sizes.n_literals < sizes.n_gates for sizes in some)
    for sizes, (_, bits, end, _) in zip(some, arrange(tmp_path, words, some), strict=True):
        room = (end - bits) // 4
        assert room >= 2 * sizes.n_gates
        assert room >= (sizes.n_literals + sizes.n_gates) * words


# -- variants -------------------------------------------------------------------------------------

SIZES = st.builds(
    Sizes,
    n_literals=st.integers(0, 20_000),
    n_gates=st.integers(0, 50_000),
    n_rules=st.integers(1, 500),
    n_classes=st.integers(1, 20),
    n_columns=st.integers(1, 3_000),
)


@given(sizes=SIZES, crowd=st.integers(0, 100))
def test_the_chosen_variant_fits_a_multiprocessor(sizes: Sizes, crowd: int) -> None:
    variant = choose_variant(sizes, crowd, H200)
    shared, far = memory_of(sizes, variant)
    taken = shared + BLOCK_STATIC + BLOCK_RESERVED
    assert variant.blocks * taken <= H200.shared_bytes
    assert shared + BLOCK_STATIC <= H200.block_bytes
    assert variant.blocks <= max(1, crowd)
    assert (far > 0) == (variant.spill > 0)
    assert variant.threads == THREADS[variant.blocks] >= 32 * variant.words
    assert 0 <= shared_part(variant, shared, H200) <= 100


@pytest.mark.parametrize(
    ("n_gates", "crowd", "variant"),
    [
        (112, 10, Variant(160, 4, MAX_WORDS, 0)),
        (112, 1, Variant(512, 1, MAX_WORDS, 0)),
        (585, 10, Variant(512, 1, MAX_WORDS, 0)),
        (695, 10, Variant(512, 1, MAX_WORDS, 0)),
        (696, 10, Variant(512, 1, 1, 0)),
        (1_272, 10, Variant(512, 1, 1, 0)),
        (1_273, 10, Variant(512, 1, MAX_WORDS, 1)),
        (4_000, 10, Variant(512, 1, MAX_WORDS, 1)),
        (40_000, 10, Variant(512, 1, MAX_WORDS, 2)),
    ],
)
def test_small_networks_share_a_multiprocessor_and_large_ones_use_global_memory(
    n_gates: int, crowd: int, variant: Variant
) -> None:
    assert choose_variant(Sizes(480, n_gates, 12, 2, 30), crowd, H200) == variant
