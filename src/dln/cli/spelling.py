"""A message of the library -> the same message with the options of a command.

The library names parameters of Python. Where the command has an option of that name, or a flag
named after the value, the message names the option instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_PARAMETER = re.compile(
    r"""\b(?P<name>[a-z_]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>-?[\w.]*\w))"""
)


def as_options(message: str, options: Collection[str]) -> str:
    """Replace parameters by options.

    >>> as_options('use engine="torch"', {"--engine"})
    'use --engine torch'
    >>> as_options('compare only classes (of="classes")', {"--classes"})
    'compare only classes (--classes)'
    >>> as_options("fit with path=True", {"--path"})
    'fit with --path'
    >>> as_options("use n_links=4", {"--engine"})
    'use n_links=4'
    """

    def spelled(match: re.Match[str]) -> str:
        name, *values = match.groups()
        value = next(each for each in values if each is not None)
        option, flag = f"--{name.replace('_', '-')}", f"--{value.replace('_', '-')}"
        if option in options:
            return option if value == "True" else f"{option} {value}"
        return flag if flag in options else match[0]

    return _PARAMETER.sub(spelled, message)
