"""Figures of a feature: their artists show the values of the rows and the circuit."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

from dln import (
    Above,
    Among,
    Circuit,
    Column,
    Missing,
    MissingColumnError,
    OptionError,
    Rule,
    TableError,
)
from dln.draw import draw_feature
from tests.support.figures import ODD_NAMES, make_circuit, rendered


def outlines(ax: Any) -> list[StepPatch]:
    """Return the outline of each class's histogram."""
    return [p for p in ax.patches if isinstance(p, StepPatch) and not p.get_fill()]


def cutoff_places(ax: Any) -> list[float]:
    return [float(line.get_xdata()[0]) for line in ax.lines]


def cutoff_texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_histograms_count_like_numpy_and_show_the_cutoffs_of_the_circuit() -> None:
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
        "7 values are missing (the circuit tests for that)",
        "1 value is outside the plot",
    ]


def test_bins_can_be_chosen() -> None:
    circuit = make_circuit(Column("size", "number"), Above(0, 1.0))
    X, y = [[0.5], [1.5], [1.6], [9.0]], ["no", "yes", "yes", "no"]
    ax = draw_feature(circuit, X, y, "size", bins=[0, 1, 2]).axes[0]
    assert [patch.get_data().values.tolist() for patch in outlines(ax)] == [[1, 0], [0, 2]]
    assert "1 value is outside the plot" in ax.get_xlabel()
    ax = draw_feature(circuit, X, y, "size", bins=3).axes[0]
    assert len(outlines(ax)[0].get_data().values) == 3
    for bins in (0, True, [1], [2, 1], "many", 10**9):
        with pytest.raises(OptionError, match="bins is"):
            draw_feature(circuit, X, y, "size", bins=bins)  # type: ignore[arg-type]


def test_whole_numbers_are_in_the_middle_of_bins() -> None:
    circuit = make_circuit(Column("age", "integer"), Above(0, 3.0))
    ax = draw_feature(circuit, [[1], [3], [3], [4]], ["no", "no", "yes", "yes"], "age").axes[0]
    data = outlines(ax)[0].get_data()
    assert data.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert data.values.tolist() == [1, 0, 1, 0]
    wide = draw_feature(circuit, [[0], [999]], ["no", "yes"], "age").axes[0]
    assert set(np.diff(outlines(wide)[0].get_data().edges)) == {25.0}


def test_dates_have_an_axis_of_dates() -> None:
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
    # A cutoff that is not in the calendar is drawn too.
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
    assert ax.get_xlabel() == "rows\n1 value is missing"


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
    assert "2 values are missing" in ax.get_xlabel()


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


# -- odd names --------------------------------------------------------------------------------


def as_read(text: Text) -> str:
    """Return the displayed text, without the quotes around a name."""
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


def test_long_names_of_categories_and_classes_leave_room_for_the_bars() -> None:
    long = "M" * 200
    circuit = Circuit(
        (Column("city", "category", (long, "Bern")),), (Among(0, (0,)),), (), (Rule(0, (0, 1)),),
        (0, 0), ("no", long),
    )  # fmt: skip
    figure = draw_feature(circuit, [[long], ["Bern"]], [long, "no"], "city")
    figure.savefig(io.BytesIO())  # matplotlib warns if there is no room for the axes
    assert figure.axes[0].get_position().width > 0.1


def test_names_are_complete_if_there_is_room() -> None:
    city = "Sankt Gallen, Rotmonten"
    circuit = Circuit(
        (Column("city", "category", (city, "Bern")),), (Among(0, (0,)),), (), (Rule(0, (0, 1)),),
        (0, 0), ("no", "yes"),
    )  # fmt: skip
    ax = draw_feature(circuit, [[city], ["Bern"]], ["no", "yes"], "city").axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"'{city}'", "Bern"]
