"""A circuit with a part of every kind, and the text of its file."""

from __future__ import annotations

from dln.core.calibration import Calibration
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.edit_record import EditRecord, Lock
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.model_file import circuit_to_json
from dln.core.parts import Node, Rule

CIRCUIT = Circuit(
    columns=(
        Column("age", "integer"),
        Column("colour", "category", ("blue", "red", 3, 2.5, True, float("inf"))),
        Column("born", "date"),
    ),
    literals=(Above(0, 54.5), Among(1, (0, 2)), Missing(2)),
    nodes=(Node(GATE_BY_NAME["AND"], 0, 1), Node(GATE_BY_NAME["XOR"], 3, 2)),
    rules=(Rule(4, (0, 2)), Rule(0, (-1, 0))),
    base_votes=(1, 0),
    classes=("healthy", "ill"),
    temperature=0.75,
    calibration=Calibration((-1, 2), ((0.125, 0.9),)),
    constraints=Constraints(interactions=(("age", "colour", "born"),), max_columns_per_rule=3),
    locked=(1,),
    edits=(EditRecord(Lock(2)),),
)
TEXT = circuit_to_json(CIRCUIT)
