"""`dln search`: search for the best parameters for a table, and test the model."""

from __future__ import annotations

import sys
from typing import Annotated, Any
from typing import Literal as OneOf

import typer

from dln.cli.budget_options import NO_LIMITS, Limits, takes_limits
from dln.cli.constraints import (
    ForbiddenPair,
    Interactions,
    MaxColumnsPerRule,
    Monotone,
    Unused,
    read_constraint_options,
)
from dln.cli.files import check_output, open_output, save_model
from dln.cli.fit_results import (
    Split,
    add_origin,
    measure_test_rows,
    print_saved,
    tested_document,
    tested_text,
)
from dln.cli.fitting import fit_with_messages
from dln.cli.layout import DETECT, Layout
from dln.cli.models import AnySearch, make_search, name_target
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
    ModelOutput,
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
)
from dln.cli.options_file import merge_options
from dln.cli.output import print_message
from dln.cli.table_options import reads_table
from dln.draw.canvas import ending_of, make_axes

_PICTURES = ("png", "svg", "pdf")


@reads_table
@takes_limits
def search(
    data: Data,
    target: Target,
    output: ModelOutput,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of parameter sets to try.")
    ] = 32,
    space: Annotated[
        OneOf["default", "paper", "program"],
        typer.Option(
            help="Search space: dln's own, that of the paper, or the same with the options of the "
            "authors' program."
        ),
    ] = "default",
    objective: Annotated[
        OneOf["accuracy", "pareto"],
        typer.Option(help="Optimise accuracy, or accuracy and size."),
    ] = "accuracy",
    choose: Annotated[
        OneOf["best", "small"],
        typer.Option(help="Save the best model, or the smallest within one standard error of it."),
    ] = "best",
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save finished trials here. The same command resumes the search."
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Plot the trials to a .png, .svg or .pdf file."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SECONDS", help="Start no batch of trials after this time."),
    ] = None,
    options: OptionsFile = None,
    test: TestPart = 0.25,
    ignore: Ignore = None,
    only: Only = None,
    group: Group = None,
    kind: Kind = None,
    task: TaskOption = "auto",
    loss: Loss = "squared",
    quantile: Quantile = 0.5,
    exposure: Exposure = None,
    limits: Limits = NO_LIMITS,
    monotone: Monotone = None,
    interactions: Interactions = None,
    forbidden_pair: ForbiddenPair = None,
    unused: Unused = None,
    max_columns_per_rule: MaxColumnsPerRule = None,
    class_weight: ClassWeight = "balanced",
    seed: Seed = 0,
    backend: Annotated[
        OneOf["local", "ray"], typer.Option(help="Run on this machine, or on a Ray cluster.")
    ] = "local",
    engine: EngineChoice = "native",
    device: Device = "cpu",
    jobs: Jobs = -1,
    layout: Layout = DETECT,
    json: Json = False,
    no_rows: NoRows = False,
    no_ranges: NoRanges = False,
    quiet: Quiet = False,
) -> None:
    """Search for the best parameters, test the model and save it.

    The target decides whether classes or a number are predicted. Trials are compared by
    cross-validation on the training rows: by balanced accuracy, or by R² (D² if the loss is
    not squared). The test rows are used once, at the end. Ctrl-C ends the search early and keeps
    the best model so far. With a limit such as --max-rules 8, every trial stays within it.

    Example: dln search heart.csv --target disease --output heart.json --storage heart.db
    """
    from dln.cli.prepare import prepare
    from dln.search.space import LIMITS, import_optuna  # slow to load: scikit-learn

    import_optuna()  # reports a missing package before the table is read
    check_output(output, data, storage)
    if picture:
        check_output(picture, data, storage, output)
        ending_of(picture, _PICTURES)
        make_axes(None, 1, (1.0, 1.0))  # reports a missing matplotlib before the search
    weight = None if class_weight == "none" else class_weight
    own = {"class_weight": weight, "engine": engine, "device": device}
    merged = merge_options(options, own)
    fixed = {name: value for name, value in merged.items() if name not in own}
    fixed |= limits
    given = {
        "space": space,
        "n_trials": trials,
        "objective": objective,
        "refit": choose,
        "storage": storage,
        "time_limit": time_limit,
        "backend": backend,
        **{name: merged[name] for name in own},
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": int(sys.stderr.isatty() and not quiet),
        "on_interrupt": "keep",
    }
    prepared = prepare(
        data,
        layout,
        target,
        kinds=kind or [],
        ignore=ignore or [],
        only=only or [],
        group=group,
        task=task,
        exposure=exposure,
    )
    searched = make_search(prepared.task, given, {"loss": loss, "quantile": quantile})
    constraints = read_constraint_options(
        list(prepared.kinds),
        prepared.class_names(),
        monotone=monotone,
        interactions=interactions,
        forbidden_pair=forbidden_pair,
        unused=unused,
        max_columns_per_rule=max_columns_per_rule,
    )
    searched.set_params(fixed={**fixed, **constraints})
    limited = any(name in fixed for name in LIMITS)
    rows, test_rows = prepared.split(test, seed)
    if not quiet:
        print_message(prepared.text())
        print_message(f"searching on {len(rows):,} rows, testing on {len(test_rows):,}")
    X, y, groups = prepared.X.take(rows), prepared.y[rows], prepared.groups_of(rows)
    exposures = prepared.exposures_of(rows)
    fit_with_messages(searched, X, y, groups=groups, exposure=exposures, quiet=quiet)
    split = Split(data, layout, prepared, rows, test_rows, test, seed)
    circuit = name_target(searched.circuit_, prepared.predicted_name)
    circuit, notes = add_origin(circuit, searched.best_estimator_, split, no_rows=no_rows)
    if no_ranges:
        circuit = circuit.without_ranges()
    if not quiet:
        for note in notes:
            print_message(f"note: {note}")
    total = measure_test_rows(circuit, split)
    save_model(circuit, output)
    if picture:
        with open_output(picture) as stream:
            searched.draw().savefig(stream, format=ending_of(picture, _PICTURES))
    document = {
        **prepared.document(),
        "notes": [*prepared.notes, *notes],
        "training_rows": len(rows),
        **_search_document(searched),
        **tested_document(circuit, total),
    }
    text = f"{_search_text(searched)}\n{tested_text(circuit, total, page=limited)}"
    print_saved(output, document if json else text, quiet=quiet)


def _search_text(searched: AnySearch) -> str:
    chosen = searched.trials_[searched.best_index_]
    params = ", ".join(f"{name}={_short(value)}" for name, value in chosen.params.items())
    return (
        f"Chosen: trial {chosen.number + 1} of {len(searched.trials_)}, {params}\n"
        f"Score on {len(chosen.fold_scores)} folds: {_score(searched, chosen.score)}"
        f"{_why(searched)}"
    )


def _why(searched: AnySearch) -> str:
    """Explain why the chosen trial does not have the highest score."""
    chosen = searched.trials_[searched.best_index_]
    highest = max(trial.score for trial in searched.trials_ if not trial.stopped)
    if searched.refit == "small" or chosen.score == highest:
        return ""
    why = "similar trials score lower, so it is likely to be luck"
    return f" (the highest is {_score(searched, highest)}; {why})"


def _score(searched: AnySearch, score: float) -> str:
    from dln.search.scores import score_text  # slow to load: scikit-learn

    return score_text(score, searched.measure)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _search_document(searched: AnySearch) -> dict[str, Any]:
    return {
        "best": searched.best_index_,
        "trials": [
            {
                "params": dict(trial.params),
                "score": trial.score,
                "standard_error": trial.standard_error,
                "size": trial.size,
                "folds": len(trial.fold_scores),
                "stopped": trial.stopped,
            }
            for trial in searched.trials_
        ],
        "front": [trial.number for trial in searched.pareto_],
    }
