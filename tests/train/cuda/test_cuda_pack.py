"""The cuda engine without a GPU: the memory layout of populations, and invalid input."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.core.literals import LiteralKind
from dln.errors import DeviceMemoryError, OptionError
from dln.train.cuda.gpu import check_capability, find_gpu
from dln.train.cuda.layout import BATCH, PLAN, STATE
from dln.train.cuda.memory import bytes_of, check_room
from dln.train.cuda.pack import pack, record_epochs, sort_readers
from dln.train.cuda.random_states import first_states, jump
from dln.train.jobs import Job
from dln.train.network import Shape
from dln.train.options import TrainOptions
from dln.train.settings import Alternating, Freezing, Gumbel, Pruning
from dln.train.shuffle import shuffles
from tests.support.jobs import BROKEN, random_job

# -- random numbers -------------------------------------------------------------------------------


def shuffle_from(state: Any, rows: list[int]) -> list[int]:
    """Fisher-Yates shuffle with xoshiro256** from a state, as in the kernel."""
    a, b, c, d = (int(word) for word in state)
    mask, rows = 2**64 - 1, list(rows)
    for i in range(len(rows), 1, -1):
        x = b * 5 & mask
        number = ((x << 7 | x >> 57) & mask) * 9 & mask
        shifted = b << 17 & mask
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c, d = c ^ shifted, (d << 45 | d >> 19) & mask
        j = number * i >> 64
        rows[i - 1], rows[j] = rows[j], rows[i - 1]
    return rows


@given(seed=st.integers(0, 2**64 - 1), n_rows=st.sampled_from([1, 2, 7, 64]))
def test_orders_drawn_in_parallel_equal_those_drawn_in_sequence(seed: int, n_rows: int) -> None:
    state = first_states(np.array([seed], dtype=np.uint64))
    order = np.arange(n_rows)
    for expected in islice(shuffles(np.arange(n_rows), seed), 4):
        # The order of an epoch is a permutation of the one before, drawn from a separate state.
        order = order[shuffle_from(state[0], list(range(n_rows)))]
        assert_array_equal(order, expected)
        state = jump(state, n_rows - 1)


# -- layout ---------------------------------------------------------------------------------------


def mixed_jobs() -> list[Job]:
    shapes = [Shape((9, 7), n_links=5), Shape((12,), n_links=None), Shape((3, 4, 6), n_gates=16)]
    jobs = [random_job(seed, n_rows=20 + seed, shape=shapes[seed % 3]) for seed in range(6)]
    return [replace(job, valid_rows=job.rows[::2]) for job in jobs]


def test_every_network_is_where_its_plan_says() -> None:
    jobs = mixed_jobs()
    population = pack(jobs)
    arrays = population.arrays
    for job, plan in zip(jobs, population.plans, strict=True):
        flat = np.concatenate([part.ravel() for part in job.network.parameters()])
        assert plan["n_parameters"] == len(flat)
        assert_array_equal(arrays["parameters"][plan["parameter"] :][: len(flat)], flat)
        wires = job.network.link_wires.ravel()
        assert_array_equal(arrays["link_wire"][plan["link"] :][: len(wires)], wires)
        cells = arrays["cells"][plan["cells"] :][: job.data.cells.size]
        assert_array_equal(cells.reshape(job.data.cells.shape), job.data.cells)
        assert_array_equal(arrays["order"][plan["row"] :][: len(job.rows)], job.rows)
        assert job.valid_rows is not None
        assert_array_equal(arrays["valid"][plan["valid"] :][: plan["n_valid"]], job.valid_rows)
        starts = arrays["level_start"][plan["level"] :][: plan["n_levels"] + 1]
        assert_array_equal(starts, np.cumsum((0, *job.network.layers)))


def test_zero_jobs_give_an_empty_population() -> None:
    population = pack([])
    assert len(population.plans) == 0
    assert not any(population.sizes.values())


def test_plans_of_similar_jobs_differ_only_in_their_own_data() -> None:
    first = random_job(0, options=TrainOptions(epochs=4, freezing=Freezing(0.5)))
    other = replace(first, network=first.network.copy(), options=replace(first.options, seed=9))
    longer = replace(random_job(0), data=first.data, rows=first.rows)
    together, alone = pack([first, other, longer]), [pack([job]) for job in (first, other, longer)]
    starts = ["parameter", "link", "literal", "gate", "wire", "rule", "layer", "epoch", "row"]
    assert all(np.all(np.diff(together.plans[name]) > 0) for name in starts)
    for network, own in enumerate(alone):
        for name in ("epochs", "first_freeze", "n_layers", "n_choices", "n_gates", "n_rows"):
            assert together.plans[name][network] == own.plans[name][0]
        gates = slice(together.plans["gate"][network], None)
        expected = own.arrays["gate_freeze"]
        assert_array_equal(together.arrays["gate_freeze"][gates][: len(expected)], expected)
        assert_array_equal(together.states["random"][network], own.states["random"][0])
    assert not np.array_equal(together.states["random"][0], together.states["random"][1])


def test_rows_that_jobs_share_are_stored_once() -> None:
    first, second = random_job(0), random_job(1)
    population = pack([first, replace(second, data=first.data), random_job(2)])
    assert population.arrays["cells"].size == 2 * first.data.cells.size
    assert population.plans["table"].tolist() == [0, 0, len(first.data.target)]


def test_readers_are_listed_by_the_wire_that_they_name() -> None:
    population = pack(mixed_jobs())
    plans, wires = population.plans, population.arrays["link_wire"]
    lengths = 2 * plans["n_gates"] * plans["n_links"]
    places, networks, starts = sort_readers(np, wires, plans, lengths)
    assert_array_equal(networks, np.repeat(np.arange(len(plans)), lengths))
    for network, plan in enumerate(plans):
        own = wires[plan["link"] :][: lengths[network]]
        for wire in range(plan["n_literals"] + plan["n_gates"]):
            begin, end = starts[plan["wire"] + wire :][:2]
            assert_array_equal(places[begin:end], np.flatnonzero(own == wire))


def test_gates_that_read_their_own_layer_are_split_into_levels() -> None:
    job = random_job(0, shape=Shape((6,), n_links=2))
    wires = job.network.link_wires.copy()
    wires[4, 0, 0] = job.network.n_literals + 2
    population = pack([replace(job, network=replace(job.network, link_wires=wires))])
    assert population.arrays["level_start"].tolist() == [0, 4, 6]


def test_only_threshold_literals_are_trained() -> None:
    job = random_job(0)
    trains = pack([job]).arrays["literal_freeze"] > 0
    assert_array_equal(trains, job.network.literal_kind == LiteralKind.ABOVE)


def test_options_and_schedules_reach_the_plan() -> None:
    options = TrainOptions(
        epochs=8,
        batch_size=30,
        phases=Alternating(3),
        gate_gradient="mixture",
        freezing=Freezing(0.5),
        pruning=Pruning(0.25, 0.75),
        trace_every=3,
        seed=2**64 - 1,
    )
    population = pack([random_job(0, n_rows=100, options=options)])
    plan = population.plans[0]
    names = "phases phase_epochs gate_gradient n_batches first_freeze prune_first prune_last"
    assert [int(plan[name]) for name in names.split()] == [1, 3, 1, 4, 4, 2, 5]
    assert population.sizes["trace"] == 4 * plan["n_parameters"]
    assert population.states["best_epoch"].tolist() == [-1]


@pytest.mark.parametrize(
    ("every", "done", "n_records", "expected"),
    [(3, 7, 4, [0, 3, 6, 7]), (3, 6, 3, [0, 3, 6]), (2, 5, 3, [0, 2, 4]), (1, 0, 1, [0])],
)
def test_records_have_the_right_epochs(
    every: int, done: int, n_records: int, expected: list[int]
) -> None:
    assert record_epochs(every, done, n_records) == expected


def test_the_records_have_the_sizes_that_the_kernel_expects() -> None:
    # As a C compiler lays them out: the largest alignment is that of eight bytes.
    assert PLAN.itemsize == 392
    assert STATE.itemsize == 80
    assert BATCH.itemsize == 24


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [*BROKEN, ("literal_layer", 0, 7, "layer that does not exist")],
)
def test_a_broken_network_is_refused_before_training(
    name: str, index: tuple[int, ...] | int, value: float, message: str
) -> None:
    job = random_job(0)
    array = getattr(job.network, name).copy()
    array[index] = value
    with pytest.raises(ValueError, match=message):
        pack([replace(job, network=replace(job.network, **{name: array}))])


@pytest.mark.parametrize(
    ("name", "kept", "message"),
    [
        ("gate_choices", 7, "do not belong together"),
        ("slopes", 3, "do not belong together"),
        ("gate_choices", 0, "no class or no gate"),
        ("gate_logits", 5, "do not hold all gates"),
    ],
)
def test_a_network_of_odd_sizes_is_refused(name: str, kept: int, message: str) -> None:
    job = random_job(0)
    shorter = getattr(job.network, name)[:kept].copy()
    broken = replace(job, network=replace(job.network, **{name: shorter}))
    with pytest.raises(ValueError, match=message):
        pack([random_job(1), broken])


def test_a_network_shared_by_two_jobs_is_refused() -> None:
    job = random_job(0)
    with pytest.raises(ValueError, match="share"):
        pack([job, job])


@pytest.mark.parametrize("relaxation", ["soft", "gumbel", Gumbel(0.1)])
def test_relaxations_that_only_torch_supports_are_refused(relaxation: Any) -> None:
    with pytest.raises(OptionError, match=r'cuda engine .* use engine="torch"'):
        pack([random_job(0, options=TrainOptions(relaxation=relaxation))])


def test_the_error_for_too_large_a_population_says_how_many_would_fit() -> None:
    first = random_job(0)
    population = pack([first, *(replace(random_job(i), data=first.data) for i in range(1, 20))])
    room = 2**28 + 5_000 + int(bytes_of(population)[:8].sum())
    with pytest.raises(DeviceMemoryError, match=r"^20 networks need .* train the first 8 and then"):
        check_room(population, room)
    check_room(population, 2**30)
    population.plans["n_links"] = 10**7
    with pytest.raises(DeviceMemoryError, match=r"more than a call can number; train the first 6"):
        check_room(population, 2**60)


def test_the_bytes_of_batches_are_counted() -> None:
    one, many = (pack([random_job(0, options=TrainOptions(batch_size=n))]) for n in (100, 4))
    assert bytes_of(many) - bytes_of(one) == 24 * BATCH.itemsize


def test_a_gpu_that_is_too_old_is_refused() -> None:
    check_capability("a GPU", "90")
    check_capability("a GPU", "120")
    with pytest.raises(OptionError, match=r"^a GPU has compute capability 6.1, .* needs 7.0"):
        check_capability("a GPU", "61")


def test_a_device_that_is_not_a_gpu_is_refused() -> None:
    with pytest.raises(OptionError, match="device is 'tpu', expected \"cuda\""):
        find_gpu("tpu")


def test_the_error_for_missing_cupy_names_it() -> None:
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "cupy":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import dln
try:
    dln.DLNClassifier(engine="cuda").fit([[0.0], [1.0]], [0, 1])
except dln.ExtraMissingError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'cupy-cuda13x[ctk]'" in done.stdout
