"""Train on generated tables that may be larger than the memory, beside other libraries.

    python -m benchmarks.large_data generate --rows 1e6 --columns-count 1000 --folder large
    python -m benchmarks.large_data train --folder large
    python -m benchmarks.large_data lightgbm --folder large
    python -m benchmarks.large_data hist --folder large
    python -m benchmarks.large_data growth --folder growth --most 1e8

Every command but the last prints one line of JSON: rows, seconds, rows per second, and the peak of
memory in GB. `ulimit -d` (in KB) limits the memory that a process allocates. Neither counts the
pages of files that are mapped into memory, because the system can drop them at any time.

`growth` measures all of them from 10,000 rows to `--most`, each in a process of its own, with a
limit of 8 GB that `ulimit -d` sets, and prints a table. Results are stored in the folder, and the
same command continues. Tables are generated when they are needed, and deleted again.

A table has 20 columns: 10 numbers (float32, some missing), 5 integers, 3 texts and 2 booleans.
The class depends on rules of six of them, with noise: no model can be right in more than 92 % of
the rows. Further columns say nothing about the class: of ten of them, six are numbers, two
integers, one is a boolean and one a text. The last file is left for the test. Seed 0.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import dln

CELLS_PER_FILE, CELLS_PER_GROUP = 50_000_000, 5_000_000
PLACES = np.array(["north", "east", "south", "west", "centre"])
PRODUCTS = np.array([f"product {number}" for number in range(30)])


COLOURS = np.array(["red", "green", "blue"])


def make_rows(n_rows: int, n_columns: int, rng: np.random.Generator) -> pa.Table:
    """Draw rows of at least 20 columns."""
    columns: dict[str, Any] = {}
    for number in range(10):
        values = rng.standard_normal(n_rows, dtype=np.float32)
        is_missing = rng.random(n_rows, dtype=np.float32) < 0.02 if number < 4 else None
        columns[f"number{number}"] = pa.array(values, mask=is_missing)
    for number in range(5):
        columns[f"count{number}"] = rng.integers(0, 10 ** (number + 1), n_rows, dtype=np.int32)
    place = rng.integers(0, len(PLACES), n_rows, dtype=np.int8)
    product = rng.integers(0, len(PRODUCTS), n_rows, dtype=np.int8)
    columns["place"] = pa.DictionaryArray.from_arrays(place, PLACES)
    columns["product"] = pa.DictionaryArray.from_arrays(product, PRODUCTS)
    columns["colour"] = pa.DictionaryArray.from_arrays(
        rng.integers(0, 3, n_rows, dtype=np.int8), COLOURS
    )
    flags = rng.integers(0, 2, (2, n_rows), dtype=np.int8).astype(bool)
    columns["flag0"], columns["flag1"] = flags
    first = np.nan_to_num(columns["number0"].to_numpy(zero_copy_only=False), nan=-1.0)
    second, third = columns["number4"].to_numpy(), columns["number5"].to_numpy()
    score = (first > 0.3).astype(np.int8) + (second > 0) * (place < 2) + (third * second > 0.1)
    score += (columns["count1"] > 40) & flags[0]
    is_noise = rng.random(n_rows, dtype=np.float32) < 0.08
    for number in range(n_columns - len(columns)):
        columns[f"noise{number}"] = _noise(number % 10, n_rows, rng)
    columns["class"] = np.where((score >= 2) ^ is_noise, "yes", "no")
    return pa.table(columns)


def _noise(kind: int, n_rows: int, rng: np.random.Generator) -> Any:
    """Draw a column that says nothing: six of ten kinds are numbers, two integers."""
    if kind < 6:
        return rng.standard_normal(n_rows, dtype=np.float32)
    if kind < 8:
        return rng.integers(0, 100, n_rows, dtype=np.int32)
    if kind == 8:
        return rng.integers(0, 2, n_rows, dtype=np.int8).astype(bool)
    return pa.DictionaryArray.from_arrays(rng.integers(0, 3, n_rows, dtype=np.int8), COLOURS)


def generate(folder: Path, n_rows: int, n_columns: int = 20) -> dict[str, Any]:
    """Write the rows and one more file for the test."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    size = min(CELLS_PER_FILE // n_columns, n_rows)
    for number in range(-(-n_rows // size) + 1):
        path = folder / f"part{number:03}.parquet"
        rows = make_rows(size, n_columns, rng)
        pq.write_table(rows, path, row_group_size=CELLS_PER_GROUP // n_columns)
    path.rename(folder / "test.parquet")
    return {"bytes": sum(part.stat().st_size for part in folder.iterdir())}


def parts(folder: Path) -> list[Path]:
    """Return the files to train on."""
    return sorted(folder.glob("part*.parquet"))


def train(folder: Path, columns: list[str], **options: Any) -> dict[str, Any]:
    """Train a circuit, on some columns or on all, save it beside the folder and test it."""
    model = dln.DLNClassifier(random_state=0, n_jobs=-1, verbose=sys.stderr.isatty(), **options)
    started = time.monotonic()
    data = ds.dataset(parts(folder))
    if columns:
        data = data.to_batches(columns=[*columns, "class"], batch_readahead=2, fragment_readahead=1)
    model.fit(data, "class")
    seconds = time.monotonic() - started
    model.circuit_.save(f"{folder}.json")
    return {"seconds": seconds, "rules": len(model.circuit_.rules), **score(folder, model.circuit_)}


def score(folder: Path, circuit: dln.Circuit) -> dict[str, Any]:
    """Test a circuit on the rows that were left for it."""
    test = pq.read_table(folder / "test.parquet")
    right = circuit.predict(test.drop_columns(["class"])) == test["class"].to_numpy()
    return {"test_accuracy": float(right.mean())}


def train_lightgbm(folder: Path) -> dict[str, Any]:
    """Train LightGBM on the same rows, read by groups; texts become codes."""
    import lightgbm as lgb  # type: ignore[import-not-found]

    class Groups(lgb.Sequence):  # type: ignore[misc]
        """The rows of one file; a group of rows is in memory at a time."""

        def __init__(self, path: Path) -> None:
            self._file = pq.ParquetFile(path)
            self.batch_size = self._file.metadata.row_group(0).num_rows
            self._group, self._rows = -1, np.empty((0, 0))

        def __len__(self) -> int:
            return int(self._file.metadata.num_rows)

        def __getitem__(self, rows: Any) -> Any:
            if isinstance(rows, slice):
                return self._part(rows.start, rows.stop)
            return self._part(rows, rows + 1)[0]

        def _part(self, start: int, stop: int) -> Any:
            group = start // self.batch_size
            if group != self._group:
                rows = self._file.read_row_group(group)
                self._group, self._rows = group, matrix(rows, np.float64)
            first = group * self.batch_size
            return self._rows[start - first : stop - first]

    files = parts(folder)
    started = time.monotonic()
    data = lgb.Dataset(
        [Groups(path) for path in files],
        read_target(files),
        feature_name=feature_names(files[0]),
        categorical_feature=text_names(files[0]),
        params={"verbose": -1},
    )
    settings = {"objective": "binary", "num_threads": 2, "seed": 0, "verbose": -1}
    booster = lgb.train(settings, data, num_boost_round=100)
    seconds = time.monotonic() - started
    test = pq.read_table(folder / "test.parquet")
    right = (booster.predict(matrix(test, np.float64)) > 0.5) == (test["class"].to_numpy() == "yes")
    return {"seconds": seconds, "test_accuracy": float(right.mean())}


def train_hist(folder: Path) -> dict[str, Any]:
    """Train HistGradientBoosting, which needs all rows in memory: as float32, file by file."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    files = parts(folder)
    started = time.monotonic()
    names = feature_names(files[0])
    counts = [pq.read_metadata(path).num_rows for path in files]
    X, start = np.empty((sum(counts), len(names)), dtype=np.float32), 0
    for path in files:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            rows = matrix(file.read_row_group(group), np.float32)
            X[start : start + len(rows)] = rows
            start += len(rows)
    texts = set(text_names(files[0]))
    model = HistGradientBoostingClassifier(
        categorical_features=[name in texts for name in names], random_state=0
    )
    model.fit(X, read_target(files))
    seconds = time.monotonic() - started
    test = pq.read_table(folder / "test.parquet")
    right = model.predict(matrix(test, np.float32)) == (test["class"].to_numpy() == "yes")
    return {"seconds": seconds, "test_accuracy": float(right.mean())}


def read_target(files: list[Path]) -> Any:
    """Return whether the class of each row is "yes"."""
    return np.concatenate(
        [pq.read_table(path, columns=["class"])["class"].to_numpy() == "yes" for path in files]
    )


def feature_names(path: Path) -> list[str]:
    """Return the columns to learn from."""
    return [name for name in pq.read_schema(path).names if name != "class"]


def text_names(path: Path) -> list[str]:
    """Return the columns of texts."""
    schema = pq.read_schema(path)
    return [name for name in feature_names(path) if pa.types.is_dictionary(schema.field(name).type)]


def matrix(frame: pa.Table, dtype: Any) -> Any:
    """Return the columns as numbers; texts become their places in the dictionary."""
    fields = [field for field in frame.schema if field.name != "class"]
    rows = np.empty((frame.num_rows, len(fields)), dtype=dtype)
    for place, field in enumerate(fields):
        cells = frame[field.name].combine_chunks()
        if pa.types.is_dictionary(field.type):
            known = {"place": PLACES, "product": PRODUCTS}.get(field.name, COLOURS).tolist()
            cells = cells.cast(pa.string()).dictionary_encode()
            codes = [known.index(text) for text in cells.dictionary.to_pylist()]
            rows[:, place] = np.array(codes)[cells.indices.to_numpy()]
        else:
            rows[:, place] = cells.to_numpy(zero_copy_only=False)
    return rows


class Peak(threading.Thread):
    """Samples the memory that this process allocated itself, in GB, without mapped files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.gigabytes = 0.0

    def run(self) -> None:
        """Sample until the process ends."""
        while True:
            status = Path("/proc/self/status").read_text()
            own = int(status.partition("RssAnon:")[2].split()[0]) / 1e6
            self.gigabytes = max(self.gigabytes, own)
            time.sleep(0.1)


MODELS = {"train": "dln", "lightgbm": "LightGBM", "hist": "HistGradientBoosting"}
"""The commands that train, and what the table of `growth` calls them."""

LIMIT_KB = 8_000_000
"""Memory that a process of `growth` may allocate."""


def growth(folder: Path, most: int, effort: str) -> None:
    """Measure what is not stored yet, and print all results."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / f"growth-{effort}.jsonl"
    lines = stored.read_text().splitlines() if stored.exists() else []
    results = [json.loads(line) for line in lines]
    done = {(result["command"], result["rows"]) for result in results}
    for n_rows in (10**power for power in range(4, 9) if 10**power <= most):
        missing = [model for model in MODELS if (model, n_rows) not in done]
        table = folder / f"rows{n_rows}"
        if missing:
            generate(table, n_rows)
        for model in missing:
            results.append(_measure(model, table, n_rows, effort))
            with stored.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
        shutil.rmtree(table, ignore_errors=True)
    print(_markdown(results))


def _measure(model: str, table: Path, n_rows: int, effort: str) -> dict[str, Any]:
    """Run a command of this module with a limit of its memory."""
    options = f"--folder {shlex.quote(str(table))} --effort {effort}"
    command = f"{shlex.quote(sys.executable)} -m benchmarks.large_data {model} {options}"
    limited = f"ulimit -d {LIMIT_KB}; exec {command}"
    found = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        last = (found.stderr.strip().splitlines() or [f"status {found.returncode}"])[-1]
        return {"command": model, "rows": n_rows, "error": last}
    measured: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return measured


def _markdown(results: list[dict[str, Any]]) -> str:
    """Return the results as a table."""
    lines = [
        "| rows | model | seconds | rows per second | CPU seconds | memory | test accuracy |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for own in sorted(results, key=lambda own: (own["rows"], list(MODELS).index(own["command"]))):
        head = f"| {own['rows']:,} | {MODELS[own['command']]} |"
        if "error" in own:
            lines.append(f"{head} {own['error']} | - | - | - | - |")
            continue
        lines.append(
            f"{head} {own['seconds']:.1f} | {own['rows_per_second']:,} | {own['cpu_seconds']} | "
            f"{own['peak_gb']:.2f} GB | {100 * own['test_accuracy']:.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run one command and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["generate", *MODELS, "growth"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns-count", type=int, default=20, help="of generate; at least 20")
    parser.add_argument("--most", type=float, default=1e7, help="rows of the last table of growth")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--columns", nargs="*", default=[], help="of train; default: all")
    given = parser.parse_args()
    if given.command == "growth":
        growth(given.folder, int(given.most), given.effort)
        return
    peak = Peak()
    peak.start()
    if given.command == "generate":
        found = generate(given.folder, int(given.rows), given.columns_count)
    elif given.command == "train":
        found = train(given.folder, given.columns, effort=given.effort)
    else:
        found = {"lightgbm": train_lightgbm, "hist": train_hist}[given.command](given.folder)
    n_rows = sum(pq.read_metadata(path).num_rows for path in parts(given.folder))
    if "seconds" in found:
        found["rows_per_second"] = round(n_rows / found["seconds"])
    found |= {"cpu_seconds": round(time.process_time()), "peak_gb": round(peak.gigabytes, 2)}
    print(json.dumps({"command": given.command, "rows": n_rows, **found}))


if __name__ == "__main__":
    main()
