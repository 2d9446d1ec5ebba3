"""Random constraints of random tables, and the networks that satisfy them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, Monotone, read_constraints
from dln.core.limits import Limits, make_limits
from dln.core.score import Score
from dln.data.table import Table, read_table
from dln.encode.encoder import EncodeOptions, Encoder, fit_encoder
from dln.errors import OptionError
from dln.train.discretise import RuledNetwork, build_circuit, discretise
from dln.train.jobs import Job, TrainingRows
from dln.train.losses import CROSS_ENTROPY, SQUARED
from dln.train.network import Network, Shape, build_network
from dln.train.options import TrainOptions
from tests.support.random_tables import KINDS, random_column
from tests.support.strategies import circuits, score_circuits


def draw_constraints(
    rng: np.random.Generator, frame: pd.DataFrame, outputs: tuple[Any, ...]
) -> dict[str, Any]:
    """Draw parameters of an estimator that are not contradictory. A number is one output, None."""
    names = list(frame.columns)
    while True:
        given: dict[str, Any] = {}
        if rng.random() < 0.7:
            given["monotone"] = _draw_directions(rng, frame, outputs)
        if rng.random() < 0.4:
            groups = [rng.permutation(names)[: rng.integers(2, 4)].tolist() for _ in range(2)]
            given["interactions"] = [g for g in groups if len(g) > 1][: rng.integers(3)]
        elif rng.random() < 0.4:
            pairs = list(combinations(names, 2))
            given["forbidden_pairs"] = [p for p in pairs if rng.random() < 0.4]
        if rng.random() < 0.3:
            given["unused_columns"] = [str(rng.choice(names))]
        if rng.random() < 0.3:
            given["max_columns_per_rule"] = int(rng.integers(1, 4))
        try:
            constraints = read_constraints(outputs, **given)
            constraints.check(read_columns(frame), outputs)
        except OptionError:
            continue
        limits = make_limits(constraints, names, outputs)
        if constraints and limits.unused.bit_count() < len(names):
            return given


def _draw_directions(
    rng: np.random.Generator, frame: pd.DataFrame, outputs: tuple[Any, ...]
) -> dict[Any, Any]:
    numeric = [column.name for column in read_columns(frame) if column.is_numeric]

    def draw() -> dict[str, str]:
        return {name: str(rng.choice(["+", "-"])) for name in numeric if rng.random() < 0.6}

    if len(outputs) == 1 or (len(outputs) == 2 and rng.random() < 0.7):
        return draw()
    return {label: draw() for label in outputs if rng.random() < 0.6}


def read_columns(frame: pd.DataFrame) -> Any:
    """Return the columns of a table."""
    table = read_table(frame)
    target = np.zeros(table.n_rows, dtype=np.int32)
    weight = np.ones(table.n_rows, dtype=np.float32)
    return fit_encoder(table, target, weight, EncodeOptions(n_cutoffs=1))[0].columns


@dataclass(frozen=True)
class Case:
    """A table with a target, constraints on it, and the encoded rows.

    A target of numbers has no `classes`.
    """

    frame: pd.DataFrame
    table: Table
    target: Any
    classes: tuple[int, ...]
    given: dict[str, Any]
    constraints: Constraints
    limits: Limits
    encoder: Encoder
    cells: Any
    rng: np.random.Generator

    def draw_network(self, shape: Shape) -> Network:
        """Draw a network within the limits."""
        return build_network(
            self.encoder.literals,
            shape,
            n_classes=len(self.classes) or None,
            slope=20.0,
            vote_threshold=0.8,
            vote_density=0.5,
            rng=self.rng,
            limits=self.limits,
        )

    def job(self, options: TrainOptions) -> Job:
        """Make a short training of a small network."""
        weight = np.ones(len(self.target), dtype=np.float32)
        data = TrainingRows(self.cells, self.target, weight)
        network = self.draw_network(draw_shape(self.rng))
        options = replace(options, epochs=4, batch_size=32, tau=2.0)
        loss = CROSS_ENTROPY if self.classes else SQUARED
        return Job(network, data, np.arange(len(self.target)), options, loss=loss)

    def circuit(self, network: Network, constraints: Constraints | None) -> Circuit:
        """Discretise a network. The weights of a number are rounded to three decimals."""
        if not self.classes:
            return self._number_circuit(network, constraints)
        return discretise(
            [network],
            self.encoder,
            self.table,
            classes=self.classes,
            temperature=1.0,
            constraints=constraints,
        )

    def _number_circuit(self, network: Network, constraints: Constraints | None) -> Circuit:
        points = np.rint(1000 * network.weights[:-1]).astype(int).tolist()
        wires = network.rule_wires.tolist()
        given = {wire: (n,) for wire, n in zip(wires, points, strict=True) if n}
        ruled = [RuledNetwork(network, given)]
        readout = Score((), (0,), digits=3)
        circuit = build_circuit(readout, ruled, (), self.encoder, self.table)
        return replace(circuit, constraints=constraints)


def draw_case(seed: int, n_rows: int = 80, *, number: bool = False) -> Case:
    """Draw a table of all kinds of columns, a target of classes or numbers, and constraints."""
    rng = np.random.default_rng(seed)
    kinds = [*rng.choice(KINDS, rng.integers(1, 5)), "number"]
    frame = pd.DataFrame({f"c{i}": random_column(rng, k, n_rows) for i, k in enumerate(kinds)})
    classes = () if number else tuple(range(int(rng.integers(2, 5))))
    target: Any = rng.normal(size=n_rows).astype(np.float32)
    if classes:
        target = (np.arange(n_rows) % len(classes)).astype(np.int32)
        rng.shuffle(target)
    outputs: tuple[Any, ...] = classes or (None,)
    given = draw_constraints(rng, frame, outputs)
    constraints = read_constraints(outputs, **given)
    limits = make_limits(constraints, tuple(frame.columns), outputs)
    table = read_table(frame)
    options = EncodeOptions(n_cutoffs=3, unused=limits.unused)
    weight = np.ones(n_rows, dtype=np.float32)
    encoder, cells = fit_encoder(table, target, weight, options)
    return Case(frame, table, target, classes, given, constraints, limits, encoder, cells, rng)


def draw_shape(rng: np.random.Generator) -> Shape:
    """Draw a small network."""
    layers = tuple(int(size) for size in rng.integers(1, 12, rng.integers(1, 4)))
    concatenation: Any = rng.choice(["separate", "shared", "none"])
    return Shape(
        layers,
        n_links=int(rng.integers(1, 7)),
        n_gates=int(rng.choice([6, 8, 16])),
        concatenation=concatenation,
        link_drawing=rng.choice(["distinct", "repeated"]),  # type: ignore[arg-type]
        gates=rng.choice(["all", "readable"]),  # type: ignore[arg-type]
    )


def shake(network: Network, rng: np.random.Generator) -> None:
    """Give every choice that is not masked a random logit, and every rule a random weight."""
    for logits in (network.link_logits, network.gate_logits, network.vote_logits):
        is_open = logits > -np.inf
        logits[is_open] = 3.0 * rng.normal(size=int(is_open.sum()))
    if network.predicts_number:
        drawn = rng.normal(size=len(network.weights))
        network.weights[:] = np.clip(drawn, *network.weight_limits)


@st.composite
def constrained_circuits(draw: st.DrawFn) -> tuple[Circuit, Constraints]:
    """Draw a circuit of classes or of a number, and constraints that it may break."""
    circuit = draw(st.one_of(circuits(), score_circuits()))
    names = [column.name for column in circuit.columns]
    numeric = [column.name for column in circuit.columns if column.is_numeric]
    outputs = circuit.readout.outputs
    monotone: tuple[Monotone, ...] = ()
    if numeric and (len(outputs) > 1 or outputs == (None,)):
        sign: Any = draw(st.sampled_from("+-"))
        column = draw(st.sampled_from(numeric))
        monotone = (Monotone(column, sign, draw(st.sampled_from(outputs))),)
    most = draw(st.one_of(st.none(), st.integers(1, 3)))
    pairs: tuple[Any, ...] = ()
    if len(names) > 1:
        pairs = (tuple(draw(st.permutations(names))[:2]),)
    named = {own.column for own in monotone} | {name for pair in pairs for name in pair}
    unused = tuple(names[:1]) if len(names) > 3 and names[0] not in named else ()
    return circuit, Constraints(monotone, None, pairs, unused, most)
