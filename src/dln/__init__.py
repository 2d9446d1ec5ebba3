"""Learn small, readable logic circuits from tables.

table -> encode -> train -> Circuit -> predict | explain
"""

from importlib.metadata import version as _version

from dln.circuit import Circuit
from dln.errors import (
    CircuitError,
    CircuitFileError,
    ColumnTypeError,
    DeviceMemoryError,
    DlnError,
    ExtraMissingError,
    MissingColumnError,
    OptionError,
    TableError,
    TrainingError,
)
from dln.estimator import DLNClassifier
from dln.gates import GATES, Gate
from dln.literals import Above, Among, Column, Missing
from dln.parts import Node, Rule
from dln.train.options import Alternating, Annealing, Freezing, Gumbel, Pruning
from dln.train.trace import Trace

__version__ = _version("dln")

__all__ = [
    "GATES",
    "Above",
    "Alternating",
    "Among",
    "Annealing",
    "Circuit",
    "CircuitError",
    "CircuitFileError",
    "Column",
    "ColumnTypeError",
    "DLNClassifier",
    "DeviceMemoryError",
    "DlnError",
    "ExtraMissingError",
    "Freezing",
    "Gate",
    "Gumbel",
    "Missing",
    "MissingColumnError",
    "Node",
    "OptionError",
    "Pruning",
    "Rule",
    "TableError",
    "Trace",
    "TrainingError",
]
