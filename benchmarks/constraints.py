"""The price of monotone constraints: the score with and without them, beside other models.

    DLN_DATA=folder python -m benchmarks.constraints                           # five tables
    DLN_DATA=folder python -m benchmarks.constraints --tables Heart --seeds 3
    python -m benchmarks.constraints --tables numbers --seeds 3 --regression FOLDER

For each table and seed: the split of the reproduction, and fits with and without directions of
plausible signs (`SIGNS`). LightGBM and EBM take part if they are installed. All models weight
classes equally; the score is the balanced accuracy. Tables of numbers (`NUMBER_SIGNS`, all of them
with `--tables numbers`) are in FOLDER as for `benchmarks.regression`; their score is R² on a
quarter of the rows. Violations are
counted on test rows: two values of a constrained column are drawn from the training rows, and the
probability or the number must not move against the direction. For dln the directions are proven as
well. Each result is written to the output file at once, so a stopped run is resumed by the same
command.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.regression import find_tables
from benchmarks.resume import Result, add_options, run_missing
from dln import DLNClassifier, DLNRegressor, prove_constraints
from reproduction import datasets
from reproduction.protocol import split_rows
from reproduction.run.provenance import provenance

SIGNS: dict[str, tuple[Any, dict[str, str]]] = {
    "Heart": (1, {"age": "+", "trestbps": "+", "chol": "+", "thalach": "-", "oldpeak": "+"}),
    "Diabetes": (
        "Diabetes",
        {"Glucose": "+", "Age": "+", "BMI": "+", "Waist/hip ratio": "+", "Chol/HDL ratio": "+"},
    ),
    "BankChurn": (1, {"CreditScore": "-", "Age": "+", "Tenure": "-", "Balance": "+"}),
    "TelcoChurn": ("Yes", {"tenure": "-", "MonthlyCharges": "+"}),
    "Compas": (
        1,
        {
            "age": "-",
            "priors_count": "+",
            "juv_fel_count": "+",
            "juv_misd_count": "+",
            "juv_other_count": "+",
        },
    ),
}
"""The class that the signs are about, and the signs."""

NUMBER_SIGNS = {
    # Strength of concrete: cement, slag, water and age.
    "concrete": {"x1": "+", "x2": "+", "x4": "-", "x8": "+"},
    # Miles per gallon: displacement, horsepower, weight and year.
    "autompg": {"x2": "-", "x3": "-", "x4": "-", "x6": "+"},
    # Price of homes: crime, nitric oxides, rooms, pupils per teacher and lower status.
    "housing": {"x1": "-", "x5": "-", "x6": "+", "x11": "-", "x13": "-"},
    # Heating load of buildings: height and area of glass.
    "energy": {"x5": "+", "x7": "+"},
    # Resistance of yachts: the Froude number, which is the speed relative to the length.
    "yacht": {"x6": "+"},
}
"""Tables whose target is a number, and the signs."""

MODELS = {
    "dln": "dln",
    "lightgbm": "LightGBM",
    "histgradient": "HistGradientBoosting",
    "ebm": "EBM",
}
"""How tables name the models."""
PACKAGES = {"lightgbm": "lightgbm", "ebm": "interpret"}
N_PAIRS = 2_000
"""Pairs of rows that are drawn for each constrained column."""
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "constraints.jsonl"


class Peer:
    """A model of another package, with columns and directions as it wants them."""

    def __init__(
        self, name: str, X: pd.DataFrame, signs: dict[str, str], seed: int, *, number: bool
    ) -> None:
        numbers = list(X.select_dtypes("number").columns)
        texts = [column for column in X.columns if column not in numbers]
        self.name, self._number = name, number
        if name == "ebm":
            from interpret import glassbox

            kind = "Regressor" if number else "Classifier"
            steps = [_number(signs.get(column)) for column in X.columns]
            self._model: Any = getattr(glassbox, f"ExplainableBoosting{kind}")(
                random_state=seed, n_jobs=1, monotone_constraints=steps if signs else None
            )
            return
        encode = make_column_transformer(
            ("passthrough", numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
        )
        n_columns = encode.fit_transform(X).shape[1]
        steps = [_number(signs.get(column)) for column in numbers]
        steps += [0] * (n_columns - len(numbers))
        if name == "lightgbm":
            import lightgbm

            kind = lightgbm.LGBMRegressor if number else lightgbm.LGBMClassifier
            model: Any = kind(
                random_state=seed,
                n_jobs=1,
                verbose=-1,
                monotone_constraints=steps if signs else None,
            )
        else:
            kind = HistGradientBoostingRegressor if number else HistGradientBoostingClassifier
            model = kind(random_state=seed, monotonic_cst=steps if signs else None)
        self._model = make_pipeline(encode, model)

    def fit(self, X: pd.DataFrame, y: Any) -> None:
        """Fit, with equal weights of the classes."""
        weight = None if self._number else compute_sample_weight("balanced", y)
        if self.name == "ebm":
            self._model.fit(_as_text(X), y, sample_weight=weight)
        else:
            step = self._model.steps[-1][0]
            self._model.fit(X, y, **{f"{step}__sample_weight": weight})

    def leads(self, X: pd.DataFrame) -> Any:
        """Return the probability of the class that the signs are about, minus 0.5, or a number."""
        given = _as_text(X) if self.name == "ebm" else X
        if self._number:
            return self._model.predict(given)
        return self._model.predict_proba(given)[:, 1] - 0.5


class Ours:
    """dln with the same interface."""

    def __init__(self, signs: dict[str, str], seed: int, *, number: bool) -> None:
        kind = DLNRegressor if number else DLNClassifier
        self.model = kind(monotone=signs or None, random_state=seed, n_jobs=1)

    def fit(self, X: pd.DataFrame, y: Any) -> None:
        """Fit with equal weights of the classes, which is the default."""
        self.model.fit(X, y)

    def leads(self, X: pd.DataFrame) -> Any:
        """Return the lead in votes of the class that the signs are about, or the number."""
        if isinstance(self.model, DLNRegressor):
            return self.model.predict(X)
        votes = self.model.circuit_.votes(X)
        return votes[:, 1] - votes[:, 0] - 0.5  # a tie goes to the first class

    def proven(self) -> bool:
        """Prove the directions."""
        return bool(prove_constraints(self.model.circuit_))


def _number(sign: str | None) -> int:
    return {"+": 1, "-": -1, None: 0}[sign]


def _as_text(X: pd.DataFrame) -> pd.DataFrame:
    texts = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(texts, str))


def count_violations(
    model: Peer | Ours, X: pd.DataFrame, train: pd.DataFrame, signs: dict[str, str]
) -> float:
    """Return the share of pairs of rows that move against their direction."""
    rng = np.random.default_rng(0)
    n_wrong = 0
    for column, sign in signs.items():
        rows = X.iloc[rng.integers(len(X), size=N_PAIRS)]
        known = train[column].dropna().to_numpy()
        pair = np.sort(rng.choice(known, (N_PAIRS, 2)), axis=1)
        low, high = (model.leads(rows.assign(**{column: pair[:, side]})) for side in range(2))
        n_wrong += int((_number(sign) * (high - low) < -1e-9).sum())
    return n_wrong / (N_PAIRS * len(signs))


class Rows(NamedTuple):
    """The rows of a split; for classes, `y` is 1 for the class that the signs are about."""

    X: pd.DataFrame
    y: Any
    X_test: pd.DataFrame
    y_test: Any
    signs: dict[str, str]


def read_rows(table: str, seed: int, folder: Path | None) -> Rows:
    """Read a table and split it."""
    if table in NUMBER_SIGNS:
        assert folder is not None
        rows = pd.read_csv(find_tables(folder)[table])
        X, X_test, y, y_test = train_test_split(
            rows.drop(columns="y"), rows["y"], test_size=0.25, random_state=seed
        )
        return Rows(X, y, X_test, y_test, NUMBER_SIGNS[table])
    dataset = datasets.load(table)
    label, signs = SIGNS[table]
    train, test = split_rows(dataset, seed)
    y = (dataset.y == label).astype(int).to_numpy()
    return Rows(dataset.X.iloc[train], y[train], dataset.X.iloc[test], y[test], signs)


def measure(folder: Path | None, table: str, seed: int, model_name: str) -> Result:
    """Fit one model on one split and test it."""
    warnings.simplefilter("ignore")
    name, _, constrained = model_name.partition(" ")
    X, y, X_test, y_test, signs = read_rows(table, seed, folder)
    given = signs if constrained else {}
    number = table in NUMBER_SIGNS
    model: Peer | Ours = Ours(given, seed, number=number)
    if name != "dln":
        model = Peer(name, pd.concat([X, X_test]), given, seed, number=number)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    found = model.leads(X_test)
    score = r2_score(y_test, found) if number else balanced_accuracy_score(y_test, found > 0)
    return {
        "table": table,
        "seed": seed,
        "model": model_name,
        "accuracy": float(score),
        "violations": count_violations(model, X_test, X, signs),
        "proven": model.proven() if isinstance(model, Ours) and constrained else None,
        "seconds": seconds,
        "commit": provenance()["commit"],
    }


def summary(results: list[Result]) -> str:
    """Format means over seeds: balanced accuracy in percent, or R²; then violations."""
    frame = pd.DataFrame(results)
    lines = [
        "| table | model | seeds | without | with | violations without | violations with |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for table in frame["table"].unique():
        for model, shown in MODELS.items():
            own = [
                frame[(frame["table"] == table) & (frame["model"] == name)]
                for name in (model, f"{model} constrained")
            ]
            if any(part.empty for part in own):
                continue
            means = [part["accuracy"].mean() for part in own]
            scores = [
                f"{mean:.3f}" if table in NUMBER_SIGNS else f"{100 * mean:.1f}" for mean in means
            ]
            wrong = [f"{100 * part['violations'].mean():.2f} %" for part in own]
            if model == "dln" and own[1]["proven"].all():
                wrong[1] = "none, proven"
            cells = [table, shown, str(own[1]["seed"].nunique()), *scores, *wrong]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the output file does not have yet, and print means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", default=",".join(SIGNS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--regression", type=Path, help="folder with more/regression/")
    add_options(parser, DEFAULT_OUTPUT)
    given = parser.parse_args()
    tables = list(NUMBER_SIGNS) if given.tables == "numbers" else given.tables.split(",")
    if given.regression is None and not given.no_run and not NUMBER_SIGNS.keys().isdisjoint(tables):
        parser.error("tables of numbers need --regression FOLDER")
    cells = [
        (table, seed, f"{name}{constrained}")
        for table in tables
        for seed in range(given.seeds)
        for name in given.models.split(",")
        if find_spec(PACKAGES.get(name, "dln")) is not None
        for constrained in ("", " constrained")
    ]
    results = run_missing(partial(measure, given.regression), cells, given)
    print(summary([result for result in results if result["table"] in tables]))


if __name__ == "__main__":
    main()
