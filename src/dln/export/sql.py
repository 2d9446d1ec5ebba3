"""Program -> one SELECT, or view, that adds the class to every row of a table.

A row passes stages, each computed from the one before: cells as float64 and text, literals as
TRUE or FALSE, gates that several others read, votes. Gates with one reader are written where they
are read, so that the text grows with the circuit and not with its paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dln.errors import OptionError
from dln.export.categories import choose, holds_numbers, spelled_categories
from dln.export.program import Program
from dln.export.sql_dialects import DATABASES, LOGIC, Database, DatabaseName
from dln.export.sql_labels import label_expressions
from dln.export.text import comment, head
from dln.export.value import Export, Input
from dln.literals import Above, Among, Column, Literal

OUTPUT = "predicted_class"
EXPLANATION = "explanation"
_DEEPEST = 8
"""Gates within one expression, one inside the other; databases have limits of their own."""


def write_sql(database: DatabaseName) -> Callable[..., Export]:
    """Make the function that writes for one database."""

    def export_sql(
        program: Program, *, table: str = "data", view: str | None = None, explain: bool = False
    ) -> Export:
        """Write SQL.

        Parameters
        ----------
        table
            The table to read.
        view
            The name of a view to make; without it the SELECT alone is written.
        explain
            Adds the column `explanation`: the votes and the numbers of the rules that fired, as
            JSON.
        """
        text = _Writer(program, DATABASES[database]).statement(table, view, explain)
        inputs = tuple(
            Input(x.name, x.name, _type(x, DATABASES[database])) for x in program.columns
        )
        files = {f"{program.name}.sql": text.encode("utf-8")}
        return Export(database, program.name, program.model_id, files, inputs)

    return export_sql


def _type(column: Column, database: Database) -> str:
    is_number = column.kind == "category" and holds_numbers(column)
    return database.types["number" if is_number else column.kind]


@dataclass(frozen=True)
class _Stage:
    """Columns that are computed from those of the stage before: their names and expressions."""

    columns: tuple[tuple[str, str], ...]


_NOTHING = (("c0", "0"),)
"""A SELECT has to have a column."""
_ROW = "dln_row"
"""What a row of the table is called; a column of that name would hide it."""


def _listed(outputs: dict[str, str]) -> str:
    return ", ".join(f"{value} AS {name}" for name, value in outputs.items())


class _Writer:
    """Writes one program for one database."""

    def __init__(self, program: Program, database: Database) -> None:
        self._program = program
        self._database = database
        self._depth_of_stage = _stages_of_wires(program)

    def statement(self, table: str, view: str | None, explain: bool) -> str:
        """Write the whole file."""
        database = self._database
        names = [database.name(column.name) for column in self._program.columns]
        self._check_names([column.name for column in self._program.columns])
        outputs = {
            OUTPUT: self._winner(),
            **({EXPLANATION: self._explanation()} if explain else {}),
        }
        stages = self._stages(names)
        around = {"lateral": self._beside, "struct": self._along, "subquery": self._inside}
        select = around[database.around](database.name(table), stages, outputs)
        first = f"CREATE VIEW {database.name(view)} AS\n" if view is not None else ""
        notes = (
            f"Reads the table {table!r}; adds the column {OUTPUT}. The columns it reads:",
            *(f"  {x.name!r}: {_type(x, database)}" for x in self._program.columns),
            *database.notes,
        )
        lines = head(self._program, f"A classifier in SQL for {database.title}", notes)
        return f"{comment(lines, '', '-- ')}{first}{select};\n"

    def _check_names(self, names: Sequence[str]) -> None:
        for name in (OUTPUT, EXPLANATION, _ROW):
            if name in names:
                raise OptionError(
                    f"the circuit reads {name!r}, a name that is needed here; rename it"
                )
        if not self._database.folds_case:
            return
        seen: dict[str, str] = {}
        for name in (OUTPUT, EXPLANATION, _ROW, *names):
            # Only ASCII letters are folded by SQLite, all of them by DuckDB: both are covered.
            twin = seen.setdefault(name.lower(), name)
            if twin != name:
                raise OptionError(
                    f"the circuit reads {twin!r} and {name!r}, which are one name in "
                    f"{self._database.title}; rename one of them"
                )

    # -- around the stages ----------------------------------------------------------------------

    def _beside(self, table: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Join each row with what is computed from it."""
        answers = f"{self._chained(stages)}\nSELECT {_listed(outputs)}\n{self._from(stages)}"
        listed = "".join(f", r.{name}" for name in outputs)
        source = f"FROM {table} AS {_ROW}"
        return f"SELECT {_ROW}.*{listed}\n{source}\nCROSS JOIN LATERAL (\n{answers}\n) AS r"

    def _along(self, table: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Carry the row along as one value, and take it apart at the end."""
        carried = [_Stage(((_ROW, _ROW), *stage.columns)) for stage in stages]
        chain = self._chained(carried, f"\n  FROM {table} AS {_ROW}")
        return f"{chain}\nSELECT {_ROW}.*, {_listed(outputs)}\n{self._from(stages)}"

    def _inside(self, table: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Compute each output by a subquery of its own."""
        end = f"\n{self._from(stages)}"
        columns = "".join(
            f",\n(\n{self._chained(stages)}\nSELECT {value}{end}\n) AS {name}"
            for name, value in outputs.items()
        )
        return f"SELECT {_ROW}.*{columns}\nFROM {table} AS {_ROW}"

    def _from(self, stages: list[_Stage]) -> str:
        return f"FROM s{len(stages) - 1}{self._fence}"

    @property
    def _fence(self) -> str:
        return f" {self._database.fence}" if self._database.fence else ""

    def _chained(self, stages: list[_Stage], first_source: str = "") -> str:
        """Write the stages one after the other; nested ones some parsers do not take."""
        written = []
        for number, stage in enumerate(stages):
            listed = ",\n    ".join(
                value if value == name else f"{value} AS {name}" for name, value in stage.columns
            )
            source = f"\n  FROM s{number - 1}" if number else first_source
            written.append(f"s{number} AS (\n  SELECT\n    {listed}{source}{self._fence}\n)")
        return f"WITH {', '.join(written)}"

    # -- stages ---------------------------------------------------------------------------------

    def _stages(self, names: list[str]) -> list[_Stage]:
        program = self._program
        circuit = program.circuit
        last_stage = max(self._depth_of_stage.values(), default=0)
        stages = [_Stage(tuple(self._cells(names)) or _NOTHING)]
        needed_until = self._needed_until(last_stage + 1)
        for number in range(1, last_stage + 1):
            columns = [
                (program.wire_name(wire), self._value(wire, number))
                for wire, stage in self._depth_of_stage.items()
                if stage <= number <= needed_until[wire]
            ]
            self._check_width(len(columns))
            stages.append(_Stage(tuple(columns) or _NOTHING))
        votes = tuple((f"v{place}", self._votes(place)) for place in range(circuit.n_classes))
        kept = sorted({rule.wire for rule in circuit.rules})
        rules = tuple((program.wire_name(wire), program.wire_name(wire)) for wire in kept)
        self._check_width(len(votes) + len(rules))
        return [*stages, _Stage((*votes, *rules))]

    def _check_width(self, width: int) -> None:
        if width > self._database.most_columns:
            raise OptionError(
                f"{self._database.title} would have to keep {width} values of a row at a time, at "
                f"most {self._database.most_columns} are possible; simplify the circuit or choose "
                "another target"
            )

    def _needed_until(self, end: int) -> dict[int, int]:
        """Give for each named wire the last stage before a reader of it."""
        circuit = self._program.circuit
        last = dict.fromkeys(self._depth_of_stage, 0)
        reading_stage: dict[int, int] = {}
        for wire in range(circuit.n_wires - 1, circuit.n_literals - 1, -1):
            own = self._depth_of_stage.get(wire, reading_stage.get(wire, 0))
            gate, a, b = circuit.nodes[wire - circuit.n_literals]
            for source, reads in ((a, gate.reads_a), (b, gate.reads_b)):
                if reads:
                    reading_stage[source] = max(own, reading_stage.get(source, 0))
        for rule in circuit.rules:
            reading_stage[rule.wire] = end
        for wire in last:
            last[wire] = reading_stage.get(wire, 0) - 1
        return last

    def _cells(self, names: list[str]) -> list[tuple[str, str]]:
        return [
            (f"c{place}", self._cell(column, f"{_ROW}.{name}"))
            for place, (column, name) in enumerate(zip(self._program.columns, names, strict=True))
        ]

    def _cell(self, column: Column, name: str) -> str:
        if column.kind != "category":
            return self._database.cells[column.kind].format(x=name)
        if holds_numbers(column):
            return self._database.cells["number"].format(x=name)
        return self._database.read_text(name, column.name, spelled_categories(column))

    def _value(self, wire: int, stage: int) -> str:
        """Write a named wire: computed in its own stage, carried on in later ones."""
        if self._depth_of_stage[wire] < stage:
            return self._program.wire_name(wire)
        if wire < self._program.circuit.n_literals:
            literal = self._program.circuit.literals[wire]
            return self._literal(literal, f"c{self._program.place[literal.column]}")
        return self._written_out(wire)

    def _written_out(self, wire: int) -> str:
        circuit = self._program.circuit
        gate, a, b = circuit.nodes[wire - circuit.n_literals]
        sources = [
            self._program.wire_name(source)
            if source in self._depth_of_stage or not reads
            else self._written_out(source)
            for source, reads in ((a, gate.reads_a), (b, gate.reads_b))
        ]
        return LOGIC.gate(gate, *sources)

    def _literal(self, literal: Literal, cell: str) -> str:
        if isinstance(literal, Above):
            return f"COALESCE({cell} > {self._database.float64(literal.cutoff)}, FALSE)"
        if isinstance(literal, Among):
            chosen = self._choice(literal)
            return f"COALESCE({cell} IN ({', '.join(chosen)}), FALSE)" if chosen else "FALSE"
        return f"({cell} IS NULL)"

    def _choice(self, literal: Among) -> list[str]:
        """Write the categories of a set, without those that no cell can hold."""
        column = self._program.circuit.columns[literal.column]
        if holds_numbers(column):
            numbers = [float(column.categories[code]) for code in literal.categories]
            return [self._database.float64(number) for number in numbers]
        texts = choose(spelled_categories(column), literal.categories)
        return [found for text in texts if (found := self._database.literal(text)) is not None]

    # -- results --------------------------------------------------------------------------------

    def _votes(self, place: int) -> str:
        circuit = self._program.circuit
        terms = [
            f"CASE WHEN {self._program.wire_name(rule.wire)} THEN {rule.votes[place]} ELSE 0 END"
            for rule in circuit.rules
            if rule.votes[place]
        ]
        return " + ".join([str(circuit.base_votes[place]), *terms])

    def _winner(self) -> str:
        """Choose the first class that no later one exceeds."""
        labels = label_expressions(self._program.circuit.classes, self._database)
        cases = []
        for place, label in enumerate(labels[:-1]):
            ahead = " AND ".join(f"v{place} >= v{k}" for k in range(place + 1, len(labels)))
            cases.append(f"WHEN {ahead} THEN {label}")
        return f"CASE {' '.join(cases)} ELSE {labels[-1]} END" if cases else labels[0]

    def _explanation(self) -> str:
        """Write votes and rules as JSON, with nothing but text joined to text."""
        circuit = self._program.circuit
        votes = " || ',' || ".join(f"CAST(v{k} AS TEXT)" for k in range(circuit.n_classes))
        fired = " || ".join(
            f"CASE WHEN {self._program.wire_name(rule.wire)} THEN ',{number}' ELSE '' END"
            for number, rule in enumerate(circuit.rules)
        )
        rules = f" || substr({fired}, 2)" if fired else ""
        return f"""'{{"votes":[' || {votes} || '],"rules":['{rules} || ']}}'"""


def _stages_of_wires(program: Program) -> dict[int, int]:
    """Choose the wires that get a column, and the stage that computes each.

    Literals come in stage 1. A gate gets a column where several gates or a rule read it, or where
    its expression would be too deep.
    """
    circuit = program.circuit
    readers: Counter[int] = Counter()
    for gate, a, b in circuit.nodes:
        readers[a] += gate.reads_a
        readers[b] += gate.reads_b
    voting = {rule.wire for rule in circuit.rules}
    stages = dict.fromkeys(range(circuit.n_literals), 1)
    behind = [1] * circuit.n_literals
    depth = [0] * circuit.n_literals
    for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        sources = [x for x, reads in ((a, gate.reads_a), (b, gate.reads_b)) if reads]
        stage = max((behind[x] for x in sources), default=1)
        own_depth = 1 + max((depth[x] for x in sources), default=0)
        if readers[wire] > 1 or wire in voting or own_depth >= _DEEPEST:
            stages[wire] = stage + 1
            stage, own_depth = stage + 1, 0
        behind.append(stage)
        depth.append(own_depth)
    return stages
