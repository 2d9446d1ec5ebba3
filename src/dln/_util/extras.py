"""Import optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dln.errors import ExtraMissingError


def import_extra(module: str, purpose: str, *packages: str) -> Any:
    """Import a module of an optional package; the error says what requires which packages.

    Packages are given by their PyPI names if these differ from the module's name.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ExtraMissingError.for_packages(purpose, *(packages or (module,))) from error
