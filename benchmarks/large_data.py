"""Train on a generated table that is larger than the memory, beside LightGBM on the same files.

    python -m benchmarks.large_data generate --rows 1e8 --folder large
    python -m benchmarks.large_data train --folder large
    python -m benchmarks.large_data lightgbm --folder large

Every command prints one line of JSON: rows, seconds, rows per second, and the peak of memory in GB.
`ulimit -d` (in KB) limits the memory that a process allocates. Neither counts the pages of files
that are mapped into memory, because the system can drop them at any time.

The table has 20 columns: 10 numbers (float32, some missing), 5 integers, 3 texts and 2 booleans.
The class depends on rules of six of them, with noise: no model can be right in more than 92 % of
the rows. The last file is left for the test. Seed 0.
"""

from __future__ import annotations

import argparse
import json
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

ROWS_PER_FILE, ROWS_PER_GROUP = 2_500_000, 250_000
PLACES = np.array(["north", "east", "south", "west", "centre"])
PRODUCTS = np.array([f"product {number}" for number in range(30)])


def make_rows(n_rows: int, rng: np.random.Generator) -> pa.Table:
    """Draw rows."""
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
        rng.integers(0, 3, n_rows, dtype=np.int8), np.array(["red", "green", "blue"])
    )
    flags = rng.integers(0, 2, (2, n_rows), dtype=np.int8).astype(bool)
    columns["flag0"], columns["flag1"] = flags
    first = np.nan_to_num(columns["number0"].to_numpy(zero_copy_only=False), nan=-1.0)
    second, third = columns["number4"].to_numpy(), columns["number5"].to_numpy()
    score = (first > 0.3).astype(np.int8) + (second > 0) * (place < 2) + (third * second > 0.1)
    score += (columns["count1"] > 40) & flags[0]
    is_noise = rng.random(n_rows, dtype=np.float32) < 0.08
    columns["class"] = np.where((score >= 2) ^ is_noise, "yes", "no")
    return pa.table(columns)


def generate(folder: Path, n_rows: int) -> dict[str, Any]:
    """Write the rows and one more file for the test."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    size = min(ROWS_PER_FILE, n_rows)
    for number in range(-(-n_rows // size) + 1):
        path = folder / f"part{number:03}.parquet"
        pq.write_table(make_rows(size, rng), path, row_group_size=ROWS_PER_GROUP)
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

        batch_size = ROWS_PER_GROUP

        def __init__(self, path: Path) -> None:
            self._file = pq.ParquetFile(path)
            self._group, self._rows = -1, np.empty((0, 0))

        def __len__(self) -> int:
            return int(self._file.metadata.num_rows)

        def __getitem__(self, rows: Any) -> Any:
            if isinstance(rows, slice):
                return self._part(rows.start, rows.stop)
            return self._part(rows, rows + 1)[0]

        def _part(self, start: int, stop: int) -> Any:
            group = start // ROWS_PER_GROUP
            if group != self._group:
                self._group, self._rows = group, matrix(self._file.read_row_group(group))
            first = group * ROWS_PER_GROUP
            return self._rows[start - first : stop - first]

    files = parts(folder)
    started = time.monotonic()
    names = [name for name in pq.read_schema(files[0]).names if name != "class"]
    target = np.concatenate(
        [pq.read_table(path, columns=["class"])["class"].to_numpy() == "yes" for path in files]
    )
    data = lgb.Dataset(
        [Groups(path) for path in files],
        target,
        feature_name=names,
        categorical_feature=["place", "product", "colour"],
        params={"verbose": -1},
    )
    settings = {"objective": "binary", "num_threads": 2, "seed": 0, "verbose": -1}
    booster = lgb.train(settings, data, num_boost_round=100)
    seconds = time.monotonic() - started
    test = pq.read_table(folder / "test.parquet")
    right = (booster.predict(matrix(test)) > 0.5) == (test["class"].to_numpy() == "yes")
    return {"seconds": seconds, "test_accuracy": float(right.mean())}


def matrix(frame: pa.Table) -> Any:
    """Return the columns as numbers; texts become their places in the dictionary."""
    columns = []
    for field in frame.schema:
        if field.name == "class":
            continue
        cells = frame[field.name].combine_chunks()
        if pa.types.is_dictionary(field.type):
            known = {"place": PLACES, "product": PRODUCTS}.get(field.name)
            known = np.array(["red", "green", "blue"]) if known is None else known
            cells = cells.cast(pa.string()).dictionary_encode()
            codes = [known.tolist().index(text) for text in cells.dictionary.to_pylist()]
            columns.append(np.array(codes, dtype=np.float64)[cells.indices.to_numpy()])
        else:
            columns.append(cells.to_numpy(zero_copy_only=False).astype(np.float64))
    return np.stack(columns, axis=1)


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


def main() -> None:
    """Run one command and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["generate", "train", "lightgbm"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--columns", nargs="*", default=[], help="of train; default: all")
    given = parser.parse_args()
    peak = Peak()
    peak.start()
    if given.command == "generate":
        found = generate(given.folder, int(given.rows))
    elif given.command == "train":
        found = train(given.folder, given.columns, effort=given.effort)
    else:
        found = train_lightgbm(given.folder)
    n_rows = sum(pq.read_metadata(path).num_rows for path in parts(given.folder))
    if "seconds" in found:
        found["rows_per_second"] = round(n_rows / found["seconds"])
    found |= {"cpu_seconds": round(time.process_time()), "peak_gb": round(peak.gigabytes, 2)}
    print(json.dumps({"command": given.command, "rows": n_rows, **found}))


if __name__ == "__main__":
    main()
