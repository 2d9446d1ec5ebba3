"""Run exported Python in a bare interpreter, and exported JavaScript in Node."""

from __future__ import annotations

import datetime
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dln
from dln.core.literals import Column
from tests.support.export.nasty import Answers, Case
from tests.support.tools import find_tool

_PYTHON = """
import ast, datetime, importlib.util, json, math, sys

names = {"datetime": datetime, "nan": math.nan, "inf": math.inf}
for number in range(int(sys.argv[2])):
    path = f"{sys.argv[1]}/model{number}.py"
    spec = importlib.util.spec_from_file_location(f"model{number}", path)
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    with open(f"{sys.argv[1]}/rows{number}.py") as file:
        rows = eval(file.read(), names)
    said = [model.explain(row) for row in rows]
    batch = model.predict_batch({n: [r[n] for r in rows] for n in model.INPUTS}, len(rows))
    answer = "class" if hasattr(model, "CLASSES") else "prediction"
    assert [model.predict(row) for row in rows] == [one[answer] for one in said] == batch
    for one, row in zip(said, rows):
        fired = [rule - 1 for rule in one["rules"]]
        if answer == "prediction":
            assert model.points(row) == one["points"] and type(one["prediction"]) is float
            print(json.dumps([one["prediction"], [one["points"]], fired, None]))
            continue
        place = [repr(label) for label in model.CLASSES].index(repr(one["class"]))
        print(json.dumps([place, one["votes"], fired, model.probabilities(row)]))
heavy = {"numpy", "dln", "pandas", "sklearn"} & set(sys.modules)
assert not heavy, heavy
"""

_NODE = """
import { readFileSync } from "node:fs";

const [folder, count] = process.argv.slice(2);
for (let number = 0; number < Number(count); number += 1) {
  const model = await import(`${folder}/model${number}.mjs`);
  const { rows } = await import(`${folder}/rows${number}.mjs`);
  for (const row of rows) {
    const said = model.explain(row);
    const fired = said.rules.map((rule) => rule - 1);
    if (!("classes" in model)) {
      if (!Object.is(model.predict(row), said.prediction)) throw new Error("predict differs");
      if (model.points(row) !== said.points) throw new Error("points differ");
      console.log(JSON.stringify([String(said.prediction), [said.points], fired, null]));
      continue;
    }
    if (!Object.is(model.predict(row), said.class)) throw new Error("predict differs");
    const place = model.classes.findIndex((label) => Object.is(label, said.class));
    console.log(JSON.stringify([place, said.votes, fired, model.probabilities(row)]));
  }
}
"""


def run_python(cases: Sequence[Case], folder: Path) -> list[Answers]:
    """Run without site packages, this project and environment variables."""
    for number, case in enumerate(cases):
        dln.export(case.circuit, to="python").save(folder / f"model{number}.py")
        names = [column.name for column in case.circuit.columns]
        rows = [dict(zip(names, row, strict=True)) for row in case.rows]
        (folder / f"rows{number}.py").write_text(ascii(rows), encoding="utf-8")
    (folder / "main.py").write_text(_PYTHON, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(folder / "main.py"), str(folder), str(len(cases))]
    return _answers(command, cases)


def run_node(cases: Sequence[Case], folder: Path) -> list[Answers]:
    """Run as ES modules."""
    node = find_tool("node", package="nodejs")
    for number, case in enumerate(cases):
        dln.export(case.circuit, to="javascript").save(folder / f"model{number}.mjs")
        rows = ",\n".join(_object(row, case) for row in case.rows)
        text = f"export const rows = [\n{rows}\n];\n"
        (folder / f"rows{number}.mjs").write_text(text, encoding="utf-8")
    (folder / "main.mjs").write_text(_NODE, encoding="utf-8")
    return _answers([node, str(folder / "main.mjs"), str(folder), str(len(cases))], cases)


def _answers(command: Sequence[str], cases: Sequence[Case]) -> list[Answers]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
    lines = iter(done.stdout.splitlines())
    found = []
    for case in cases:
        said = [json.loads(next(lines)) for _ in case.rows]
        answers = Answers(*([row[place] for row in said] for place in range(4)))
        if case.predicts_number:  # JSON has no infinity, so that JavaScript writes text
            numbers = [float(number) for number in answers.predicted]
            answers = replace(answers, predicted=numbers, probabilities=None)
        found.append(answers)
    return found


def _object(row: Sequence[Any], case: Case) -> str:
    # Computed names: {"__proto__": 1} would set the prototype.
    cells = [
        f"[{json.dumps(column.name)}]: {_cell(cell, column)}"
        for cell, column in zip(row, case.circuit.columns, strict=True)
    ]
    return "{" + ", ".join(cells) + "}"


def _cell(cell: Any, column: Column) -> str:
    if cell is None:
        return "null"
    if isinstance(cell, datetime.datetime):
        return repr(_seconds(cell))
    if isinstance(cell, bool):
        return json.dumps(cell)
    if isinstance(cell, int):
        return f"{cell}n" if abs(cell) >= 2**53 else str(cell)
    if isinstance(cell, float):
        if math.isnan(cell) or math.isinf(cell):
            return "NaN" if cell != cell else ("Infinity" if cell > 0 else "-Infinity")
        return repr(cell)
    return json.dumps(cell)


def _seconds(moment: datetime.datetime) -> float:
    ticks = (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    return ticks / 1e6
