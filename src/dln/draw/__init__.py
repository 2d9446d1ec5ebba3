"""Diagrams of circuits, and figures of training runs and features.

matplotlib is imported when something is drawn, not before.
"""

from dln.draw.diagram.diagram import Diagram, draw_circuit
from dln.draw.effect import draw_effect
from dln.draw.feature import draw_feature
from dln.draw.gate import draw_gate
from dln.draw.learning import draw_learning
from dln.draw.path import draw_path
from dln.draw.predictions import draw_predictions, draw_residuals
from dln.draw.threshold import draw_threshold

__all__ = [
    "Diagram",
    "draw_circuit",
    "draw_effect",
    "draw_feature",
    "draw_gate",
    "draw_learning",
    "draw_path",
    "draw_predictions",
    "draw_residuals",
    "draw_threshold",
]
