"""Export: the files of an exported circuit, and the columns that they read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dln._util.atomic_file import write_atomically


@dataclass(frozen=True)
class Input:
    """A column that an export reads.

    Attributes
    ----------
    column
        Its name in the user's table.
    name
        Its name in the export.
    type
        Its type in the target.
    """

    column: str
    name: str
    type: str


@dataclass(frozen=True)
class Export:
    """A circuit as code, or as a model in another format.

    Attributes
    ----------
    target
        The target, for example "c".
    name
        The name of its module or class, or the prefix of its functions.
    model_id
        The id of the circuit. The files contain it too.
    files
        File names and contents, the main file first.
    inputs
        The columns that it reads, in the order of the table. Columns that no rule reads are left
        out.
    notes
        Tests of numbers that always have the same result because the integers are too narrow.

    Examples
    --------
    >>> from dln import Above, Circuit, Column, Rule, export
    >>> circuit = Circuit(
    ...     (Column("age (years)", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> code = export(circuit, to="c", name="heart")
    >>> code.inputs[0].name, code.inputs[0].type
    ('age_years', 'int64_t')
    >>> code.save("heart.h")
    [PosixPath('heart.h')]
    """

    target: str
    name: str
    model_id: str
    files: Mapping[str, bytes]
    inputs: tuple[Input, ...]
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """The main file as bytes."""
        return next(iter(self.files.values()))

    @property
    def text(self) -> str:
        """The main file as text. Raises UnicodeDecodeError if it is not text, as for ONNX."""
        return self.data.decode("utf-8")

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the main file to `path` and the others beside it, and return all paths.

        A file is replaced only when its new content is complete. The other files are named after
        the main file: `heart.v` comes with `heart_tb.v`.
        """
        paths = self.paths(path)
        for place, content in zip(paths, self.files.values(), strict=True):
            write_atomically(place, content)
        return paths

    def paths(self, path: str | os.PathLike[str]) -> list[Path]:
        """Return the paths that `save` writes."""
        main, *others = self.files
        target = Path(path)
        ends = [other.removeprefix(Path(main).stem) for other in others]
        return [target, *(target.with_name(target.stem + end) for end in ends)]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(data):,} bytes" for name, data in self.files.items())
        return f"<Export of model {self.model_id} to {self.target}: {sizes}>"
