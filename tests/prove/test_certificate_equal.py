"""Certificates that two models are equal: accepted if they are, refused if anything was changed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.literals import Above, Column
from dln.core.logic import Logic
from dln.core.model_file import circuit_to_json
from dln.core.parts import Rule
from dln.core.score import Score
from dln.errors import CircuitError
from dln.prove.certificate import certificate_of
from dln.prove.clock import Clock
from dln.prove.equal import prove_equal
from dln.prove.equality import equality_claim
from dln.prove.question import Aspect
from dln.shrink.simplify.simplify import simplify
from tests.conftest import Run
from tests.prove.test_certificate import CHECKER, checker
from tests.prove.test_certify import biased
from tests.support.provable import alike_on_all_rows, changed, n_atom_rows, rewritten
from tests.support.strategies import circuits, every_row, law, score_logic_circuits

ASPECTS = st.sampled_from(["probabilities", "classes"])
SEVERAL = circuits(max_columns=3).filter(lambda own: own.n_classes > 1)


def made(
    a: Circuit, b: Circuit, of: Aspect = "probabilities", tolerance: float = 0.0
) -> tuple[list[bytes], dict[str, Any]]:
    """Return two model files and the certificate that they are equal, as read from files."""
    models = [circuit_to_json(own).encode() for own in (a, b)]
    claim = equality_claim(a, b, of=of, tolerance=tolerance)
    document = certificate_of([claim], models[0], Clock(None), models[1])
    assert document is not None
    return models, json.loads(json.dumps(document))


def with_digests(certificate: dict[str, Any], models: list[bytes]) -> dict[str, Any]:
    digests = [hashlib.sha256(model).hexdigest() for model in models]
    return {**certificate, "model_sha256": digests[0], "other_sha256": digests[1]}


@law
@given(data=st.data(), a=SEVERAL, of=ASPECTS)
def test_circuits_that_are_equal_have_a_certificate(
    data: st.DataObject, a: Circuit, of: Aspect
) -> None:
    b = data.draw(st.one_of(rewritten(a), changed(a), st.just(simplify(a))))
    assume(n_atom_rows(a, b) < 5000)
    if b.temperature == a.temperature and prove_equal(a, b, of=of):
        models, certificate = made(a, b, of)
        assert checker.check(models, certificate)


@law
@given(data=st.data(), a=SEVERAL)
def test_a_certificate_with_the_digest_of_another_circuit_is_refused_unless_that_is_equal_too(
    data: st.DataObject, a: Circuit
) -> None:
    other = data.draw(changed(a))
    assume(n_atom_rows(a, other) < 5000)
    models, certificate = made(a, a)
    models[1] = circuit_to_json(other).encode()
    try:
        checker.check(models, with_digests(certificate, models))
    except (checker.Refused, IndexError):
        return
    assert alike_on_all_rows(a, other)


@law
@given(a=score_logic_circuits(max_literals=4, max_gates=8), data=st.data(), by=st.integers(-3, 3))
def test_numbers_within_a_tolerance_have_a_certificate(
    a: Circuit, data: st.DataObject, by: int
) -> None:
    a = replace(a, readout=replace(a.number_readout, link="identity", digits=1))
    score = a.number_readout
    rules = data.draw(st.permutations(score.rules))[1:]
    b = replace(a, readout=replace(score, rules=tuple(rules), base_votes=(score.offset + by,)))
    apart = int(np.abs(a.votes(every_row(a)) - b.votes(every_row(b))).max())
    models, certificate = made(a, b, tolerance=apart / 10)
    assert certificate["question"]["points"] == apart
    assert checker.check(models, certificate)
    if apart:
        certificate["question"]["points"] -= 1
        with pytest.raises(checker.Refused):
            checker.check(models, certificate)


def doubled() -> Circuit:
    """Return a circuit that predicts the same classes as `biased`, with other votes."""
    circuit = biased()
    rules = tuple(Rule(r.wire, tuple(2 * vote for vote in r.votes)) for r in circuit.rules)
    return replace(circuit, rules=rules, base_votes=(2, 0))


def changed_file(change: Callable[[Any], None]) -> Callable[[Any, list[bytes]], None]:
    """Change the second model file, with its digest."""

    def both(certificate: Any, models: list[bytes]) -> None:
        document = json.loads(models[1])
        change(document)
        models[1] = json.dumps(document).encode()
        certificate.update(with_digests(certificate, models))

    return both


def ask(**wrong: Any) -> Callable[[Any, list[bytes]], None]:
    return lambda certificate, models: certificate["question"].update(wrong)


def swap(certificate: Any, models: list[bytes]) -> None:
    models.reverse()


def swap_all(certificate: Any, models: list[bytes]) -> None:
    models.reverse()
    certificate.update(with_digests(certificate, models))


BREAKS: dict[str, tuple[Callable[[Any, list[bytes]], None], str]] = {
    "swapped files": (swap, "about another model file"),
    "swapped files and digests": (swap_all, "is not a fact"),
    "only one file": (lambda certificate, models: models.pop(), "2 model file"),
    "another vote": (changed_file(lambda d: d["rules"][0].update(votes=[0, 9])), "not a fact"),
    "another base": (changed_file(lambda d: d.update(base_votes=[9, 0])), "not a fact"),
    "another gate": (changed_file(lambda d: d["gates"][0].__setitem__(0, "OR")), "not a fact"),
    "another cutoff": (changed_file(lambda d: d["literals"][0].update(above=49.0)), "atom"),
    "another kind": (changed_file(lambda d: d["columns"][0].update(kind="number")), "differ"),
    "other categories": (
        changed_file(lambda d: d["columns"][1].update(categories=["m", "f"])),
        "differ",
    ),
    "another name": (changed_file(lambda d: d["columns"][0].update(name="years")), "no column"),
    "a name twice": (changed_file(lambda d: d["columns"][0].update(name="sex")), "same name"),
    "other classes": (changed_file(lambda d: d["classes"].reverse()), "different classes"),
    "another question": (ask(of="probabilities"), "factor"),
    "a number": (ask(of="number", points=10**6), "predicts something else"),
    "an unknown question": (ask(of="votes"), "unknown kind"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_was_changed_on_purpose_is_refused(what: str) -> None:
    models, certificate = made(biased(), doubled(), "classes")
    assert checker.check(models, certificate).startswith("the two models give the same class")
    change, said = BREAKS[what]
    change(certificate, models)
    with pytest.raises(checker.Refused, match=said):
        checker.check(models, certificate)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(temperature=2.0), "different temperatures"),
        (lambda d: d.update(calibration={"leads": [1], "values": []}), "different calibrations"),
    ],
)
def test_other_probabilities_of_equal_votes_are_refused(
    change: Callable[[Any], None], said: str
) -> None:
    models, certificate = made(biased(), biased())
    assert "probabilities" in checker.check(models, certificate)
    changed_file(change)(certificate, models)
    with pytest.raises(checker.Refused, match=said):
        checker.check(models, certificate)
    classes_only = made(biased(), biased(), "classes")[1]
    checker.check(models, with_digests(classes_only, models))


def price(points: int, digits: int, link: Any = "identity") -> Circuit:
    logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
    return Circuit(logic=logic, readout=Score((Rule(0, (points,)),), (0,), digits, link))


def test_numbers_are_compared_on_one_scale_and_with_one_link() -> None:
    models, certificate = made(price(3, 0), price(300, 2))
    assert checker.check(models, certificate).startswith("the two models give the same number")
    for other in (price(301, 2), price(300, 1), price(300, 2, "log")):
        models[1] = circuit_to_json(other).encode()
        with pytest.raises(checker.Refused):
            checker.check(models, with_digests(certificate, models))
    models = [circuit_to_json(price(3, 0, "log")).encode()] * 2
    certificate["question"]["points"] = 5
    with pytest.raises(checker.Refused, match="needs the link identity"):
        checker.check(models, with_digests(certificate, models))


def test_models_of_one_class_need_no_certificate() -> None:
    circuit = Circuit((), (), (), (), (0,), ("yes",))
    with pytest.raises(CircuitError, match="need no certificate"):
        equality_claim(circuit, circuit)


def test_the_command_writes_a_certificate(run: Run, tmp_path: Path) -> None:
    a, b, other = (tmp_path / name for name in ("a.json", "b.json", "other.json"))
    proof = tmp_path / "proof.json"
    biased().save(a)
    simplify(biased()).save(b)
    doubled().save(other)
    status, out, err = run("verify", a, b, "--certificate", proof)
    assert (status, out[:5]) == (0, "equal")
    assert f"check it: python check_certificate.py {a} {b} {proof}" in err
    command = [sys.executable, CHECKER, a, b, proof]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:23]) == (0, "PROVEN: the two models "), done
    assert checker.main([str(a), str(other), str(proof)]) == 1
    assert checker.main([*map(str, (a, b, proof)), "--write", str(tmp_path / "p")]) == 0
    assert (tmp_path / "p.lrat").exists()
    proof.unlink()
    assert run("verify", a, other, "--certificate", proof)[0] == 1
    assert not proof.exists()
    status, out, err = run("verify", a, b, "--certificate", b)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert run("verify", a, other, "--classes", "--certificate", proof)[0] == 0
    assert checker.main([str(a), str(other), str(proof)]) == 0
