"""Program -> one SELECT, or one view, that adds the prediction to every row of a table.

The statement computes its values in stages, each from the stage before: columns as float64 or text,
literals as truth values, gates, votes. `sql_schedule` chooses the stages, so that the text grows
with the number of gates and not with the number of paths through them. In some databases a stage is
a common table expression that repeats what later stages read. In others, which form a chain, a
stage is a table of one row. It is joined to the row and reads all stages before it.

No column of the user's table can change the answer. Only the first stage reads the table, and it
qualifies every name with the alias of the table. Later stages read only columns that the statement
itself defines. In a chain, all names are qualified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.errors import OptionError
from dln.exporters.categories import choose, holds_numbers, spelled_categories
from dln.exporters.databases import DATABASES, DatabaseName
from dln.exporters.databases.database import Database, StageColumn
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.sql_answers import write_answer
from dln.exporters.sql_lookups import VOTES, Stage
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


_NOTHING = (StageColumn("c0", "0"),)
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
        stages = self._chain() if database.around == "chain" else self._stages()
        write = {
            "chain": self._by_chain,
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
        taken = {fold(self._database.stored(output)) for output in outputs}
        for name in names:
            if fold(name) in taken:
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

    def _by_chain(self, source: str, stages: list[Stage], outputs: dict[str, str]) -> str:
        """Join each row with one stage after the other."""
        join = self._database.stage
        assert join is not None
        joins = "\n".join(join(stage.columns, stage.name) for stage in stages if stage.columns)
        return f"SELECT {_ROW}.*, {_listed(outputs)}\n{source}\n{joins}"

    def _by_lateral_join(self, source: str, stages: list[Stage], outputs: dict[str, str]) -> str:
        """Join each row with the values computed from it."""
        answers = f"{self._chained(stages)}\nSELECT {_listed(outputs)}\n{self._from(stages)}"
        listed = "".join(f", r.{name}" for name in outputs)
        return f"SELECT {_ROW}.*{listed}\n{source}\nCROSS JOIN LATERAL (\n{answers}\n) AS r"

    def _by_struct(self, source: str, stages: list[Stage], outputs: dict[str, str]) -> str:
        """Carry the row through the stages as one value, and unpack it at the end."""
        whole = StageColumn(_ROW, self._database.whole.format(row=_ROW))
        first, *others = stages
        carried = [Stage(first.name, (whole, *first.columns))]
        again = StageColumn(_ROW, _ROW)
        carried += [Stage(stage.name, (again, *stage.columns)) for stage in others]
        chain = self._chained(carried, f"\n{source}")
        return f"{chain}\nSELECT {_ROW}.*, {_listed(outputs)}\n{self._from(stages)}"

    def _by_subqueries(self, source: str, stages: list[Stage], outputs: dict[str, str]) -> str:
        """Compute each output by a separate subquery."""
        end = f"\n{self._from(stages)}"
        columns = "".join(
            f",\n(\n{self._chained(stages)}\nSELECT {value}{end}\n) AS {name}"
            for name, value in outputs.items()
        )
        return f"SELECT {_ROW}.*{columns}\n{source}"

    def _from(self, stages: list[Stage]) -> str:
        return f"FROM {stages[-1].name}{self._fence}"

    @property
    def _fence(self) -> str:
        return f" {self._database.fence}" if self._database.fence else ""

    def _chained(self, stages: list[Stage], first_source: str = "") -> str:
        """Write the stages as common table expressions; some parsers limit nested subqueries."""
        every = self._database.stored_every
        written = []
        for number, stage in enumerate(stages):
            listed = ",\n    ".join(
                x.name if x.value == x.name else f"{x.value} AS {x.name}" for x in stage.columns
            )
            source = f"\n  FROM {stages[number - 1].name}" if number else first_source
            stored = " MATERIALIZED" if every and number and number % every == 0 else ""
            body = f"\n  SELECT\n    {listed}{source}{self._fence}\n"
            written.append(f"{stage.name} AS{stored} ({body})")
        return f"WITH {', '.join(written)}"

    # -- stages ---------------------------------------------------------------------------------

    def _stages(self) -> list[Stage]:
        """Return stages that repeat what later stages read."""
        circuit, wires = self._program.circuit, self._schedule.wires
        stages = [tuple(self._cells()) or _NOTHING]
        for number, live in enumerate(wires, start=1):
            stages.append(tuple(self._column(wire, number) for wire in live) or _NOTHING)
        kept = sorted({rule.wire for rule in circuit.rules}) if self._explain else []
        rules = tuple(_again(self._program.wire_name(wire)) for wire in kept)
        stages.append((*self._votes(), *rules))
        for added in self._answer.stages:
            stages.append((*(_again(x.name) for x in stages[-1]), *added.columns))
        check_width(max(map(len, stages)), self._database)
        return [Stage(f"s{number}", columns) for number, columns in enumerate(stages)]

    def _chain(self) -> list[Stage]:
        """Return stages that read all stages before them."""
        started: list[list[int]] = [[] for _ in self._schedule.wires]
        for wire, number in self._schedule.stage_of.items():
            started[number - 1].append(wire)
        stages = [
            Stage(f"s{number}", tuple(self._column(wire, number) for wire in wires))
            for number, wires in enumerate(started, start=1)
        ]
        stages += [Stage(VOTES, tuple(self._votes())), *self._answer.stages]
        check_width(max(len(stage.columns) for stage in stages), self._database)
        return stages

    def _cells(self) -> Iterator[StageColumn]:
        for place in range(len(self._program.columns)):
            yield StageColumn(f"c{place}", self._cell(place), "number")

    def _cell(self, place: int) -> str:
        """Write a column of the table as float64 or text."""
        column = self._program.columns[place]
        name = f"{_ROW}.{self._database.name(column.name)}"
        if column.kind != "category":
            return self._database.cells[column.kind].format(x=name)
        if holds_numbers(column):
            return self._database.cells["number"].format(x=name)
        return self._database.read_text(name, column.name, spelled_categories(column))

    def _column(self, wire: int, stage: int) -> StageColumn:
        """Write the column of a wire: computed in one stage, repeated in later stages."""
        name = self._program.wire_name(wire)
        if self._schedule.stage_of[wire] < stage:
            return _again(name)
        if wire < self._program.logic.n_literals:
            literal = self._program.logic.literals[wire]
            place = self._program.place[literal.column]
            # A stage of a chain may be unable to hold text, so the column is read here.
            in_chain = self._database.around == "chain"
            return StageColumn(
                name, self._literal(literal, self._cell(place) if in_chain else f"c{place}")
            )
        return StageColumn(name, self._written_out(wire))

    def _wire(self, wire: int) -> str:
        """Write a wire that has a column, or a name for one that no gate reads."""
        stage = self._schedule.stage_of.get(wire, 0)
        return self._database.read(f"s{stage}", self._program.wire_name(wire))

    def _written_out(self, wire: int) -> str:
        circuit = self._program.circuit
        gate, a, b = circuit.nodes[wire - circuit.n_literals]
        sources = [
            self._wire(source)
            if source in self._schedule.stage_of or not reads
            else self._written_out(source)
            for source, reads in ((a, gate.reads_a), (b, gate.reads_b))
        ]
        return self._database.logic.gate(gate, *sources)

    def _literal(self, literal: Literal, cell: str) -> str:
        database = self._database
        match literal:
            case Above():
                test = f"{cell} > {database.float64(literal.cutoff)}"
            case Among():
                chosen = self._choice(literal)
                if not chosen:
                    return database.logic.never
                test = f"{cell} IN ({', '.join(chosen)})"
            case Missing():
                test = f"{cell} IS NULL"
            case _:
                assert_never(literal)
        return database.wire.format(test=test)

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
        texts = (text + self._database.mark for text in choose(spelled, literal.categories))
        return [found for text in texts if (found := self._database.literal(text)) is not None]

    # -- results --------------------------------------------------------------------------------

    def _votes(self) -> Iterator[StageColumn]:
        """Write the votes of each class, or the points."""
        circuit = self._program.circuit
        terms = [[str(base)] for base in circuit.base_votes]
        for rule in circuit.rules:
            fires = self._database.holds.format(wire=self._wire(rule.wire))
            for place, vote in enumerate(rule.votes):
                if vote:
                    terms[place].append(f"CASE WHEN {fires} THEN {vote} ELSE 0 END")
        for place, found in enumerate(terms):
            yield StageColumn(f"v{place}", _joined(found, " + ".join), "integer")

    def _explanation(self) -> str:
        """Write votes or points, and rules, as JSON, by concatenating text only."""
        texts = self._database.texts
        first, listed, last = self._answer.explained
        parts = [f"'{{{first}'", _joined(listed, texts.join), f"""'{last},"rules":['"""]
        fired = [
            f"CASE WHEN {self._database.holds.format(wire=self._wire(rule.wire))}"
            f" THEN ',{number}' ELSE '' END"
            for number, rule in enumerate(self._program.circuit.rules, start=1)
        ]
        if fired:
            parts.append(texts.tail.format(x=_joined(fired, texts.join)))
        return texts.join([*parts, "']}'"])


def _again(name: str) -> StageColumn:
    """Repeat a column of the stage before."""
    return StageColumn(name, name)


def _joined(terms: Sequence[str], join: Callable[[Sequence[str]], str]) -> str:
    """Join terms by an associative operation, in nested groups."""
    while len(terms) > _GROUP:
        groups = (terms[at : at + _GROUP] for at in range(0, len(terms), _GROUP))
        terms = [f"({join(group)})" for group in groups]
    return join(terms)
