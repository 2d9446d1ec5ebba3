"""Text is read in blocks of whole rows: no row is lost, and no thread outlives the process."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Circuit, Column
from dln.cli import main
from dln.cli.blocks import RowCutter
from dln.errors import TableError
from tests.support.commands import (
    COMMAND,
    LONG,
    saved_model,  # noqa: F401 - a fixture
)
from tests.support.strategies import law

CELLS = st.sampled_from(
    ["", "1", "NA", '""', '"a\nb"', '"a\r\n\r\nb"', '"say ""x"""', "5'10\"", " "]
)


@st.composite
def csv_files(draw: st.DrawFn) -> str:
    """Write tables of one to three columns, with empty lines, quotes and any kind of line end."""
    n_columns = draw(st.integers(1, 3))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    row = st.lists(CELLS, min_size=n_columns, max_size=n_columns).map(",".join)
    lines = draw(st.lists(row | st.just(""), max_size=8))
    header = ",".join(f"c{place}" for place in range(n_columns))
    return newline.join([header, *lines]) + draw(st.sampled_from(["", newline]))


@law
@given(text=csv_files(), size=st.integers(1, 40))
def test_every_row_gets_a_prediction(text: str, size: int) -> None:
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    if len(header) > 1:
        rows = [row for row in rows if row]  # an empty line is not a row
    expected = [row[0] if row else "" for row in rows]
    circuit = Circuit((Column("c0", "category", ("1",)),), (), (), (), (1, 0), ("no", "yes"))
    with tempfile.TemporaryDirectory() as folder, patch("dln.cli.read.BLOCK_BYTES", size):
        table, model, out = (f"{folder}/{name}" for name in ("t.csv", "m.json", "out.csv"))
        Path(table).write_bytes(text.encode())
        circuit.save(model)
        assert main(["predict", model, table, "-o", out, "--keep", "c0"]) == 0
        with open(out, newline="") as file:
            answers = list(csv.reader(file))
    assert answers == [["c0", "prediction"], *([cell, "no"] for cell in expected)]


def pieces(text: bytes, size: int) -> list[bytes]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 64])
@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_all_short_tables_are_cut_into_whole_rows(size: int, newline: str) -> None:
    """Blocks hold the rows that Python's csv module finds; an unclosed quote is refused."""
    for letters in (cells for n in range(6) for cells in product('",\na', repeat=n)):
        text = "".join(letters).replace("\n", newline)
        rows = list(csv.reader(io.StringIO(text, newline="")))
        *_, last = csv.reader(io.StringIO(f"{text}{newline}#", newline=""))
        is_open = last != ["#"]  # otherwise the line that was added is a separate row
        blocks = RowCutter(",", '"', "t.csv").blocks(pieces(text.encode(), size))
        if is_open:
            with pytest.raises(TableError, match="ends within a quoted cell"):
                list(blocks)
        else:
            found = [csv.reader(io.StringIO(block.decode(), newline="")) for block in blocks]
            assert [row for block in found for row in block] == rows


# -- a standard input that stays open ----------------------------------------------------------

GOOD = 200_000 * b"60,true,Basel\n"  # more than is read at once


@contextmanager
def fed(model: Path, text: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command and write to its standard input, which then stays open."""
    child = subprocess.Popen(
        [*COMMAND, "predict", str(model), "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def write() -> None:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the command has ended
            child.stdin.write(text)
            child.stdin.flush()

    writer = threading.Thread(target=write)
    writer.start()
    guard = threading.Timer(LONG, child.kill)
    guard.start()
    try:
        yield child
    finally:
        guard.cancel()
        child.kill()
        writer.join()
        with contextlib.suppress(BrokenPipeError):
            child.communicate()


@pytest.mark.parametrize("bad", [b"60,true,Basel,7\n", b"old,true,Basel\n"])
def test_an_error_ends_the_command_while_standard_input_stays_open(model: Path, bad: bytes) -> None:
    with fed(model, b"age,smoker,city\n" + bad + GOOD) as child:
        assert child.stderr is not None
        err = child.stderr.read()
        assert (child.wait(), err.count(b"\n")) == (2, 1), err


@pytest.mark.skipif(os.name == "nt", reason="needs SIGINT")
def test_ctrl_c_ends_the_command_while_standard_input_stays_open(model: Path) -> None:
    with fed(model, b"age,smoker,city\n" + GOOD) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"prediction\n"
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        err = child.stderr.read()
        assert child.wait() == 130, err
