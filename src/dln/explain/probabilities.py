"""The table of a calibration, for people."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dln.core.calibration import Calibration
from dln.core.labels import Label, label_text
from dln.explain.document import Section

_MOST_CLASSES = 8
"""With more classes, tables that differ by class are not printed."""


def probability_lines(calibration: Calibration | None, classes: Sequence[Label]) -> list[str]:
    """Write the table as text; no lines without a calibration.

    >>> for line in probability_lines(Calibration((-2, 3), ((0.08, 0.9),)), ("no", "yes")):
    ...     print(line)
    Probability of yes by its lead in votes (linear in between):
      -2 or less: 8 %
      +3 or more: 90 %
    """
    if calibration is None:
        return []
    if _is_too_wide(calibration):
        return [f"{_title(classes)} differs by class; the model file has the tables."]
    rows = table_rows(calibration)
    names = [label_text(label) for label in classes]
    if len(calibration.values) > 1:
        return [
            f"{_title(classes)}:",
            *(
                f"  {lead}: {', '.join(f'{n} {v}' for n, v in zip(names, values, strict=True))}"
                for lead, *values in rows
            ),
        ]
    return [f"{_title(classes)}:", *(f"  {lead}: {value}" for lead, value in rows)]


def probability_section(
    calibration: Calibration | None, classes: Sequence[Label]
) -> tuple[Section, ...]:
    """Return the table as a section of a document; none without a calibration."""
    if calibration is None or _is_too_wide(calibration):
        return ()
    header = ["value"] if len(calibration.values) == 1 else [label_text(x) for x in classes]
    rows = tuple(tuple(row) for row in table_rows(calibration))
    return (Section(_title(classes), ("lead", *header), rows),)


def calibration_to_dict(calibration: Calibration | None) -> dict[str, Any] | None:
    """Return the table as plain values, as in the model file."""
    if calibration is None:
        return None
    return {
        "leads": list(calibration.leads),
        "values": [list(table) for table in calibration.values],
    }


def table_rows(calibration: Calibration) -> list[list[str]]:
    """Write each lead with its values: probabilities of two classes, weights of more."""
    last = len(calibration.leads) - 1
    written = []
    for place, lead in enumerate(calibration.leads):
        ends = [" or less"] * (place == 0) + [" or more"] * (place == last)
        shown = "any" if len(ends) == 2 else f"{lead:+d}{''.join(ends)}" if lead else "0"
        if not lead and ends and shown != "any":
            shown = f"0{ends[0]}"
        written.append([shown, *(_percent(table[place]) for table in calibration.values)])
    return written


def _title(classes: Sequence[Label]) -> str:
    if len(classes) == 2:
        return f"Probability of {label_text(classes[1])} by its lead in votes (linear in between)"
    return (
        "Weight of a class by its lead in votes over the best other class (linear in between; "
        "divide by the sum of all weights for probabilities)"
    )


def _is_too_wide(calibration: Calibration) -> bool:
    return len(calibration.values) > _MOST_CLASSES


def _percent(value: float) -> str:
    """Write a share exactly, in percent."""
    return f"{(Decimal(repr(value)) * 100).normalize():f} %"
