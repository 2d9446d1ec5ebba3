"""Fuzz the native module: no argument crashes it, whatever its shape, type or strides."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np

from dln import _native
from dln.core.literals import LiteralKind
from dln.core.model_file import circuit_from_json
from dln.encode.bits import LiteralSet
from dln.evaluate.predictor import native_arguments
from dln.train.compiled import RECORD
from dln.train.jobs import Job, TrainingRows
from dln.train.native import bind
from dln.train.network import Shape, build_network
from dln.train.options import TrainOptions
from dln.train.schedule import make_schedule

from .draw import draw_text

REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, BufferError)
DTYPES = (
    *("f2", "f4", "f8", "g", ">f8", "i1", "i2", "i4", "i8"),
    *("u1", "u4", "u8", "?", "O", "S3", "M8[s]"),
)
NUMBERS = (0, 1, -1, 2, 15, 16, 255, 2**31 - 1, -(2**31), 2**40, 0.5, 1e300, np.nan, np.inf)


def fuzz_native_program(rng: random.Random) -> int:
    """Make programs of damaged circuits, and give good ones damaged tables."""
    circuit = circuit_from_json(draw_text(rng))
    arguments = native_arguments(circuit)
    for name in rng.sample(sorted(arguments), rng.choice([0, 0, 1, 1, 2])):
        arguments[name] = _damaged(rng, arguments[name])
    try:
        program = _native.Program(**arguments, level=rng.choice(["", *_native.levels(), "none"]))
    except REFUSALS:
        return 1
    n_calls = 10
    for _ in range(n_calls):
        _call(rng, program, len(circuit.columns), circuit.n_classes)
    return 1 + n_calls


def _call(rng: random.Random, program: Any, n_columns: int, n_classes: int) -> None:
    n_rows = rng.choice([0, 1, 3, 64, 65, 600])
    source = _source(rng, n_rows, n_columns)
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["n_rows"] = rng.choice([None, n_rows, n_rows, n_rows, n_rows + 1, -1, 0, 2**62])
    if rng.random() < 0.3:
        options["n_threads"] = rng.choice([1, 2, 0, -1, 2**20])
    try:
        match rng.randrange(4):
            case 0:
                program.votes(source, **options)
            case 1:
                program.classify(source, **options)
            case 2:
                wires = np.arange(rng.randrange(4), dtype=np.int32)
                program.evaluate(source, _damaged(rng, wires), **options)
            case _:
                labels = np.arange(n_classes, dtype=np.uint64)
                out: Any = np.empty(n_rows, dtype=np.uint64)
                damage = rng.random()
                labels = _damaged(rng, labels) if damage < 0.2 else labels
                out = _damaged(rng, out) if damage > 0.8 else out
                program.classify_into(source, labels, out, **options)
    except REFUSALS:
        pass


def _source(rng: random.Random, n_rows: int, n_columns: int) -> Any:
    def array(*shape: int) -> Any:
        with np.errstate(all="ignore"):
            made = np.zeros(shape, dtype=rng.choice(["f8", "f8", "f4", "i4", "i4", *DTYPES]))
        return _strided(rng, made)

    kind = rng.random()
    if kind < 0.4:
        return array(n_rows, n_columns)
    if kind < 0.9:
        columns = [array(n_rows) for _ in range(n_columns)]
        if columns and rng.random() < 0.3:
            columns[rng.randrange(n_columns)] = rng.choice([None, array(n_rows + 1), [1], "x", 3])
        return columns if rng.random() < 0.8 else tuple(columns)
    return rng.choice([None, 3, "text", [], array(n_rows), array(1, 1, 1), b"bytes", {}, object()])


def _strided(rng: random.Random, array: Any) -> Any:
    """Return the array in another layout, of the same shape."""
    match rng.randrange(5):
        case 0 if array.ndim:
            return array[::-1]
        case 1:
            return np.repeat(array, 2, axis=0)[::2] if array.ndim else array
        case 2:
            return np.broadcast_to(array[:1], array.shape) if array.ndim and len(array) else array
        case 3 if array.dtype.kind not in "O":
            array.flags.writeable = False
    return array


def _damaged(rng: random.Random, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return rng.choice([None, -1, 0, 10**6, 2**70, "x", 1.5])
    match rng.randrange(6):
        case 0 if value.size:
            changed = value.copy()
            number = rng.choice(NUMBERS)
            with np.errstate(all="ignore"):
                changed.flat[rng.randrange(value.size)] = np.array(number).astype(value.dtype)
            return changed
        case 1:
            with np.errstate(all="ignore"):
                return value.astype(rng.choice(["f4", "f8", "i1", "i4", "i8", "u1", "?", "O"]))
        case 2:
            return value[: rng.randint(0, len(value))]
        case 3:
            return np.concatenate([value, value[:1]])
        case 4:
            return rng.choice([value.reshape(-1, 1), value.ravel(), value[None], value.T])
    return rng.choice([_strided(rng, value), None, "x", value.tolist()])


def fuzz_native_training(rng: random.Random) -> int:
    """Train damaged networks on damaged rows."""
    job = _job(rng.randrange(2**32))
    stand_in: Any = SimpleNamespace(Job=lambda **arguments: arguments, Schedule=_native.Schedule)
    schedule = make_schedule(job.options, job.network)
    arguments: dict[str, Any] = bind(stand_in, job, schedule)
    arrays = [name for name, value in arguments.items() if isinstance(value, np.ndarray)]
    for name in rng.sample(arrays, rng.choice([0, 1, 1, 2])):
        arguments[name] = _damaged(rng, arguments[name])
    if rng.random() < 0.3:
        arguments["options"] = _damaged_options(rng, arguments["options"])
    try:
        bound = _native.Job(**arguments)
        _native.train([bound], rng.choice([1, 2]), level=rng.choice(["", *_native.levels()]))
        bound.points(_damaged(rng, np.arange(5)))
        bound.gradients(np.arange(3), rng.choice([0, 1, 2, 3, -1]))
        bound.history()
    except (*REFUSALS, ArithmeticError, RuntimeError):
        pass
    return 1


def _damaged_options(rng: random.Random, record: bytes) -> bytes:
    """Change a number of the record, but not the epochs, of which there may be millions."""
    changed = np.frombuffer(record, dtype=RECORD).copy()
    name = rng.choice([name for name in RECORD.names or () if name != "epochs"])
    with np.errstate(all="ignore"):
        changed[name] = np.array(rng.choice(NUMBERS)).astype(RECORD[name])
    data = changed.tobytes()
    return rng.choice([data, data, data, data[:-1], data + b"0", b""])


def _job(seed: int) -> Job:
    rng = np.random.default_rng(seed)
    cells = rng.random((40, 3)).astype(np.float32)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    target = rng.integers(0, 2, 40).astype(np.int32)
    literals = LiteralSet(
        np.array(
            [LiteralKind.ABOVE, LiteralKind.ABOVE, LiteralKind.AMONG, LiteralKind.MISSING],
            dtype=np.uint8,
        ),
        np.array([0, 1, 2, 1], dtype=np.int32),
        np.array([0.2, 0.6, 0.0, 0.0], dtype=np.float32),
    )
    network = build_network(
        literals,
        Shape((4, 3), n_links=3),
        n_classes=2,
        slope=8.0,
        vote_threshold=0.8,
        vote_density=0.5,
        rng=rng,
    )
    data = TrainingRows(cells, target, np.ones(40, dtype=np.float32))
    return Job(network, data, np.arange(40), TrainOptions(epochs=2, seed=seed))
