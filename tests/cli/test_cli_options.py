"""Options files: read, checked by line, written back from a model, and used by train and search."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import (
    Alternating,
    Annealing,
    Circuit,
    DLNClassifier,
    Freezing,
    Gumbel,
    OptionError,
    Pruning,
)
from dln._util.option import options_of
from dln.cli.options_file import (
    ELSEWHERE,
    options_of_origin,
    preset_conflicts,
    read_options,
    write_options,
)
from dln.estimators.parameters import Parameters
from tests.conftest import Run
from tests.support.classifiers import UNDERTRAINED
from tests.support.commands import training_table

VALUES: dict[str, Any] = {
    "layers": st.lists(st.integers(1, 99), min_size=1, max_size=4).map(tuple),
    "n_links": st.one_of(st.none(), st.integers(1, 99)),
    "tau": st.one_of(st.just("auto"), st.floats(0.01, 100.0)),
    "phases": st.one_of(
        st.sampled_from(["unified", "epochs", "batches"]), st.builds(Alternating, st.integers(1, 9))
    ),
    "relaxation": st.one_of(st.just("soft"), st.builds(Gumbel, st.floats(0, 2))),
    "temperature": st.one_of(
        st.floats(0.01, 9), st.builds(Annealing, st.floats(0.1, 2), st.floats(0.1, 2))
    ),
    "freezing": st.one_of(
        st.none(), st.builds(Freezing, st.floats(0, 1), st.just("outputs-first"))
    ),
    "pruning": st.one_of(st.none(), st.builds(Pruning, st.floats(0, 0.5), st.floats(0.5, 1))),
    "class_weight": st.one_of(
        st.sampled_from(["balanced", "smoothed", None]),
        st.dictionaries(st.text(max_size=8), st.floats(0, 9), max_size=3),
    ),
    "preset": st.sampled_from(["paper", "program"]),
    "vote_density": st.one_of(st.just("undecided"), st.floats(0, 1)),
    "validation_every": st.integers(1, 50),
}


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_what_is_written_is_read(tmp_path_factory: Any, params: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("options") / "train.toml"
    text = write_options(params)
    path.write_text(text, "utf-8")
    tomllib.loads(text)
    if preset_conflicts(params):
        with pytest.raises(OptionError, match="which the preset replaces"):
            read_options(str(path))
    else:
        assert read_options(str(path)) == params


def test_every_option_can_be_stated() -> None:
    for name, own in options_of(Parameters).items():
        if name in ELSEWHERE:
            continue
        text = write_options({name: own.default})
        assert text.startswith(f"{name} = ")
        tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tau = 3\nlayer = [4]\n", "line 2: there is no option 'layer'; did you mean layers?"),
        ("tau = 3\n\nn_gates = 17\n", "line 3: n_gates is 17, expected an integer from 1 to 16"),
        ("tau = 'warm'\n", "line 1: tau is 'warm', expected a number"),
        (
            "[freezing]\nstart = 2\n",
            "line 1: start of Freezing is 2, expected a number from 0 to 1",
        ),
        ("# x\nfreezing = { begin = 1 }\n", "line 2: freezing has no setting 'begin', expected st"),
        ("phases = { epochs = 0 }\n", "line 1: epochs of Alternating is 0, expected an integer"),
        (
            "random_state = 3\n",
            "line 1: random_state is not an option of this file; it is set by --s",
        ),
        ("tau = \n", "is not valid TOML: Invalid value (at line 1, column 7)"),
        (
            'preset = "program"\nn_links = 16\n',
            "line 2: n_links = 16 is the default of dln, which the preset replaces; leave out",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_file_and_the_line(
    text: str, message: str, tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "train.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(OptionError) as caught:
        read_options(str(path))
    assert f"train.toml, {message}" in str(caught.value) or f"train.toml {message}" in str(
        caught.value
    )
    data = training_table(tmp_path)
    status, _, err = run("train", data, "-t", "state", "-o", "m.json", "--options", "train.toml")
    assert status == 2
    assert err.count("\n") == 1


TRAIN = """
layers = [6, 4]
n_networks = 1
epochs = 20
tau = 2.0
phases = { epochs = 2 }
n_links = "none"
slope = 3.0

[freezing]
start = 0.5
direction = "outputs-first"
"""


def test_a_model_writes_back_the_options_it_was_trained_with(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    (tmp_path / "train.toml").write_text(TRAIN, "utf-8")
    train = ("train", data, "-t", "state", "-q", "--options")
    assert run(*train, "train.toml", "-o", "a.json")[0] == 0
    status, out, err = run("options", "a.json")
    assert (status, err) == (0, "")
    (tmp_path / "again.toml").write_text(out, "utf-8")
    expected = read_options(str(tmp_path / "train.toml"))
    assert read_options(str(tmp_path / "again.toml")) == expected
    assert expected["freezing"] == Freezing(0.5, "outputs-first")
    assert run(*train, "again.toml", "-o", "b.json")[0] == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    # An option of the command overrides the file.
    assert run(*train, "train.toml", "-o", "c.json", "--tau", "4")[0] == 0
    origin = Circuit.load(tmp_path / "c.json").origin
    assert origin is not None
    assert options_of_origin(origin)["tau"] == 4.0


@UNDERTRAINED
def test_a_model_without_an_origin_has_no_options(run: Run, tmp_path: Path) -> None:
    model = DLNClassifier(layers=(4, 2), tau=2.0, epochs=5, n_networks=1, random_state=0)
    model.fit([[0.0], [1.0], [2.0], [3.0]] * 5, ["a", "a", "b", "b"] * 5)
    model.circuit_.save(tmp_path / "m.json")
    status, _, err = run("options", "m.json")
    assert status == 2
    assert "does not record how it was trained" in err


def test_a_search_keeps_the_options_of_a_file(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    (tmp_path / "search.toml").write_text("layers = [6, 4]\nepochs = 10\nn_links = 3\n", "utf-8")
    search = ("search", data, "-t", "state", "-o", "m.json", "-q", "--trials", "2")
    assert run(*search, "--options", "search.toml")[0] == 0
    origin = Circuit.load(tmp_path / "m.json").origin
    assert origin is not None
    found = options_of_origin(origin)
    assert (found["layers"], found["epochs"], found["n_links"]) == ((6, 4), 10, 3)
    (tmp_path / "bad.toml").write_text('effort = "quick"\n', "utf-8")
    status, _, err = run(*search, "--options", "bad.toml")
    assert status == 2
    assert "'effort', which a search does not vary" in err


# -- the record of a training ---------------------------------------------------------------------


def test_a_training_is_recorded_and_drawn(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data = training_table(tmp_path)
    quick = ("--layers", "6,4", "--networks", "2", "--epochs", "12", "--tau", "2", "-q")
    train = ("train", data, "-t", "state", "-o", "m.json", *quick)
    assert run(*train, "--trace", "run.npz")[0] == 0
    assert run("draw", "run.npz", "--training", "-o", "training.svg")[0] == 0
    text = (tmp_path / "training.svg").read_text("utf-8")
    assert text.startswith("<?xml")
    again = ("draw", "run.npz", "--training", "--network", "1", "--gate", "2", "-o", "b.png")
    assert run(*again)[0] == 0
    status, _, err = run("draw", "run.npz", "--training", "--network", "2", "-o", "c.png")
    assert (status, "network is 2, but the network has 2" in err) == (2, True)
    status, _, err = run("draw", "m.json", "--training", "-o", "c.png")
    assert (status, "m.json is not a record of a training" in err) == (2, True)
    status, _, err = run("draw", "m.json", "--gate", "1", "-o", "c.svg")
    assert (status, "--gate is only used with --training" in err) == (2, True)
    status, _, err = run(*train, "--trace", "run.json")
    assert (status, "run.json ends in .json, expected one of .npz" in err) == (2, True)
