"""Diagrams of circuits: they show the whole circuit and are legible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given

from dln import Above, Circuit, Column, Node, OptionError, Rule, rule_table
from dln.core.gates import GATE_BY_NAME, GATES, Gate
from dln.draw import Diagram, draw_circuit
from dln.draw.diagram import metrics
from dln.draw.diagram.diagram import MOST_GATES, Detail
from dln.draw.diagram.metrics import BOLD, shorten, text_width, wrap
from dln.draw.diagram.scene import Box, Diamond, Item, Path, Point, Round, Text
from dln.draw.diagram.symbols import gate_symbol
from tests.support.strategies import circuits, law

DETAILS: list[Detail] = ["gates", "rules"]
AND, TRUE = GATE_BY_NAME["AND"], GATE_BY_NAME["TRUE"]


def chain(n_gates: int, n_classes: int = 2) -> Circuit:
    """Make a circuit with a chain of `n_gates` gates, each of which votes."""
    nodes = [Node(AND, 0, 1)] + [Node(AND, 0, 2 + k) for k in range(n_gates - 1)]
    votes = [tuple(int(k % n_classes == j) for j in range(n_classes)) for k in range(n_gates)]
    return Circuit(
        (Column("x", "number"), Column("y", "number")),
        (Above(0, 1.0), Above(1, 2.0)),
        tuple(nodes),
        tuple(Rule(2 + k, votes[k]) for k in range(n_gates)),
        (0,) * n_classes,
        tuple(range(n_classes)),
    )


def dependencies(circuit: Circuit, wire: int) -> set[int]:
    """Return all wires that a wire depends on; inputs that do not change the table do not count."""
    if wire < circuit.n_literals:
        return {wire}
    gate, a, b = circuit.nodes[wire - circuit.n_literals]
    found = {wire}
    if any(gate.hard(0, bit) != gate.hard(1, bit) for bit in (0, 1)):
        found |= dependencies(circuit, a)
    if any(gate.hard(bit, 0) != gate.hard(bit, 1) for bit in (0, 1)):
        found |= dependencies(circuit, b)
    return found


def expected_rules(circuit: Circuit) -> dict[int, tuple[int, ...]]:
    cones = {
        number: dependencies(circuit, rule.wire)
        for number, rule in enumerate(circuit.rules)
        if any(rule.votes)
    }
    wires = sorted(set().union(*cones.values()))
    return {wire: tuple(n for n, cone in cones.items() if wire in cone) for wire in wires}


def of_kind(diagram: Diagram, *kinds: str) -> list[Item]:
    return [item for item in diagram.scene.items if item.kind in kinds]


# -- gates ------------------------------------------------------------------------------------


@law
@given(circuits())
def test_every_wire_that_a_vote_depends_on_and_every_class_is_drawn_once(circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail="gates")
    rules = expected_rules(circuit)
    shown = {item.wire: item.rules for item in of_kind(diagram, "literal", "gate")}
    assert shown == rules
    assert len(of_kind(diagram, "literal", "gate")) == len(rules)
    labels = [item.label for item in of_kind(diagram, "class")]
    assert labels == list(range(circuit.n_classes))
    for item in of_kind(diagram, "class"):
        assert item.label is not None
        voting = [n for n, rule in enumerate(circuit.rules) if rule.votes[item.label]]
        assert item.rules == tuple(voting)


@law
@given(circuits())
def test_every_reading_of_a_gate_is_an_edge_on_the_paths_of_the_gates_rules(
    circuit: Circuit,
) -> None:
    rules = expected_rules(circuit)
    expected: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for wire in rules:
        if wire >= circuit.n_literals:
            gate, a, b = circuit.nodes[wire - circuit.n_literals]
            sources = [source for source, reads in ((a, gate.reads_a), (b, gate.reads_b)) if reads]
            expected.update((source, rules[wire]) for source in sources)
    links = of_kind(draw_circuit(circuit, detail="gates"), "link")
    assert Counter((item.wire, item.rules) for item in links) == expected


@law
@given(circuits())
def test_votes_on_the_edges_add_up_to_those_of_the_circuit(circuit: Circuit) -> None:
    shown: Counter[tuple[int, int]] = Counter()
    for edge in draw_circuit(circuit, detail="gates").graph.edges:
        if edge.kind == "vote":
            assert edge.label is not None
            assert (edge.wire, edge.label) not in shown
            shown[edge.wire, edge.label] = edge.votes
    total: Counter[tuple[int, int]] = Counter()
    for rule in circuit.rules:
        for label, votes in enumerate(rule.votes):
            total[rule.wire, label] += votes
    assert {key: votes for key, votes in shown.items() if votes} == {
        key: votes for key, votes in total.items() if votes
    }


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_the_sign_and_the_inverted_inputs_of_a_gate_are_its_table(gate: Gate) -> None:
    meaning: dict[str, Callable[[int, int], int]] = {
        "∧": lambda a, b: a & b,
        "∨": lambda a, b: a | b,
        "⊕": lambda a, b: a ^ b,
        "0": lambda a, b: 0,
        "1": lambda a, b: 1,
        "=": lambda a, b: a if gate.reads_a else b,
        "": lambda a, b: a if gate.reads_a else b,
    }
    symbol = gate_symbol(gate)
    negated = symbol.sign.startswith("¬")
    function = meaning[symbol.sign.removeprefix("¬")]
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        found = function(a ^ symbol.invert_a, b ^ symbol.invert_b) ^ negated
        assert found == gate.hard(a, b)


def test_an_inverted_input_has_a_bubble_and_a_vote_against_is_dashed() -> None:
    circuit = Circuit(
        (Column("x", "number"), Column("y", "number")),
        (Above(0, 1.0), Above(1, 2.0)),
        (Node(GATE_BY_NAME["A_AND_NOT_B"], 0, 1),),
        (Rule(2, (3, -2)),),
        (-1, 0),
        ("no", "yes"),
    )
    diagram = draw_circuit(circuit)
    bubbles = {item.wire: [type(s) for s in item.shapes] for item in of_kind(diagram, "link")}
    assert bubbles == {0: [Path], 1: [Path, Round]}
    votes = {item.label: item.shapes for item in of_kind(diagram, "vote")}
    assert [shape.dashed for shape in votes[0] if isinstance(shape, Path)] == [False]
    assert [shape.dashed for shape in votes[1] if isinstance(shape, Path)] == [True]
    texts = {label: [s.text for s in votes[label] if isinstance(s, Text)] for label in votes}
    assert texts == {0: ["×3"], 1: ["×−2"]}
    assert diagram.graph.vertices[-2].lines == ("no", "−1 always")


def test_parts_that_no_vote_depends_on_are_counted_but_not_drawn() -> None:
    circuit = Circuit(
        (Column("x", "number"),),
        (Above(0, 1.0), Above(0, 2.0)),
        (Node(AND, 0, 1), Node(TRUE, 0, 1)),
        (Rule(0, (0, 1)), Rule(2, (0, 0))),
        (0, 0),
        ("no", "yes"),
    )
    assert draw_circuit(circuit).graph.notes == (
        "Most votes win; a tie goes to no.",
        "Not shown: 1 literal and 2 gates that no vote reads.",
    )


# -- rules ------------------------------------------------------------------------------------


@law
@given(circuits())
def test_rules_are_shown_as_text_under_each_class_that_they_vote_for(circuit: Circuit) -> None:
    table = rule_table(circuit)
    diagram = draw_circuit(circuit, detail="rules")
    shown = [(v.label, v.rule, v.lines[0]) for v in diagram.graph.vertices if v.kind == "rule"]
    assert shown == [
        (label, number, row.text)
        for label in range(circuit.n_classes)
        for number, row in sorted(
            enumerate(table.rules), key=lambda pair: -abs(pair[1].votes[label])
        )
        if row.votes[label]
    ]
    parts = [vertex.lines[0] for vertex in diagram.graph.vertices if vertex.kind == "part"]
    mentioned = [f"{name}: {text}" for name, text in table.parts]
    assert set(parts) <= set(mentioned)
    if all(any(rule.votes) for rule in circuit.rules):
        assert parts == mentioned


def test_if_there_are_too_many_rules_the_strongest_are_shown_and_the_others_counted() -> None:
    circuit = chain(9)
    heavy = Circuit(
        circuit.columns,
        circuit.literals,
        circuit.nodes,
        (*circuit.rules[:8], Rule(10, (0, 7))),
        circuit.base_votes,
        circuit.classes,
    )
    diagram = draw_circuit(heavy, detail="rules", most_rules=3)
    shown = [vertex for vertex in diagram.graph.vertices if vertex.kind == "rule"]
    assert {vertex.rule for vertex in shown} == {0, 2, 8}
    classes = [vertex.lines for vertex in diagram.graph.vertices if vertex.kind == "class"]
    assert classes == [
        ("class 0", "2 rules not shown"),
        ("class 1", "4 rules not shown"),
    ]
    assert diagram.graph.notes[-1] == ("Not shown: 6 more rules, none with more votes than these.")


def test_if_there_are_too_many_named_parts_the_first_are_shown_and_the_others_counted() -> None:
    columns = tuple(Column(f"x{number}", "boolean") for number in range(30))
    xor = GATE_BY_NAME["XOR"]
    nodes = [Node(xor, 0, 1)] + [Node(xor, 30 + k, 2 + k) for k in range(28)]
    literals = tuple(Above(number, 0.5) for number in range(30))
    circuit = Circuit(columns, literals, tuple(nodes), (Rule(58, (0, 1)),), (0, 0), ("no", "yes"))
    whole, cut = (draw_circuit(circuit, detail="rules", most_rules=most) for most in (50, 1))
    parts = [vertex for vertex in whole.graph.vertices if vertex.kind == "part"]
    assert len(parts) == 2
    assert all(vertex.rules == (0,) for vertex in parts)
    assert [vertex for vertex in cut.graph.vertices if vertex.kind == "part"] == parts[:1]
    assert cut.graph.notes[-1] == "Not shown: 1 more named part."


def test_large_circuits_are_shown_as_rules_by_default() -> None:
    assert draw_circuit(chain(MOST_GATES)).detail == "gates"
    large = chain(MOST_GATES + 1)
    assert draw_circuit(large).detail == "rules"
    assert draw_circuit(large, detail="gates").detail == "gates"
    assert draw_circuit(chain(7), detail="rules").detail == "rules"
    voted = chain(35)
    both = tuple(Rule(rule.wire, (1, 1)) for rule in voted.rules)
    wide = Circuit(voted.columns, voted.literals, voted.nodes, both, (0, 0), (0, 1))
    assert draw_circuit(wide).detail == "rules"


# -- legible ----------------------------------------------------------------------------------


def outline(item: Item) -> Box | Diamond:
    (found,) = [shape for shape in item.shapes if isinstance(shape, (Box, Diamond))]
    return found


def vertices(diagram: Diagram) -> list[Item]:
    return of_kind(diagram, "literal", "gate", "class", "rule", "part")


@pytest.mark.parametrize("detail", DETAILS)
@law
@given(circuit=circuits())
def test_boxes_do_not_overlap_and_are_within_the_page(detail: Detail, circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail=detail)
    outlines = [outline(item) for item in vertices(diagram)]
    for one, other in combinations(outlines, 2):
        across = abs(one.x - other.x) - (one.width + other.width) / 2
        down = abs(one.y - other.y) - (one.height + other.height) / 2
        assert max(across, down) > 2
    for shape in outlines:
        assert shape.width / 2 < shape.x < diagram.scene.width - shape.width / 2
        assert shape.height / 2 < shape.y < diagram.scene.height - shape.height / 2


@pytest.mark.parametrize("detail", DETAILS)
@law
@given(circuit=circuits())
def test_texts_stay_within_their_boxes_and_the_page(detail: Detail, circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail=detail)
    for item in diagram.scene.items:
        for text in (shape for shape in item.shapes if isinstance(shape, Text)):
            width = text_width(text.text, text.size) * (BOLD if text.bold else 1)
            left = text.x - {"start": 0, "middle": 0.5, "end": 1}[text.anchor] * width
            low, high = 0.0, diagram.scene.width
            if item.kind not in ("note", "vote"):
                shape = outline(item)
                half = shape.width / 2
                if isinstance(shape, Diamond):  # which is narrower where the sign ends
                    half *= 1 - 0.35 * text.size / (shape.height / 2)
                low, high = shape.x - half, shape.x + half
            assert low <= left + 0.01
            assert left + width <= high + 0.01


def along(path: Path) -> Iterator[Point]:
    points = np.array(path.points)
    t = np.linspace(0, 1, 25)[:, None]
    for start in range(0, len(points) - 1, 3):
        p0, p1, p2, p3 = points[start : start + 4]
        curve = (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3
        yield from ((float(x), float(y)) for x, y in curve)


@law
@given(circuits())
def test_lines_go_around_boxes(circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail="gates")
    by_wire = {item.wire: outline(item) for item in of_kind(diagram, "literal", "gate")}
    by_class = {item.label: outline(item) for item in of_kind(diagram, "class")}
    edges = of_kind(diagram, "link", "vote")
    for edge, item in zip(diagram.graph.edges, edges, strict=True):
        ends = [by_wire[edge.wire]]
        ends.append(by_class[edge.label] if edge.kind == "vote" else by_wire[int(edge.target[1:])])
        others = [shape for shape in (*by_wire.values(), *by_class.values()) if shape not in ends]
        for path in (shape for shape in item.shapes if isinstance(shape, Path)):
            for x, y in along(path):
                for shape in others:
                    assert abs(x - shape.x) > shape.width / 2 or abs(y - shape.y) > shape.height / 2


def test_lines_lead_from_left_to_right_and_begin_and_end_at_their_boxes() -> None:
    diagram = draw_circuit(chain(12))
    by_wire = {item.wire: outline(item) for item in of_kind(diagram, "literal", "gate")}
    for item in of_kind(diagram, "link", "vote"):
        paths = [shape for shape in item.shapes if isinstance(shape, Path)]
        source = by_wire[item.wire]
        assert paths[0].points[0] == (source.x + source.width / 2, source.y)
        for one, other in pairwise(paths):
            assert one.points[-1] == other.points[0]
        for path in paths:
            assert all(a[0] <= b[0] for a, b in pairwise(path.points))


def test_long_names_are_cut_in_the_picture_and_complete_in_the_title() -> None:
    name = "a very long name of a column " * 4
    circuit = Circuit(
        (Column(name.strip(), "number"),), (Above(0, 1.0),), (), (Rule(0, (1, 0)),), (0, 0), (0, 1)
    )
    (item,) = of_kind(draw_circuit(circuit), "literal")
    (text,) = [shape.text for shape in item.shapes if isinstance(shape, Text)]
    assert text.endswith("…")
    assert item.title == f"{name.strip()} > 1"


def test_the_estimated_width_is_at_least_that_of_matplotlibs_font() -> None:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    letters = [chr(code) for code in (*range(0x20, 0x7F), *range(0xA1, 0x180))]
    for weight, factor in (("normal", 1.0), ("bold", BOLD)):
        font = get_font(findfont(FontProperties(family="DejaVu Sans", weight=weight)))
        font.set_size(100, 72)
        for letter in (*letters, *"…−×"):
            if weight == "bold" and ord(letter) > 0x7F:
                continue
            advance = font.load_char(ord(letter)).linearHoriAdvance / 65536
            assert advance <= text_width(letter, 100) * factor, letter


TEXTS = ["", "one", "two words", "x" * 300, "a b " * 90, "ends in space "]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [0.0, 10.0, 90.0, 91.0, 5000.0])
def test_a_text_is_shortened_as_little_as_needed(text: str, width: float) -> None:
    kept = text
    while kept and text_width(f"{kept}…", 13) > width:
        kept = kept[:-1]
    fits = text_width(text, 13) <= width
    assert shorten(text, 13, width) == (text if fits else f"{kept.rstrip()}…")


def test_the_work_to_shorten_a_text_depends_on_the_width_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_looked_at = 0

    def counting(letter: str) -> float:
        nonlocal n_looked_at
        n_looked_at += 1
        return em(letter)

    em = metrics._em
    monkeypatch.setattr(metrics, "_em", counting)
    short = shorten(", ".join(f"category {number}" for number in range(50_000)), 13, 300)
    assert short.startswith("category 0, category 1")
    assert n_looked_at < 4 * len(short)


@pytest.mark.parametrize("text", TEXTS)
def test_wrapped_and_shortened_texts_fit(text: str) -> None:
    assert text_width(shorten(text, 13, 90), 13) <= 90
    lines = wrap(text, 13, 90, 3)
    assert len(lines) <= 3
    assert all(text_width(line, 13) <= 90 for line in lines)
    if not any(line.endswith("…") for line in lines):
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


# -- options ----------------------------------------------------------------------------------


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match="detail is 'all', expected one of 'auto', 'gates'"):
        draw_circuit(chain(2), detail="all")  # type: ignore[arg-type]
    for most in (0, True, 2.5):
        with pytest.raises(OptionError, match=f"most_rules is {most}, expected a whole number"):
            draw_circuit(chain(2), most_rules=most)  # type: ignore[arg-type]
