"""Circuits -> diagrams; training runs, and circuits with rows -> matplotlib figures.

Nothing here imports matplotlib before something is drawn: `pip install dln[plots]` brings it.
"""

from dln.draw.diagram.diagram import Diagram, draw_circuit
from dln.draw.feature import draw_feature
from dln.draw.gate import draw_gate
from dln.draw.learning import draw_learning
from dln.draw.threshold import draw_threshold

__all__ = [
    "Diagram",
    "draw_circuit",
    "draw_feature",
    "draw_gate",
    "draw_learning",
    "draw_threshold",
]
