"""What a report says about the rows on which a circuit is measured."""

from __future__ import annotations

from dataclasses import dataclass

from dln.errors import OptionError


@dataclass(frozen=True)
class DataNote:
    """What the report says about the rows.

    Attributes
    ----------
    name
        The name of the file, or any name for the rows.
    digest
        SHA-256 of the file; "" if there is none.
    note
        How the rows were chosen, in full sentences.
    numbers
        The number of each row in the file; counted from 1 by default.
    is_test
        Whether the model was trained on none of the rows. If not, the page does not call them test
        rows.
    """

    name: str = "the table given"
    digest: str = ""
    note: str = ""
    numbers: tuple[int, ...] | None = None
    is_test: bool = True

    @property
    def row_word(self) -> str:
        """What the page calls a row."""
        return "test row" if self.is_test else "row"

    def check_numbers(self, n_rows: int) -> None:
        """Raise if the numbers are not those of some rows."""
        if self.numbers is not None and len(self.numbers) != n_rows:
            raise OptionError(
                f"data.numbers has {len(self.numbers)} row numbers, but the table has {n_rows} "
                "rows; give one number per row, or leave them out"
            )
