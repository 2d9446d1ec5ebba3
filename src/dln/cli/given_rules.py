"""`dln train --rules`: rules to keep, from a text file or from a model that is refitted."""

from __future__ import annotations

from dln.cli.people import login_name, time_now
from dln.core.circuit import Circuit
from dln.core.edit_record import EditRecord, Refit
from dln.core.model_file import circuit_from_json
from dln.errors import CircuitFileError, OptionError


def read_given_rules(path: str | None) -> tuple[Circuit | None, str | Circuit | None]:
    """Return the model that is refitted, if the file is one, and the rules to keep."""
    if path is None:
        return None, None
    try:
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read()
    except UnicodeDecodeError as error:
        raise OptionError(f"{path}: not a text file; expected rules or a model") from error
    if not text.lstrip().startswith("{"):
        return None, text
    from dln.estimators.refit import kept_rules

    try:
        before = circuit_from_json(text)
    except CircuitFileError as error:
        raise CircuitFileError(f"{path}: {error}") from error
    kept = kept_rules(before)
    if kept is None:
        raise OptionError(f"{path} has no locked rule to keep; lock one with dln edit --lock")
    return before, kept


def record_refit(before: Circuit, learned: Circuit, n_rows: int) -> Circuit:
    """Return the learned circuit with the edits and demands of the model before."""
    from dln.estimators.refit import carry_over

    return carry_over(before, learned, EditRecord(Refit(n_rows), login_name(), time_now()))
