"""Every option is stated once: what follows from the tables agrees with them."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import DLNClassifier, OptionError, _native
from dln._util.option import Option, options_of
from dln.estimators.parameters import Parameters
from dln.search.space import Between, check_space
from dln.train.compiled import FIELDS, RECORD, Field, pack_options
from dln.train.native import bind
from dln.train.options import FitOptions, TrainOptions
from dln.train.schedule import make_schedule
from dln.train.settings import Alternating
from tests.support.jobs import random_job
from tests.support.option_files import docs_table, header, regressor_docs

EVERY = [(table, own) for table in (TrainOptions, Parameters) for own in options_of(table).values()]
every_option = pytest.mark.parametrize(
    ("table", "own"), EVERY, ids=[f"{table.__name__}.{own.name}" for table, own in EVERY]
)


# -- the signature of the classifier --------------------------------------------------------------


def test_the_constructor_has_the_names_types_and_defaults_of_the_table() -> None:
    table = get_type_hints(Parameters)
    hints = get_type_hints(DLNClassifier.__init__)
    found = signature(DLNClassifier).parameters
    assert set(found) == set(options_of(Parameters))
    for name, own in options_of(Parameters).items():
        assert found[name].default == own.default, name
        assert found[name].kind is found[name].KEYWORD_ONLY
        assert hints[name] == table[name], name


def test_the_constructor_stores_every_parameter_under_its_name() -> None:
    values = {name: object() for name in options_of(Parameters)}
    assert vars(DLNClassifier(**values)) == values  # type: ignore[arg-type]


def test_the_docstring_describes_every_parameter() -> None:
    text = DLNClassifier.__doc__ or ""
    assert "<parameters>" not in text
    for name, own in options_of(Parameters).items():
        assert f"\n{name} : {own.type_text}\n    " in text
        assert " ".join(own.facts.doc.split()) in " ".join(text.split())


# -- the tables -----------------------------------------------------------------------------------


@every_option
def test_an_option_has_a_sentence_and_a_default_in_its_range(table: type, own: Option) -> None:
    assert re.fullmatch(r"[A-Z1].*\.", own.facts.doc), own.facts.doc
    assert not own.facts.more or own.facts.more.endswith(".")
    assert own.read(own.default) == own.default
    if {int, float} & set(own.alternatives) and own.facts.checked:
        assert own.facts.low > -math.inf, "a number needs a range"


def test_a_run_has_the_ranges_of_the_user() -> None:
    run, user = options_of(TrainOptions), options_of(FitOptions)
    for name in run.keys() & user.keys():
        assert run[name].facts == user[name].facts
        assert set(user[name].alternatives) - set(run[name].alternatives) <= {"auto"}
        if user[name].default != "auto":
            assert run[name].default == user[name].default


# -- checks ---------------------------------------------------------------------------------------


def outside(own: Option) -> list[Any]:
    """Return values just outside of what an option may be."""
    low, high = own.facts.low, own.facts.high
    found: list[Any] = [
        object(),
        "no such name",
        (),
        [2.5],
        np.array([1, 2]),
        True,
        math.nan,
        -math.inf,
        -(10**400),
    ]
    if int in own.alternatives:
        found += [int(low) - 1, low + 0.5] + ([int(high) + 1] if high < math.inf else [])
    if float in own.alternatives:
        found += [np.nextafter(low, -math.inf), math.inf]
        found += [high if own.facts.below else np.nextafter(high, math.inf)]
    found += [None] if type(None) not in own.alternatives else []
    return [value for value in found if not (isinstance(value, bool) and bool in own.alternatives)]


@every_option
def test_a_value_out_of_range_is_refused_by_its_name(table: type, own: Option) -> None:
    if not own.facts.checked:
        return  # test_estimator_parameters.py
    for value in outside(own):
        with pytest.raises(OptionError, match=f"^{own.name} .*, expected "):
            table(**{own.name: value})


@every_option
def test_both_ends_of_a_range_are_allowed(table: type, own: Option) -> None:
    low, high = own.facts.low, own.facts.high
    for kind in {int, float} & set(own.alternatives) if own.facts.checked else ():
        assert getattr(table(**{own.name: kind(low)}), own.name) == kind(low)
        if high < math.inf and not own.facts.below:
            assert getattr(table(**{own.name: kind(high)}), own.name) == kind(high)


@pytest.mark.parametrize(
    ("table", "name", "value", "message"),
    [
        (FitOptions, "tau", 0, 'tau is 0, expected a number from 0.001 to 1e+06 or "auto"'),
        (TrainOptions, "tau", "auto", "tau is 'auto', expected a number from 0.001 to 1e+06"),
        (FitOptions, "n_links", 0, "n_links is 0, expected an integer from 1 to 1000000 or None"),
        (FitOptions, "layers", 3, 'layers is 3, expected a tuple of integers or "auto"'),
        (
            FitOptions,
            "layers",
            (4, 0),
            "layers holds a size that is 0, expected an integer from 1 to 10000000",
        ),
        (
            FitOptions,
            "phases",
            "both",
            "phases is 'both', expected one of 'unified', 'epochs', 'batches' or an Alternating",
        ),
        (FitOptions, "freezing", 0.5, "freezing is 0.5, expected a Freezing or None"),
        (
            Parameters,
            "validation_fraction",
            1,
            "validation_fraction is 1, expected a number from 0 to below 1",
        ),
        (Parameters, "verbose", -1, "verbose is -1, expected an integer of at least 0 or a bool"),
    ],
)
def test_a_message_says_what_was_found_and_what_was_expected(
    table: type, name: str, value: Any, message: str
) -> None:
    with pytest.raises(OptionError) as caught:
        table(**{name: value})
    assert str(caught.value) == message


def test_numpy_numbers_become_plain_ones() -> None:
    options = FitOptions(layers=[np.uint8(200)], tau=np.float16(4), epochs=np.int8(3))  # type: ignore[arg-type]
    assert (options.layers, options.tau, options.epochs) == ((200,), 4.0, 3)
    assert {type(options.tau), type(options.epochs)} == {float, int}


# -- search spaces --------------------------------------------------------------------------------


@pytest.mark.parametrize("own", options_of(Parameters).values(), ids=lambda own: own.name)
def test_a_space_has_the_names_and_ranges_of_the_table(own: Option) -> None:
    if not own.facts.searched:
        with pytest.raises(
            OptionError,
            match=f"'{own.name}', which a search does not vary|not possible in a search",
        ):
            check_space({own.name: own.default})
        return
    check_space({own.name: own.default})
    check_space({own.name: [own.default, own.default]})
    for value in outside(own):
        with pytest.raises(OptionError, match=f"^{own.name} .*, expected "):
            check_space({own.name: [own.default, value]})
    if {int, float} & set(own.alternatives):
        kind = next(kind for kind in (int, float) if kind in own.alternatives)
        check_space({own.name: Between(kind(own.facts.low), kind(own.facts.low) + kind(0))})
        with pytest.raises(OptionError, match=f"^{own.name} is "):
            check_space({own.name: Between(kind(own.facts.low) - 1, kind(own.facts.low))})


# -- generated files ------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"(?<=\n\n)\| parameter \| values \|.*?(?=\n\n|\n\Z)", re.S)
WRITE = "DLN_WRITE_DOCS=1 pytest tests/train/test_options.py"


def test_native_code_and_cuda_read_the_options_of_the_table() -> None:
    path = ROOT / "src" / "dln" / "train" / "headers" / "options.h"
    if os.environ.get("DLN_WRITE_DOCS"):
        path.write_text(header(), "utf-8")
    assert path.read_text("utf-8") == header(), WRITE


def test_the_docs_have_a_table_of_all_parameters() -> None:
    path = ROOT / "docs" / "reference" / "parameters.md"
    if os.environ.get("DLN_WRITE_DOCS"):
        text, _, _ = path.read_text("utf-8").partition("## DLNRegressor")
        text = TABLE.sub(lambda _: docs_table(), text)
        path.write_text(f"{text}## DLNRegressor\n\n{regressor_docs()}\n", "utf-8")
    assert docs_table() in path.read_text("utf-8"), WRITE
    assert regressor_docs() in path.read_text("utf-8"), WRITE


# -- the record of options that native code reads ------------------------------------------------


def bind_with(change: dict[str, float]) -> None:
    """Bind a job to native code after changing fields of its record."""
    job = random_job(0)
    arguments = bind(RECORDER, job, make_schedule(job.options, job.network))
    record = np.frombuffer(arguments["options"], dtype=RECORD).copy()
    for name, value in change.items():
        record[name] = value
    _native.Job(**{**arguments, "options": record.tobytes()})


RECORDER: Any = SimpleNamespace(Job=lambda **given: given, Schedule=_native.Schedule)
LIMITED = [own for own in FIELDS if own.high < 2**31]


@pytest.mark.parametrize("own", LIMITED, ids=lambda own: own.name)
def test_native_code_checks_the_range_of_every_option(own: Field) -> None:
    is_whole = own.dtype is np.int32
    below = own.low - 1 if is_whole else np.nextafter(np.float32(own.low), np.float32(-np.inf))
    above = own.high + 1 if is_whole else np.nextafter(np.float32(own.high), np.float32(np.inf))
    for value in (below, above, *([] if is_whole else [np.nan])):
        with pytest.raises(ValueError, match=f"^{own.name} is "):
            bind_with({own.name: value})
    if own.name != "epochs":  # each needs a temperature
        bind_with({own.name: own.low})
        bind_with({own.name: own.high})


def test_native_code_refuses_a_record_of_another_size() -> None:
    job = random_job(0)
    arguments = bind(RECORDER, job, make_schedule(job.options, job.network))
    for record in (b"", arguments["options"][:-1], arguments["options"] + b"0"):
        with pytest.raises(ValueError, match="wrong size"):
            _native.Job(**{**arguments, "options": record})


@given(
    learning_rate=st.floats(0, 1e3),
    tau=st.floats(1e-3, 1e6),
    epochs=st.integers(1, 10**7),
    seed=st.integers(0, 2**64 - 1),
    keep_best=st.booleans(),
    gate_gradient=st.sampled_from(["hard", "mixture"]),
    vote_gradient=st.sampled_from(["soft", "hard"]),
    last_batch=st.sampled_from(["spread", "drop"]),
    validation_score=st.sampled_from(["validation", "both"]),
    phases=st.one_of(
        st.sampled_from(["unified", "epochs", "batches"]),
        st.builds(Alternating, st.integers(1, 10**9)),
    ),
)
def test_a_record_holds_every_option_under_its_name(**values: Any) -> None:
    options = TrainOptions(**values)
    (record,) = np.frombuffer(pack_options(replace(random_job(0), options=options)), dtype=RECORD)
    orders = {"unified": (0, 1), "epochs": (1, 1), "batches": (2, 1)}
    order = values["phases"]
    order = (1, order.epochs) if isinstance(order, Alternating) else orders[order]
    assert (record["phases"], record["phase_epochs"]) == order
    for own in FIELDS:
        if own.name != "phases" and own.name in vars(options):
            value = getattr(options, own.name)
            number = own.names.index(value) if own.names else RECORD[own.name].type(value)
            assert record[own.name] == number, own.name
