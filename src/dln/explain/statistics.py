"""Evidence -> text and table cells for people."""

from __future__ import annotations

from collections.abc import Sequence

from dln._util.messages import percent
from dln.core.labels import Label, label_text
from dln.explain.evidence import Evidence, Rows


def statistic_header(rows: Rows | None) -> tuple[str, ...]:
    """Name the columns of `statistic_cells`."""
    if rows is None:
        return ()
    return ("rows", "share") + (() if rows.class_rows is None else ("precision", "lift", "classes"))


def statistic_cells(
    evidence: Evidence | None, classes: Sequence[Label], number: int
) -> tuple[str, ...]:
    """Write the statistics of a rule for one class, one cell each."""
    if evidence is None:
        return ()
    cells = (str(evidence.support), percent(evidence.share))
    if evidence.class_counts is None or evidence.precision is None or evidence.lift is None:
        return cells
    lift = evidence.lift[number]
    return (
        *cells,
        percent(evidence.precision[number]),
        "-" if lift is None else f"{lift:.2f}",
        _counts(evidence.class_counts, classes),
    )


def evidence_line(evidence: Evidence, classes: Sequence[Label], number: int) -> str:
    """Write the statistics of a rule for one class as one line."""
    support, share, *more = statistic_cells(evidence, classes, number)
    if not evidence.support:
        return f"fires in none of {evidence.rows.n_rows} rows"
    fires = f"{support} of {evidence.rows.n_rows} rows ({share})"
    if not more:
        return fires
    precision, lift, counts = more
    return f"{fires}, precision {precision}, lift {lift}; {counts}"


def _counts(class_counts: Sequence[int], classes: Sequence[Label]) -> str:
    """Write the number of rows of each class that has any."""
    counted = zip(classes, class_counts, strict=True)
    return ", ".join(f"{label_text(label)}: {count}" for label, count in counted if count) or "-"
