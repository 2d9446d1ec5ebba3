"""Messages of estimators -> the same messages with the names that the command line has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from inspect import signature

from dln._util.option import options_of
from dln.cli.models import RENAMED, name_option
from dln.errors import OptionError
from dln.estimators.parameters import NumberParameters, Parameters

_ON_THE_COMMAND_LINE = {
    "use DLNRegressor": "set --task number",
    "use DLNClassifier": "set --task classes",
    "dln.edit": "dln edit",
}


@contextmanager
def naming_options() -> Iterator[None]:
    """Let messages about parameters of an estimator name options of `dln train`."""
    try:
        yield
    except OptionError as error:
        raise OptionError(in_options(str(error))) from error


def in_options(message: str) -> str:
    """Replace names of parameters in a message by those of options.

    >>> in_options("max_rules is 1, but the given rules need 2; soft_rules is 3")
    '--max-rules is 1, but the given rules need 2; --soft-rules is 3'
    >>> in_options("rules has no rule; give a rule, or leave out the rules")
    '--rules has no rule; give a rule, or leave out the rules'
    """
    subject, anywhere = _patterns()
    for pattern in (subject, anywhere):
        message = pattern.sub(lambda found: name_option(found[0]), message)
    for python, option in _ON_THE_COMMAND_LINE.items():
        message = message.replace(python, option)
    return message


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what a message is about, and the names that are no plain words."""
    from dln.cli.train import train

    known = options_of(Parameters) | options_of(NumberParameters)
    options = signature(train).parameters
    names = sorted((name for name in known if RENAMED.get(name, name) in options), reverse=True)
    technical = ("monotone", "interactions")
    long = "|".join(name for name in names if "_" in name or name in technical)
    return (
        re.compile(rf"\A(?:{'|'.join(names)})(?= (?:is|names|breaks|has|does|needs)\b)"),
        re.compile(rf"(?<![\w'\".-])(?:{long})(?![\w'\"])"),
    )
