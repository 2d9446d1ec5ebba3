"""Learn small, readable logic circuits from tables.

table -> encode -> train -> Circuit -> predict | explain
"""

from importlib.metadata import version as _version

from dln.circuit import Circuit
from dln.errors import (
    CircuitError,
    CircuitFileError,
    ColumnTypeError,
    DlnError,
    ExtraMissingError,
    MissingColumnError,
    OptionError,
    TableError,
)
from dln.estimator import DLNClassifier
from dln.gates import GATES, Gate
from dln.literals import Above, Among, Column, Missing
from dln.parts import Node, Rule

__version__ = _version("dln")

__all__ = [
    "GATES",
    "Above",
    "Among",
    "Circuit",
    "CircuitError",
    "CircuitFileError",
    "Column",
    "ColumnTypeError",
    "DLNClassifier",
    "DlnError",
    "ExtraMissingError",
    "Gate",
    "Missing",
    "MissingColumnError",
    "Node",
    "OptionError",
    "Rule",
    "TableError",
]
