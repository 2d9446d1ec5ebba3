"""`dln prove`: prove a claim about every possible row, and write a certificate."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dln.cli.asking import find_class, find_names
from dln.cli.certificates import (
    check_certificate_output,
    print_not_written,
    print_written,
    write_checked_certificate,
)
from dln.cli.conditions import read_conditions, read_numbers
from dln.cli.constraints import (
    ForbiddenPair,
    Interactions,
    MaxColumnsPerRule,
    Monotone,
    Unused,
    read_constraint_options,
)
from dln.cli.files import load_model
from dln.cli.layout import DETECT, Layout
from dln.cli.options import Json, Model, Quiet, TimeLimit
from dln.cli.output import print_json, print_result
from dln.cli.proof_output import (
    MOST_RADIUS,
    proofs_document,
    proofs_text,
    rows_document,
    rows_text,
    verdict_document,
    verdict_text,
)
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, read_constraints
from dln.core.verdict import Proof, Undecided, Violation
from dln.errors import OptionError
from dln.prove.certificate import write_constraints_certificate
from dln.prove.certify import independence_claim, range_claim, rule_claim
from dln.prove.claim import Claim, decide
from dln.prove.constraints import prove_constraints
from dln.prove.robust import Robustness, certified_radius, prove_robust, robust_claims
from dln.prove.share import share_of
from dln.prove.share_robust import share_robust

PROVEN, REFUTED, UNDECIDED = 0, 1, 3


@reads_table
def prove(
    model: Model,
    always: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Prove that this class is always predicted.")
    ] = None,
    never: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Prove that this class is never predicted.")
    ] = None,
    independent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Prove that these columns alone never change the class. Comma-separated.",
        ),
    ] = None,
    robust: Annotated[
        bool,
        typer.Option(
            "--robust", help="Prove for each row of --data that small changes keep its class."
        ),
    ] = False,
    lead: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Prove that the votes of this class, minus the most votes of another class, stay "
            "in the range of --at-least and --at-most.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Prove that the number, or with --lead the lead in votes, is never less.",
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Prove that the number, or with --lead the lead in votes, is never more.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="With --independent: how much a predicted number may change."
        ),
    ] = None,
    constraints: Annotated[
        bool,
        typer.Option(
            "--constraints", help="Prove every constraint that the model was trained with."
        ),
    ] = False,
    monotone: Monotone = None,
    interactions: Interactions = None,
    forbidden_pair: ForbiddenPair = None,
    unused: Unused = None,
    max_columns_per_rule: MaxColumnsPerRule = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Condition on the rows: age=40..60, age=60.., city=Bern,Chur or age=missing. "
            "Repeatable.",
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER", help="With --robust: largest change of a column. Repeatable."
        ),
    ] = None,
    radius: Annotated[
        bool,
        typer.Option(
            "--radius",
            help="With --robust: also print for each row by which factor all tolerances can be "
            "multiplied before its class may change.",
        ),
    ] = False,
    share: Annotated[
        bool,
        typer.Option(
            "--share",
            help="If the claim is not proven, also print how much violates it: of the rows of "
            "--data, and of the box of --where and the ranges of the training rows, for at most "
            "--time-limit more.",
        ),
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Table whose values counterexamples use if possible."),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the proof in DIMACS and LRAT, for check_certificate.py."
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prove a claim about every possible row, or refute it.

    Give one of --always, --never, --independent, --lead, --robust or --constraints, or the
    constraints to prove, such as --monotone age=+; for a model of a number --independent,
    --at-least and --at-most, or constraints. The exit status is 0 if proven, 1 if refuted, 3 if
    undecided within the time limit.

    Example: dln prove credit.json --independent sex --data credit.csv --certificate proof.json

    How many depend on it: dln prove credit.json --independent sex --data credit.csv --share

    Constraints: dln prove credit.json --constraints --certificate proof.json
    """
    asked = {
        "monotone": monotone,
        "interactions": interactions,
        "forbidden_pair": forbidden_pair,
        "unused": unused,
        "max_columns_per_rule": max_columns_per_rule,
    }
    about_rules = constraints or any(asked.values())
    is_range = at_least is not None or at_most is not None
    given = [always is not None, never is not None, bool(independent), robust, about_rules]
    if is_range and lead is None and any(given):
        raise OptionError("--lead is used together with --at-least or --at-most, and nothing else")
    if sum(given) + (is_range or lead is not None) != 1:
        raise OptionError(
            "give one of --always, --never, --independent, --lead, --robust or --constraints, or "
            "constraints such as --monotone; for a number --independent, --at-least or --at-most"
        )
    if about_rules and (where or data):
        raise OptionError("--where and --data cannot be used with constraints")
    if constraints and any(asked.values()):
        raise OptionError(
            "--constraints proves those of the model; leave it out to prove others, such as "
            "--monotone"
        )
    if at_least is not None and at_most is not None and at_least > at_most:
        raise OptionError(
            f"--at-least {at_least:g} is larger than --at-most {at_most:g}; no number is in that "
            "range"
        )
    if lead is not None and not is_range:
        raise OptionError("--lead is used together with --at-least or --at-most")
    if within is not None and not independent:
        raise OptionError("--within is only used with --independent")
    if robust and where:
        raise OptionError("--where cannot be used with --robust")
    if not robust and tolerance:
        raise OptionError("--tolerance is only used with --robust")
    if share and about_rules:
        raise OptionError("--share cannot be used with constraints; use share_monotone in Python")
    if not robust and radius:
        raise OptionError("--radius is only used with --robust")
    if certificate is not None:
        check_certificate_output(certificate, model, data)
    circuit = load_model(model)
    if about_rules:
        wanted = _asked(circuit, asked)
        proofs = prove_constraints(circuit, wanted, time_limit=time_limit)
        print_json(proofs_document(proofs)) if json else print_result(proofs_text(proofs))
        if certificate is not None and not proofs:
            print_not_written(certificate, quiet=quiet)
        elif certificate is not None:
            wanted = wanted or circuit.constraints
            assert wanted is not None  # otherwise there is nothing to prove
            write_constraints_certificate(circuit, wanted, model, certificate)
            print_written(certificate, model, quiet=quiet)
        raise typer.Exit(REFUTED if proofs.refuted else PROVEN if proofs else UNDECIDED)
    if robust:
        if data is None or not tolerance:
            raise OptionError(
                "--robust needs --data DATA and at least one --tolerance COLUMN=NUMBER"
            )
        tolerances = read_numbers(circuit, tolerance, "--tolerance")
        rows = read_all(circuit, data, layout)
        found = prove_robust(circuit, rows, tolerances, time_limit=time_limit)
        radii = _radii(circuit, rows, tolerances, time_limit) if radius else None
        shares = None
        if share and not found:
            shares = share_robust(circuit, rows, tolerances, time_limit=time_limit)
        if json:
            print_json(rows_document(found, radii, shares))
        else:
            print_result(rows_text(found, radii, shares))
        if certificate is not None:
            if not found.certified.any():
                raise OptionError("no row is certified, so there is no certificate to write")
            claims = robust_claims(circuit, rows, tolerances, found)
            write_checked_certificate(claims, model, certificate, time_limit, quiet=quiet)
        raise typer.Exit(_status_of_rows(found))
    conditions = read_conditions(circuit, where)
    rows = None if data is None else read_all(circuit, data, layout)
    if independent:
        names = find_names(circuit, independent)
        claim = independence_claim(circuit, names, conditions, rows, within or 0.0)
    elif is_range:
        claim = _range_claim(circuit, lead, at_least, at_most, conditions, rows)
    else:
        option, text = ("--always", always) if always is not None else ("--never", never)
        label = find_class(circuit, text, option)
        claim = rule_claim(circuit, label, conditions, never is not None, rows)
    verdict = decide(claim, time_limit)
    violating = share_of(claim, time_limit) if share and not verdict else None
    if json:
        print_json(verdict_document(claim, verdict, violating))
    else:
        print_result(verdict_text(claim, verdict, violating))
    if certificate is not None:
        if verdict:
            write_checked_certificate([claim], model, certificate, time_limit, quiet=quiet)
        else:
            print_not_written(certificate, quiet=quiet)
    raise typer.Exit({Proof: PROVEN, Violation: REFUTED, Undecided: UNDECIDED}[type(verdict)])


def _range_claim(
    circuit: Circuit,
    lead: str | None,
    at_least: float | None,
    at_most: float | None,
    where: dict[str, Any],
    rows: Any,
) -> Claim:
    if circuit.task == "number":
        if lead is not None:
            raise OptionError(
                "--lead is for classes, but the model predicts a number; leave it out"
            )
        return range_claim(circuit, None, at_least, at_most, where, rows)
    if lead is None:
        raise OptionError("--at-least and --at-most need --lead CLASS in a model of classes")
    least, most = _votes("--at-least", at_least), _votes("--at-most", at_most)
    return range_claim(circuit, find_class(circuit, lead, "--lead"), least, most, where, rows)


def _votes(option: str, number: float | None) -> int | None:
    if number is not None and number != round(number):
        raise OptionError(f"{option} is {number}, expected a whole number of votes")
    return None if number is None else round(number)


def _asked(circuit: Circuit, asked: dict[str, Any]) -> Constraints | None:
    """Read the constraints to prove; None if they are those of the model."""
    if not any(asked.values()):
        return None
    columns = [column.name for column in circuit.columns]
    outputs = circuit.readout.outputs
    classes = [label for label in outputs if label is not None]
    return read_constraints(outputs, **read_constraint_options(columns, classes, **asked))


def read_all(circuit: Circuit, data: str, layout: Layout) -> Any:
    """Read the columns that the circuit reads, of all rows."""
    from dln.cli.arrow import pa
    from dln.cli.read import open_table, read_for

    with open_table(data, layout) as source:
        return pa.concat_tables([part.typed for part in read_for(circuit, source)])


def _radii(
    circuit: Circuit, rows: Any, tolerances: dict[str, float], time_limit: float
) -> list[float]:
    radii: list[float] = certified_radius(
        circuit, rows, tolerances, most=MOST_RADIUS, time_limit=time_limit
    ).tolist()
    return radii


def _status_of_rows(found: Robustness) -> int:
    if found.refuted.any():
        return REFUTED
    return PROVEN if found else UNDECIDED
