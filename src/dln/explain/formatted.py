"""Formatted: the base class of results that people read, with all their formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from dln.explain.document import Document, to_html, to_markdown


class Formatted(ABC):
    """A result with text, tables and plain values; the other formats follow from these."""

    @abstractmethod
    def to_text(self) -> str:
        """Write lines of text, as `print` shows them."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""

    @abstractmethod
    def _document(self) -> Document:
        """Return notes and tables."""

    def to_markdown(self) -> str:
        """Write tables for GitHub and notebooks."""
        return to_markdown(self._document())

    def to_html(self) -> str:
        """Write tables as an HTML fragment; everything is escaped."""
        return to_html(self._document())

    def to_json(self) -> str:
        """Write `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from dln.explain.notebook import styled  # only in notebooks

        return styled(self.to_html())
