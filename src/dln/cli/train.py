"""`dln train`: learn a model from a table and test it."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Annotated, Any
from typing import Literal as OneOf

import typer

import dln
from dln._util.storage import Storage
from dln.cli.asking import read_names
from dln.cli.budget_options import NO_LIMITS, Limits, takes_limits
from dln.cli.constraints import (
    ForbiddenPair,
    Interactions,
    MaxColumnsPerRule,
    Monotone,
    Unused,
    read_constraint_options,
)
from dln.cli.decisions import read_decision
from dln.cli.files import check_output, part_files, save_model
from dln.cli.fit_results import (
    Split,
    add_origin,
    measure_test_rows,
    print_saved,
    print_size_hint,
    tested_document,
    tested_text,
)
from dln.cli.fitting import fit_with_messages
from dln.cli.given_rules import read_given_rules, record_refit
from dln.cli.layout import DETECT, Layout
from dln.cli.models import AnyModel, make_model, name_target
from dln.cli.options import (
    ClassWeight,
    Data,
    Device,
    EngineChoice,
    Exposure,
    Group,
    Ignore,
    Jobs,
    Json,
    Kind,
    Loss,
    MaybeModelOutput,
    NoRanges,
    NoRows,
    Only,
    OptionsFile,
    Quantile,
    Quiet,
    Seed,
    Target,
    TaskOption,
    TestPart,
    parameter,
)
from dln.cli.options_file import merge_options
from dln.cli.output import print_message
from dln.cli.price import check_price, measure_price
from dln.cli.storing import StorageFolder, uses_storage
from dln.cli.table_options import reads_table
from dln.cli.traces import check_trace_path, save_trace
from dln.core.circuit import Circuit
from dln.decisions.goal import Probabilities
from dln.errors import OptionError
from dln.estimators.presets import PresetName
from dln.paths.path_file import save_path
from dln.train.options import FitEffort, Gates

_EffortOrNone = OneOf["quick", "normal", "high", "none"]


@reads_table
@takes_limits
@uses_storage
def train(
    data: Data,
    target: Target,
    output: MaybeModelOutput = None,
    test: TestPart = 0.25,
    ignore: Ignore = None,
    only: Only = None,
    group: Group = None,
    kind: Kind = None,
    task: TaskOption = "auto",
    options: OptionsFile = None,
    preset: Annotated[PresetName | None, parameter("preset", show_default=False)] = None,
    init: Annotated[str | None, parameter("init", metavar="MODEL", show_default=False)] = None,
    effort: Annotated[FitEffort, parameter("effort")] = "normal",
    limits: Limits = NO_LIMITS,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Save circuits of every size, from one rule on, in this file (JSON).",
            show_default=False,
        ),
    ] = None,
    monotone: Monotone = None,
    interactions: Interactions = None,
    forbidden_pair: ForbiddenPair = None,
    unused: Unused = None,
    max_columns_per_rule: MaxColumnsPerRule = None,
    price: Annotated[
        bool,
        typer.Option(
            "--price",
            help="Also train without the constraints, and print what they cost in accuracy or R².",
        ),
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rules that the model must have: a text file as dln rules prints it, or a model "
            "file, whose locked rules are kept. The other rules are learned.",
            show_default=False,
        ),
    ] = None,
    soft_rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Like --rules, but the rules are only a starting point: their conditions and "
            "votes are learned, and rules that the rows contradict are dropped.",
            show_default=False,
        ),
    ] = None,
    loss: Loss = "squared",
    quantile: Quantile = 0.5,
    exposure: Exposure = None,
    gates: Annotated[Gates, parameter("gates")] = "all",
    layers: Annotated[str, parameter("layers", metavar="N,N,...")] = "auto",
    networks: Annotated[str, parameter("n_networks", metavar="N")] = "auto",
    cutoffs: Annotated[str, parameter("n_cutoffs", metavar="N")] = "auto",
    tau: Annotated[str, parameter("tau", metavar="NUMBER")] = "auto",
    epochs: Annotated[str, parameter("epochs", metavar="N")] = "auto",
    class_weight: ClassWeight = "balanced",
    probabilities: Annotated[Probabilities, parameter("probabilities")] = "rows",
    decision_threshold: Annotated[
        float | None, parameter("decision_threshold", metavar="SHARE")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRUE:PREDICTED=COST",
            help="Cost of predicting a class for rows of another class. Default: 1. Repeatable.",
        ),
    ] = None,
    sensitivity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=SHARE",
            help="Share of the rows of a class that must be predicted correctly. Repeatable.",
        ),
    ] = None,
    simplify: Annotated[_EffortOrNone, parameter("simplify")] = "quick",
    seed: Seed = 0,
    engine: EngineChoice = "native",
    device: Device = "cpu",
    jobs: Jobs = -1,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz",
            help="Also record the training, for dln draw --training.",
            show_default=False,
        ),
    ] = None,
    storage: StorageFolder = None,
    layout: Layout = DETECT,
    json: Json = False,
    no_rows: NoRows = False,
    no_ranges: NoRanges = False,
    immutable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Comma-separated columns that nobody can change, such as age; saved in the model.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Train a model on a table, test it and save it.

    A quarter of the rows is kept for the test. Column types are inferred and printed, and the
    target decides whether classes or a number are predicted. Ctrl-C ends the training early and
    keeps the model.

    Example: dln train heart.csv --target disease --output heart.json

    Rules that fit on a page: dln train heart.csv -t disease --max-rules 8 -o heart.json

    Constraints: dln train heart.csv -t disease --monotone age=+ --unused name -o heart.json

    More rows have come in: dln train new.csv -t disease --init heart.json -o heart2.json

    More rows than fit into memory: dln train 'parts/*.parquet' -t disease -o heart.json

    A long training that can be resumed: dln train heart.csv -t disease -o heart.json --storage work
    """
    from dln.cli.own_rows import load_earlier
    from dln.cli.parts import check_options, prepare_parts
    from dln.cli.prepare import Prepared, PrepareOptions, prepare

    files = part_files(data)
    if files is not None:
        check_options({"--kind": kind, "--init": init, "--price": price})
    if price and storage is not None:
        raise OptionError("--price trains a second model; leave out --price or --storage")
    if output is not None:
        check_output(output, data)
    if path is not None:
        check_output(path, data, output)
    if trace is not None:
        check_trace_path(trace, data, output)
    before, given_rules = read_given_rules(rules)
    _, soft = read_given_rules(soft_rules)
    given = {
        "preset": preset,
        "init": None if init is None else load_earlier(init, data, layout, target),
        "effort": effort,
        "layers": _layers(layers),
        "n_networks": _number("--networks", networks, int),
        "n_cutoffs": _number("--cutoffs", cutoffs, int),
        "tau": _number("--tau", tau, float),
        "epochs": _number("--epochs", epochs, int),
        "gates": gates,
        **limits,
        "path": path is not None,
        "rules": given_rules,
        "soft_rules": soft,
        "class_weight": None if class_weight == "none" else class_weight,
        "probabilities": probabilities,
        "decision_threshold": decision_threshold,
        "simplify": None if simplify == "none" else simplify,
        "engine": engine,
        "device": device,
    }
    given = {
        **merge_options(options, given),
        "random_state": seed,
        "n_jobs": jobs,
        "trace_every": 0 if trace is None else 1,
        "verbose": int(sys.stderr.isatty() and not quiet),
        "on_interrupt": "keep",
        "storage": storage,
    }
    of_number = {"loss": loss, "quantile": quantile}
    # Options are checked before the table is read.
    expects_number = task == "number" or (task == "auto" and loss != "squared")
    limited = _check(make_model("number" if expects_number else "classes", given, of_number))
    if output is None and not limited:
        raise OptionError("--output is missing; name the file to save the model in: -o model.json")
    choice: PrepareOptions = {
        "ignore": ignore or [],
        "only": only or [],
        "group": group,
        "task": task,
        "exposure": exposure,
    }
    prepared: Prepared
    if files is None:
        prepared = prepare(data, layout, target, kinds=kind or [], **choice)
    else:
        verbose = bool(given["verbose"])
        prepared = prepare_parts(
            data, files, target, **choice, verbose=verbose, storage=_opened(storage)
        )
    classes = prepared.class_names()
    decision = read_decision(cost or [], sensitivity or [], classes)
    constraints = read_constraint_options(
        list(prepared.kinds),
        classes,
        monotone=monotone,
        interactions=interactions,
        forbidden_pair=forbidden_pair,
        unused=unused,
        max_columns_per_rule=max_columns_per_rule,
    )
    if before is not None and before.constraints is not None and not constraints:
        constraints = before.constraints.to_parameters()
    model = make_model(prepared.task, given | decision | constraints, of_number)
    _check(model)
    if price:
        check_price(model, test)
    if not quiet:
        print_message(prepared.text())
    fixed = read_names(list(prepared.kinds), immutable)
    rows, test_rows = prepared.split(test, seed)
    if not quiet:
        print_message(_split_text(len(rows), len(test_rows)))
    X, y, groups = prepared.X.take(rows), prepared.take_y(rows), prepared.groups_of(rows)
    exposures = prepared.exposures_of(rows)
    fit_with_messages(model, X, y, groups=groups, exposure=exposures, quiet=quiet)
    split = Split(data, layout, prepared, rows, test_rows, test, seed)
    circuit = name_target(model.circuit_, prepared.predicted_name)
    if before is not None:
        circuit = record_refit(before, circuit, len(rows))
    circuit, notes = add_origin(circuit, model, split, no_rows=no_rows)
    if no_ranges:
        circuit = circuit.without_ranges()
    if not quiet:
        for note in notes:
            print_message(f"note: {note}")
    circuit = circuit.with_immutable(fixed)
    total = measure_test_rows(circuit, split)
    paid = measure_price(model, split, total, quiet=quiet) if price else None
    if output is not None:
        save_model(circuit, output)
    if path is not None and model.path_ is not None:
        save_path(model.path_.changed(partial(_as_saved, saved=circuit)), path)
    if trace is not None:
        save_trace(model, trace)
    if json:
        document = {
            **prepared.document(),
            "notes": [*prepared.notes, *notes],
            "training_rows": len(rows),
            **tested_document(circuit, total),
            **({} if paid is None else {"without_constraints": paid.without}),
            **({} if model.path_ is None else {"path": model.path_.to_dict()}),
        }
        print_saved(output, document, quiet=quiet)
    else:
        text = tested_text(circuit, total, page=limited)
        if paid is not None:
            text = f"{text}\n{paid.text()}"
        print_saved(output, text, quiet=quiet)
    if not quiet:
        if path is not None:
            print_message(
                f"saved {path}; see its circuits with: dln path {path}, or with a slider: "
                f"dln report {path} -d {data} -o report.html"
            )
        if layers == networks == "auto":
            print_size_hint(circuit)


def _opened(storage: Any) -> Storage | None:
    """Return what `uses_storage` has made of the option."""
    return storage if isinstance(storage, Storage) else None


def _as_saved(circuit: Circuit, *, saved: Circuit) -> Circuit:
    """Give a circuit of the path what the saved one has beside its rules."""
    target = saved.origin.target if saved.origin is not None else ""
    immutable = [column.name for column in saved.columns if column.immutable]
    circuit = replace(name_target(circuit, target), origin=saved.origin)
    if all(column.range is None for column in saved.columns):
        circuit = circuit.without_ranges()
    return circuit.with_immutable(immutable)


def _check(model: AnyModel) -> bool:
    """Check the parameters of a model; return whether they limit the size of the circuit."""
    # Slow to load: scikit-learn.
    from dln.estimators.plan import budget_of, read_number_parameters, read_parameters

    if isinstance(model, dln.DLNClassifier):
        return budget_of(read_parameters(model)).is_limited
    return budget_of(read_number_parameters(model)).is_limited


def _split_text(n_rows: int, n_test_rows: int) -> str:
    tested = f"testing on {n_test_rows:,}" if n_test_rows else "testing on none"
    return f"training on {n_rows:,} rows, {tested}"


def _layers(text: str) -> OneOf["auto"] | tuple[int, ...]:
    """Read "16,8". The estimator checks the numbers."""
    if text == "auto":
        return "auto"
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise OptionError(
            f"--layers is {text!r}, expected numbers of gates, for example 16,8"
        ) from None


def _number(option: str, text: str, read: Any) -> Any:
    """Read a number, or "auto"."""
    try:
        return text if text == "auto" else read(text)
    except ValueError:
        raise OptionError(f"{option} is {text!r}, expected a number or auto") from None
