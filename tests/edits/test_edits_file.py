"""Files of edits, and edits in the model file: what is written is read, the rest is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.edit_record import (
    AddRule,
    ChangeRule,
    Drop,
    EditRecord,
    Force,
    Lock,
    MoveCutoff,
    Refit,
    Release,
    RenameClass,
    RenameColumn,
    RenameTarget,
    SetBase,
    SetVotes,
    Unlock,
)
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.errors import CircuitFileError, OptionError
from tests.support.strategies import LABELS, law

TEXTS = st.text(min_size=1, max_size=5).filter(str.strip)
NUMBERS = st.one_of(st.integers(1, 99), st.none())
VOTES = st.dictionaries(st.text(max_size=3), st.integers(-9, 9), min_size=1, max_size=3).map(
    lambda votes: tuple(votes.items())
)
ONE_RULE = {"rule": st.integers(1, 99), "text": st.one_of(st.none(), TEXTS)}
CUTOFFS = st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32), TEXTS)
LABEL = LABELS.map(lambda labels: labels[0])
AMOUNTS = st.floats(-1e9, 1e9)
DEMAND = {"where": TEXTS, "label": LABEL, "never": st.booleans()}
EDITS = st.one_of(
    st.builds(Drop, **ONE_RULE),
    st.builds(Drop, st.none(), TEXTS),
    st.builds(Lock, **ONE_RULE),
    st.builds(Unlock, **ONE_RULE),
    st.builds(ChangeRule, **ONE_RULE, to=TEXTS),
    st.builds(SetVotes, **ONE_RULE, votes=VOTES),
    st.builds(AddRule, TEXTS, VOTES, st.booleans()),
    st.builds(SetBase, VOTES),
    st.builds(SetVotes, **ONE_RULE, adds=AMOUNTS),
    st.builds(AddRule, TEXTS, locked=st.booleans(), adds=AMOUNTS),
    st.builds(SetBase, adds=AMOUNTS),
    st.builds(RenameTarget, st.text()),
    st.builds(Force, TEXTS, at_least=AMOUNTS),
    st.builds(Release, TEXTS, at_least=AMOUNTS, at_most=AMOUNTS),
    st.builds(MoveCutoff, st.text(), CUTOFFS, CUTOFFS, NUMBERS),
    st.builds(RenameColumn, st.text(), st.text()),
    st.builds(RenameClass, LABEL, LABEL),
    st.builds(Force, **DEMAND),
    st.builds(Release, **DEMAND),
    st.builds(Refit, st.integers(0, 9)),
)
RECORDS = st.builds(EditRecord, EDITS, *[st.text(max_size=4)] * 3)
CIRCUIT = Circuit.from_rules("a:\n  +1  x\nb:", columns=[dln.Column("x", "boolean")])


@law
@given(records=st.lists(RECORDS, max_size=4))
def test_every_record_survives_both_files(
    records: list[EditRecord], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "edits.json"
    dln.save_edits(path, records, CIRCUIT)
    assert dln.load_edits(path, CIRCUIT) == tuple(records)
    circuit = replace(CIRCUIT, edits=tuple(records), locked=(0,))
    loaded = circuit_from_json(circuit_to_json(circuit))
    assert loaded.edits == tuple(records)
    assert loaded.locked == (0,)


def document(**parts: Any) -> str:
    return json.dumps({"format": "dln-edits", "version": 1, "edits": [], **parts})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[" * 100000, "nested too deeply|not valid JSON"),
        ("{}", "not a file of edits"),
        (document(version=2), '"version" is 2, this dln reads 1'),
        (document(more=1), "'more' is none of format, version, model, edits"),
        (document(model="0123"), "the edits are for model '0123'"),
        (document(edits=None), '"edits" must be a list'),
        (document(edits=[3]), r"edits\[0\]: expected an object"),
        (document(edits=[{}]), r'edits\[0\]: "edit" is None, expected one of drop, change'),
        (document(edits=[{"edit": ["drop"]}]), r'"edit" is \[\'drop\'\], expected one of'),
        (document(edits=[{"edit": "drop"}]), 'expected "rule", the number of a rule, or "text"'),
        (document(edits=[{"edit": "drop", "rule": "3"}]), "expected the number of a rule"),
        (document(edits=[{"edit": "drop", "rule": 0}]), "expected the number of a rule, from 1 on"),
        (
            document(edits=[{"edit": "drop", "rule": 1, "wy": ""}]),
            "'wy' is none of rule, text, who",
        ),
        (document(edits=[{"edit": "drop", "rule": 1, "why": 3}]), '"why" is 3: expected text'),
        (document(edits=[{"edit": "change", "rule": 1}]), '"to" is missing'),
        (document(edits=[{"edit": "change", "rule": 1, "to": " "}]), "not empty"),
        (document(edits=[{"edit": "votes", "rule": 1}]), '"votes" is missing'),
        (document(edits=[{"edit": "add", "text": "x", "votes": {}}]), "expected votes for classes"),
        (document(edits=[{"edit": "add", "text": "x", "votes": {"a": 1.5}}]), "whole numbers"),
        (document(edits=[{"edit": "add", "text": "x", "votes": {"a": 1}, "locked": 1}]), "true or"),
        (document(edits=[{"edit": "cutoff", "column": "x", "from": 1}]), '"to" is missing'),
        (document(edits=[{"edit": "cutoff", "column": "x", "from": [], "to": 1}]), "a number, or"),
        (document(edits=[{"edit": "refit", "rows": -1}]), "expected a whole number"),
        (document(edits=[{"edit": "force", "where": "x", "class": None}]), "expected text, a num"),
    ],
)
def test_other_files_are_refused_with_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "edits.json"
    path.write_text(text)
    with pytest.raises(OptionError, match=message) as caught:
        dln.load_edits(path, CIRCUIT)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edits.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="not a text file"):
        dln.load_edits(path)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('"locked": [3]', "locked lists rule 3; there are 1"),
        ('"locked": ["a"]', "locked.0. is 'a'"),
        ('"edits": 3', '"edits" is 3, expected a list'),
        ('"edits": [{"edit": "drop"}]', r"edits\[0\] is .* expected \"rule\""),
    ],
)
def test_model_files_with_wrong_edits_are_refused(part: str, message: str) -> None:
    text = circuit_to_json(CIRCUIT).rstrip().removesuffix("}").rstrip() + ",\n  " + part + "\n}\n"
    with pytest.raises(CircuitFileError, match=message):
        circuit_from_json(text)


def test_version_1_has_no_edits() -> None:
    text = circuit_to_json(CIRCUIT, version=1).rstrip().removesuffix("}").rstrip()
    with pytest.raises(CircuitFileError, match="'edits' is none of"):
        circuit_from_json(text + ',\n  "edits": []\n}\n')
