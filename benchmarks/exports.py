"""Measure the speed, compile time and size of exports.

    python -m benchmarks.exports

Runs the same circuit and rows in C (bit-sliced batches), ONNX, SQL in DuckDB and Python, and a
LightGBM model of 100 trees, plain and compiled by tl2cgen, in the same run: one core, float64. Then
measures the time of gcc -O2 for circuits of 100, 10,000 and 100,000 gates, the flash and RAM on a
Cortex-M0, and the cells and depth reported by yosys. Tools that are not installed are named and
skipped. Times are processor times, so other load on the machine matters little.
"""

from __future__ import annotations

import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is loaded
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import ctypes  # noqa: E402
import importlib.util  # noqa: E402
import re  # noqa: E402
import resource  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import dln  # noqa: E402
from dln import GATES, Above, Circuit, Column, Node, Rule  # noqa: E402

N_ROWS, N_COLUMNS = 500_000, 20
N_LITERALS, N_GATES, N_RULES = 40, 100, 20
PYTHON_ROWS = FOREST_ROWS = 100_000
COMPILED_GATES = (100, 10_000, 100_000)


def random_circuit(n_literals: int, n_gates: int, n_rules: int) -> Circuit:
    """Draw a random circuit in which every literal and gate is used, most of them nearby."""
    rng = np.random.default_rng(n_gates)
    useful = [gate for gate in GATES if gate.reads_a and gate.reads_b]
    unread = list(range(n_literals))
    nodes = []
    for wire in range(n_literals, n_literals + n_gates):
        a = unread.pop(0)
        near = len(unread) > n_rules and rng.random() < 0.6
        b = unread.pop(0) if near else int(rng.integers(max(0, wire - 2000), wire))
        nodes.append(Node(useful[rng.integers(len(useful))], a, b if b != a else wire - 1))
        unread.append(wire)
    return Circuit(
        columns=tuple(Column(f"x{index}", "number") for index in range(N_COLUMNS)),
        literals=tuple(Above(i % N_COLUMNS, float(rng.random())) for i in range(n_literals)),
        nodes=tuple(nodes),
        rules=tuple(Rule(w, (1, 0) if at % 2 else (0, 1)) for at, w in enumerate(unread)),
        base_votes=(0, 0),
        classes=(0, 1),
    )


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest processor time of several runs, child processes included."""
    best = float("inf")
    for _ in range(repeats):
        before = [resource.getrusage(who) for who in _WHO]
        run()
        after = [resource.getrusage(who) for who in _WHO]
        used = [
            a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime
            for a, b in zip(after, before, strict=True)
        ]
        best = min(best, sum(used))
    return max(best, 1e-9)


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


# -- rows per second --------------------------------------------------------------------------


def run_c(circuit: Circuit, X: NDArray[np.float64], folder: Path) -> Callable[[], NDArray[Any]]:
    """Compile the header with gcc -O3 -march=native and call its batch function."""
    export = dln.export(circuit, to="c")
    export.save(folder / "model.h")
    (folder / "batch.c").write_text(
        '#include "model.h"\nvoid batch(const model_columns *c, size_t n, int32_t *classes)\n'
        "{ model_predict_batch(c, n, classes); }\n"
    )
    library = folder / "batch.so"
    command = ["gcc", "-std=c99", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([*command, str(folder / "batch.c"), "-o", str(library)], check=True)
    batch = ctypes.CDLL(str(library)).batch
    pointers = (ctypes.c_void_p * len(export.inputs))(
        *(X[:, int(x.column[1:])].ctypes.data for x in export.inputs)
    )
    classes = np.empty(len(X), dtype=np.int32)

    def run() -> NDArray[Any]:
        batch(ctypes.byref(pointers), ctypes.c_size_t(len(X)), classes.ctypes.data_as(_VOID))
        return classes

    return run


_VOID = ctypes.c_void_p


def run_onnx(circuit: Circuit, X: NDArray[np.float64], folder: Path) -> Callable[[], NDArray[Any]]:
    """Run the model with onnxruntime, 4,096 rows at a time."""
    import onnxruntime

    export = dln.export(circuit, to="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export.data, options)
    columns = {x.name: X[:, int(x.column[1:])].reshape(-1, 1) for x in export.inputs}

    def run() -> NDArray[Any]:
        parts = [
            session.run(["label"], {n: c[at : at + 4096] for n, c in columns.items()})[0]
            for at in range(0, len(X), 4096)
        ]
        return np.concatenate(parts)

    return run


def run_duckdb(
    circuit: Circuit, X: NDArray[np.float64], folder: Path
) -> Callable[[], NDArray[Any]]:
    """Run the SELECT in DuckDB with one thread."""
    import duckdb
    import pandas as pd

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    connection.register("frame", frame)
    connection.execute("CREATE TABLE data AS SELECT * FROM frame")
    connection.execute(dln.export(circuit, to="duckdb", view="answers").text)

    def run() -> NDArray[Any]:
        found = connection.execute("SELECT predicted_class FROM answers").fetchnumpy()
        return np.asarray(found["predicted_class"])

    return run


def run_python(
    circuit: Circuit, X: NDArray[np.float64], folder: Path
) -> Callable[[], NDArray[Any]]:
    """Run predict_batch of the Python module, 10,000 rows at a time."""
    dln.export(circuit, to="python").save(folder / "exported_model.py")
    spec = importlib.util.spec_from_file_location("exported_model", folder / "exported_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    columns = {f"x{i}": X[:PYTHON_ROWS, i].tolist() for i in range(X.shape[1])}

    def run() -> NDArray[Any]:
        found = []
        for at in range(0, PYTHON_ROWS, 10_000):
            found += module.predict_batch({n: c[at : at + 10_000] for n, c in columns.items()})
        return np.array(found)

    return run


EXPORTS: dict[str, tuple[Callable[..., Callable[[], NDArray[Any]]], int]] = {
    "C, batches": (run_c, N_ROWS),
    "ONNX, onnxruntime": (run_onnx, N_ROWS),
    "SQL, DuckDB": (run_duckdb, N_ROWS),
    "Python, batches": (run_python, PYTHON_ROWS),
}


def forests(
    X: NDArray[np.float64], y: NDArray[Any], folder: Path
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Train LightGBM with 100 trees, and compile it with tl2cgen if that is installed."""
    import lightgbm

    data = lightgbm.Dataset(X[:20_000], y[:20_000])
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, data, num_boost_round=100)
    booster.save_model(str(folder / "forest.txt"))
    yield "LightGBM, 100 trees", lambda: booster.predict(X, num_threads=1)
    if importlib.util.find_spec("tl2cgen") and importlib.util.find_spec("treelite"):
        import tl2cgen
        import treelite

        forest = treelite.frontend.load_lightgbm_model(str(folder / "forest.txt"))
        library = folder / "forest.so"
        tl2cgen.export_lib(forest, toolchain="gcc", libpath=str(library), nthread=1)
        predictor = tl2cgen.Predictor(str(library), nthread=1)
        matrix = tl2cgen.DMatrix(X, dtype="float64")
        yield "LightGBM, 100 trees, tl2cgen", lambda: predictor.predict(matrix)


def measure_rates(folder: Path) -> None:
    """Print rows per second, and the speed of each export relative to each LightGBM."""
    circuit = random_circuit(N_LITERALS, N_GATES, N_RULES)
    X = np.asfortranarray(np.random.default_rng(0).random((N_ROWS, N_COLUMNS)))
    expected = circuit.predict(X)
    print(f"{circuit!r}, {N_ROWS:,} rows x {N_COLUMNS} float64, one core, processor time")
    rates = {"Circuit.predict": N_ROWS / cpu_seconds(lambda: circuit.predict(X))}
    for name, (prepare, n_rows) in EXPORTS.items():
        run = prepare(circuit, X, folder)
        assert np.array_equal(run(), expected[:n_rows]), name
        rates[name] = n_rows / cpu_seconds(run)
    rows = np.ascontiguousarray(X[:FOREST_ROWS])
    forest_rates = {
        name: FOREST_ROWS / cpu_seconds(run) for name, run in forests(rows, expected, folder)
    }
    for name, rate in (*rates.items(), *forest_rates.items()):
        ratios = "".join(f"{rate / other:10.2f}" for other in forest_rates.values())
        print(f"  {name:30s} {rate:15,.0f} rows/s {ratios}")
    print(f"  (the last columns: times as fast as {', '.join(forest_rates)})")


# -- compile time and size --------------------------------------------------------------------


def measure_compilation(folder: Path) -> None:
    """Print the compile time of gcc -O2 for circuits of growing size."""
    print("compile time of the C export, gcc -O2 (processor time)")
    for n_gates in COMPILED_GATES:
        circuit = random_circuit(200, n_gates, 100)
        start = time.process_time()
        export = dln.export(circuit, to="c")
        written = time.process_time() - start
        export.save(folder / "large.h")
        (folder / "large.c").write_text(
            '#include "large.h"\nint one(const model_row *row);\n'
            "int one(const model_row *row) { return model_predict(row); }\n"
            "void many(const model_columns *c, size_t n, int32_t *out);\n"
            "void many(const model_columns *c, size_t n, int32_t *out)\n"
            "{ model_predict_batch(c, n, out); }\n"
        )
        strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        command = ["gcc", *strict, "-c", str(folder / "large.c"), "-o", str(folder / "large.o")]
        seconds = cpu_seconds(partial(subprocess.run, command, check=True), repeats=1)
        size = len(export.data)
        print(f"  {n_gates:7,} gates: {seconds:6.2f} s  (export {written:.2f} s, {size:,} bytes)")


def measure_hardware(folder: Path) -> None:
    """Print the size of a typical circuit on a microcontroller and in logic cells."""
    circuit = random_circuit(N_LITERALS, N_GATES, N_RULES)
    if shutil.which("arm-none-eabi-gcc"):
        options: dict[str, Any] = {"integer_bits": 16, "fraction_bits": 8, "word_bits": 32}
        dln.export(circuit, to="c", **options).save(folder / "small.h")
        (folder / "small.c").write_text(
            '#include "small.h"\nint one(const model_row *row);\n'
            "int one(const model_row *row) { return model_predict(row); }\n"
        )
        compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-ffreestanding", "-Os"]
        built = str(folder / "small.o")
        usage = ["-fstack-usage", "-c", str(folder / "small.c"), "-o", built]
        subprocess.run([*compiler, *usage], check=True)
        said = _output(["arm-none-eabi-size", built]).splitlines()[1].split()
        stack = sum(int(line.split("\t")[1]) for line in _lines(folder / "small.su"))
        flash, ram = int(said[0]) + int(said[1]), int(said[1]) + int(said[2])
        print(f"Cortex-M0: {flash:,} bytes of flash, {ram} of RAM, at most {stack} of stack")
    else:
        print("Cortex-M0: left out, arm-none-eabi-gcc is not installed")
    if not shutil.which("yosys"):
        print("yosys: left out, it is not installed")
        return
    for stages in (0, 3):
        dln.export(circuit, to="verilog", integer_bits=16, fraction_bits=8, stages=stages).save(
            folder / "model.v"
        )
        steps = f"read_verilog {folder / 'model.v'}; synth -flatten -top model; ltp -noff; stat"
        said_text = _output(["yosys", "-p", steps])
        cells = re.findall(r"Number of cells:\s+(\d+)", said_text)[-1]
        depth = re.findall(r"\(length=(\d+)\)", said_text)[-1]
        print(f"Verilog, 16-bit ports, {stages} stages: {cells} cells, depth {depth} (yosys)")


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def main() -> None:
    """Measure everything in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        for measure in (measure_rates, measure_compilation, measure_hardware):
            measure(Path(name))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
