"""The figure that everything is drawn on. This module imports matplotlib; import it late."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A matplotlib figure that notebooks show as SVG; pyplot does not know it."""

    def _repr_svg_(self) -> str:
        buffer = io.StringIO()
        self.savefig(buffer, format="svg")
        return buffer.getvalue()
