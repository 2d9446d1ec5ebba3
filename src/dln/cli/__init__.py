"""The command line: parses options, calls the library, prints results.

Each command is one module that calls the public API. Results go to standard output, messages to
standard error. A mistake is one line and exit status 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dln.cli.signals import orderly_stop
from dln.errors import ExtraMissingError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `dln` and return its exit status. Entry point of the installed command."""
    try:
        from dln.cli.app import run
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        packages = "typer", "rich", "pyarrow", "openpyxl"
        sys.stderr.write(f"dln: {ExtraMissingError.for_packages('the command line', *packages)}\n")
        return 2
    try:
        with orderly_stop():
            return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # outside of Typer, for example while a message is printed
        return 130
