"""A message of the library -> the same message with the options of a command.

The library names parameters of Python. Where the command has an option for a parameter, or a flag
named after its quoted value, the message names the option instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from dln._util.option import options_of
from dln.cli.models import name_option
from dln.estimators.parameters import NumberParameters, Parameters

_WITH_VALUE = re.compile(
    r"""\b(?P<name>[a-z_]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>-?[\w.]*\w))"""
)
_PLAIN_NAMES = ("monotone", "interactions")  # no other words of a message, though without "_"
_OTHERS = {
    "use DLNRegressor": "set --task number",
    "use DLNClassifier": "set --task classes",
    "dln.edit": "dln edit",
    " or None": "",  # an option that is left out
}


def with_options(message: str, options: Collection[str]) -> str:
    """Replace parameters by options.

    Parameters
    ----------
    message
        The text of an error.
    options
        The options of the command as they are typed.

    Examples
    --------
    >>> with_options('use engine="torch"', {"--engine"})
    'use --engine torch'
    >>> with_options('compare only classes (of="classes")', {"--classes"})
    'compare only classes (--classes)'
    >>> with_options("fit with path=True", {"--path"})
    'fit with --path'
    >>> with_options("use n_links=4", {"--engine"})
    'use n_links=4'
    >>> with_options("write age=missing", {"--missing"})
    'write age=missing'
    >>> with_options("max_rules is 1; soft_rules is 3", {"--max-rules", "--soft-rules"})
    '--max-rules is 1; --soft-rules is 3'
    >>> with_options("rules has no rule; leave out the rules", {"--rules"})
    '--rules has no rule; leave out the rules'
    >>> with_options("max_rules is 0, expected an integer from 1 to 9 or None", {"--max-rules"})
    '--max-rules is 0, expected an integer from 1 to 9'
    """

    def replaced(match: re.Match[str]) -> str:
        name, *values = match.groups()
        value = next(each for each in values if each is not None)
        option, flag = name_option(name), f"--{value.replace('_', '-')}"
        if option in options:
            return option if value == "True" else f"{option} {value}"
        return flag if match["plain"] is None and flag in options else match[0]

    message = _WITH_VALUE.sub(replaced, message)
    known = options_of(Parameters) | options_of(NumberParameters)
    names = sorted((name for name in known if name_option(name) in options), reverse=True)
    for pattern in _patterns(names):
        message = pattern.sub(lambda match: name_option(match[0]), message)
    for python, typed in _OTHERS.items():
        message = message.replace(python, typed)
    return message


def _patterns(names: list[str]) -> list[re.Pattern[str]]:
    """Return patterns for the subject of a message, and for names that are no plain words."""
    if not names:
        return []
    patterns = [rf"\A(?:{'|'.join(names)})(?= (?:is|names|breaks|has|does|needs)\b)"]
    if long := [name for name in names if "_" in name or name in _PLAIN_NAMES]:
        patterns.append(rf"(?<![\w'\".-])(?:{'|'.join(long)})(?![\w'\"])")
    return [re.compile(pattern) for pattern in patterns]
