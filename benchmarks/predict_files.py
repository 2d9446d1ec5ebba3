"""Rows per second of `dln predict` on files, beside copying the same file with pyarrow.

    python -m benchmarks.predict_files --rows 5e6

The table is that of `benchmarks.large_data`: 20 columns, seed 0. The model is trained on its first
20,000 rows with `effort="quick"`. pyarrow reads the file and writes it again, all columns of it,
which is the speed that the disk and the format allow. Each line is one process. The start, which
is the time for the first 1,000 rows, is subtracted from the seconds of the lines below it. Rows per
CPU second do not depend on what else the machine does. Text has a fifth of the rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import dln
from benchmarks.large_data import CELLS_PER_GROUP, make_rows

COPY = {
    "parquet": "import pyarrow.parquet as p; p.write_table(p.read_table(argv[1]), argv[3])",
    "csv": "import pyarrow.csv as p; p.write_csv(p.read_csv(argv[1]), argv[3])",
}


def main() -> None:
    """Measure both formats and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=5e6)
    n_rows = int(parser.parse_args().rows)
    print(f"{'':36}{'seconds':>9}{'CPU s':>9}{'M rows/s':>10}{'M rows/CPU s':>14}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        table = make_rows(n_rows, 20, np.random.default_rng(0))
        train_model(table.slice(0, 20_000))
        for ending, part in (("parquet", table), ("csv", table.slice(0, n_rows // 5))):
            write(part, f"all.{ending}")
            write(part.slice(0, 1000), f"few.{ending}")
            predict = [sys.executable, "-m", "dln", "predict", "-q", "model.json"]
            copy = [sys.executable, "-c", f"from sys import argv; {COPY[ending]}"]
            compare(f"dln predict, {ending}", predict, ending, len(part))
            compare(f"dln predict --proba, {ending}", [*predict, "--proba"], ending, len(part))
            compare(f"pyarrow copies, {ending}", copy, ending, len(part))


def train_model(rows: pa.Table) -> None:
    """Train on some rows and save the model."""
    model = dln.DLNClassifier(effort="quick", random_state=0)
    model.fit(rows.drop_columns(["class"]), rows["class"]).circuit_.save("model.json")


def write(table: pa.Table, path: str) -> None:
    """Write a table in the format of its name."""
    if Path(path).suffix == ".parquet":
        pq.write_table(table, path, row_group_size=CELLS_PER_GROUP // 20)
    else:
        pa.csv.write_csv(table.cast(pa.schema([plain(field) for field in table.schema])), path)


def plain(field: pa.Field) -> pa.Field:
    """Return a field with text in place of a dictionary."""
    is_coded = pa.types.is_dictionary(field.type)
    return field.with_type(field.type.value_type) if is_coded else field


def compare(name: str, command: list[str], ending: str, n_rows: int) -> None:
    """Run a command on few rows and on all, and print its speed."""
    start, end = (
        run([*command, f"{rows}.{ending}", "-o", f"out.{ending}"]) for rows in ("few", "all")
    )
    print(f"{name + ': start':36}{start[0]:9.2f}{start[1]:9.2f}")
    seconds, used = end[0] - start[0], end[1] - start[1]
    speeds = f"{n_rows / seconds / 1e6:10.2f}{n_rows / used / 1e6:14.2f}"
    print(f"{name:36}{seconds:9.2f}{used:9.2f}{speeds}", flush=True)


def run(command: list[str]) -> tuple[float, float]:
    """Run a process; return its seconds and CPU seconds."""
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
