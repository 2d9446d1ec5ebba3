"""Store finished work of a search in a file, with Optuna's storage.

Promise: a finished population is never trained again, even if the process was killed. Exception: if
`n_trials` is raised, the last batch may grow, and a larger batch is another population. SQLite's
transactions keep the file valid at all times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dln.errors import OptionError
from dln.search.propose import quiet
from dln.search.space import import_optuna
from dln.search.tasks import Outcome

STUDY = "dln"
"""The name of the study in its storage."""

_OPAQUE = ("seed", "starts", "data", "folds")
"""Settings whose values are digests, which error messages do not show."""


class Storage:
    """Finished work of a search. This base class stores nothing, for a search without storage."""

    @property
    def seed(self) -> int | None:
        """The seed of the stored search; None if there is none."""
        return None

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Store the settings of a new search, or check them against the stored ones."""

    def load(self, population: str) -> list[Outcome] | None:
        """Return the outcomes of a population; None if it was not finished."""

    def save(self, population: str, outcomes: Sequence[Outcome]) -> None:
        """Store the outcomes of a population."""

    def add(self, number: int, trial: Any) -> None:
        """Store Optuna's record of a finished trial, unless it is stored already."""


class StudyStorage(Storage):
    """Stores work in an Optuna study, in a file or a database."""

    def __init__(self, storage: str, directions: Sequence[str]) -> None:
        self._optuna = import_optuna()
        url = storage if "://" in storage else f"sqlite:///{Path(storage)}"
        try:
            with quiet(self._optuna):
                self._study = self._optuna.create_study(
                    storage=url, study_name=STUDY, directions=list(directions), load_if_exists=True
                )
                self._attrs = self._study.user_attrs
                self._study.get_trials(deepcopy=False)  # raises if this is another database
        except Exception as error:  # the errors of any database driver
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise OptionError(
                f"storage {storage!r} cannot be used: {first}; "
                "use a new file, or the file of an earlier search"
            ) from error
        self._name = storage

    @property
    def seed(self) -> int | None:
        """The seed of the stored search; None if there is none."""
        known = self._attrs.get("settings")
        return None if known is None else int(known["seed"])

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Store the settings of a new search, or check them against the stored ones."""
        if "settings" not in self._attrs:
            self._set("settings", dict(settings))
            self._attrs = self._study.user_attrs  # another process may have started one
        known = self._attrs["settings"]
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise OptionError(
                f"storage {self._name!r} comes from an earlier dln, which did not store "
                f"{', '.join(unknown)}; use another file"
            )
        for name, value in settings.items():
            if known[name] != value:
                values = "" if name in _OPAQUE else f" ({known[name]!r}, now {value!r})"
                raise OptionError(
                    f"storage {self._name!r} holds a search with other {name}{values}; "
                    f"use another file, or the same {name}"
                )

    def load(self, population: str) -> list[Outcome] | None:
        """Return the outcomes of a population."""
        known = self._attrs.get(population)
        if known is None:
            return None
        return [Outcome(tuple(accuracies), size) for accuracies, size in json.loads(known)]

    def save(self, population: str, outcomes: Sequence[Outcome]) -> None:
        """Store the outcomes of a population in one transaction."""
        text = json.dumps([[list(outcome.accuracies), outcome.size] for outcome in outcomes])
        self._set(population, text)

    def add(self, number: int, trial: Any) -> None:
        """Store Optuna's record of a trial for its dashboards. The search does not read it."""
        with quiet(self._optuna):
            if number >= len(self._study.get_trials(deepcopy=False)):
                self._study.add_trial(trial)

    def _set(self, name: str, value: Any) -> None:
        self._study.set_user_attr(name, value)
        self._attrs[name] = value
