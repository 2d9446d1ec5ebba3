"""The stand-alone checker accepts right certificates, and refuses what was changed on purpose."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, read_constraints
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Column
from dln.core.logic import Logic
from dln.core.model_file import circuit_to_json
from dln.core.parts import Node, Rule
from dln.core.score import Score
from dln.core.verdict import Proof
from dln.errors import CircuitError
from dln.prove.certificate import certificate_of, constraints_certificate
from dln.prove.certify import independence_claim, prove_range, range_claim, rule_claim
from dln.prove.claim import Claim, decide
from dln.prove.clock import Clock
from dln.prove.robust import certified_radius
from dln.prove.search import Search
from tests.conftest import Run
from tests.prove.test_certify import ANY, biased
from tests.support.constrained import constrained_circuits
from tests.support.strategies import law
from tests.support.tools import find_module

ROOT = Path(__file__).parents[2]
CHECKER = ROOT / "check_certificate.py"


def load_checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = load_checker()


def made(circuit: Circuit, claim: Claim) -> tuple[bytes, dict[str, Any]]:
    """Return a model file and the certificate of a claim, as read from files."""
    model = circuit_to_json(circuit).encode()
    document = certificate_of([claim], model, Clock(None))
    assert document is not None
    return model, json.loads(json.dumps(document))


@law
@given(data=st.data(), circuit=ANY)
def test_every_proof_has_a_certificate_that_is_accepted(
    data: st.DataObject, circuit: Circuit
) -> None:
    assume(circuit.n_classes > 1 and circuit.columns)
    label = data.draw(st.sampled_from(circuit.classes))
    name = data.draw(st.sampled_from([column.name for column in circuit.columns]))
    total = sum(sum(map(abs, votes)) for _, votes in circuit.rules) + 99
    for claim in (
        rule_claim(circuit, label, {}, False, None),
        rule_claim(circuit, label, {name: None}, True, None),
        independence_claim(circuit, [name], {}, None),
        range_claim(circuit, label, -total, total, {}, None),
    ):
        if isinstance(decide(claim, None), Proof):
            model, certificate = made(circuit, claim)
            assert checker.check([model], certificate)


SMALL = ANY.filter(lambda own: own.n_classes > 1 and math.prod(own._search.variables.sizes) <= 100)


def wires_of(search: Search, atoms: tuple[int, ...]) -> list[bool]:
    """Return the values of all wires."""
    circuit, variables = search.circuit, search.variables
    wires = [False] * circuit.n_literals
    for own, truths, atom in zip(variables.literals, variables.truths, atoms, strict=True):
        for place, wire in enumerate(own):
            wires[wire] = bool(truths[place, atom])
    for gate, a, b in circuit.nodes:
        wires.append(bool(gate.table[2 * wires[a] + wires[b]]))
    return wires


def lead_of(circuit: Circuit, number: int, wires: list[bool]) -> int:
    """Return the votes of a class less the most votes of another."""
    votes = [
        base + sum(given[c] for wire, given in circuit.rules if wires[wire])
        for c, base in enumerate(circuit.base_votes)
    ]
    return votes.pop(number) - max(votes)


def every_row_of(search: Search) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, search.variables.sizes)))


@law
@given(circuit=SMALL)
def test_no_false_claim_is_accepted_with_the_proof_of_a_true_one(circuit: Circuit) -> None:
    search = circuit._search
    rows = [wires_of(search, atoms) for atoms in every_row_of(search)]
    leads = [[lead_of(circuit, number, wires) for wires in rows] for number in (0, 1)]
    low, high = min(leads[0]), max(leads[0])
    model, certificate = made(
        circuit, range_claim(circuit, circuit.classes[0], low, high, {}, None)
    )
    assert checker.check([model], certificate)
    for wrong in ({"at_least": low + 1}, {"at_most": high - 1}, {"class": 1}):
        if "class" not in wrong or min(leads[1]) < low or max(leads[1]) > high:
            broken = {**certificate, "question": {**certificate["question"], **wrong}}
            with pytest.raises(checker.Refused):
                checker.check([model], broken)


@law
@given(data=st.data(), circuit=SMALL)
def test_a_clause_is_a_fact_only_if_no_row_that_refutes_the_claim_violates_it(
    data: st.DataObject, circuit: Circuit
) -> None:
    """Random clauses are compared with all rows, for a claim that may be false."""
    search, label = circuit._search, circuit.classes[0]
    total = 2 * sum(sum(map(abs, votes)) for _, votes in circuit.rules) + 99
    model, certificate = made(circuit, range_claim(circuit, label, None, total, {}, None))
    at_most = certificate["question"]["at_most"] = data.draw(st.integers(-3, 3))
    _, formula = checker.read([model], certificate)
    rows = []
    for atoms in every_row_of(search):
        wires = wires_of(search, atoms)
        if lead_of(circuit, 0, wires) > at_most:
            rows.append(truth_of(formula, atoms, wires))
    clauses, n_variables = checker.read_dimacs(certificate["dimacs"])
    literals = st.integers(1, n_variables).flatmap(lambda v: st.sampled_from([v, -v]))
    for _ in range(20):
        clause = list(data.draw(st.sampled_from(clauses)))
        place = data.draw(st.integers(0, len(clause) - 1))
        clause[place : place + 1] = data.draw(st.lists(literals, max_size=1))
        try:
            formula.require_fact(clause)
        except checker.Refused:
            continue
        for row in rows:
            assert any(row[abs(literal)] == (literal > 0) for literal in clause), clause


def truth_of(formula: Any, atoms: tuple[int, ...], wires: list[bool]) -> dict[int, bool]:
    """Return the truth of all variables for a row that refutes the claim."""
    truth = {}
    for variable in range(1, formula.n_variables + 1):
        if variable in formula.goal_of:
            truth[variable] = True
        elif variable in formula.part_of:
            truth[variable] = is_below(formula, *formula.part_of[variable], atoms, wires)
        else:
            column, bits = formula.column_of[variable]
            truth[variable] = bool(bits >> atoms[column] & 1)
    return truth


def is_below(formula: Any, of: int, place: int, atoms: tuple[int, ...], wires: list[bool]) -> bool:
    """Whether a part of a sum is less than its least value."""
    own, part = formula.sums[of], formula.sums[of].parts[place]
    value = sum(own.rules[n] for n in part.table.rules if wires[formula.model.rules[n][0]])
    value -= sum(messages[atoms[column]] for column, messages in part.messages.items())
    return bool(value < part.least)


CLAIMS: dict[str, Callable[[Circuit], Claim]] = {
    "always": lambda c: rule_claim(c, "high", {"age": (51, None), "sex": "m"}, False, None),
    "never": lambda c: rule_claim(c, "high", {"sex": ["f"], "chol": (0, 150)}, True, None),
    "independent": lambda c: independence_claim(c, ["sex"], {"age": (None, 50)}, None),
    "range": lambda c: range_claim(c, "high", -1, 2, {}, None),
}


def put(path: tuple[Any, ...], value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        old = document[path[-1]]
        document[path[-1]] = value(old) if callable(value) else value

    return change


def lines(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[Any], None]:
    """Change the lines of a text."""

    def changed(text: str) -> str:
        return "".join(f"{line}\n" for line in change(text.splitlines()))

    return put((name,), changed)


def first_of(kind: str, place: int, value: Any) -> Callable[[Any], None]:
    """Change what the first variable of a kind says."""

    def change(document: Any) -> None:
        meaning = next(own for own in document["variables"] if own[0] == kind)
        meaning[place] = value(meaning[place]) if callable(value) else value

    return change


def flip(line: str, place: int) -> str:
    """Negate a literal, or name another clause."""
    numbers = line.split()
    numbers[place] = str(-int(numbers[place]))
    return " ".join(numbers)


def with_clause(clause: str) -> Callable[[Any], None]:
    """Add a clause to the formula, and refute it with that."""

    def change(document: Any) -> None:
        header, *clauses = document["dimacs"].splitlines()
        n = len(clauses) + 1
        header = " ".join([*header.split()[:3], str(n)])
        document["dimacs"] = "\n".join([header, *clauses, clause, ""])
        document["lrat"] = f"{n + 1} 0 {n} 0\n"

    return change


BREAKS: dict[str, Callable[[Any], None]] = {
    "another model": put(("model_sha256",), "0" * 64),
    "a step that is missing": lines("lrat", lambda old: old[1:]),
    "the last step is missing": lines("lrat", lambda old: old[:-1]),
    "only the last step": lines("lrat", lambda old: old[-1:]),
    "no steps": put(("lrat",), ""),
    "another literal in a step": lines("lrat", lambda old: [flip(old[0], 1), *old[1:]]),
    "another hint": lines("lrat", lambda old: [*old[:-1], flip(old[-1], -2)]),
    "a hint that is missing": lines("lrat", lambda old: [*old[:-1], old[-1].split()[0] + " 0 0"]),
    "hints in another order": lines(
        "lrat", lambda old: [old[0].split(" 0 ")[0] + " 0 2 1 0", *old[1:]]
    ),
    "the number of a fact": lines("lrat", lambda old: ["1 0 1 0", *old]),
    "a step that does not end": lines("lrat", lambda old: [old[0][:-2], *old[1:]]),
    "a clause that is missing": lines("dimacs", lambda old: [old[0], *old[2:]]),
    "another literal in a fact": lines("dimacs", lambda old: [*old[:-1], flip(old[-1], 0)]),
    "no formula": put(("dimacs",), ""),
    "another header": lines("dimacs", lambda old: [old[0].replace("cnf", "wcnf"), *old[1:]]),
    "the empty clause as a fact": with_clause("0"),
    "no goal as a fact": with_clause("-1 0"),
    "an unknown variable": with_clause("99999 0"),
    "a part as a fact": lambda old: with_clause(f"-{part_of(old)} 0")(old),
    "no part as a fact": lambda old: with_clause(f"{part_of(old)} 0")(old),
    "another rule in a table": put(("tables", 0, "rules"), lambda old: [*old, 0, 1]),
    "a rule that is missing": put(("tables", 0, "rules"), lambda old: old[1:]),
    "an unknown rule": put(("tables", 0, "rules"), [99]),
    "another least value": put(("sums", 0, "parts", 0, 1), lambda old: old + 1),
    "a smaller least value": put(("sums", 0, "parts", 0, 1), lambda old: old - 10**6),
    "a least value that is no integer": put(("sums", 0, "parts", 0, 1), 0.5),
    "another part": first_of("part", 2, 99),
    "another sum": first_of("part", 1, 99),
    "an unknown table": put(("sums", 0, "parts", 0, 0), 99),
    "a message too many": put(("sums", 0, "parts", 0), lambda old: [*old, [1, 2]]),
    "factors of 0": put(("sums", 0, "factors"), lambda old: [0 for _ in old]),
    "a negative factor": put(("sums", 0, "factors"), lambda old: [-1 for _ in old]),
    "too few factors": put(("sums", 0, "factors"), []),
    "another goal": put(("sums", 0, "goal"), 99),
    "an unknown goal": first_of("goal", 1, 99),
    "an unknown meaning": first_of("goal", 0, "hope"),
    "too few variables": put(("variables",), lambda old: old[:-1]),
    "an atom that is missing": put(("atoms", 0), lambda old: old[:1]),
    "another version": put(("version",), 3),
    "another format": put(("format",), "dln-circuit"),
    "no question": put(("question",), {}),
    "a longer question": put(("question", "where"), {"size": None}),
}


def part_of(document: Any) -> int:
    """Return a variable about a part."""
    return 1 + next(n for n, own in enumerate(document["variables"]) if own[0] == "part")


@pytest.mark.parametrize("kind", CLAIMS)
@pytest.mark.parametrize("what", BREAKS)
def test_what_was_changed_on_purpose_is_refused(
    tmp_path: Path, kind: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = biased()
    model, certificate = made(circuit, CLAIMS[kind](circuit))
    assert checker.check([model], certificate)
    broken = copy.deepcopy(certificate)
    BREAKS[what](broken)
    (tmp_path / "m.json").write_bytes(model)
    (tmp_path / "c.json").write_text(json.dumps(broken), "utf-8")
    assert checker.main([str(tmp_path / "m.json"), str(tmp_path / "c.json")]) == 1
    assert capsys.readouterr().out.startswith("REFUSED: ")


@pytest.mark.parametrize("kind", CLAIMS)
def test_the_native_check_refuses_what_was_changed_on_purpose(kind: str) -> None:
    claim = CLAIMS[kind](biased())
    search, box, goal = claim.search, claim.region.box, list(claim.goals[0])
    proof = search.prove(box, goal, seconds=9.0)
    assert proof is not None
    tree, messages, starts, multipliers = proof
    check = search.native.check
    assert check(box, goal, *proof)
    assert not check(box, goal, tree, messages, starts, -multipliers)
    assert not check(box, goal, tree, messages, starts, 0 * multipliers)
    assert not check(box, goal, tree, messages - 2**62, starts, multipliers) or not len(messages)
    assert not check(box, goal, tree[:-1], messages, starts, multipliers)
    assert not check(box, goal, np.append(tree, tree[-1]), messages, starts, multipliers)
    assert not check(box, goal, tree[-1:].copy(), messages, starts, multipliers)
    for place in range(len(tree)):
        changed = tree.copy()
        changed[place] = -77
        assert not check(box, goal, changed, messages, starts, multipliers)
    assert not check(search.all_rows, goal, *proof) or kind == "range"
    with pytest.raises(ValueError, match="do not match"):
        check(box, goal, tree, messages, starts[:-1].copy(), multipliers)


def test_a_false_claim_with_the_proof_of_another_is_refused() -> None:
    circuit = biased()
    model, certificate = made(circuit, CLAIMS["always"](circuit))
    for where in ({}, {"age": [51, None]}, {"age": [50, None], "sex": ["m"]}, {"sex": ["m"]}):
        wrong = {**certificate, "question": {**certificate["question"], "where": where}}
        with pytest.raises(checker.Refused):
            checker.check([model], wrong)
    model, certificate = made(circuit, CLAIMS["independent"](circuit))
    wrong = {**certificate, "question": {**certificate["question"], "where": {}}}
    with pytest.raises(checker.Refused):
        checker.check([model], wrong)


def test_a_changed_model_is_refused_even_with_its_digest() -> None:
    import hashlib

    circuit = biased()
    model, certificate = made(circuit, CLAIMS["range"](circuit))
    document = json.loads(model)
    document["rules"][0]["votes"] = [0, 9]
    changed = json.dumps(document).encode()
    certificate["model_sha256"] = hashlib.sha256(changed).hexdigest()
    with pytest.raises(checker.Refused, match="is not a fact"):
        checker.check([changed], certificate)


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_solver_finds_no_solution_of_the_formula(kind: str, tmp_path: Path) -> None:
    """The formula alone, without our refutation, has no solution; without a fact it has one."""
    find_module("pysat", package="python-sat")
    from pysat.formula import CNF
    from pysat.solvers import Solver

    cnf, _ = written(kind, tmp_path)
    formula = CNF(from_file=str(cnf))
    for clauses, solvable in ((formula.clauses, False), (formula.clauses[1:], True)):
        with Solver(name="cadical153", bootstrap_with=clauses) as solver:
            assert solver.solve() == solvable


@pytest.mark.parametrize("kind", CLAIMS)
@pytest.mark.parametrize(
    ("tool", "said"), [("lrat-check", "VERIFIED"), ("cake_lpr", "s VERIFIED UNSAT")]
)
def test_other_checkers_accept_the_refutation(
    tool: str, said: str, kind: str, tmp_path: Path
) -> None:
    found = shutil.which(tool)
    if found is None:  # there is no Debian package
        pytest.skip(f"{tool} is not installed (docs/reference/certificate.md says where it is)")
    files = written(kind, tmp_path)
    environment = {**os.environ, "CML_HEAP_SIZE": "500", "CML_STACK_SIZE": "100"}
    run = partial(subprocess.run, capture_output=True, text=True, env=environment)
    assert said in run([found, *map(str, files)]).stdout
    steps = files[1].read_text("utf-8").splitlines()
    files[1].write_text("\n".join([*steps[1:], ""]), "utf-8")
    done = run([found, *map(str, files)])
    assert said not in done.stdout.replace("NOT VERIFIED", "")


def written(kind: str, folder: Path) -> tuple[Path, Path]:
    """Let the checker write the formula and the refutation of a claim."""
    circuit = biased()
    model, certificate = made(circuit, CLAIMS[kind](circuit))
    files = folder / "m.json", folder / "c.json"
    files[0].write_bytes(model)
    files[1].write_text(json.dumps(certificate), "utf-8")
    assert checker.main([*map(str, files), "--write", str(folder / "proof")]) == 0
    return folder / "proof.cnf", folder / "proof.lrat"


def test_the_formula_is_written_with_the_words_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cnf, lrat = written("always", tmp_path)
    lines = cnf.read_text("utf-8").splitlines()
    assert lines[0].startswith('c always class "high" where {age: [51')
    for said in ('w0: "age" > 50.0', 'w1: "sex" in ["m"]', "w4: AND(w0, w1)", "w0 = 1"):
        assert any(line.startswith("c ") and line.endswith(said) for line in lines), said
    assert any(" part of the lack of goal 0: " in line and "*w4" in line for line in lines)
    assert lrat.read_text("utf-8").splitlines()[-1].split()[1] == "0"
    usage = "usage: python check_certificate.py"
    for arguments in (["m"], ["m", "c", "--write"], ["m", "c", "--read", "proof"]):
        assert checker.main(arguments) == 2
        assert capsys.readouterr().err.startswith(usage)


def test_the_checker_imports_only_the_standard_library() -> None:
    lines = CHECKER.read_text("utf-8").splitlines()
    imported = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)


# -- constraints ------------------------------------------------------------------------------


@law
@given(constrained_circuits())
def test_constraints_have_a_certificate_exactly_if_every_rule_satisfies_them(
    drawn: tuple[Circuit, Constraints],
) -> None:
    circuit, constraints = drawn
    assume(constraints)
    model = circuit_to_json(circuit).encode()
    try:
        certificate = constraints_certificate(circuit, constraints, model)
    except CircuitError:
        nothing = Constraints()
        question = {"kind": "constraints", **constraints.to_dict()}
        wrong = {**constraints_certificate(circuit, nothing, model), "question": question}
        with pytest.raises(checker.Refused, match="a rule"):
            checker.check([model], wrong)
    else:
        assert checker.check([model], json.loads(json.dumps(certificate)))


GROWING = {"monotone": {"age": "+"}, "interactions": [["age", "chol"]], "unused_columns": ["sex"]}


def number_of_two_rules() -> Circuit:
    columns, literals = biased().columns, (Above(0, 50.0), Above(2, 200.0))
    nodes = (Node(GATE_BY_NAME["AND"], 0, 1),)
    readout = Score((Rule(0, (3,)), Rule(2, (5,))), (1,), name="risk")
    return Circuit(logic=Logic(columns, literals, nodes), readout=readout)


BROKEN_QUESTIONS: dict[str, Callable[[Any], None]] = {
    "the other direction": put(("question", "monotone", 0, "sign"), "-"),
    "a wrong sign": put(("question", "monotone", 0, "sign"), "*"),
    "an unknown column": put(("question", "monotone", 0, "column"), "size"),
    "a column of categories": put(("question", "monotone", 0, "column"), "sex"),
    "a class of a number": put(("question", "monotone", 0), lambda own: {**own, "class": "risk"}),
    "other groups": put(("question", "interactions"), [["age", "sex"]]),
    "a column that is read": put(("question", "unused_columns"), ["chol"]),
    "a pair that occurs": put(("question", "forbidden_pairs"), [["age", "chol"]]),
    "too few columns": put(("question", "max_columns_per_rule"), 1),
    "an unknown part": lambda own: own["question"].update(other=1),
    "nothing": put(("question",), {"kind": "constraints"}),
    "another model": put(("model_sha256",), "0" * 64),
}


@pytest.mark.parametrize("what", BROKEN_QUESTIONS)
def test_a_false_question_about_constraints_is_refused(what: str) -> None:
    circuit = number_of_two_rules()
    constraints = read_constraints((None,), **GROWING)
    model = circuit_to_json(circuit).encode()
    certificate = constraints_certificate(circuit, constraints, model)
    certificate["question"] |= {"forbidden_pairs": [], "max_columns_per_rule": 2}
    said = checker.check([model], certificate)
    assert said.startswith('the prediction "risk" never falls as "age" grows; only columns of the')
    BROKEN_QUESTIONS[what](certificate)
    with pytest.raises(checker.Refused):
        checker.check([model], certificate)


# -- the command ------------------------------------------------------------------------------


def test_the_command_proves_and_writes_a_certificate(run: Run, tmp_path: Path) -> None:
    model, proof = tmp_path / "m.json", tmp_path / "proof.json"
    biased().save(model)
    options = ("--where", "age=51..", "--where", "sex=m", "--certificate", proof)
    status, out, err = run("prove", model, "--always", "high", *options)
    assert status == 0
    assert out.startswith("Proven: always high where age >= 51 and sex in {m} (bounds, ")
    assert "check it: python check_certificate.py" in err
    done = subprocess.run([sys.executable, CHECKER, model, proof], capture_output=True, text=True)
    assert (done.returncode, done.stdout[:22]) == (0, 'PROVEN: always class "'), done
    other = tmp_path / "other.json"
    options = ("--independent", "sex", "--json", "--certificate", other)
    status, out, err = run("prove", model, *options)
    assert status == 1
    assert json.loads(out)["proven"] is False
    assert "other.json was not written, because the claim is not proven" in err
    assert not other.exists()
    assert run("prove", model, "--never", "high", "--time-limit", "0")[0] in (1, 3)


def test_the_command_certifies_rows(run: Run, tmp_path: Path) -> None:
    model, rows = tmp_path / "m.json", tmp_path / "rows.csv"
    biased().save(model)
    rows.write_text("age,sex,chol\n40,m,100\n50,m,100\n60,f,199.5\n", "utf-8")
    options = ("--robust", "--data", rows, "--tolerance", "age=1", "--tolerance", "chol=0.25")
    status, out, _ = run("prove", model, *options)
    assert status == 1
    assert out.startswith("2 of 3 rows keep their class within the tolerances, 1 do not")
    assert "row 2: refuted: changing age from 50 to 51 changes low to high" in out
    found = json.loads(run("prove", model, *options, "--json")[1])
    assert found["certified"] == [True, False, True]
    assert "radii" not in found


def test_the_commands_certify_rows_and_reasons(run: Run, tmp_path: Path) -> None:
    model, rows, proof = tmp_path / "m.json", tmp_path / "rows.csv", tmp_path / "proof.json"
    biased().save(model)
    rows.write_text("age,sex,chol\n40,m,100\n50,m,100\n60,f,199.5\n,m,\n", "utf-8")
    options = ("--robust", "--data", rows, "--tolerance", "age=1", "--tolerance", "chol=0.25")
    status, _, err = run("prove", model, *options, "--certificate", proof)
    assert status == 1
    assert "check it: python check_certificate.py" in err
    said = checker.check([model.read_bytes()], json.loads(proof.read_text("utf-8")))
    assert said.splitlines()[0] == (
        'always class "low" where {age: [39.0, 41.0], sex: ["m"], chol: [99.75, 100.25]}'
    )
    assert "age: null" in said.splitlines()[2]
    assert len(said.splitlines()) == 3
    wrong = json.loads(proof.read_text("utf-8"))
    wrong["question"]["questions"][0]["where"]["age"] = [39, 60]
    with pytest.raises(checker.Refused):
        checker.check([model.read_bytes()], wrong)
    for damage, said in (
        (lambda c: c["question"]["questions"].append(c["question"]["questions"][0]), "not a fact"),
        (lambda c: c["question"]["questions"].pop(), "no such goal"),
        (lambda c: c["question"].update(questions=[]), "no question"),
        (lambda c: c["question"]["questions"][0].update(kind="never"), "a question differs"),
        (lambda c: c["question"]["questions"][0]["where"].update(sex=["x"]), "no value of 'sex'"),
    ):
        wrong = json.loads(proof.read_text("utf-8"))
        damage(wrong)
        with pytest.raises(checker.Refused, match=said):
            checker.check([model.read_bytes()], wrong)
    status, _, _ = run("explain", model, rows, "--row", 3, "--certificate", proof)
    assert status == 0
    said = checker.check([model.read_bytes()], json.loads(proof.read_text("utf-8")))
    reason = biased().reason({"age": 60, "sex": "f", "chol": 199.5})
    assert all(f"{name}: " in said for name in reason.features)
    rows.write_text("age,sex,chol\n50,m,100\n", "utf-8")
    status, _, err = run("prove", model, *options, "--certificate", proof)
    assert (status, err.count("\n")) == (2, 1)
    assert "no row is certified" in err


def test_the_command_finds_radii(run: Run, tmp_path: Path) -> None:
    model, rows = tmp_path / "m.json", tmp_path / "rows.csv"
    biased().save(model)
    rows.write_text("age,sex,chol\n40,m,100\n50,m,100\n60,f,199.5\n", "utf-8")
    options = ("--robust", "--radius", "--data", rows, "--tolerance", "age=2")
    status, out, _ = run("prove", model, *options)
    assert status == 1
    assert "radius, in multiples of the tolerances: smallest 0.5" in out
    found = json.loads(run("prove", model, *options, "--json")[1])
    assert found["radii"] == certified_radius(biased(), pd.read_csv(rows), {"age": 2}).tolist()
    assert found["radii"][:2] == [5.5, 0.5]
    assert found["most_radius"] == 100


def test_the_command_proves_ranges(run: Run, tmp_path: Path) -> None:
    circuit = biased()
    model, proof = tmp_path / "m.json", tmp_path / "proof.json"
    circuit.save(model)
    for option, side in (("--at-least", -1), ("--at-most", 1)):
        bound = side * 20
        while prove_range(circuit, "high", **{option[2:].replace("-", "_"): bound - side}):
            bound -= side
        options = ("--lead", "high", option, bound)
        assert run("prove", model, *options, "--certificate", proof)[0] == 0
        done = subprocess.run([sys.executable, CHECKER, model, proof], capture_output=True)
        assert done.returncode == 0, done
        status, out, _ = run("prove", model, "--lead", "high", option, bound - side)
        assert (status, out[:9]) == (1, "Refuted: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give one of --always, --never, --independent, --lead, --robust or --constraints"),
        (("--always", "high", "--never", "low"), "give one of"),
        (("--always", "none"), "there is no class 'none'"),
        (("--independent", "sax"), "did you mean 'sex'?"),
        (("--always", "high", "--where", "age"), "expected COLUMN=VALUE"),
        (("--always", "high", "--where", "age=old"), "--where age=old is not an integer"),
        (("--always", "high", "--where", "sex=x"), "the categories are 'f', 'm'"),
        (("--always", "high", "--where", "age=1", "--where", "age=2"), "twice"),
        (("--robust",), "--robust needs --data"),
        (("--lead", "high"), "--lead is used together with --at-least or --at-most"),
        (("--lead", "high", "--at-least", "9", "--at-most", "1"), "no number is in that range"),
        (("--always", "high", "--at-most", "3"), "--lead is used together with"),
        (("--always", "high", "--radius"), "--radius is only used with --robust"),
        (("--always", "high", "--tolerance", "age=1"), "only used with --robust"),
        (("--always", "high", "--certificate", "-"), "needs a model file and an output file"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    biased().save(tmp_path / "m.json")
    status, out, err = run("prove", tmp_path / "m.json", *options)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_large_rules_have_no_certificate() -> None:
    from dln.core.gates import GATE_BY_NAME
    from dln.core.literals import Above
    from dln.core.parts import Node, Rule
    from dln.errors import CircuitError

    n = 24
    nodes = [Node(GATE_BY_NAME["AND"], wire - 1, wire - n) for wire in range(n, 2 * n)]
    columns = [Column(f"x{i}", "boolean") for i in range(n)]
    literals = [Above(i, 0.5) for i in range(n)]
    circuit = Circuit(columns, literals, nodes, [Rule(2 * n - 1, (0, 1))], (0, 0), ("no", "yes"))
    claim = rule_claim(circuit, "no", {"x0": False}, False, None)
    assert isinstance(decide(claim, None), Proof)
    with pytest.raises(CircuitError, match="too many literals for a certificate"):
        certificate_of([claim], b"", Clock(None))
