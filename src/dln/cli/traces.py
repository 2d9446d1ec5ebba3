"""Save the record of a training, for `dln draw --training`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dln.cli.files import STANDARD, check_output, open_output
from dln.draw.canvas import ending_of
from dln.errors import OptionError
from dln.train.settings import Alternating

if TYPE_CHECKING:
    from dln import DLNClassifier


def check_trace_path(path: str, *others: str | None) -> None:
    """Check the name of a record before the work starts."""
    if path == STANDARD:
        raise OptionError("--trace cannot write to standard output; name a file")
    ending_of(path, ("npz",))
    check_output(path, *others)


def save_trace(classifier: DLNClassifier, path: str) -> None:
    """Write the record of a fit."""
    from dln.estimators.plan import read_parameters
    from dln.train.trace_file import TrainingRecord, write_record

    phases = read_parameters(classifier).phases
    epochs = str(phases.epochs) if isinstance(phases, Alternating) else phases
    record = TrainingRecord(
        traces=tuple(classifier.traces_),
        history=classifier.history_,
        names=tuple(column.name for column in classifier.circuit_.columns),
        phase_order="1" if epochs == "epochs" else epochs,
    )
    with open_output(path) as stream:
        write_record(record, stream)
