"""What the compiled engines, native and cuda, share: the record of options that both read.

`headers/options.h` declares the same record as a struct. It is generated from these fields, and a
test compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np

from dln._util.option import Option, options_of
from dln.train.jobs import Job
from dln.train.network import vote_limit
from dln.train.options import Phases, TrainOptions
from dln.train.settings import Alternating


@dataclass(frozen=True)
class Field:
    """A field of the record.

    Attributes
    ----------
    low, high
        Its range. C++ checks one without an end itself.
    enum, names
        The type of a choice in C++, and the names of its numbers.
    """

    name: str
    dtype: type[np.generic]
    doc: str
    low: float
    high: float
    enum: str = ""
    names: tuple[str, ...] = ()


def _field_of(own: Option) -> Field:
    """Return the field of an option: its number, or the place of its name among the choices."""
    facts = own.facts
    if own.names:
        enum = own.name.title().replace("_", "")
        return Field(own.name, np.int32, facts.doc, 0, len(own.names) - 1, enum, own.names)
    if bool in own.alternatives:
        return Field(own.name, np.int32, facts.doc, 0, 1)
    whole = np.int32 if facts.high < 2**31 else np.uint64
    dtype = np.float32 if float in own.alternatives else whole
    return Field(own.name, dtype, facts.doc, facts.low, facts.high)


_DERIVED = (
    Field("phase_epochs", np.int32, "Epochs before the phase changes.", 1, 10**9),
    Field("vote_limit", np.float32, "Smallest logit for which a vote link is on.", -1e6, 1e6),
    Field("quantile_level", np.float32, "Level of the quantile that the quantile loss fits.", 0, 1),
    Field("loss", np.int32, "What is minimised, see losses.h.", 0, math.inf, "Loss"),
)
"""Fields that follow from other options or from the rest of the job."""

FIELDS = sorted(
    [
        *(
            _field_of(own)
            for own in options_of(TrainOptions).values()
            if not own.facts.scheduled and not own.facts.only_in
        ),
        *_DERIVED,
    ],
    key=lambda own: (-np.dtype(own.dtype).itemsize, own.dtype is np.float32),
)
"""All fields, the largest types first, so that there are no gaps between them."""

RECORD = np.dtype([(own.name, own.dtype) for own in FIELDS], align=True)
"""The options of one run, as native code and CUDA read them."""


def number_options(job: Job) -> dict[str, float]:
    """Return the values of all fields."""
    options = job.options
    order, phase_epochs = number_phases(options.phases)
    derived: dict[str, Any] = {
        "phases": order,
        "phase_epochs": phase_epochs,
        # The threshold is rounded to float32 first, which can move the limit by one float. Recorded
        # circuits were trained like this; PyTorch and discretise use the exact limit.
        "vote_limit": vote_limit(float(np.float32(job.network.vote_threshold))),
        "quantile_level": job.loss.level,
        "loss": job.loss.number,
    }
    numbers: dict[str, float] = {}
    for own in FIELDS:
        value = derived[own.name] if own.name in derived else getattr(options, own.name)
        numbers[own.name] = own.names.index(value) if isinstance(value, str) else value
    return numbers


def pack_options(job: Job) -> bytes:
    """Return the record."""
    values = tuple(number_options(job).values())
    return np.array(values, dtype=RECORD).tobytes()


def number_phases(phases: Phases) -> tuple[int, int]:
    """Return the number of the order of phases, and the epochs of a phase if they alternate.

    >>> number_phases("batches"), number_phases(Alternating(5))
    ((2, 1), (1, 5))
    """
    orders = options_of(TrainOptions)["phases"].names
    if isinstance(phases, Alternating):
        return orders.index("epochs"), phases.epochs
    return orders.index(phases), 1


def check_engine(options: TrainOptions, engine: OneOf["native", "cuda"]) -> None:
    """Check that an engine supports the options."""
    for name, own in options_of(TrainOptions).items():
        own.check_engine(getattr(options, name), engine)
