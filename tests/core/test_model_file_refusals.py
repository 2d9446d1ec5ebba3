"""Files that hold no valid circuit are refused with one clear line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.model_file import BOUNDS, circuit_from_json, circuit_to_json
from dln.core.origin import Origin
from dln.core.parts import MAX_VOTES
from dln.errors import CircuitError, CircuitFileError
from tests.support.stored import CIRCUIT, TEXT
from tests.support.strategies import law


def _assert_one_clear_line(error: CircuitFileError) -> None:
    assert "\n" not in str(error)
    assert 10 < len(str(error)) < 1000


# -- files of something else ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"not valid JSON, or truncated \(.*\); expected a model file of dln$"),
        (b"   \n", "not valid JSON"),
        (TEXT[:-20].encode(), "not valid JSON, or truncated"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not a text file; expected a circuit as JSON"),
        (b"\x00\x00\x00", "not valid JSON"),
        (b"age,colour\n3,red\n", "not valid JSON"),
        (b"[]", 'not a circuit: it has no "format": "dln-circuit"'),
        (b"3", "not a circuit"),
        (b'{"format": "other"}', "not a circuit"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"format":' * 100_000, "nested too deeply"),
        (b'{"format": "dln-circuit", "version": 1' + b"0" * 5000 + b"}", "not valid JSON"),
        (b'{"format": "dln-circuit", "version": NaN}', "NaN is not a number that JSON allows"),
    ],
)
def test_a_file_of_something_else_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(CircuitFileError, match=message) as caught:
        Circuit.load(path)
    _assert_one_clear_line(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@law
@given(length=st.integers(0, len(TEXT) - 3))
def test_every_truncation_is_refused(length: int) -> None:
    with pytest.raises(CircuitFileError):
        circuit_from_json(TEXT[:length])


# -- edited and hostile documents -------------------------------------------------------------


def _edited(path: tuple[Any, ...], value: Any) -> str:
    document = json.loads(TEXT)
    place = document
    for step in path[:-1]:
        place = place[step]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(document)


DELETE = object()
ORIGIN = Origin("heart.csv", "", "disease", 200, 0.25, 0, "0.1.0", (("tau", 4.0),))
HUGE = 10**400
EDITS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("version",), 3, "version 3, this dln reads versions 1 to 2; read it with the dln that wrote"),
    (("version",), 0, "version 0, this dln reads versions 1 to 2"),
    (("version",), 1, "'readout' is none of format, version, columns"),
    (("readout",), "sum", '"readout" is \'sum\', expected "votes" or "score"'),
    (("readout",), DELETE, '"readout" is missing'),
    (("version",), "1", "version '1', this dln reads versions 1 to 2"),
    (("version",), True, "version True, this dln reads versions 1 to 2"),
    (("version",), 1.0, "version 1.0, this dln reads versions 1 to 2"),
    (("version",), DELETE, "version None, this dln reads versions 1 to 2"),
    (("columns",), DELETE, '"columns" is missing'),
    (("gates",), DELETE, '"gates" is missing'),
    (("temperature",), DELETE, '"temperature" is missing'),
    (("columns",), {}, r'"columns" is {}, expected a list'),
    (("classes",), "ab", "\"classes\" is 'ab', expected a list"),
    (("columns", 1), 3, r"columns\[1\] is 3: expected an object"),
    (("columns", 1), None, r"columns\[1\] is None: expected an object"),
    (("columns", 0, "name"), DELETE, r'columns\[0\] is .*: "name" is missing'),
    (("columns", 0, "name"), 3, r"columns\[0\] is .*: 3 is not text"),
    (("columns", 0, "name"), "born", "two columns are named 'born'"),
    (("columns", 0, "kind"), "real", "the kind 'real' is none of number, integer"),
    (("columns", 0, "kind"), ["number"], r"the kind \['number'\] is none of"),
    (("columns", 0, "categories"), ["a"], "'age' has categories, but is of kind 'integer'"),
    (("columns", 0, "binary"), 1, r"columns\[0\] is .*: 1 is not true or false"),
    (("columns", 0, "immutable"), 1, r"columns\[0\] is .*: 1 is not true or false"),
    (("columns", 1, "binary"), True, "'colour' is of kind 'category' and cannot be binary"),
    (("columns", 1, "categories"), "abc", "\"categories\" is 'abc', expected a list"),
    (("columns", 1, "categories"), {"a": 1}, '"categories" is .*expected a list'),
    (("columns", 1, "categories", 0), "red", "lists category 'red' twice"),
    (("columns", 1, "categories", 0), None, r"columns\[1\] is .*expected text, a number"),
    (("columns", 1, "categories", 0), ["a"], r"columns\[1\] is .*expected text, a number"),
    (("columns", 1, "categories", 0), {"date": "2020-01-01"}, "a category must be text, a number"),
    (("columns", 1, "categories"), [], "lists category 0; column 'colour' has 0"),
    (("literals", 0), [], r"literals\[0\] is \[\]: expected an object"),
    (("literals", 0, "column"), True, r"literals\[0\] is .*: True is not an integer"),
    (("literals", 0, "column"), 0.0, r"literals\[0\] is .*: 0.0 is not an integer"),
    (("literals", 0, "column"), -1, "literal 0 reads column -1; there are 3"),
    (("literals", 0, "column"), 3, "literal 0 reads column 3; there are 3"),
    (("literals", 0, "column"), HUGE, "literal 0 reads column 1000"),
    (("literals", 0, "column"), 1, "literal 0 compares column 'colour', which holds categories"),
    (("literals", 0, "column"), DELETE, '"column" is missing'),
    (("literals", 0, "above"), DELETE, 'expected "above": a number, "among": a list or "missing"'),
    (("literals", 0, "above"), "54", "'54' is not a number"),
    (("literals", 0, "above"), False, "False is not a number"),
    (("literals", 0, "above"), HUGE, "is too large for float64"),
    (("literals", 0, "among"), [0], 'expected "above": a number, "among"'),
    (("literals", 1, "among"), "01", 'expected "above": a number, "among"'),
    (("literals", 1, "among"), [], "literal 1 has categories"),
    (("literals", 1, "among"), [0, 0], "literal 1 lists category 0 twice"),
    (("literals", 1, "among"), [6], "literal 1 lists category 6; column 'colour' has 6"),
    (("literals", 1, "among"), [True], r"literals\[1\] is .*: True is not an integer"),
    (("literals", 1, "column"), 0, "literal 1 looks for categories in column 'age'"),
    (("literals", 2, "missing"), False, 'expected "above": a number'),
    (("literals", 2, "missing"), 1, 'expected "above": a number'),
    (("gates", 0), "AND", r"gates\[0\] is 'AND': expected the name of a gate and two wires"),
    (("gates", 0), ["AND", 0], r"gates\[0\] is \['AND', 0\]: expected the name"),
    (("gates", 0), {"AND": 0, "a": 1, "b": 2}, r"gates\[0\] is .*: expected the name"),
    (("gates", 0, 0), "and", r"gates\[0\] is \['and', 0, 1\]: expected the name of a gate"),
    (("gates", 0, 0), ["AND"], r"gates\[0\] is .*: expected the name of a gate"),
    (("gates", 0, 1), 3, "gate 0 is wire 3 and reads wires 3 and 1; it may read only wires below"),
    (("gates", 0, 1), 4, "gate 0 is wire 3 and reads wires 4 and 1"),
    (("gates", 0, 1), -1, "gate 0 is wire 3 and reads wires -1 and 1"),
    (("gates", 0, 1), 2**31, "reads wires 2147483648 and 1"),
    (("gates", 0, 1), 2**64, "reads wires 18446744073709551616 and 1"),
    (("gates", 0, 1), True, r"gates\[0\] is .*: True is not an integer"),
    (("gates", 0, 1), 1.0, r"gates\[0\] is .*: 1.0 is not an integer"),
    (("gates", 0, 1), None, r"gates\[0\] is .*: None is not an integer"),
    (("rules", 0), [4, [0, 2]], r"rules\[0\] is .*: expected an object"),
    (
        ("columns", 0, "unit"),
        "years",
        r"columns\[0\] is .*: 'unit' is none of name, kind, categories",
    ),
    (
        ("Origin",),
        {},
        "'Origin' is none of format, version, columns, .*, calibration, constraints, origin",
    ),
    (("rules", 0, "weight"), 7, r"rules\[0\] is .*: 'weight' is none of wire, votes"),
    (("rules", 0, "wire"), DELETE, r'rules\[0\] is .*: "wire" is missing'),
    (("rules", 0, "wire"), 5, "rule 0 reads wire 5; there are 5"),
    (("rules", 0, "wire"), True, r"rules\[0\] is .*: True is not an integer"),
    (("rules", 0, "votes"), "12", "\"votes\" is '12', expected a list"),
    (("rules", 0, "votes"), [1], "rule 0 has votes"),
    (("rules", 0, "votes", 0), 0.5, r"rules\[0\] is .*: 0.5 is not an integer"),
    (("rules", 0, "votes", 0), MAX_VOTES, "may add up to .*, at most 2147483647 are allowed"),
    (("rules", 0, "votes", 0), -(2**63), "may add up to .*, at most 2147483647 are allowed"),
    (("base_votes",), [0], "base_votes has votes"),
    (("base_votes", 0), None, r"base_votes\[0\] is None: None is not an integer"),
    (("classes",), [], "the circuit has no class"),
    (("classes", 0), "ill", "class 'ill' is listed twice"),
    (("classes", 0), None, r"classes\[0\] is None: expected text, a number"),
    (("classes", 0), {"date": "2020-99-01"}, r"classes\[0\] is .*: "),
    (("temperature",), 0, "temperature is 0.0, expected a positive float"),
    (("temperature",), -1.5, "temperature is -1.5"),
    (("temperature",), True, "True is not a number"),
    (("temperature",), "1", "'1' is not a number"),
    (("temperature",), HUGE, "is too large for float64"),
    (("calibration",), [], r'calibration: expected an object in "\{ \}"'),
    (("calibration", "leads"), DELETE, 'calibration: "leads" is missing'),
    (("calibration", "leads"), [], "values for 0 leads|at least one lead"),
    (("calibration", "leads", 0), 0.5, "calibration: 0.5 is not an integer"),
    (("calibration", "leads", 0), 2, "do not ascend"),
    (("calibration", "leads", 0), -(2**40), "at least one lead; leads are plain integers"),
    (("calibration", "values"), 3, 'calibration: "values" is 3, expected a list'),
    (("calibration", "values"), [0.5], "calibration: expected a list of values for each table"),
    (("calibration", "values"), [], "no table"),
    (("calibration", "values"), [[0.1, 0.2]] * 2, "2 tables for 2 classes, expected 1"),
    (("calibration", "values", 0, 0), 1, "between 0 and 1"),
    (("calibration", "values", 0, 0), 0.95, "descend"),
    (("calibration", "slope"), 1, "calibration: 'slope' is none of leads, values"),
]


@pytest.mark.parametrize(("path", "value", "message"), EDITS)
def test_an_edited_file_is_refused_and_the_mistake_is_named(
    path: tuple[Any, ...], value: Any, message: str
) -> None:
    with pytest.raises(CircuitFileError, match=message) as caught:
        circuit_from_json(_edited(path, value))
    _assert_one_clear_line(caught.value)


@pytest.mark.parametrize("again", ['"base_votes": [5, 0], "temperature"', '"wire": 0, "wire"'])
def test_a_repeated_name_is_refused(again: str) -> None:
    once = again.rsplit(maxsplit=1)[-1]
    with pytest.raises(CircuitFileError, match=r"'(base_votes|wire)' occurs twice") as caught:
        circuit_from_json(TEXT.replace(once, again, 1))
    _assert_one_clear_line(caught.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("test_part",), "1e400"),
        (("n_rows",), "[" + "9," * 10_000 + "9]"),
        (("settings", "tau"), "-1e400"),
        (("settings", "tau"), "[1]"),
    ],
)
def test_an_origin_that_could_not_be_saved_is_refused(path: tuple[str, ...], value: str) -> None:
    document = json.loads(circuit_to_json(replace(circuit_from_json(TEXT), origin=ORIGIN)))
    place = document["origin"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = "HERE"
    with pytest.raises(CircuitFileError, match=f"{path[-1]}'? of the origin is") as caught:
        circuit_from_json(json.dumps(document).replace('"HERE"', value))
    _assert_one_clear_line(caught.value)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "9" * 5000])
@pytest.mark.parametrize(
    "place", ['"above": 54.5', '"temperature": 0.75', '["AND", 0', '"votes": [0', '"blue"', '"ill"']
)
def test_numbers_that_are_too_large_are_refused_everywhere(number: str, place: str) -> None:
    old = place.split(" ")[-1].strip("[")
    assert place in TEXT
    with pytest.raises(CircuitFileError) as caught:
        circuit_from_json(TEXT.replace(place, place.replace(old, number)))
    _assert_one_clear_line(caught.value)


@pytest.mark.parametrize("depth", [100, 900, 990, 995])
def test_deep_nesting_that_the_parser_accepts_is_refused_in_one_line(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for key in ("version", "columns", "classes", "temperature"):
        edited = json.loads(TEXT) | {key: "HERE"}
        with pytest.raises(CircuitFileError) as caught:
            circuit_from_json(json.dumps(edited).replace('"HERE"', deep))
        _assert_one_clear_line(caught.value)


def test_a_repeated_name_among_many_columns_is_refused_quickly() -> None:
    columns = [{"name": f"x{index}", "kind": "number"} for index in range(50_000)]
    document = json.loads(TEXT) | {"columns": [*columns, columns[-1]], "literals": [], "gates": []}
    with pytest.raises(CircuitFileError, match="two columns are named 'x49999'"):
        circuit_from_json(json.dumps(document))


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 6),
        st.sampled_from([2**31, -(2**31) - 1, 2**63, HUGE, 0.5, 1e308, "AND", "category", "date"]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ["wire", "votes", "column", "above", "among", "missing", "name", "date"]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [path, *(place for key, part in inner for place in _places(part, (*path, key)))]


PLACES = [place for place in _places(json.loads(TEXT)) if place]


@law
@given(edits=st.lists(st.tuples(st.sampled_from(PLACES), JSON_VALUES), min_size=1, max_size=3))
def test_random_edits_give_a_valid_circuit_or_a_circuit_file_error(
    edits: list[tuple[tuple[Any, ...], Any]],
) -> None:
    document = json.loads(TEXT)
    for path, value in edits:
        place = document
        try:
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
        except (TypeError, IndexError, KeyError):  # an earlier edit removed this place
            continue
    try:
        circuit = circuit_from_json(json.dumps(document))
    except CircuitFileError as error:
        _assert_one_clear_line(error)
    else:
        assert circuit_from_json(circuit_to_json(circuit)) == circuit
        assert str(circuit)
        circuit.votes([[None] * len(circuit.columns)])


# -- bounds -----------------------------------------------------------------------------------

SIZES = {
    "characters in the file": len(TEXT),
    "columns": 3,
    "literals": 3,
    "gates": 2,
    "rules": 2,
    "classes": 2,
    "edits": 1,
    "votes (rules times classes)": 4,
    "leads in the calibration": 2,
    "categories in one column": 6,
    "characters in one text": len("healthy"),
}


def test_every_bound_is_tested_and_documented() -> None:
    assert list(SIZES) == list(BOUNDS)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "model-file.md").read_text("utf-8")
    for name, bound in BOUNDS.items():
        assert f"| {name} | {bound:,} |" in page


@pytest.mark.parametrize("name", SIZES)
def test_a_part_may_reach_its_bound_and_not_exceed_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, name, SIZES[name])
    assert circuit_from_json(circuit_to_json(CIRCUIT)) == CIRCUIT
    monkeypatch.setitem(BOUNDS, name, SIZES[name] - 1)
    message = re.escape(f"{SIZES[name]:,} {name}; at most {SIZES[name] - 1:,} are allowed")
    with pytest.raises(CircuitFileError, match=message) as caught:
        circuit_from_json(TEXT)
    _assert_one_clear_line(caught.value)
    with pytest.raises(CircuitError, match=message):
        circuit_to_json(CIRCUIT)


def test_reading_an_endless_file_stops_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "characters in the file", 1000)
    with pytest.raises(CircuitFileError, match="1,001 characters in the file"):
        Circuit.load("/dev/zero")


def test_bounds_are_checked_before_the_parts_are_read() -> None:
    """The file asks for too many classes; its other parts are wrong too, but are not read."""
    document = json.loads(TEXT) | {"classes": ["x"] * 10_001, "columns": [3], "rules": "many"}
    with pytest.raises(CircuitFileError, match="10,001 classes; at most 10,000 are allowed"):
        circuit_from_json(json.dumps(document))
