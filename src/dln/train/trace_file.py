"""Traces of a fit as one file of arrays (.npz), for figures of the training.

Promise: a trace that is read equals the one that was written. Files hold no code: nothing in them
is executed when they are read.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import OptionError
from dln.train.network import Network
from dln.train.trace import Trace

_VERSION = 2
_NETWORK = tuple(field.name for field in fields(Network))
_TRACE = tuple(field.name for field in fields(Trace) if field.name != "network")


@dataclass(frozen=True)
class TrainingRecord:
    """What figures of a training need.

    Attributes
    ----------
    traces
        One for each network.
    history
        The classifier's `history_`.
    names
        Column names of the table.
    phase_order
        How gates and links take turns, for learning curves: "batches", "unified", or the epochs
        of a phase.
    """

    traces: tuple[Trace, ...]
    history: Mapping[str, NDArray[np.float32]]
    names: tuple[str, ...]
    phase_order: str


def write_record(record: TrainingRecord, stream: IO[bytes]) -> None:
    """Write a record to a binary stream."""
    arrays: dict[str, Any] = {
        "version": np.array(_VERSION),
        "names": np.array(record.names, dtype=np.str_),
        "phase_order": np.array(record.phase_order, dtype=np.str_),
    }
    arrays |= {f"history/{name}": values for name, values in record.history.items()}
    for number, trace in enumerate(record.traces):
        for name in _NETWORK:
            arrays[f"{number}/network/{name}"] = np.asarray(getattr(trace.network, name))
        for name in _TRACE:
            arrays[f"{number}/{name}"] = getattr(trace, name)
    buffer = io.BytesIO()  # zip files need a stream that can seek
    np.savez_compressed(buffer, **arrays)
    stream.write(buffer.getvalue())


def read_record(path: str | Path) -> TrainingRecord:
    """Read a record; raises `OptionError` if the file is something else."""
    try:
        # Opened here, because NumPy does not close a file that it cannot read.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        if int(arrays["version"]) != _VERSION:
            raise ValueError("another version")
        return TrainingRecord(
            traces=tuple(_read_traces(arrays)),
            history={
                name.removeprefix("history/"): values
                for name, values in arrays.items()
                if name.startswith("history/")
            },
            names=tuple(arrays["names"].tolist()),
            phase_order=str(arrays["phase_order"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise OptionError(
            f"{path} is not a record of a training; write one with dln train --trace FILE"
        ) from None


def _read_traces(arrays: Mapping[str, NDArray[Any]]) -> Sequence[Trace]:
    numbers = sorted({int(name.split("/")[0]) for name in arrays if name[0].isdigit()})
    traces = []
    for number in numbers:
        network: dict[str, Any] = {name: arrays[f"{number}/network/{name}"] for name in _NETWORK}
        network["layers"] = tuple(network["layers"].tolist())
        network["vote_threshold"] = float(network["vote_threshold"])
        parts = {name: arrays[f"{number}/{name}"] for name in _TRACE}
        traces.append(Trace(Network(**network), **parts))
    return traces
