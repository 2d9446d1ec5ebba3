"""A benchmark that was stopped continues where it was, and starts nothing that takes too long."""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks.resume import Result, add_options, read_results, run_missing

CELLS = [(table, seed, "tree") for seed in range(2) for table in ("a", "b", "c")]


def arguments(output: Path, *options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, output)
    return parser.parse_args(options)


def result(table: str, seed: int, model: str, **more: Any) -> Result:
    return {"table": table, "seed": seed, "model": model, "accuracy": 0.5, **more}


def test_only_missing_cells_are_measured_in_order(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "results.jsonl"
    output.parent.mkdir()
    output.write_text(json.dumps(result("b", 0, "tree")) + "\n")
    measured: list[tuple[str, int, str]] = []

    def measure(*cell: Any) -> Result:
        measured.append(cell)
        return result(*cell)

    found = run_missing(measure, CELLS, arguments(output), ThreadPoolExecutor)
    assert measured == [cell for cell in CELLS if cell != ("b", 0, "tree")]
    assert found == read_results(output)
    assert len(found) == len(CELLS)
    assert run_missing(measure, CELLS, arguments(output), ThreadPoolExecutor) == found
    assert len(measured) == len(CELLS) - 1


def test_fits_that_took_longer_than_what_is_left_do_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "results.jsonl"
    known = [result("a", 0, "tree", seconds=1e6), result("b", 0, "tree", seconds=0.1)]
    output.write_text("".join(json.dumps(one) + "\n" for one in known))
    limited = arguments(output, "--seconds-limit", "1000")
    found = run_missing(result, CELLS, limited, ThreadPoolExecutor)
    assert {one["table"] for one in found if one["seed"] == 1} == {"b", "c"}
    assert "1 fits are left" in capsys.readouterr().out


def test_a_failed_fit_is_printed_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(table: str, seed: int, model: str) -> Result:
        if table == "b":
            raise ValueError("no such table")
        return result(table, seed, model)

    output = tmp_path / "results.jsonl"
    found = run_missing(measure, CELLS, arguments(output), ThreadPoolExecutor)
    assert len(found) == 4
    assert "b 0 tree ValueError('no such table')" in capsys.readouterr().out
    assert run_missing(measure, CELLS, arguments(output, "--no-run"), ThreadPoolExecutor) == found
