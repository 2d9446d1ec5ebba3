"""Options that several commands share, as one parameter of each command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

Command = Callable[..., None]


def takes(name: str, options: Callable[..., Any]) -> Callable[[Command], Command]:
    """Return a decorator that replaces one parameter of a command by several options.

    The options are the parameters of a function. The command gets what it returns for them.
    """
    shared = inspect.signature(options, eval_str=True).parameters

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for own, parameter in signature.parameters.items():
            parameters.extend(shared.values() if own == name else [parameter])

        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            value = options(**{own: given.pop(own) for own in shared})
            command(**given, **{name: value})

        with_options.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        return with_options

    return decorate
