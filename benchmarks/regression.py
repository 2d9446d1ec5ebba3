"""R², time and size of `DLNRegressor` and of peers at their defaults.

    python -m benchmarks.regression FOLDER                        # all tables, three seeds
    … --tables airfoil,wine --models dln,boosting --seeds 1
    … --jobs 16 --seconds-limit 500

FOLDER has `more/regression/` with one CSV file for each table, target `y`. For each table and seed:
at most 12,000 rows, shuffled by pandas with the seed 0, a 75/25 split, a fit on the training
rows with one thread, and R² on the test rows. Everything is chosen on training rows. Each result is
written to the output file at once, so a stopped run is resumed by the same command. The tables at
the end have the splits that every model has finished.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from benchmarks.resume import Cell, Result, add_options, run_missing
from dln import DLNRegressor

MODELS = ("dln", "dln15", "ebm", "forest", "boosting", "ridge", "tree16")
MAX_ROWS = 12_000
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "regression.jsonl"


def find_tables(folder: Path) -> dict[str, Path]:
    """Return the file of every table, by name."""
    files = sorted((folder / "more" / "regression").glob("*.csv*"))
    return {file.name.split(".")[0]: file for file in files}


def make_model(name: str, seed: int) -> Any:
    """Return a regressor with its default parameters, or with at most 15 rules or 16 leaves."""
    if name == "ebm":
        from interpret.glassbox import ExplainableBoostingRegressor

        return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)
    makers = {
        "dln": lambda: DLNRegressor(random_state=seed, n_jobs=1),
        "dln15": lambda: DLNRegressor(max_rules=15, random_state=seed, n_jobs=1),
        "forest": lambda: RandomForestRegressor(random_state=seed),
        "boosting": lambda: HistGradientBoostingRegressor(random_state=seed),
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
        "tree16": lambda: DecisionTreeRegressor(max_leaf_nodes=16, random_state=seed),
    }
    return makers[name]()


def measure(folder: Path, table: str, seed: int, name: str) -> Result:
    """Fit one model on one split and test it."""
    warnings.simplefilter("ignore")
    rows = pd.read_csv(find_tables(folder)[table]).sample(frac=1, random_state=0)[:MAX_ROWS]
    X, X_test, y, y_test = train_test_split(
        rows.drop(columns="y"), rows["y"], test_size=0.25, random_state=seed
    )
    start = time.process_time()  # of one core, so other fits on the machine matter less
    model = make_model(name, seed).fit(X, y)
    seconds = time.process_time() - start
    result: Result = {
        "table": table,
        "seed": seed,
        "model": name,
        "rows": len(X),
        "r2": float(r2_score(y_test, model.predict(X_test))),
        "seconds": seconds,
    }
    if isinstance(model, DLNRegressor):
        circuit = model.circuit_
        result |= {"rules": len(circuit.rules), "gates": circuit.n_gates}
    return result


def summary(results: list[Result], models: list[str]) -> str:
    """Format means over tables, of means over seeds, as a Markdown table."""
    frame = pd.DataFrame(results)
    frame = frame[frame["model"].isin(models)]
    cells = frame.groupby(["table", "seed"])["model"].nunique()
    complete = cells[cells == len(models)].index
    frame = frame.set_index(["table", "seed"]).loc[complete].reset_index()
    if frame.empty:
        return "no split that all models have finished"
    means = frame.groupby(["model", "table"]).mean(numeric_only=True)
    lines = [
        f"{frame['table'].nunique()} tables, {len(complete)} splits",
        "",
        "| model | mean R² | wins : losses of dln | rules (median) | seconds | slowest |",
        "| --- " * 6 + "|",
    ]
    for name in models:
        own = means.loc[name]
        apart = means.loc[models[0]]["r2"] - own["r2"]
        score = f"{(apart > 0).sum()} : {(apart < 0).sum()}" if name != models[0] else ""
        rules = f"{own['rules'].median():,.0f}" if name.startswith("dln") else ""
        lines.append(
            f"| {name} | {own['r2'].mean():.3f} | {score} | {rules} "
            f"| {own['seconds'].mean():.1f} | {own['seconds'].max():.0f} |"
        )
    return "\n".join(lines)


def details(results: list[Result], value: str) -> str:
    """Format a result of each table and model as text."""
    table = pd.DataFrame(results).pivot_table(index="table", columns="model", values=value)
    return table.round(3 if value == "r2" else 1).to_string()


def cells_of(arguments: argparse.Namespace) -> list[Cell]:
    """List what to measure, the large tables first, so that no core waits for one at the end."""
    files = find_tables(arguments.folder)
    names = arguments.tables.split(",") if arguments.tables else list(files)
    models = arguments.models.split(",")
    every = [
        (name, seed, model) for seed in range(arguments.seeds) for name in names for model in models
    ]
    # EBM takes by far the longest.
    return sorted(
        every, key=lambda cell: (cell[2] != "ebm", cell[1], -files[cell[0]].stat().st_size)
    )


def main() -> None:
    """Run the missing fits and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with more/regression/")
    parser.add_argument("--tables", default="", help="comma-separated names; all by default")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=3, help="number of splits per table")
    add_options(parser, DEFAULT_OUTPUT)
    arguments = parser.parse_args()
    results = run_missing(
        partial(measure, arguments.folder), cells_of(arguments), arguments, shown="r2"
    )
    models = arguments.models.split(",")
    for value in ("r2", "seconds"):
        print(f"\n{value}\n{details(results, value)}")
    print(f"\n{summary(results, models)}")
    if "ebm" in models:
        others = [model for model in models if model != "ebm"]
        print(f"\nWithout EBM: {summary(results, others)}")


if __name__ == "__main__":
    main()
