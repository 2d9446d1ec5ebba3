"""Accuracy, size and time of `DLNClassifier` at each level of `effort`.

    python -m benchmarks.levels FOLDER                                   # every table, two seeds
    python -m benchmarks.levels FOLDER --tables Heart,vowel --levels quick,normal --seeds 1
    python -m benchmarks.levels FOLDER --peers --jobs 16 --seconds-limit 500

FOLDER has `data/` and `more/`, each with its manifest. For each table and seed: a stratified 75/25
split, a fit on the training rows with one thread, and scores on the test rows. A level chooses on
training rows only. Each result is written to the output file at once, so a stopped run is resumed
by the same command. Fits that have not started when the limit is over are left out. The table at
the end has means over the tables that every model has finished.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before scikit-learn: one fit, one core

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.same_circuits import load
from dln import DLNClassifier

LEVELS = ("quick", "normal", "high", "best")
PEERS = ("forest", "boosting")
IDENTIFIERS = ("RowNumber", "CustomerId", "Surname", "customerID", "id")
DEFAULT_OUTPUT = Path(__file__).parent / "results" / "levels.jsonl"


def find_tables(folder: Path) -> dict[str, str]:
    """Return the path in the folder of every table with classes, by name."""
    files = [*(folder / "data").glob("*.csv*"), *(folder / "more/classification").glob("*.csv*")]
    return {file.name.split(".")[0]: str(file.relative_to(folder)) for file in sorted(files)}


def read(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table and its target; columns that number the rows are left out."""
    X, y = load(folder, find_tables(folder)[name])
    if name == "Heart":  # absent or present, as in the paper
        y = (y > 0).astype(int)
    return X.drop(columns=[column for column in IDENTIFIERS if column in X]), y


def make_model(name: str, seed: int) -> Any:
    """Return a classifier: a level of `effort`, or a peer with class-balanced defaults."""
    if name in LEVELS:
        return DLNClassifier(effort=name, random_state=seed, n_jobs=1)  # type: ignore[arg-type]
    texts = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=64), texts),
        remainder="passthrough",
    )
    model = (
        RandomForestClassifier(300, class_weight="balanced", random_state=seed)
        if name == "forest"
        else HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)
    )
    return make_pipeline(encode, SimpleImputer(), model)


def measure(folder: Path, table: str, seed: int, model_name: str) -> dict[str, object]:
    """Fit one model on one split and test it."""
    warnings.simplefilter("ignore")
    X, y = read(folder, table)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    start = time.process_time()  # of one core, so other fits on the machine matter less
    model = make_model(model_name, seed).fit(X, y)
    seconds = time.process_time() - start
    result: dict[str, object] = {
        "table": table,
        "seed": seed,
        "model": model_name,
        "rows": len(X),
        "accuracy": balanced_accuracy_score(y_test, model.predict(X_test)),
        "log_loss": log_loss(y_test, model.predict_proba(X_test), labels=model.classes_),
        "seconds": seconds,
    }
    if isinstance(model, DLNClassifier):
        chosen: dict[str, Any] = next(row for row in model.selection_ if row["chosen"])
        result |= {"gates": model.circuit_.n_gates, "literals": model.circuit_.n_literals}
        result |= {"layers": chosen["layers"], "cutoffs": chosen["n_cutoffs"]}
        result |= {"tau": chosen["tau"], "validation": chosen["accuracy"]}
    return result


def summary(results: list[dict[str, Any]]) -> str:
    """Format means over tables, of means over seeds, as a Markdown table."""
    frame = pd.DataFrame(results)
    models = [name for name in (*LEVELS, *PEERS) if name in set(frame["model"])]
    cells = frame.groupby(["table", "seed"])["model"].nunique()
    complete = cells[cells == len(models)].index
    frame = frame.set_index(["table", "seed"]).loc[complete].reset_index()
    means = frame.groupby(["model", "table"]).mean(numeric_only=True)
    ranks = means["accuracy"].unstack("model").rank(axis=1, ascending=False)
    n_tables = frame["table"].nunique()
    lines = [
        f"{n_tables} tables, {len(complete)} splits",
        "",
        "| model | balanced accuracy | rank | log loss | gates (median) | seconds | slowest |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in models if n_tables else ():
        own = means.loc[name]
        gates = f"{own['gates'].median():,.0f}" if name in LEVELS else ""
        lines.append(
            f"| {name} | {100 * own['accuracy'].mean():.2f} | {ranks[name].mean():.2f} "
            f"| {own['log_loss'].mean():.3f} | {gates} | {own['seconds'].mean():.1f} "
            f"| {own['seconds'].max():.0f} |"
        )
    return "\n".join(lines)


def details(results: list[dict[str, Any]]) -> str:
    """Format the accuracy on each table as text."""
    frame = pd.DataFrame(results)
    table = 100 * frame.pivot_table(index="table", columns="model", values="accuracy")
    return table.round(1).to_string()


def cells_of(arguments: argparse.Namespace) -> Iterable[tuple[str, int, str]]:
    """List what to measure, the large tables first, so that no core waits for one at the end."""
    files = find_tables(arguments.folder)
    names = arguments.tables.split(",") if arguments.tables else list(files)
    size = {name: (arguments.folder / files[name]).stat().st_size for name in names}
    models = arguments.levels.split(",") + list(PEERS if arguments.peers else ())
    seeds = range(arguments.seeds)
    every = [(name, seed, model) for seed in seeds for name in names for model in models]
    return sorted(every, key=lambda cell: (cell[1], -size[cell[0]], -models.index(cell[2])))


def main() -> None:
    """Run the missing fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with data/ and more/")
    parser.add_argument("--tables", default="", help="comma-separated names; all by default")
    parser.add_argument("--levels", default=",".join(LEVELS), help="comma-separated levels")
    parser.add_argument("--seeds", type=int, default=2, help="number of splits per table")
    parser.add_argument("--peers", action="store_true", help="also a forest and boosting")
    parser.add_argument("--jobs", type=int, default=1, help="number of fits at the same time")
    parser.add_argument("--seconds-limit", type=float, default=np.inf, help="start no fit later")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="JSON Lines")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.touch()
    results = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    done = {(row["table"], row["seed"], row["model"]) for row in results}
    missing = [cell for cell in cells_of(arguments) if cell not in done]
    stop = time.monotonic() + arguments.seconds_limit
    with ProcessPoolExecutor(arguments.jobs) as pool, arguments.output.open("a") as stream:
        waiting = {pool.submit(measure, arguments.folder, *cell): cell for cell in missing}
        for future in as_completed(waiting):
            if future.cancelled():
                continue
            try:
                result = future.result()
            except Exception as error:
                print(*waiting[future], repr(error), flush=True)
                continue
            stream.write(json.dumps(result) + "\n")
            stream.flush()
            results.append(result)
            print(*(result[key] for key in ("table", "seed", "model", "accuracy")), flush=True)
            if time.monotonic() > stop:
                pool.shutdown(wait=False, cancel_futures=True)
    print(f"\n{details(results)}\n\n{summary(results)}")


if __name__ == "__main__":
    main()
