"""The command-line face: parses, calls, prints.

One module a verb, each a thin call into the public API. Results go to standard output, talk to
standard error; a user's mistake is one line and exit status 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dln.cli.signals import orderly_stop
from dln.errors import ExtraMissingError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `dln` and give its exit status; the entry point of the installed command."""
    try:
        from dln.cli.app import run
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        packages = "typer", "rich", "pyarrow", "igraph", "jinja2"
        sys.stderr.write(f"dln: {ExtraMissingError.for_packages('the command line', *packages)}\n")
        return 2
    try:
        with orderly_stop():
            return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # where Typer is not at work, such as in a message
        return 130
