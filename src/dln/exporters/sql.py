"""Program -> one SELECT, or one view, that adds the prediction to every row of a table.

The statement computes its values in stages, each from the stage before: columns as float64 or text,
literals as truth values, gates, votes. `sql_schedule` chooses the stages, so that the text grows
with the number of gates and not with the number of paths through them.

No column of the user's table can change the answer. Only the first stage reads the table, and it
qualifies every name with the alias of the table. Later stages read only columns that the statement
itself defines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.errors import OptionError
from dln.exporters.categories import choose, holds_numbers, spelled_categories
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.sql_answers import write_answer
from dln.exporters.sql_dialects import DATABASES, Database, DatabaseName
from dln.exporters.sql_schedule import check_width, make_schedule
from dln.exporters.text import comment, head

EXPLANATION = "explanation"
_GROUP = 16
"""The most terms of a sum without parentheses: parsers nest `a + b + c` once for each term."""


def write_sql(database: DatabaseName) -> Callable[..., Export]:
    """Return the function that writes for one database."""

    def export_sql(
        program: Program,
        *,
        table: str = "data",
        view: str | None = None,
        explain: bool = False,
        proba: bool = False,
    ) -> Export:
        """Write SQL.

        Parameters
        ----------
        table
            The table to read.
        view
            The view to create. Without it, the statement is a SELECT.
        explain
            Add the column `explanation`: the votes or points and the numbers of the rules that
            fired, as JSON.
        proba
            Add a column of probabilities for each class, by its number: probability_0,
            probability_1, … The circuit must be calibrated.
        """
        writer = _Writer(program, DATABASES[database], explain, proba)
        text = writer.statement(table, view)
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
    """The columns of a stage: names and expressions over the columns of the stage before."""

    columns: tuple[tuple[str, str], ...]


_NOTHING = (("c0", "0"),)
"""Stands in for an empty stage: a SELECT needs a column."""
_ROW = "dln_row"
"""The alias of the table."""
_CHECK = "dln_check"
"""The alias of a table that has the output columns; see `_Writer._source`."""


def _listed(outputs: dict[str, str]) -> str:
    return ", ".join(f"{value} AS {name}" for name, value in outputs.items())


class _Writer:
    """Writes one program for one database."""

    def __init__(self, program: Program, database: Database, explain: bool, proba: bool) -> None:
        self._program = program
        self._database = database
        self._explain = explain
        self._answer = write_answer(program.readout, database, proba)
        self._spelled: dict[int, tuple[str, ...] | None] = {}
        self._schedule = make_schedule(program.circuit, database)

    def statement(self, table: str, view: str | None) -> str:
        """Return the content of the file."""
        database = self._database
        prediction, *others = self._answer.outputs.items()
        explanation = [(EXPLANATION, self._explanation())] if self._explain else []
        values = dict([prediction, *explanation, *others])
        outputs = tuple(values)
        self._check_names(outputs)
        names = [database.name(column.name) for column in self._program.columns]
        stages = self._stages(names)
        write = {
            "lateral": self._by_lateral_join,
            "struct": self._by_struct,
            "subquery": self._by_subqueries,
        }
        source = self._source(database.name(table), outputs if view is not None else ())
        select = write[database.around](source, stages, values)
        first = f"CREATE VIEW {database.name(view)} AS\n" if view is not None else ""
        notes = (
            f"Reads the table {table!r} and adds the column {outputs[0]}. It reads these columns:",
            *(f"  {x.name!r}: {_type(x, database)}" for x in self._program.columns),
            *database.notes,
        )
        lines = head(self._program, f"SQL for {database.title}", notes)
        return f"{comment(lines, '', '-- ')}{first}{select};\n"

    def _check_names(self, outputs: Sequence[str]) -> None:
        """Refuse columns that have the name of an output, or the same name in this database."""
        names = [column.name for column in self._program.columns]
        # SQLite folds ASCII letters only, DuckDB folds all letters. This check covers both.
        fold = str.lower if self._database.folds_case else str
        for name in names:
            if fold(name) in outputs:
                raise OptionError(
                    f"the circuit reads the column {name!r}, and the statement adds a column "
                    f"{fold(name)!r}; rename the column of the table and train again"
                )
        seen: dict[str, str] = {}
        for name in names:
            twin = seen.setdefault(fold(name), name)
            if twin != name:
                raise OptionError(
                    f"the circuit reads {twin!r} and {name!r}, which are one name in "
                    f"{self._database.title}; rename one of them"
                )

    # -- around the stages ----------------------------------------------------------------------

    def _source(self, table: str, outputs: Sequence[str]) -> str:
        """Write the FROM clause.

        Some databases accept a view with two columns of one name, and a query by that name then
        reads the column of the table instead of the answer. The second table in FROM makes the
        name ambiguous if the table has it too, so that the view fails instead.
        """
        source = f"FROM {table} AS {_ROW}"
        if not outputs or self._database.refuses_duplicates:
            return source
        names = ", ".join(f"0 AS {name}" for name in outputs)
        tests = " AND ".join(f"{name} = 0" for name in outputs)
        note = f"-- Fails if the table has a column {' or '.join(outputs)}."
        return f"{source} CROSS JOIN (SELECT {names}) AS {_CHECK}\n{note}\nWHERE {tests}"

    def _by_lateral_join(self, source: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Join each row with the values computed from it."""
        answers = f"{self._chained(stages)}\nSELECT {_listed(outputs)}\n{self._from(stages)}"
        listed = "".join(f", r.{name}" for name in outputs)
        return f"SELECT {_ROW}.*{listed}\n{source}\nCROSS JOIN LATERAL (\n{answers}\n) AS r"

    def _by_struct(self, source: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Carry the row through the stages as one value, and unpack it at the end."""
        # The plain alias would be a column of that name, if the table has one.
        whole = (_ROW, f"struct_pack(*COLUMNS({_ROW}.*))")
        first, *others = stages
        carried = [_Stage((whole, *first.columns))]
        carried += [_Stage(((_ROW, _ROW), *stage.columns)) for stage in others]
        chain = self._chained(carried, f"\n{source}")
        return f"{chain}\nSELECT {_ROW}.*, {_listed(outputs)}\n{self._from(stages)}"

    def _by_subqueries(self, source: str, stages: list[_Stage], outputs: dict[str, str]) -> str:
        """Compute each output by a separate subquery."""
        end = f"\n{self._from(stages)}"
        columns = "".join(
            f",\n(\n{self._chained(stages)}\nSELECT {value}{end}\n) AS {name}"
            for name, value in outputs.items()
        )
        return f"SELECT {_ROW}.*{columns}\n{source}"

    def _from(self, stages: list[_Stage]) -> str:
        return f"FROM s{len(stages) - 1}{self._fence}"

    @property
    def _fence(self) -> str:
        return f" {self._database.fence}" if self._database.fence else ""

    def _chained(self, stages: list[_Stage], first_source: str = "") -> str:
        """Write the stages as common table expressions; some parsers limit nested subqueries."""
        every = self._database.stored_every
        written = []
        for number, stage in enumerate(stages):
            listed = ",\n    ".join(
                value if value == name else f"{value} AS {name}" for name, value in stage.columns
            )
            source = f"\n  FROM s{number - 1}" if number else first_source
            stored = " MATERIALIZED" if every and number and number % every == 0 else ""
            body = f"\n  SELECT\n    {listed}{source}{self._fence}\n"
            written.append(f"s{number} AS{stored} ({body})")
        return f"WITH {', '.join(written)}"

    # -- stages ---------------------------------------------------------------------------------

    def _stages(self, names: list[str]) -> list[_Stage]:
        program, circuit = self._program, self._program.circuit
        kept = sorted({rule.wire for rule in circuit.rules}) if self._explain else []
        added = self._answer.stages
        width = len(circuit.base_votes) + len(kept) + sum(map(len, added))
        check_width(width, self._database)
        stages = [_Stage(tuple(self._cells(names)) or _NOTHING)]
        for number, live in enumerate(self._schedule.wires, start=1):
            columns = tuple((program.wire_name(wire), self._value(wire, number)) for wire in live)
            stages.append(_Stage(columns or _NOTHING))
        votes = tuple((f"v{place}", text) for place, text in enumerate(self._votes()))
        rules = tuple((program.wire_name(wire), program.wire_name(wire)) for wire in kept)
        stages.append(_Stage((*votes, *rules)))
        for columns in added:
            before = tuple((name, name) for name, _ in stages[-1].columns)
            stages.append(_Stage((*before, *columns)))
        return stages

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
        """Write the column of a wire: computed in one stage, repeated in later stages."""
        if self._schedule.stage_of[wire] < stage:
            return self._program.wire_name(wire)
        if wire < self._program.logic.n_literals:
            literal = self._program.logic.literals[wire]
            return self._literal(literal, f"c{self._program.place[literal.column]}")
        return self._written_out(wire)

    def _written_out(self, wire: int) -> str:
        circuit = self._program.circuit
        gate, a, b = circuit.nodes[wire - circuit.n_literals]
        sources = [
            self._program.wire_name(source)
            if source in self._schedule.stage_of or not reads
            else self._written_out(source)
            for source, reads in ((a, gate.reads_a), (b, gate.reads_b))
        ]
        return self._database.logic.gate(gate, *sources)

    def _literal(self, literal: Literal, cell: str) -> str:
        never = self._database.logic.never
        match literal:
            case Above():
                return f"COALESCE({cell} > {self._database.float64(literal.cutoff)}, {never})"
            case Among():
                chosen = self._choice(literal)
                return f"COALESCE({cell} IN ({', '.join(chosen)}), {never})" if chosen else never
            case Missing():
                return f"({cell} IS NULL)"
            case _:
                assert_never(literal)

    def _choice(self, literal: Among) -> list[str]:
        """Write the categories of a set, without those that no value in the database equals."""
        column = self._program.logic.columns[literal.column]
        if literal.column not in self._spelled:
            is_text = not holds_numbers(column)
            self._spelled[literal.column] = spelled_categories(column) if is_text else None
        spelled = self._spelled[literal.column]
        if spelled is None:
            numbers = [float(column.categories[code]) for code in literal.categories]
            return [self._database.float64(number) for number in numbers]
        texts = choose(spelled, literal.categories)
        return [found for text in texts if (found := self._database.literal(text)) is not None]

    # -- results --------------------------------------------------------------------------------

    def _votes(self) -> list[str]:
        """Write the votes of each class, or the points."""
        circuit = self._program.circuit
        terms = [[str(base)] for base in circuit.base_votes]
        for rule in circuit.rules:
            wire = self._program.wire_name(rule.wire)
            for place, vote in enumerate(rule.votes):
                if vote:
                    terms[place].append(f"CASE WHEN {wire} THEN {vote} ELSE 0 END")
        return [_joined(found, " + ") for found in terms]

    def _explanation(self) -> str:
        """Write votes or points, and rules, as JSON, by concatenating text only."""
        circuit = self._program.circuit
        first, texts, last = self._answer.explained
        listed = _joined(texts, " || ")
        fired = [
            f"CASE WHEN {self._program.wire_name(rule.wire)} THEN ',{number}' ELSE '' END"
            for number, rule in enumerate(circuit.rules, start=1)
        ]
        rules = f" || substr({_joined(fired, ' || ')}, 2)" if fired else ""
        return f"""'{{{first}' || {listed} || '{last},"rules":['{rules} || ']}}'"""


def _joined(terms: Sequence[str], operator: str) -> str:
    """Join terms by an associative operator, in nested groups."""
    while len(terms) > _GROUP:
        groups = (terms[at : at + _GROUP] for at in range(0, len(terms), _GROUP))
        terms = [f"({operator.join(group)})" for group in groups]
    return operator.join(terms)
