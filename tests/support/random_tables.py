"""Random tables of all kinds of columns, with missing values and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st


def random_column(rng: np.random.Generator, kind: str, n: int) -> pd.Series:
    if kind == "number":
        values = rng.choice([rng.normal(size=n), rng.lognormal(0, 8, n), rng.integers(3, size=n)])
        series = pd.Series(np.asarray(values, dtype=rng.choice(["f4", "f8"])))
        series[rng.random(n) < rng.choice([0, 0.2])] = rng.choice([np.inf, -np.inf])
    elif kind == "integer":
        scale = rng.choice([2, 50, 2**40, 2**62])
        series = pd.Series(rng.integers(-scale, scale, size=n))
    elif kind == "boolean":
        series = pd.Series(rng.random(n) < rng.random(), dtype="boolean")
    elif kind == "date":
        step = rng.choice([1, 10**6, 86400 * 10**6])
        series = pd.Series((rng.integers(-999, 999, size=n) * step).astype("datetime64[us]"))
    else:
        series = pd.Series(rng.choice(["a", "b", "c d", "", "é"], size=n)).astype(object)
    if kind != "integer" and rng.random() < 0.5:
        series[rng.random(n) < 0.2] = None
    return series


KINDS = ["number", "integer", "boolean", "date", "category"]


@st.composite
def problems(draw: Any) -> tuple[pd.DataFrame, Any, int, int]:
    seed = draw(st.integers(0, 2**32))
    n_rows = draw(st.integers(2, 60))
    n_classes = draw(st.integers(2, 4))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {f"c{i}": random_column(rng, kind, n_rows) for i, kind in enumerate(kinds)}
    )
    return frame, rng.integers(n_classes, size=n_rows).astype(np.int32), n_classes, seed
