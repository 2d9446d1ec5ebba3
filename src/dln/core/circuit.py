"""Circuit: the immutable trained result that everything downstream reads.

A circuit is `Logic` and a `Readout`. The logic turns a row into bits (literals) and passes them
through two-input gates. The readout turns the wires that vote into an answer. A circuit is complete
in itself: thresholds are in the user's units, columns and classes have the user's names.

Promise: every Circuit is valid. The constructor refuses anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, assert_never, overload
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names, type_name
from dln.core.calibration import Calibration
from dln.core.checks import check_locked, check_wires
from dln.core.constraints import Constraints
from dln.core.edit_record import EditRecord
from dln.core.labels import Label
from dln.core.literals import Column, Literal
from dln.core.logic import Logic
from dln.core.model_file import read_circuit_file, write_circuit_file
from dln.core.obedience import find_breach
from dln.core.origin import Origin
from dln.core.parts import Node, Rule
from dln.core.readout import Readout, Votes, target_name
from dln.core.score import Score
from dln.core.verdict import Proof
from dln.errors import CircuitError, OptionError, TaskError

if TYPE_CHECKING:
    from dln.evaluate.evaluation import Evaluation
    from dln.evaluate.predictor import Predictor
    from dln.explain.explanation import Explanation
    from dln.explain.number_explanation import NumberExplanation
    from dln.explain.options import ChangeOptions
    from dln.explain.several import ClassReasons
    from dln.explain.shortest import WrittenRules
    from dln.explain.why import ClassReason
    from dln.prove.search import Search


Task = OneOf["classes", "number"]
"""What a model predicts."""

_KEPT: Any = object()
"""Stands for a calibration that is not given: None is one that is removed."""


@dataclass(frozen=True, repr=False, init=False)
class Circuit:
    """A trained model: logic (literals and two-input gates) and a readout (votes or a score).

    Wires are numbered once: literals first, then nodes; a node reads only smaller wires. The parts
    below make a classifier. For a circuit that predicts a number, give `logic` and a `Score`.

    Parameters
    ----------
    columns
        All columns of the table in order, including columns that the circuit does not read.
    literals
        Bits computed from a row.
    nodes
        Gates with their two source wires, in topological order.
    rules
        Wires that vote.
    base_votes
        Votes that each class has before any rule fires.
    classes
        Class labels, in the order that decides ties.
    temperature
        Divides the votes before the softmax of `predict_proba`, if there is no calibration.
    calibration
        A table from vote leads to the probabilities of `predict_proba`.
    proof
        Proof that the circuit equals the one it was simplified from, if there is one. It is
        neither compared nor saved.
    origin
        What the circuit was trained on, if known. It is saved but not compared.
    constraints
        What every rule keeps, if anything is promised. Checked here, saved but not compared.
    locked
        The places of the locked rules in `rules`. `simplify`, `prune` and another fit keep a locked
        rule and its votes (`dln.edit`).
    edits
        The edits by people that the circuit has undergone. They are saved but not compared.
    logic, readout
        The two halves of a circuit, instead of the parts above: `Logic(columns, literals, nodes)`
        and `Votes(rules, base_votes, classes, temperature, calibration)` or `Score(rules,
        base_votes, digits, link, name)`. Parts that are given as well replace those of the halves,
        so that `dataclasses.replace` takes either.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
    ...     rules=(Rule(2, (0, 1)),),
    ...     base_votes=(0, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> circuit.predict([[60, True], [60, False]]).tolist()
    ['ill', 'healthy']
    >>> print(circuit)
    Most votes win; a tie goes to healthy.
    healthy: no votes
    ill:
      +1  age > 54 and smoker
    """

    logic: Logic
    readout: Readout
    proof: Proof | None = field(default=None, compare=False)
    origin: Origin | None = field(default=None, compare=False)
    constraints: Constraints | None = field(default=None, compare=False)
    locked: tuple[int, ...] = ()
    edits: tuple[EditRecord, ...] = field(default=(), compare=False)

    @overload
    def __init__(
        self,
        columns: Iterable[Column],
        literals: Iterable[Literal],
        nodes: Iterable[Node],
        rules: Iterable[Rule],
        base_votes: Iterable[int],
        classes: Iterable[Label],
        temperature: float = ...,
        proof: Proof | None = ...,
        origin: Origin | None = ...,
        *,
        calibration: Calibration | None = ...,
        constraints: Constraints | None = ...,
        locked: Iterable[int] = ...,
        edits: Iterable[EditRecord] = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        logic: Logic,
        readout: Readout,
        proof: Proof | None = ...,
        origin: Origin | None = ...,
        constraints: Constraints | None = ...,
        locked: Iterable[int] = ...,
        edits: Iterable[EditRecord] = ...,
    ) -> None: ...

    def __init__(
        self,
        columns: Any = None,
        literals: Any = None,
        nodes: Any = None,
        rules: Any = None,
        base_votes: Any = None,
        classes: Any = None,
        temperature: Any = None,
        proof: Proof | None = None,
        origin: Origin | None = None,
        *,
        logic: Logic | None = None,
        readout: Readout | None = None,
        calibration: Any = _KEPT,
        constraints: Constraints | None = None,
        locked: Iterable[int] = (),
        edits: Iterable[EditRecord] = (),
    ) -> None:
        of_logic = _given(columns=columns, literals=literals, nodes=nodes)
        of_votes = _given(
            rules=rules,
            base_votes=base_votes,
            classes=classes,
            temperature=temperature,
        )
        if calibration is not _KEPT:
            of_votes["calibration"] = calibration
        if logic is None:
            logic = Logic(**of_logic)
        elif of_logic:
            logic = replace(logic, **of_logic)
        if readout is None:
            readout = Votes(**of_votes)
        elif of_votes:
            readout = replace(readout, **of_votes)
        check_wires(readout.rules, logic.n_wires)
        if constraints is not None:
            _check_constraints(constraints, logic, readout)
        parts: dict[str, Any] = {
            "logic": logic,
            "readout": readout,
            "proof": proof,
            "origin": origin,
            "constraints": constraints,
        }
        parts |= {"locked": tuple(locked), "edits": tuple(edits)}
        check_locked(parts["locked"], len(readout.rules))
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    # -- parts --------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the table in order."""
        return self.logic.columns

    @property
    def literals(self) -> tuple[Literal, ...]:
        """Bits computed from a row."""
        return self.logic.literals

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Gates with their two source wires, in topological order."""
        return self.logic.nodes

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Wires that vote."""
        return self.readout.rules

    @property
    def base_votes(self) -> tuple[int, ...]:
        """Votes that each class has before any rule fires."""
        return self.readout.base_votes

    @property
    def classes(self) -> tuple[Label, ...]:
        """Class labels, in the order that decides ties."""
        return self.class_readout.classes

    @property
    def temperature(self) -> float:
        """Divides the votes before the softmax of `predict_proba`, if there is no calibration."""
        return self.class_readout.temperature

    @property
    def calibration(self) -> Calibration | None:
        """A table from vote leads to the probabilities of `predict_proba`; None if not known."""
        return self.class_readout.calibration

    @property
    def task(self) -> Task:
        """What the circuit predicts: "classes" or "number"."""
        return "classes" if isinstance(self.readout, Votes) else "number"

    @property
    def class_readout(self) -> Votes:
        """The readout of a classifier; raises `TaskError` if the circuit predicts a number."""
        if not isinstance(self.readout, Votes):
            raise TaskError(
                f"the circuit predicts a number ({self.readout.name}) and has no classes; "
                "expected a circuit that predicts classes"
            )
        return self.readout

    @property
    def number_readout(self) -> Score:
        """The readout of a circuit that predicts a number; raises `TaskError` if it has classes."""
        if not isinstance(self.readout, Score):
            raise TaskError(
                f"the circuit predicts {len(self.readout.classes)} classes; "
                "expected a circuit that predicts a number"
            )
        return self.readout

    # -- size ---------------------------------------------------------------------------------

    @property
    def n_literals(self) -> int:
        """Number of bits computed from a row."""
        return self.logic.n_literals

    @property
    def n_gates(self) -> int:
        """Number of gates."""
        return self.logic.n_gates

    @property
    def n_wires(self) -> int:
        """Number of literals and gates."""
        return self.logic.n_wires

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    # -- prediction ---------------------------------------------------------------------------

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Count the votes of each row; for a number, add up its points.

        Parameters
        ----------
        X
            pandas or polars frame (columns are found by name), NumPy array or list of rows
            (columns are found by position). Missing values (NaN, None, NA) fail `>`, `=` and `in`.
            Unknown categories match nothing.

        Returns
        -------
        votes : (n_rows, n_classes), or (n_rows, 1) for a number
        """
        return self._predictor.votes(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each row (ties: the first), or the number."""
        return self._predictor.predict(X)

    def winners(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the class with the most votes for each row."""
        return self._predictor.winners(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (n_rows, n_classes).

        They are looked up in the calibration. Without one they are the softmax of votes /
        temperature.
        """
        return self._predictor.predict_proba(X)

    def evaluate(self, X: Any, wires: Iterable[int] | None = None) -> Evaluation:
        """Compute wires, rules, votes, classes and probabilities in one pass over the rows.

        If only classes, votes or probabilities are needed, `predict`, `votes` and `predict_proba`
        are faster.

        Parameters
        ----------
        X
            Rows, as for `votes`.
        wires
            Numbers of the wires to keep, by default all. A wire takes one bit for each row.
        """
        return self._predictor.evaluate(X, wires)

    @cached_property
    def _predictor(self) -> Predictor:
        from dln.evaluate.predictor import Predictor

        return Predictor(self)

    @property
    def class_labels(self) -> NDArray[Any]:
        """The class labels as an array."""
        return self.class_readout.labels

    # -- explanation --------------------------------------------------------------------------

    def explain(
        self,
        row: Any,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        fixed: Sequence[str] = (),
    ) -> Explanation | NumberExplanation:
        """Explain why a row gets its class or its number.

        For a class: the votes of each rule, and the smallest change of one feature that flips the
        class. For a number: what each rule adds, how far each feature alone can move the
        prediction, and the smallest change of one feature that brings it within limits.

        Parameters
        ----------
        row
            One row: a dict or Series by column name, a list by position, or a frame of one row.
        at_least, at_most
            The prediction to reach; only for a number.
        fixed
            Columns that the change keeps, in addition to the immutable ones.

        Examples
        --------
        >>> from dln import Above, Logic, Score
        >>> logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
        >>> price = Circuit(logic=logic, readout=Score((Rule(0, (32,)),), (125,), 1, name="price"))
        >>> print(price.explain({"age": 60}, at_most=15))
        price: 15.7 = 12.5 + 3.2
        smallest change: age: 60 -> 54 (age <= 54) gives 12.5
        one feature alone can move it:
          age: 12.5 (age <= 54) to 15.7 (age > 54)
        fired:
          +3.2  age > 54
        """
        from dln.core.bands import check_no_limits
        from dln.explain.explanation import explain_row
        from dln.explain.fixed import with_fixed
        from dln.explain.number_explanation import explain_number

        circuit = with_fixed(self, fixed)
        if self.task == "number":
            return explain_number(circuit, row, at_least=at_least, at_most=at_most)
        check_no_limits(self, at_least, at_most)
        return explain_row(circuit, row)

    def reason(
        self,
        row: Any,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        prefer: Sequence[str] = (),
        costs: Mapping[str, float] | None = None,
        widen: OneOf["no", "quick", "full"] = "quick",
        time_limit: float | None = 1.0,
    ) -> ClassReason:
        """Find columns whose values force the class of a row, whatever the other columns hold.

        For a number, they force the range that the prediction is in: give `at_least` or `at_most`.

        The set of columns is minimal: none can be left out. Other columns may hold any number, any
        category (even an unknown one) or a missing value. The values are widened to intervals and
        sets of categories that still force the class.

        Parameters
        ----------
        row
            One row, as for `explain`.
        at_least, at_most
            For a circuit that predicts a number: the limits of the ranges to tell apart, such as
            "at least 20" and "below 20".
        prefer
            Columns that the reason should use rather than others.
        costs
            Costs of columns, by default 1. Expensive columns are left out first.
        widen
            "quick" widens as far as one quick bound allows. "full" widens until no single
            condition can be extended, which takes longer. "no" keeps each value between its
            nearest thresholds.
        time_limit
            Seconds after which the reason may not be minimal (`minimal` is False); None for no
            limit.

        Examples
        --------
        >>> from dln import GATE_BY_NAME, Above
        >>> circuit = Circuit(
        ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
        ...     literals=(Above(0, 54.0), Above(1, 0.5)),
        ...     nodes=(Node(GATE_BY_NAME["OR"], 0, 1),),
        ...     rules=(Rule(2, (0, 1)),),
        ...     base_votes=(0, 0),
        ...     classes=("healthy", "ill"),
        ... )
        >>> print(circuit.reason({"age": 60, "smoker": False}))
        ill: this is enough, whatever the other columns hold
          age > 54
        """
        from dln.core.bands import as_classifier
        from dln.explain.why import explain_class

        return explain_class(
            as_classifier(self, at_least=at_least, at_most=at_most),
            row,
            prefer=prefer,
            costs=costs,
            widen=widen,
            time_limit=time_limit,
        )

    def reasons(
        self,
        row: Any,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        n: int = 5,
        prefer: Sequence[str] = (),
        costs: Mapping[str, float] | None = None,
        time_limit: float | None = 5.0,
    ) -> ClassReasons:
        """Find the smallest reasons for the class of a row, and the necessary columns.

        The first reason has the fewest columns, or costs least. `reason` is faster and returns a
        minimal reason: no column can be left out, but other reasons may have fewer columns.

        Parameters
        ----------
        row
            One row, as for `explain`.
        at_least, at_most
            As for `reason`.
        n
            Number of reasons.
        prefer, costs
            As for `reason`. Reasons are ordered by the sum of the costs of their columns.
        time_limit
            Seconds after which the result may be incomplete; None for no limit.
        """
        from dln.core.bands import as_classifier
        from dln.explain.several import find_reasons

        asked = as_classifier(self, at_least=at_least, at_most=at_most)
        return find_reasons(asked, row, n=n, prefer=prefer, costs=costs, time_limit=time_limit)

    def changes(
        self,
        row: Any,
        *,
        to: Label | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
        fixed: Sequence[str] = (),
        only_up: Sequence[str] = (),
        only_down: Sequence[str] = (),
        within: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        n: int = 1,
        time_limit: float | None = 10.0,
    ) -> ChangeOptions:
        """Find the cheapest changes of one or several features that give a row another class.

        For a number, they bring the prediction within limits: give `at_least`, `at_most` or both.

        The answer is exact: no allowed change costs less. The cost of a change is the sum over the
        changed features of one plus the share of the feature's thresholds that are crossed (one
        half for categories and booleans), times its entry in `costs`. Values never become missing
        or an unknown category. Numbers outside the range of the training rows, if the circuit has
        it, are proposed only if no change within the ranges gives the class.

        Parameters
        ----------
        row
            One row, as for `explain`.
        to
            The class to get; by default any other class. Not for a number.
        at_least, at_most
            For a circuit that predicts a number: the range to get. One of them is enough.
        fixed
            Columns that must not change, in addition to immutable ones (`with_immutable`,
            `dln train --immutable`).
        only_up, only_down
            Columns that may only grow, or only shrink.
        within
            For columns of numbers (lowest, highest), None for no limit; for columns of categories
            the allowed ones. The present value is always allowed. It replaces the range of the
            training rows.
        costs
            Factors of columns, by default 1.
        n
            Number of options. Each changes another set of features, and no set contains that of an
            earlier option.
        time_limit
            Seconds after which cheaper changes may exist (`complete` is False); None for no limit.

        Examples
        --------
        >>> from dln import GATE_BY_NAME, Above
        >>> circuit = Circuit(
        ...     columns=(Column("income", "integer"), Column("debt", "integer")),
        ...     literals=(Above(0, 30.0), Above(1, 5.0)),
        ...     nodes=(Node(GATE_BY_NAME["A_AND_NOT_B"], 0, 1),),
        ...     rules=(Rule(2, (0, 1)),),
        ...     base_votes=(0, 0),
        ...     classes=("refused", "granted"),
        ... )
        >>> print(circuit.changes({"income": 20, "debt": 8}, to="granted"))
        refused; changes that give granted, cheapest first:
          1. income: 20 -> 31 (income > 30); debt: 8 -> 5 (debt <= 5)
        """
        from dln.explain.number_aim import add_predictions, find_aim
        from dln.explain.options import find_changes

        asked, aim = find_aim(self, row, to, at_least, at_most)
        found = find_changes(
            asked,
            row,
            to=aim,
            fixed=fixed,
            only_up=only_up,
            only_down=only_down,
            within=within,
            costs=costs,
            n=n,
            time_limit=time_limit,
        )
        return add_predictions(self, row, found)

    @cached_property
    def _written_rules(self) -> WrittenRules:
        """The text of each rule, kept because explanations of many rows share it."""
        from dln.explain.shortest import write_rules

        return write_rules(self.logic, self.readout.wires)

    @cached_property
    def _search(self) -> Search:
        """The circuit prepared for questions about all rows."""
        from dln.prove.search import Search

        return Search(self)

    def with_immutable(self, names: Iterable[str]) -> Circuit:
        """Return the circuit with exactly these columns marked as immutable.

        `changes` never proposes another value for them. The marks are saved with the circuit.

        Examples
        --------
        >>> from dln import Above
        >>> circuit = Circuit(
        ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
        ...     (0, 0), ("healthy", "ill"),
        ... ).with_immutable(["age"])
        >>> print(circuit.changes({"age": 60}))
        No allowed change gives another class.
        """
        wanted = set(names)
        known = {column.name for column in self.columns}
        for name in wanted - known:
            raise OptionError(
                f"the circuit has no column {name!r}; it has {list_names(sorted(known))}"
            )
        columns = (replace(column, immutable=column.name in wanted) for column in self.columns)
        return replace(self, logic=replace(self.logic, columns=tuple(columns)))

    def without_ranges(self) -> Circuit:
        """Return the circuit without the ranges of the training rows.

        Its file then says less about the rows; counterexamples and changes are less plausible.

        Examples
        --------
        >>> from dln import Above, ValueRange
        >>> known = ValueRange((120, 180, 210, 240, 280, 320, 580))
        >>> circuit = Circuit(
        ...     (Column("chol", "integer", range=known),), (Above(0, 240.0),), (),
        ...     (Rule(0, (0, 1)),), (0, 0), ("healthy", "ill"),
        ... )
        >>> circuit.changes({"chol": 300}).options[0].changes[0].after
        240
        >>> print(circuit.without_ranges().columns[0].range)
        None
        """
        columns = tuple(replace(column, range=None) for column in self.columns)
        return replace(self, logic=replace(self.logic, columns=columns))

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Save the circuit as JSON; an existing file is replaced only by a complete new one."""
        write_circuit_file(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Circuit:
        """Load a saved circuit; raises `CircuitFileError` if the file is not valid."""
        return read_circuit_file(path)

    @classmethod
    def from_rules(
        cls, text: str, *, columns: Iterable[Column], classes: Iterable[Label] | None = None
    ) -> Circuit:
        """Read a circuit from rules as text, as `print(circuit)` and `dln rules` write them.

        Every text that a circuit prints gives a circuit with the same votes, or the same number,
        on every possible row. Statistics and probabilities in the text are skipped. The grammar is
        in docs/reference/rules-language.md.

        Parameters
        ----------
        text
            The rules.
        columns
            The columns of the table, such as those of another circuit.
        classes
            The classes in the order that decides ties; by default those of the text, in its order.
            Only for rules of classes.

        Raises
        ------
        RuleTextError
            If the text cannot be read. The message marks the place.

        Examples
        --------
        >>> circuit = Circuit.from_rules(
        ...     '''
        ... healthy:
        ...   +1  always
        ... ill:
        ...   +2  age > 54 and (smoker or city in {Bern, 'Chur and Thusis'})
        ... ''',
        ...     columns=[
        ...         Column("age", "integer"),
        ...         Column("smoker", "boolean"),
        ...         Column("city", "category", ("Bern", "Chur and Thusis", "Genf")),
        ...     ],
        ... )
        >>> circuit.predict([[60, False, "Bern"], [60, False, "Genf"]]).tolist()
        ['ill', 'healthy']
        >>> price = Circuit.from_rules(
        ...     '''
        ... price is 12.5 plus what the rules add.
        ...   +3.25  age > 54
        ... ''',
        ...     columns=[Column("age", "integer")],
        ... )
        >>> price.predict([[60], [50]]).tolist()
        [15.75, 12.5]
        """
        from dln.language.rules import read_rules

        return read_rules(text, columns, classes)

    # -- display ------------------------------------------------------------------------------

    def __str__(self) -> str:
        from dln.explain.text import render_rules

        return render_rules(self)

    def _repr_html_(self) -> str:
        from dln.explain.rules import rule_table

        return rule_table(self)._repr_html_()

    def __repr__(self) -> str:
        match self.readout:
            case Votes():
                predicted = f"{self.n_classes} classes"
            case Score():
                predicted = f"predicts {self.readout.name}"
            case _:
                assert_never(self.readout)
        return (
            f"<Circuit: {self.n_literals} literals, {self.n_gates} gates, "
            f"{len(self.rules)} rules, {predicted}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        # Only the fields: cached values such as the predictor are created again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _given(**parts: Any) -> dict[str, Any]:
    """Keep the parts that are given."""
    return {name: part for name, part in parts.items() if part is not None}


def _check_constraints(constraints: Constraints, logic: Logic, readout: Readout) -> None:
    """Raise `CircuitError` if constraints do not fit the circuit, or a rule breaks them."""
    try:
        constraints.check(logic.columns, readout.outputs)
    except OptionError as error:
        raise CircuitError(f"constraints: {error}") from error
    breach = find_breach(constraints, logic, readout.rules, readout.outputs, target_name(readout))
    if breach is not None:
        raise CircuitError(f"the circuit does not satisfy its constraints: {breach}")


def keep_constraints(circuit: Circuit, smaller: Circuit) -> Circuit | None:
    """Return another circuit with the constraints of this one; None if it may break them."""
    if circuit.constraints is None:
        return smaller
    readout = smaller.readout
    if find_breach(circuit.constraints, smaller.logic, readout.rules, readout.outputs):
        return None
    return replace(smaller, constraints=circuit.constraints)


def check_is_circuit(given: object, taker: str, also: str = "") -> None:
    """Raise `OptionError` if the argument is not a circuit, for example if it is a classifier.

    Parameters
    ----------
    given
        The argument.
    taker
        The public name of the function that takes it.
    also
        Other suggestions, appended to the message; starts with a comma.

    Examples
    --------
    >>> check_is_circuit(3, "simplify")
    Traceback (most recent call last):
    dln.errors.OptionError: simplify takes a Circuit, not an int; give the circuit_ of a fitted
    DLNClassifier: model.circuit_
    """
    if not isinstance(given, Circuit):
        raise OptionError(
            f"{taker} takes a Circuit, not {type_name(given)}; "
            f"give the circuit_ of a fitted DLNClassifier: model.circuit_{also}"
        )
