"""Rows per second of one circuit on engines: dln itself, DuckDB, Spark and Ray Data.

    python -m benchmarks.predict_engines --rows 1e6

The table is that of `benchmarks.large_data` with a row number: seed 0, eight Parquet files. The
model is trained on the first 20,000 rows with `effort="quick"`. Each engine reads the files and
writes row numbers and classes as Parquet; only "in memory" reads and writes nothing. The session of
Spark or Ray is started, and warmed up on one file of 1,000 rows, before the clock. For `dln
predict` the time for these 1,000 rows, which is the start of the process, is subtracted. The
answers are compared with the circuit row by row; a difference ends the benchmark. Engines use
`--workers` cores; `--engines` chooses some of them. Missing engines are left out. Spark requires
Java.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import dln
from benchmarks.large_data import make_rows
from benchmarks.predict_files import run, train_model

N_FILES = 8
Engine = Callable[[str, str], None]
"""Reads a folder of Parquet files and writes another."""


def main() -> None:
    """Measure all engines that are installed and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    given = parser.parse_args()
    print(f"{'':32}{'rows':>10}{'seconds':>9}{'M rows/s':>10}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_files(int(given.rows))
        circuit = dln.Circuit.load("model.json")
        expected = {place: expected_of(circuit, place) for place in ("all", "few")}
        table = ds.dataset("all").to_table(columns=[column.name for column in circuit.columns])
        started = time.perf_counter()
        circuit.predict(table)
        show("circuit.predict in memory", len(table), time.perf_counter() - started)
        del table
        for key in given.engines:
            package, engine = ENGINES[key]
            if importlib.util.find_spec(package) is None:
                continue
            for name, place, predict in engine(circuit, given.workers):
                measure(predict, "few", expected["few"])
                start = measure(predict, "few", expected["few"])
                seconds = measure(predict, place, expected[place])
                if engine is command_line:
                    seconds -= start
                show(name, expected[place].num_rows, seconds)


def make_files(n_rows: int) -> None:
    """Train the model and write the rows: all, and 1,000."""
    table = make_rows(n_rows, 20, np.random.default_rng(0))
    train_model(table.slice(0, 20_000))
    table = table.append_column("id", pa.array(np.arange(n_rows)))
    for place in ("all", "few"):
        Path(place).mkdir()
    size = -(-n_rows // N_FILES)
    for number in range(N_FILES):
        pq.write_table(table.slice(number * size, size), f"all/{number}.parquet")
    pq.write_table(table.slice(0, 1000), "few/0.parquet")


def expected_of(circuit: dln.Circuit, place: str) -> pa.Table:
    """Return the answers of the circuit in memory, by row number."""
    table = ds.dataset(place).to_table()
    return pa.table({"id": table["id"], "predicted_class": circuit.predict(table).tolist()})


def measure(predict: Engine, place: str, expected: pa.Table) -> float:
    """Predict a folder, compare every row, and return the seconds."""
    shutil.rmtree("out", ignore_errors=True)
    started = time.perf_counter()
    predict(place, "out")
    seconds = time.perf_counter() - started
    found = ds.dataset("out", format="parquet").to_table().rename_columns(expected.column_names)
    if not found.sort_by("id").cast(expected.schema).equals(expected.sort_by("id")):
        raise SystemExit("the answers differ from those of the circuit")
    return seconds


def show(name: str, n_rows: int, seconds: float) -> None:
    """Print one line of the table."""
    print(f"{name:32}{n_rows:10,}{seconds:9.2f}{n_rows / seconds / 1e6:10.3f}", flush=True)


# -- engines ----------------------------------------------------------------------------------


def command_line(circuit: dln.Circuit, workers: int) -> Iterator[tuple[str, str, Engine]]:
    """Yield `dln predict`, one process."""

    def predict(source: str, out: str) -> None:
        command = [sys.executable, "-m", "dln", "predict", "-q", "model.json", source]
        Path(out).mkdir()
        run([*command, "--keep", "id", "-o", f"{out}/0.parquet"])

    yield "dln predict", "all", predict


def duckdb(circuit: dln.Circuit, workers: int) -> Iterator[tuple[str, str, Engine]]:
    """Yield the SQL export in DuckDB."""
    import duckdb as library

    def predict(source: str, out: str) -> None:
        engine = library.connect(config={"threads": workers})
        engine.execute(f"CREATE VIEW visits AS SELECT * FROM '{source}/*.parquet'")
        engine.execute(dln.export(circuit, to="duckdb", table="visits", view="risk").text)
        Path(out).mkdir()
        engine.execute(
            f"COPY (SELECT id, predicted_class FROM risk) TO '{out}/0.parquet' (FORMAT parquet)"
        )

    yield "DuckDB, SQL export", "all", predict


def spark(circuit: dln.Circuit, workers: int) -> Iterator[tuple[str, str, Engine]]:
    """Yield the circuit in Spark's Python workers, and the SQL export."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found]

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1500m",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    builder = SparkSession.builder.master(f"local[{workers}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    columns = [column.name for column in circuit.columns]

    def classify(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"id": batch["id"], "predicted_class": circuit.predict(batch)})

    def with_circuit(source: str, out: str) -> None:
        rows = session.read.parquet(f"{os.getcwd()}/{source}").select("id", *columns)
        answers = rows.mapInArrow(classify, "id long, predicted_class string")
        answers.write.parquet(f"{os.getcwd()}/{out}")

    def with_sql(source: str, out: str) -> None:
        session.read.parquet(f"{os.getcwd()}/{source}").createOrReplaceTempView("visits")
        session.sql(dln.export(circuit, to="spark", table="visits").text).select(
            "id", "predicted_class"
        ).write.parquet(f"{os.getcwd()}/{out}")

    yield "Spark, the circuit (mapInArrow)", "all", with_circuit
    yield "Spark, SQL export", "all", with_sql
    session.stop()


def ray_data(circuit: dln.Circuit, workers: int) -> Iterator[tuple[str, str, Engine]]:
    """Yield the circuit, and the Python export, in Ray Data's tasks."""
    import ray

    Path("code").mkdir()
    dln.export(circuit, to="python").save("code/risk_model.py")
    environment = {"working_dir": "code"}
    ray.init(
        num_cpus=workers, include_dashboard=False, log_to_driver=False, runtime_env=environment
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    columns = [column.name for column in circuit.columns]

    def with_circuit(batch: pa.Table) -> pa.Table:
        return pa.table({"id": batch["id"], "predicted_class": circuit.predict(batch)})

    def with_export(batch: pa.Table) -> pa.Table:
        import risk_model  # type: ignore[import-not-found]

        values = {name: batch[name].to_pylist() for name in risk_model.INPUTS}
        return pa.table({"id": batch["id"], "predicted_class": risk_model.predict_batch(values)})

    def engine(classify: Callable[[pa.Table], pa.Table]) -> Engine:
        def predict(source: str, out: str) -> None:
            rows = ray.data.read_parquet(f"{os.getcwd()}/{source}", columns=["id", *columns])
            answers = rows.map_batches(classify, batch_format="pyarrow", batch_size=100_000)
            answers.write_parquet(f"{os.getcwd()}/{out}")

        return predict

    yield "Ray Data, the circuit", "all", engine(with_circuit)
    yield "Ray Data, Python export", "all", engine(with_export)
    ray.shutdown()


ENGINES: dict[str, tuple[str, Callable[[dln.Circuit, int], Iterator[tuple[str, str, Engine]]]]] = {
    "dln": ("dln", command_line),
    "duckdb": ("duckdb", duckdb),
    "spark": ("pyspark", spark),
    "ray": ("ray", ray_data),
}
"""The package of each engine, and what yields its name, the rows it gets, and its function."""


if __name__ == "__main__":
    main()
