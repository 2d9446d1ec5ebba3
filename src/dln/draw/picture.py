"""The figure of all plots. This module imports matplotlib, so import it only to draw."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A matplotlib figure that notebooks show as SVG. It is not registered with pyplot."""

    def _repr_svg_(self) -> str:
        buffer = io.StringIO()
        self.savefig(buffer, format="svg")
        return buffer.getvalue()
