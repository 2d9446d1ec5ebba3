"""The option --storage: a folder with finished work, which the same command continues."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from dln._util.storage import Storage

StorageFolder = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Save finished work here. If the command is killed, the same command resumes the "
        "training. The folder is deleted at the end.",
        show_default=False,
    ),
]


def uses_storage(command: Callable[..., None]) -> Callable[..., None]:
    """Open the folder for a command, which gets a `Storage`; delete it when all is written."""

    @wraps(command)
    def run(*, storage: str | None = None, **options: Any) -> None:
        if storage is None:
            command(storage=None, **options)
            return
        with Storage.open(storage) as opened:
            command(storage=opened, **options)
            if not opened.is_kept:
                opened.remove()

    return run
