"""Figures: what their artists show is what the trace, the history or the rows say."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

from dln import (
    Above,
    Alternating,
    Among,
    Circuit,
    Column,
    DLNClassifier,
    Missing,
    MissingColumnError,
    OptionError,
    Rule,
    TableError,
    Trace,
)
from dln.draw import draw_feature, draw_gate, draw_learning, draw_threshold
from dln.encode.bits import ABOVE

ODD_NAMES = ["$a_b$", "50% $", r"\$x", "_hidden", "<b>&", "two\nlines", "x^2_{", "{0}", "$\\frac$"]


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


def rendered(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    return buffer.getvalue()


def threshold_of(trace: Trace) -> int:
    return int(np.flatnonzero(trace.network.literal_kind == ABOVE)[0])


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


def test_what_cannot_be_drawn_of_a_trace_is_refused(trace: Trace) -> None:
    other = int(np.flatnonzero(trace.network.literal_kind != ABOVE)[0])
    with pytest.raises(OptionError, match=f"literal {other} is no threshold .* are those from"):
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
    # Every epoch stands in the middle of its column.
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


def test_epochs_that_were_not_looked_at_are_skipped() -> None:
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
    with pytest.raises(OptionError, match="holds no epochs"):
        draw_learning({name: np.ones((1, 0)) for name in names})
    with pytest.raises(OptionError, match="differ in shape"):
        draw_learning({name: np.ones((1, k + 1)) for k, name in enumerate(names)})


# -- a feature --------------------------------------------------------------------------------


def make_circuit(
    column: Column, *literals: Any, classes: tuple[Any, ...] = ("no", "yes")
) -> Circuit:
    rules = tuple(Rule(k, (0,) * (len(classes) - 1) + (1,)) for k in range(len(literals)))
    return Circuit((column,), literals, (), rules, (0,) * len(classes), classes)


def outlines(ax: Any) -> list[StepPatch]:
    """Give the outline of each class's histogram."""
    return [p for p in ax.patches if isinstance(p, StepPatch) and not p.get_fill()]


def cutoff_places(ax: Any) -> list[float]:
    return [float(line.get_xdata()[0]) for line in ax.lines]


def cutoff_texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_histograms_count_as_numpy_does_and_cutoffs_stand_where_the_circuit_has_them() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=1000)
    values[:7] = np.nan
    values[7] = np.inf
    y = np.where(rng.random(1000) < 0.3, "yes", "no")
    circuit = make_circuit(Column("size", "number"), Above(0, 0.25), Above(0, -1.5), Missing(0))
    ax = draw_feature(circuit, values[:, None], y, "size").axes[0]
    finite = values[np.isfinite(values)]
    edges = np.linspace(finite.min(), finite.max(), 41)
    for patch, label in zip(outlines(ax), ("no", "yes"), strict=True):
        mine = values[(y == label) & np.isfinite(values)]
        assert_allclose(patch.get_data().edges, edges)
        assert_array_equal(patch.get_data().values, np.histogram(mine, patch.get_data().edges)[0])
    assert cutoff_places(ax) == [-1.5, 0.25]
    assert cutoff_texts(ax) == ["-1.5", "0.25"]
    assert ax.get_xlabel().splitlines() == [
        "size",
        "7 cells are missing (the circuit asks for that)",
        "1 cell is out of the picture",
    ]


def test_bins_may_be_given() -> None:
    circuit = make_circuit(Column("size", "number"), Above(0, 1.0))
    X, y = [[0.5], [1.5], [1.6], [9.0]], ["no", "yes", "yes", "no"]
    ax = draw_feature(circuit, X, y, "size", bins=[0, 1, 2]).axes[0]
    assert [patch.get_data().values.tolist() for patch in outlines(ax)] == [[1, 0], [0, 2]]
    assert "1 cell is out of the picture" in ax.get_xlabel()
    ax = draw_feature(circuit, X, y, "size", bins=3).axes[0]
    assert len(outlines(ax)[0].get_data().values) == 3
    for bins in (0, True, [1], [2, 1], "many", 10**9):
        with pytest.raises(OptionError, match="bins is"):
            draw_feature(circuit, X, y, "size", bins=bins)  # type: ignore[arg-type]


def test_whole_numbers_stand_in_the_middle_of_bins() -> None:
    circuit = make_circuit(Column("age", "integer"), Above(0, 3.0))
    ax = draw_feature(circuit, [[1], [3], [3], [4]], ["no", "no", "yes", "yes"], "age").axes[0]
    data = outlines(ax)[0].get_data()
    assert data.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert data.values.tolist() == [1, 0, 1, 0]
    wide = draw_feature(circuit, [[0], [999]], ["no", "yes"], "age").axes[0]
    assert set(np.diff(outlines(wide)[0].get_data().edges)) == {25.0}


def test_dates_stand_on_an_axis_of_dates() -> None:
    days = pd.date_range("2024-01-01", periods=100)
    noon = pd.Timestamp("2024-02-01").timestamp()
    circuit = make_circuit(Column("day", "date"), Above(0, noon))
    frame = pd.DataFrame({"day": days})
    ax = draw_feature(circuit, frame, np.repeat(["no", "yes"], 50), "day").axes[0]
    assert cutoff_texts(ax) == ["2024-02-01"]
    assert cutoff_places(ax) == [noon / 86400]  # matplotlib counts days
    assert outlines(ax)[0].get_data().edges[0] == days[0].timestamp() / 86400
    ax.figure.draw_without_rendering()
    assert "Mar" in [text.get_text() for text in ax.get_xticklabels()]
    # A cutoff that no calendar has is no reason to fail.
    far = make_circuit(Column("day", "date"), Above(0, 1e15))
    rendered(draw_feature(far, frame, np.repeat(["no", "yes"], 50), "day"), "png")


def bars(ax: Any) -> list[list[float]]:
    return [[bar.get_width() for bar in group] for group in ax.containers]


def marked(ax: Any) -> list[str]:
    return [t.get_text() for t in ax.get_yticklabels() if t.get_fontweight() == "bold"]


def test_categories_are_bars_and_matched_ones_are_marked() -> None:
    hue = Column("hue", "category", ("red", "blue", "green"))
    circuit = make_circuit(hue, Among(0, (0, 2)))
    cells = ["red", "red", "blue", None, "mauve", "red"]
    y = ["no", "yes", "yes", "yes", "no", "yes"]
    ax = draw_feature(circuit, [[cell] for cell in cells], y, "hue").axes[0]
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks == ["red", "blue", "green", "not seen in training"]
    assert bars(ax) == [[1, 0, 0, 1], [2, 1, 0, 0]]
    assert marked(ax) == ["red", "green"]
    assert ax.get_xlabel() == "rows\n1 cell is missing"


def test_booleans_are_bars() -> None:
    column = Column("smoker", "boolean")
    X, y = [[True], [False], [True], [None]], ["yes", "no", "no", "no"]
    ax = draw_feature(make_circuit(column, Above(0, 0.5)), X, y, "smoker").axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["False", "True"]
    assert bars(ax) == [[1, 1], [0, 1]]
    assert marked(ax) == ["True"]
    assert marked(draw_feature(make_circuit(column), X, y, "smoker").axes[0]) == []


def test_many_categories_are_pooled_but_matched_ones_stay() -> None:
    names = tuple(f"c{k:03}" for k in range(300))
    circuit = make_circuit(Column("code", "category", names), Among(0, (299,)))
    cells = [[name] for k, name in enumerate(names) for _ in range(1 + (k < 50))]
    ax = draw_feature(circuit, cells, ["no"] * len(cells), "code").axes[0]
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks == [*names[:19], "c299", "280 others"]
    assert sum(map(sum, bars(ax))) == len(cells)


def test_many_classes_are_pooled() -> None:
    classes = tuple(range(12))
    circuit = make_circuit(Column("x", "number"), Above(0, 1.0), classes=classes)
    y = np.repeat(classes, np.arange(12, 0, -1))
    ax = draw_feature(circuit, np.arange(len(y))[:, None] / 2, y, "x").axes[0]
    legend = ax.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [*map(str, range(7)), "5 other classes"]
    assert sum(patch.get_data().values.sum() for patch in outlines(ax)) == len(y)


def test_labels_of_close_cutoffs_do_not_overlap() -> None:
    literals = [Above(0, 0.5 + k / 1000) for k in range(20)]
    circuit = make_circuit(Column("x", "number"), *literals)
    ax = draw_feature(circuit, [[0.0], [1.0]], ["no", "yes"], "x").axes[0]
    figure = ax.figure
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the line
    assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(boxes))
    # Nor do they reach the title.
    assert max(box.y1 for box in boxes) <= ax.title.get_window_extent().y0 + 1


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.0],
        [1.0, np.nextafter(1.0, 2.0)],
        [0.0, 5e-324],
        [np.nan, np.nan],
        [np.inf, -np.inf],
        [-1e308, 1e308],
    ],
)
def test_columns_that_are_hard_to_bin_are_drawn(values: list[float]) -> None:
    circuit = make_circuit(Column("x", "number"), Above(0, 1.0))
    figure = draw_feature(circuit, np.array(values)[:, None], ["no", "yes"], "x")
    assert rendered(figure, "png").startswith(b"\x89PNG")


def test_small_numbers_are_binned_on_their_own_scale() -> None:
    circuit = make_circuit(Column("x", "number"), Above(0, 2e-12))
    ax = draw_feature(circuit, [[1e-12], [3e-12]], ["no", "yes"], "x").axes[0]
    edges = outlines(ax)[0].get_data().edges
    assert_allclose(edges[[0, -1]], [1e-12, 3e-12])


def test_a_column_of_categories_may_be_all_missing() -> None:
    circuit = make_circuit(Column("hue", "category"), Missing(0))
    ax = draw_feature(circuit, [[None], [None]], ["no", "yes"], "hue").axes[0]
    assert bars(ax) == [[0], [0]]
    assert "2 cells are missing" in ax.get_xlabel()


def test_a_large_table_is_counted_and_not_drawn_row_by_row() -> None:
    rng = np.random.default_rng(0)
    circuit = make_circuit(Column("x", "number"), Above(0, 0.5))
    values, y = rng.random((1_000_000, 1)), rng.integers(0, 2, 1_000_000)
    circuit = replace(circuit, classes=(0, 1))
    figure = draw_feature(circuit, values, y, "x")
    assert sum(patch.get_data().values.sum() for patch in outlines(figure.axes[0])) == 1_000_000
    assert len(rendered(figure, "svg")) < 100_000


def test_features_and_rows_that_do_not_fit_are_refused_in_one_line() -> None:
    circuit = make_circuit(Column("mean radius", "number"), Above(0, 1.0))
    X, y = [[0.5], [1.5]], ["no", "yes"]
    with pytest.raises(OptionError, match="no feature 'Mean_radius'; did you mean 'mean radius'"):
        draw_feature(circuit, X, y, "Mean_radius")
    with pytest.raises(OptionError, match="no feature 7; the features are: mean radius"):
        draw_feature(circuit, X, y, 7)  # type: ignore[arg-type]
    with pytest.raises(MissingColumnError, match=r"the circuit reads \['mean radius'\]"):
        draw_feature(circuit, pd.DataFrame({"other": [1.0, 2.0]}), y, "mean radius")
    with pytest.raises(TableError, match="the table has 2 columns, the circuit was trained on 1"):
        draw_feature(circuit, [[1, 2], [3, 4]], y, "mean radius")
    with pytest.raises(TableError, match="the target holds 'maybe'"):
        draw_feature(circuit, X, ["no", "maybe"], "mean radius")
    with pytest.raises(TableError, match="the target is missing in row"):
        draw_feature(circuit, X, ["no", None], "mean radius")
    with pytest.raises(TableError, match="2 rows, but the target has 1"):
        draw_feature(circuit, X, ["no"], "mean radius")
    with pytest.raises(TableError, match="0 rows"):
        draw_feature(circuit, np.empty((0, 1)), [], "mean radius")


# -- all of them ------------------------------------------------------------------------------


def as_read(text: Text) -> str:
    """Give what a reader sees, without the quotes around a name."""
    return text.get_text().replace(r"\$", "$").removeprefix("'").removesuffix("'")


def as_written(name: str) -> str:
    return name.replace("\n", "\\n")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_features_and_classes_are_shown_as_they_are(name: str) -> None:
    circuit = make_circuit(Column(name, "number"), Above(0, 1.0), classes=(name, "other"))
    figure = draw_feature(circuit, [[0.5], [2.0]], [name, "other"], name)
    ax = figure.axes[0]
    legend = ax.get_legend()
    assert legend is not None
    assert as_read(legend.get_texts()[0]) == as_written(name)
    assert as_read(ax.xaxis.label) == as_written(name)
    figure.draw_without_rendering()  # parses every text


def test_odd_names_of_categories_are_shown_as_they_are() -> None:
    column = Column("hue", "category", tuple(ODD_NAMES))
    circuit = make_circuit(column, Among(0, (0,)))
    figure = draw_feature(circuit, [[name] for name in ODD_NAMES], ["no"] * len(ODD_NAMES), "hue")
    labels = figure.axes[0].get_yticklabels()
    assert [as_read(text) for text in labels] == [as_written(name) for name in ODD_NAMES]
    assert b"<b>" not in rendered(figure, "svg")


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


def test_matplotlib_is_imported_when_drawing_and_named_where_absent() -> None:
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
        "pictures need matplotlib: pip install dln[plots]",
        "False",
        "True False",
    ]
