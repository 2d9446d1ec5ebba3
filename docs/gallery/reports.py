"""Write the reports of the gallery: `python docs/gallery/reports.py FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from dln import DLNClassifier, simplify
from dln.report import make_report

Table = tuple[object, np.ndarray]


def _named(load: Callable[..., object]) -> Table:
    table = load(as_frame=True)
    return table.data, np.array(table.target_names)[table.target]


def _diabetes() -> Table:
    table = load_diabetes(as_frame=True, scaled=False)
    faster = table.target > table.target.median()
    return table.data, np.where(faster, "fast", "slow")


def _digits(*chosen: int) -> Table:
    table = load_digits(as_frame=True)
    rows = table.target.isin(chosen)
    return table.data[rows], table.target[rows].to_numpy().astype(str)


MODELS: dict[str, tuple[str, Callable[[], Table]]] = {
    "iris": ("Iris", lambda: _named(load_iris)),
    "wine": ("Wine", lambda: _named(load_wine)),
    "tumours": ("Breast tumours", lambda: _named(load_breast_cancer)),
    "diabetes": ("Progress of diabetes in a year", _diabetes),
    "digits-3-8": ("Digits 3 and 8", lambda: _digits(3, 8)),
    "digits-1-7": ("Digits 1 and 7", lambda: _digits(1, 7)),
}


def write_reports(folder: Path) -> None:
    """Train each model and write its report; reports that exist are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, load) in MODELS.items():
        path = folder / f"{name}.html"
        if not path.exists():
            X, y = load()
            X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
            model = DLNClassifier(max_rules=8, effort="quick", random_state=0).fit(X, y)
            make_report(simplify(model.circuit_), X_test, y_test, title=title).save(path)


if __name__ == "__main__":
    write_reports(Path(sys.argv[1]))
