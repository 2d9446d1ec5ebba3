"""The text and the document that every effect of edits has: figures of rows, then where."""

from __future__ import annotations

from abc import abstractmethod

from dln._util.messages import count_of, percent
from dln.explain.differences import Differences
from dln.explain.document import Document
from dln.explain.formatted import Formatted


class EffectText(Formatted):
    """Writes an effect, whose figures are lines of text."""

    n_rows: int | None
    n_changed: int | None
    differences: Differences

    @abstractmethod
    def _figures(self) -> list[str]:
        """Return the lines about rows."""

    def to_text(self) -> str:
        """Write some lines."""
        return "\n".join([*self._figures(), self.differences.to_text()])

    def _changed(self, what: str) -> list[str]:
        """Say how many rows changed their class or prediction; nothing without rows."""
        if self.n_rows is None or self.n_changed is None:
            return []
        share = percent(self.n_changed / self.n_rows if self.n_rows else 0.0)
        rows = count_of(self.n_rows, "row")
        return [f"{self.n_changed:,} of {rows} changed their {what} ({share})."]

    def _document(self) -> Document:
        inner = self.differences._document()
        head = () if inner.headline is None else (inner.headline,)
        return Document((*self._figures(), *head), inner.sections)
