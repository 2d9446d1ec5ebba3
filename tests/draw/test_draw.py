"""Figures of a training run: their artists show the values of the trace and the history.

Properties that all figures share are tested here too.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from dln import Above, Alternating, Column, DLNClassifier, OptionError, Trace
from dln.core.literals import LiteralKind
from dln.draw import draw_feature, draw_gate, draw_learning, draw_threshold
from tests.support.figures import ODD_NAMES, make_circuit, rendered


@pytest.fixture(scope="module")
def model() -> DLNClassifier:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "hue": rng.choice(["red", "blue"], 200)})
    y = np.where((X["size"] > 0.2) & (X["hue"] == "red"), "yes", "no")
    options: dict[str, Any] = {"layers": (8, 4), "epochs": 12, "n_networks": 3, "tau": 1.0}
    return DLNClassifier(
        **options, random_state=0, trace_every=1, phases=Alternating(2), validation_fraction=0.2
    ).fit(X, y)


@pytest.fixture
def trace(model: DLNClassifier) -> Trace:
    found: Trace = model.traces_[0]
    return found


def threshold_of(trace: Trace) -> int:
    return int(np.flatnonzero(trace.network.literal_kind == LiteralKind.ABOVE)[0])


# -- a threshold ------------------------------------------------------------------------------


def test_a_threshold_is_drawn_by_its_formula_at_the_given_epochs(trace: Trace) -> None:
    literal = threshold_of(trace)
    ax = draw_threshold(trace, literal, epochs=[0, 5, 12]).axes[0]
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 3
    for line, record in zip(curves, (0, 5, 12), strict=True):
        assert trace.epochs[record] == record
        x, y = line.get_data()
        z = float(trace.slopes[record, literal]) * (x - float(trace.cutoffs[record, literal]))
        assert_allclose(y, 1 / (1 + np.exp(-z)), atol=1e-9)
        assert (x[0], x[-1]) == (0, 1)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["0", "5", "12"]


def test_sampled_epochs_go_from_the_first_to_the_last(trace: Trace) -> None:
    legend = draw_threshold(trace, threshold_of(trace)).axes[0].get_legend()
    assert legend is not None
    shown = [int(text.get_text()) for text in legend.get_texts()]
    assert len(shown) == 8
    assert (shown[0], shown[-1]) == (0, 12)


def test_many_epochs_get_a_colour_bar(trace: Trace) -> None:
    figure = draw_threshold(trace, threshold_of(trace), epochs=range(13))
    assert len(figure.axes) == 2
    assert figure.axes[1].get_ylabel() == "epoch"
    assert figure.axes[0].get_legend() is None


def test_a_very_steep_threshold_is_drawn_without_overflow(trace: Trace) -> None:
    steep = replace(trace, slopes=np.full_like(trace.slopes, 1e30))
    lines = draw_threshold(steep, threshold_of(trace)).axes[0].lines
    assert set(np.unique(lines[0].get_ydata())) <= {0.0, 0.5, 1.0}


def test_the_feature_of_a_threshold_is_named(trace: Trace) -> None:
    literal = threshold_of(trace)
    assert "column 0" in draw_threshold(trace, literal).axes[0].get_title()
    ax = draw_threshold(trace, literal, names=["size", "hue"]).axes[0]
    assert ax.get_title().startswith("A threshold on size")
    with pytest.raises(OptionError, match="names has 0 names, but the threshold reads column 0"):
        draw_threshold(trace, literal, names=[])


def test_invalid_parts_of_a_trace_are_refused(trace: Trace) -> None:
    other = int(np.flatnonzero(trace.network.literal_kind != LiteralKind.ABOVE)[0])
    with pytest.raises(OptionError, match=f"literal {other} is not a threshold .* are those from"):
        draw_threshold(trace, other)
    for literal in (-1, 10**6, "size", True):
        with pytest.raises(OptionError, match="expected a number from 0 to"):
            draw_threshold(trace, literal)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="epoch 99 was not recorded, only 13 from 0 to 12 were"):
        draw_threshold(trace, threshold_of(trace), epochs=[0, 99])
    with pytest.raises(OptionError, match="epochs is empty"):
        draw_threshold(trace, threshold_of(trace), epochs=[])
    with pytest.raises(OptionError, match=r"gate is 12, but the network has 12"):
        draw_gate(trace, 12)
    empty = replace(trace, epochs=trace.epochs[:0])
    for draw in (draw_threshold, draw_gate):
        with pytest.raises(OptionError, match=r"the trace is empty; fit .*trace_every=1"):
            draw(empty, 0)
        with pytest.raises(OptionError, match="trace is a list, expected a Trace"):
            draw([], 0)  # type: ignore[arg-type]


# -- a gate -----------------------------------------------------------------------------------


def test_a_gate_is_an_image_of_its_probabilities(trace: Trace) -> None:
    ax = draw_gate(trace, 3).axes[0]
    (image,) = (artist for artist in ax.collections if isinstance(artist, QuadMesh))
    expected = trace.gate_probabilities(3).T
    assert_array_equal(np.asarray(image.get_array()).reshape(expected.shape), expected)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(trace.gate_names)
    assert type(image.norm).__name__ == "LogNorm"
    # Every epoch is in the middle of its column.
    edges = image.get_coordinates()[0, :, 0]
    assert_allclose((edges[:-1] + edges[1:]) / 2, trace.epochs)
    best = int(np.argmax(expected[:, -1]))
    bold = [text.get_text() for text in ax.get_yticklabels() if text.get_fontweight() == "bold"]
    assert bold == [trace.gate_names[best]]


@pytest.mark.parametrize("records", [slice(0, 1), slice(0, 13, 5)])
def test_a_gate_of_few_records_or_settled_from_the_start_is_drawn(
    trace: Trace, records: slice
) -> None:
    logits = np.zeros_like(trace.gate_logits)
    logits[:, :, 2] = 1000.0  # the others' probabilities are exactly 0
    arrays = {"epochs": trace.epochs[records], "temperatures": trace.temperatures[records]}
    settled = replace(trace, **arrays, gate_logits=logits[records])
    assert rendered(draw_gate(settled, 0), "png").startswith(b"\x89PNG")


# -- learning curves --------------------------------------------------------------------------


def test_learning_curves_are_the_history_and_its_mean(model: DLNClassifier) -> None:
    loss, accuracy, gates = draw_learning(model).axes
    for ax, name in ((loss, "loss"), (gates, "gates")):
        curves = model.history_[name]
        *thin, bold = ax.lines
        assert len(thin) == 3
        for line, curve in zip(thin, curves, strict=True):
            assert_allclose(line.get_ydata(), curve[np.isfinite(curve)])
            assert line.get_linewidth() < bold.get_linewidth()
        assert_allclose(bold.get_ydata(), np.nanmean(curves, axis=0), rtol=1e-5)
        assert_array_equal(bold.get_xdata(), np.arange(1, curves.shape[1] + 1))
    assert len(accuracy.lines) == 8
    legend = accuracy.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["training rows", "validation rows", "links trained, otherwise gates"]


def spans(ax: Any) -> list[tuple[float, float]]:
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]


def test_epochs_that_train_links_are_shaded(model: DLNClassifier) -> None:
    for ax in draw_learning(model).axes:
        assert spans(ax) == [(2.5, 4.5), (6.5, 8.5), (10.5, 12.5)]
    history = model.history_
    assert spans(draw_learning(history).axes[0]) == []
    assert spans(draw_learning(model, phases="batches").axes[0]) == []
    assert spans(draw_learning(history, phases="epochs").axes[0])[:2] == [(1.5, 2.5), (3.5, 4.5)]
    assert spans(draw_learning(history, phases=Alternating(8)).axes[0]) == [(8.5, 12.5)]


def test_epochs_without_an_evaluation_are_skipped() -> None:
    nan = np.nan
    history = {name: np.ones((2, 4)) for name in ("loss", "train_accuracy", "gates")}
    history["loss"] = np.array([[4.0, 3.0, 2.0, 1.0], [2.0, 1.0, nan, nan]])
    history["valid_accuracy"] = np.array([[nan, 0.5, nan, 0.9], [nan, 0.7, nan, nan]])
    loss, accuracy, _ = draw_learning(history).axes
    assert_allclose(loss.lines[-1].get_ydata(), [3.0, 2.0, 2.0, 1.0])
    assert_allclose(accuracy.lines[-1].get_data(), [[2, 4], [0.6, 0.9]])


def test_a_model_without_history_is_refused() -> None:
    with pytest.raises(OptionError, match="DLNClassifier has no history_; fit"):
        draw_learning(DLNClassifier())
    with pytest.raises(OptionError, match=r"the history lacks \['train_accuracy'"):
        draw_learning({"loss": np.ones((1, 2))})
    names = ("loss", "train_accuracy", "valid_accuracy", "gates")
    with pytest.raises(OptionError, match="has no epochs"):
        draw_learning({name: np.ones((1, 0)) for name in names})
    with pytest.raises(OptionError, match="differ in shape"):
        draw_learning({name: np.ones((1, k + 1)) for k, name in enumerate(names)})


# -- all of them ------------------------------------------------------------------------------


def test_odd_names_of_a_threshold_are_rendered(trace: Trace) -> None:
    for name in ODD_NAMES:
        figure = draw_threshold(trace, threshold_of(trace), names=[name], epochs=[0])
        figure.draw_without_rendering()


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_every_figure_is_rendered(model: DLNClassifier, trace: Trace, kind: str) -> None:
    X = pd.DataFrame({"size": [0.1, 0.5], "hue": ["red", "blue"]})
    for figure in (
        draw_threshold(trace, threshold_of(trace)),
        draw_gate(trace, 0),
        draw_learning(model),
        draw_feature(model.circuit_, X, ["no", "yes"], "size"),
    ):
        assert isinstance(figure, Figure)
        start = rendered(figure, kind)[:100]
        assert start.startswith(b"\x89PNG" if kind == "png" else b"<?xml")


def test_notebooks_show_a_figure(trace: Trace) -> None:
    assert "</svg>" in draw_gate(trace, 0)._repr_svg_()  # type: ignore[attr-defined]


def test_figures_are_drawn_on_the_axes_given(model: DLNClassifier, trace: Trace) -> None:
    figure = Figure()
    left, right = figure.subfigures(1, 2)
    axes = left.subplots(3, 1)
    assert draw_learning(model, axes=axes) is figure
    assert draw_learning(model, axes=list(axes)) is figure
    ax = right.subplots()
    for drawn in (draw_gate(trace, 0, ax=ax), draw_threshold(trace, threshold_of(trace), ax=ax)):
        assert drawn is figure
    circuit = make_circuit(Column("x", "number"), Above(0, 1.0))
    assert draw_feature(circuit, [[1.0]], ["no"], "x", ax=ax) is figure
    with pytest.raises(OptionError, match="are 2 of something, expected 3 matplotlib Axes"):
        draw_learning(model, axes=axes[:2])
    with pytest.raises(OptionError, match="are a str, expected one matplotlib Axes"):
        draw_gate(trace, 0, ax="left")  # type: ignore[arg-type]


def test_matplotlib_is_imported_when_drawing_and_named_if_missing() -> None:
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import dln, dln.draw
circuit = dln.Circuit((dln.Column("x", "number"),), (), (), (), (0, 0), ("no", "yes"))
try:
    dln.draw.draw_feature(circuit, [[2.0]], ["no"], "x")
except dln.ExtraMissingError as error:
    print(error)
del sys.meta_path[0]
print("matplotlib" in sys.modules)
dln.draw.draw_feature(circuit, [[2.0]], ["no"], "x")._repr_svg_()
print("matplotlib" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "plotting requires matplotlib; install with: pip install matplotlib",
        "False",
        "True False",
    ]
