"""`dln options`: write the training options of a model as a file for `dln train --options`."""

from __future__ import annotations

from dln.cli.files import load_model
from dln.cli.options import Model, Quiet
from dln.cli.options_file import options_of_origin, write_options
from dln.cli.output import print_result
from dln.errors import OptionError


def options(model: Model, quiet: Quiet = False) -> None:
    """Print the options that a model was trained with, as TOML.

    Options at their defaults are left out. The output is a file for dln train --options.

    Example: dln options heart.json > train.toml
    """
    origin = load_model(model).origin
    if origin is None:
        raise OptionError(f"{model} does not record how it was trained; only dln train does that")
    text = write_options(options_of_origin(origin))
    where = f"# dln {origin.version}, {origin.data}, target {origin.target}, seed {origin.seed}"
    head = "" if quiet else " ".join(where.split()) + "\n"
    print_result(f"{head}{text}".rstrip())
