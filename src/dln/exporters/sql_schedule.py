"""Circuit -> the stages of an SQL statement: which wires are columns of which stage.

Every stage is computed from the stage before. Literals are computed in stage 1. A gate with one
reader is written inside that reader's expression, up to a depth; every other gate gets a column.
A column is repeated in later stages as long as a reader needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dln.core.circuit import Circuit
from dln.errors import OptionError
from dln.exporters.databases.database import Database

_MOST_COLUMNS = 2_000_000
"""The most columns of all stages together."""
_WHAT_TO_DO = "simplify the circuit or choose another target"


@dataclass(frozen=True)
class Schedule:
    """The columns of an SQL statement.

    Attributes
    ----------
    stage_of
        The stage that computes each wire with a column. Other wires are part of an expression.
    wires
        The wires that are columns of each stage, from stage 1 on.
    """

    stage_of: Mapping[int, int]
    wires: tuple[tuple[int, ...], ...]


def make_schedule(circuit: Circuit, database: Database) -> Schedule:
    """Plan the stages; raises `OptionError` if the database cannot run that many."""
    stage_of = _choose_columns(circuit, database.limits.deepest)
    last_stage = max(stage_of.values(), default=0)
    if last_stage > database.limits.stages:
        raise OptionError(
            f"{database.title} would need {last_stage} stages, one computed from the other, "
            f"but at most {database.limits.stages} work; {_WHAT_TO_DO}"
        )
    starting: list[list[int]] = [[] for _ in range(last_stage + 1)]
    for wire, stage in stage_of.items():
        starting[stage].append(wire)
    until = _last_stages(circuit, stage_of, last_stage)
    wires: list[tuple[int, ...]] = []
    live: tuple[int, ...] = ()
    total = 0
    for number in range(1, last_stage + 1):
        live = tuple(wire for wire in (*live, *starting[number]) if until[wire] >= number)
        check_width(len(live), database)
        total += len(live)
        if total > _MOST_COLUMNS:
            raise OptionError(
                f"the SQL would have more than {_MOST_COLUMNS:,} columns in its stages; "
                f"{_WHAT_TO_DO}"
            )
        wires.append(live)
    return Schedule(stage_of, tuple(wires))


def check_width(width: int, database: Database) -> None:
    """Refuse a stage with more columns than the database can keep."""
    if width > database.limits.columns:
        raise OptionError(
            f"{database.title} would have to keep {width} values of a row at a time, but at most "
            f"{database.limits.columns} are possible; {_WHAT_TO_DO}"
        )


def _choose_columns(circuit: Circuit, deepest: int) -> dict[int, int]:
    """Choose the wires that get a column, and the stage that computes each of them.

    A gate gets a column if several gates or a rule read it, or if its expression would nest more
    than `deepest` gates.
    """
    readers: Counter[int] = Counter()
    for gate, a, b in circuit.nodes:
        readers[a] += gate.reads_a
        readers[b] += gate.reads_b
    voting = {rule.wire for rule in circuit.rules}
    stages = dict.fromkeys(range(circuit.n_literals), 1)
    behind = [1] * circuit.n_literals
    depth = [0] * circuit.n_literals
    for wire, node in enumerate(circuit.nodes, start=circuit.n_literals):
        stage = max((behind[x] for x in node.sources), default=1)
        own_depth = 1 + max((depth[x] for x in node.sources), default=0)
        if readers[wire] > 1 or wire in voting or own_depth >= deepest:
            stages[wire] = stage + 1
            stage, own_depth = stage + 1, 0
        behind.append(stage)
        depth.append(own_depth)
    return stages


def _last_stages(circuit: Circuit, stage_of: Mapping[int, int], last_stage: int) -> dict[int, int]:
    """Return for each wire with a column the last stage that has to keep it."""
    reading_stage: dict[int, int] = {}
    for wire in range(circuit.n_wires - 1, circuit.n_literals - 1, -1):
        own = stage_of.get(wire, reading_stage.get(wire, 0))
        for source in circuit.nodes[wire - circuit.n_literals].sources:
            reading_stage[source] = max(own, reading_stage.get(source, 0))
    for rule in circuit.rules:
        reading_stage[rule.wire] = last_stage + 1
    return {wire: reading_stage.get(wire, 0) - 1 for wire in stage_of}
