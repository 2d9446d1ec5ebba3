"""A search that survives: what is finished is kept in a file, by Optuna's own storage.

Promise: a population that was finished is never trained again, whenever the process was killed.
With more trials a last batch that was not full is another population. SQLite's transactions see to
it that the file is sound at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dln.errors import OptionError
from dln.search.propose import quiet
from dln.search.space import import_optuna
from dln.search.tasks import Outcome

STUDY = "dln"
"""The name of the study in its storage."""

_OPAQUE = ("seed", "starts", "data", "folds")
"""Settings whose values are drawn from what the user gave, and say nothing to people."""


class Memory(Protocol):
    """Keeps what a search has finished."""

    @property
    def seed(self) -> int | None:
        """The seed of the search that it holds; None if it is a new one."""

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Write down what the search is about, or hold it to what was written down."""

    def recall(self, population: str) -> list[Outcome] | None:
        """Find the outcomes of a population; None if it was not finished."""

    def keep(self, population: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes of a population."""

    def add(self, number: int, trial: Any) -> None:
        """Keep Optuna's record of a finished trial, unless it is there."""


class Forgetful:
    """Keeps nothing, for a search without storage."""

    seed: int | None = None

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Accept anything."""

    def recall(self, population: str) -> list[Outcome] | None:
        """Remember nothing."""
        return None

    def keep(self, population: str, outcomes: Sequence[Outcome]) -> None:
        """Forget at once."""

    def add(self, number: int, trial: Any) -> None:
        """Forget at once."""


class StudyMemory:
    """Keeps everything in an Optuna study, in a file or a database."""

    def __init__(self, storage: str, directions: Sequence[str]) -> None:
        self._optuna = import_optuna()
        url = storage if "://" in storage else f"sqlite:///{Path(storage)}"
        try:
            with quiet(self._optuna):
                self._study = self._optuna.create_study(
                    storage=url, study_name=STUDY, directions=list(directions), load_if_exists=True
                )
                self._attrs = self._study.user_attrs
                self._study.get_trials(deepcopy=False)  # a database of something else shows here
        except Exception as error:  # a database's own errors, of whatever driver
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise OptionError(
                f"storage {storage!r} cannot be used: {first}; name a new file or one of a search"
            ) from error
        self._storage = storage

    @property
    def seed(self) -> int | None:
        """The seed of the search that it holds; None if it is a new one."""
        known = self._attrs.get("settings")
        return None if known is None else int(known["seed"])

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Write down what the search is about, or hold it to what was written down."""
        if "settings" not in self._attrs:
            self._set("settings", dict(settings))
            self._attrs = self._study.user_attrs  # another process may have begun meanwhile
        known = self._attrs["settings"]
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise OptionError(
                f"storage {self._storage!r} comes from an earlier dln, which did not write down "
                f"{', '.join(unknown)}; name another file"
            )
        for name, value in settings.items():
            if known[name] != value:
                values = "" if name in _OPAQUE else f" ({known[name]!r}, now {value!r})"
                raise OptionError(
                    f"storage {self._storage!r} holds a search with other {name}{values}; "
                    "name another file, or give the same"
                )

    def recall(self, population: str) -> list[Outcome] | None:
        """Find the outcomes of a population."""
        known = self._attrs.get(population)
        if known is None:
            return None
        return [Outcome(tuple(looks), size) for looks, size in json.loads(known)]

    def keep(self, population: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes of a population, in one transaction."""
        text = json.dumps([[list(outcome.looks), outcome.size] for outcome in outcomes])
        self._set(population, text)

    def add(self, number: int, trial: Any) -> None:
        """Keep Optuna's record of a trial, for its dashboards; the search does not read it."""
        with quiet(self._optuna):
            if number >= len(self._study.get_trials(deepcopy=False)):
                self._study.add_trial(trial)

    def _set(self, name: str, value: Any) -> None:
        self._study.set_user_attr(name, value)
        self._attrs[name] = value
