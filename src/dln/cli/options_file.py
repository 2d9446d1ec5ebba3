"""Options of training as a TOML file: read and checked for `--options`, written by `dln options`.

A key is a parameter of `DLNClassifier`. A choice with settings is a table:

    phases = { epochs = 5 }
    freezing = { start = 0.5, direction = "inputs-first" }

"none" stands for None. Every mistake is one line with the file and the line.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from dln._util.option import Option, options_of
from dln.core.origin import Origin
from dln.errors import DlnError, OptionError
from dln.estimators.parameters import Parameters
from dln.estimators.presets import preset_options

ELSEWHERE = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "verbose": "--quiet",
    "on_interrupt": "the command, which keeps the model on Ctrl-C",
    "storage": "--storage",
    "trace_every": "--trace",
    "init": "--init",
}
"""Parameters that a command sets itself, and by what."""

_NONE = "none"
_KNOWN = options_of(Parameters)


def read_options(path: str) -> dict[str, Any]:
    """Read and check an options file; returns parameters of `DLNClassifier`."""
    try:
        text = Path(path).read_text("utf-8")
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{path} is not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise OptionError(f"{path} is not valid TOML: it is not UTF-8 text") from None
    found: dict[str, Any] = {}
    for name, value in document.items():
        try:
            found[name] = _read_value(_find(name), value)
        except DlnError as error:
            raise OptionError(f"{path}, line {_line_of(text, name)}: {error}") from None
    for name, value in preset_conflicts(found):
        raise OptionError(
            f"{path}, line {_line_of(text, name)}: {name} = {_write_value(value)} is the default "
            "of dln, which the preset replaces; leave out the preset and state its other options"
        )
    return found


def preset_conflicts(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List options at their default that a preset, stated besides them, would replace."""
    preset = found.get("preset")
    replaced = {} if preset is None else preset_options(preset)
    return [
        (name, found[name])
        for name in replaced
        if name in found and not _is_set(name, found[name]) and found[name] != replaced[name]
    ]


def write_options(params: Mapping[str, Any]) -> str:
    """Write parameters of `DLNClassifier` as the text of an options file.

    >>> print(write_options({"layers": (16, 8), "tau": 4.0, "n_links": None}), end="")
    layers = [16, 8]
    n_links = "none"
    tau = 4.0
    """
    order = [name for name in _KNOWN if name in params and name not in ELSEWHERE]
    return "".join(f"{name} = {_write_value(params[name])}\n" for name in sorted(order))


def options_of_origin(origin: Origin) -> dict[str, Any]:
    """Return the parameters that an origin records. They have been checked."""
    found = {}
    for name, setting in origin.settings:
        if name in _KNOWN and name not in ELSEWHERE:
            value = _read_setting(_KNOWN[name], setting)
            found[name] = _KNOWN[name].read(value)
    return found


def merge_options(path: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file, replaced by given ones that are not at their default."""
    stated = {} if path is None else read_options(path)
    return {**stated, **{k: v for k, v in given.items() if k not in stated or _is_set(k, v)}}


def _is_set(name: str, value: Any) -> bool:
    return bool(value != _KNOWN[name].default)


# -- reading ----------------------------------------------------------------------------------


def _find(name: str) -> Option:
    if name in ELSEWHERE:
        raise OptionError(f"{name} is not an option of this file; it is set by {ELSEWHERE[name]}")
    if name not in _KNOWN:
        close = difflib.get_close_matches(name, _KNOWN, n=1)
        listed = "see the parameters in docs/reference/parameters.md"
        hint = f"did you mean {close[0]}?" if close else listed
        raise OptionError(f"there is no option {name!r}; {hint}")
    return _KNOWN[name]


def _read_value(own: Option, value: Any) -> Any:
    if isinstance(value, str) and value == _NONE and NoneType in own.alternatives:
        return None
    if isinstance(value, dict):
        kinds = [kind for kind in own.alternatives if is_dataclass(kind)]
        if kinds:
            return _read_settings(own.name, kinds[0], value)
    return own.read(tuple(value) if isinstance(value, list) else value)


def _read_settings(name: str, kind: Any, value: dict[str, Any]) -> Any:
    known = kind.__dataclass_fields__
    for key in value:
        if key not in known:
            raise OptionError(f"{name} has no setting {key!r}, expected {', '.join(known)}")
    return kind(**value)


def _line_of(text: str, name: str) -> int:
    """Return the line that states an option: a key, a table or a dotted key."""
    key = rf"[\"']?{re.escape(name)}[\"']?"
    pattern = re.compile(rf"\s*(\[\s*{key}\s*[\].]|{key}\s*[=.])")
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if pattern.match(line)), 1)


# -- an origin --------------------------------------------------------------------------------


def _read_setting(own: Option, setting: Any) -> Any:
    """Read a recorded setting; values that JSON lacks are recorded as Python writes them."""
    if not isinstance(setting, str) or setting in own.alternatives:
        return setting
    try:
        node = ast.parse(setting, mode="eval").body
        if not isinstance(node, ast.Call):
            return ast.literal_eval(node)
        kinds: dict[str, Any] = {
            kind.__name__: kind
            for kind in own.alternatives
            if isinstance(kind, type) and is_dataclass(kind)
        }
        arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        return kinds[ast.unparse(node.func)](**arguments)
    except (SyntaxError, ValueError, KeyError, TypeError):
        return setting  # `Option.read` refuses it by its name


# -- writing ----------------------------------------------------------------------------------


def _write_value(value: Any) -> str:
    if value is None:
        return f'"{_NONE}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_write_value, value))}]"
    if is_dataclass(value) and not isinstance(value, type):
        return _write_table(asdict(value).items())
    if isinstance(value, Mapping):
        return _write_table(value.items())
    return _write_text(str(value))


def _write_table(items: Iterable[tuple[Any, Any]]) -> str:
    parts = (f"{_write_key(str(key))} = {_write_value(value)}" for key, value in items)
    return f"{{ {', '.join(parts)} }}"


def _write_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _write_text(key)


def _write_text(text: str) -> str:
    """Write a string as in JSON; TOML also wants an escape for the character 127."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
