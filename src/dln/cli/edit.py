"""`dln edit`: change a model by hand, with a record of each edit and proof of its effect."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dln.cli.edit_options import read_edits
from dln.cli.files import STANDARD, check_output, load_model, save_model
from dln.cli.holdout import target_of
from dln.cli.layout import DETECT, Layout
from dln.cli.options import AllRows, Json, KnownTarget, Model, Quiet, TimeLimit
from dln.cli.output import print_json, print_message, print_result
from dln.cli.people import login_name, time_now
from dln.cli.table_options import reads_table
from dln.core.edit_record import Lock, Release, RenameClass, RenameColumn, Unlock
from dln.core.score import Score
from dln.edits.editing import Editing
from dln.edits.editing import edit as start_editing
from dln.edits.edits_file import load_edits, save_edits
from dln.errors import OptionError
from dln.explain.amounts import decimal_text

Texts = list[str] | None


def _option(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=False)


@reads_table
def edit(
    model: Model,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file. - writes to standard output. Without it, nothing is saved.",
            show_default=False,
        ),
    ] = None,
    drop: Annotated[Texts, _option("RULE", "Drop a rule, by its number or its text.")] = None,
    change: Annotated[Texts, _option("N: RULE", "Replace the condition of a rule.")] = None,
    add: Annotated[
        Texts,
        _option(
            "VOTES: RULE",
            'Add a rule, such as "ill +2: age > 54 and smoker". For a number, state what it adds: '
            '"+2.5: age > 54".',
        ),
    ] = None,
    votes: Annotated[
        Texts,
        _option(
            "N: VOTES",
            'Set the votes of a rule, such as "3: ill +2", or what it adds to a number: "3: +2.5".',
        ),
    ] = None,
    base: Annotated[
        Texts,
        _option(
            "VOTES",
            'Set the votes that every row has, such as "ill +1", or the start of a number: "12.5".',
        ),
    ] = None,
    move: Annotated[
        Texts, _option("CUTOFF", 'Move a cutoff: "age 54 to 60", or "3: age 54 to 60" in rule 3.')
    ] = None,
    lock: Annotated[
        Texts, _option("RULE", "Lock a rule, so that simplify, prune and a refit keep it.")
    ] = None,
    unlock: Annotated[Texts, _option("RULE", "Unlock a rule.")] = None,
    never: Annotated[
        Texts,
        _option(
            "CLASS: CONDITION",
            'Never predict a class under a condition, such as "ill: age <= 18". A rule is added if '
            "needed, and the result is proven.",
        ),
    ] = None,
    always: Annotated[
        Texts,
        _option(
            "CLASS: CONDITION",
            'Always predict a class under a condition, such as "ill: troponin > 0.4". A rule is '
            "added if needed, and the result is proven.",
        ),
    ] = None,
    at_least: Annotated[
        Texts,
        _option(
            "NUMBER: CONDITION",
            'Predict at least a number under a condition, such as "3: pregnant". A rule is added '
            "if needed, and the result is proven. For models that predict a number.",
        ),
    ] = None,
    at_most: Annotated[
        Texts,
        _option("NUMBER: CONDITION", 'Predict at most a number there, such as "9: pregnant".'),
    ] = None,
    release: Annotated[
        Texts,
        _option("DEMAND", 'Take a demand back: "never ill: age <= 18", or "at least 3: pregnant".'),
    ] = None,
    rename_column: Annotated[Texts, _option("OLD=NEW", "Rename a column.")] = None,
    rename_class: Annotated[Texts, _option("OLD=NEW", "Rename a class.")] = None,
    rename_target: Annotated[
        str | None, _option("NEW", "Rename the number that is predicted.")
    ] = None,
    apply: Annotated[
        str | None, _option("FILE", "Apply the edits of a file first, such as one of a report.")
    ] = None,
    save_edits_to: Annotated[
        str | None,
        typer.Option(
            "--save-edits",
            metavar="FILE",
            help="Also save the edits as a file for --apply.",
            show_default=False,
        ),
    ] = None,
    who: Annotated[
        str | None,
        _option("NAME", "Your name, saved with each edit. Default: the name of your login."),
    ] = None,
    why: Annotated[
        str, _option("TEXT", "Reason for the edits, saved with each edit of this command.")
    ] = "",
    data: Annotated[
        str | None,
        _option(
            "DATA",
            "Table with known classes or numbers. Prints how many of its rows change, and the "
            "accuracy or R² before and after.",
        ),
    ] = None,
    target: KnownTarget = None,
    all_rows: AllRows = False,
    time_limit: TimeLimit = 60.0,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Change a model by hand, and show what that changes.

    Without an edit, prints the rules with their numbers. A rule keeps its number while others are
    dropped; an added rule gets the next one. Edits are recorded in the model file with who, when
    and why. Prints the exact conditions under which the predictions change, and with --data the
    rows that change and the accuracy, or R², before and after. Rows that the model was trained on
    are left out.

    Options are applied in the order: --apply, --change, --move, --votes, --base, --add, --drop,
    --lock, --unlock, --release, --never, --always, --at-least, --at-most, --rename-column,
    --rename-class, --rename-target. All are repeatable, except --apply and --rename-target.

    Example: dln edit heart.json --drop 3 --why "not causal" --data heart.csv -o new.json
    """
    for path in (output, save_edits_to):
        if path is not None:
            check_output(path, model, data, apply)
    if data is None:
        for option, given in (("--target", target is not None), ("--all-rows", all_rows)):
            if given:
                raise OptionError(f"{option} is only used with --data; add --data DATA")
    circuit = load_model(model)
    records = () if apply is None else load_edits(apply, circuit)
    editing = start_editing(
        circuit,
        who=login_name() if who is None else who,
        when=time_now(),
        time_limit=time_limit or None,
    ).apply(*records)
    options = {
        "change": change,
        "move": move,
        "votes": votes,
        "base": base,
        "add": add,
        "drop": drop,
        "lock": lock,
        "unlock": unlock,
        "release": release,
        "never": never,
        "always": always,
        "at_least": at_least,
        "at_most": at_most,
        "rename_column": rename_column,
        "rename_class": rename_class,
        "rename_target": None if rename_target is None else [rename_target],
    }
    editing = editing.apply(*read_edits(circuit, options), why=why)
    if not editing.records:
        if output is not None or save_edits_to is not None:
            raise OptionError("there is no edit to save; give one, such as --drop 3")
        _show_rules(editing, json)
        return
    rows: tuple[Any, Any] = None, None
    about: dict[str, Any] = {}
    if data is not None:
        from dln.cli.own_rows import choose_rows

        chosen = choose_rows(
            data,
            layout,
            circuit,
            target_of(circuit, target),
            purpose="Figures are counted on",
            all_rows=all_rows,
        )
        if chosen.choice.note and not quiet:
            print_message(chosen.choice.note)
        rows, about = (chosen.X, chosen.y), chosen.choice.document()
    effect = editing.effect(*rows, time_limit=time_limit or None)
    if output is not None:
        save_model(editing.circuit, output)
    if save_edits_to is not None:
        save_edits(save_edits_to, editing.records, circuit)
    is_calibrated = circuit.task == "classes" and circuit.calibration is not None
    if is_calibrated and not quiet and _changes_votes(editing):
        print_message(
            "Probabilities are those measured before the edits; dln.calibrate measures them again."
        )
    to_stderr = STANDARD in (output, save_edits_to)
    if json:
        document = {**effect.to_dict(), **about}
        document["edits"] = [record.to_dict() for record in editing.records]
        document["proofs"] = [str(proof) for proof in editing.proofs]
        print_json(document, to_stderr=to_stderr)
        return
    lines = [*map(str, editing.records), *map(str, editing.proofs), effect.to_text()]
    print_result("\n".join(lines), to_stderr=to_stderr)


def _changes_votes(editing: Editing) -> bool:
    """Return whether an edit may change the votes of some row."""
    harmless = (Lock, Unlock, Release, RenameColumn, RenameClass)
    return any(not isinstance(record.edit, harmless) for record in editing.records)


def _show_rules(editing: Editing, json: bool) -> None:
    if not json:
        lines = [str(editing)]
        if editing.circuit.edits:
            lines += ["Edits so far:", *(f"  {record}" for record in editing.circuit.edits)]
        print_result("\n".join(lines))
        return
    circuit = editing.circuit
    score = circuit.readout if isinstance(circuit.readout, Score) else None
    rules = [
        {
            "rule": editing.draft.numbers[place],
            "text": editing.draft.text(place),
            **(
                {"votes": list(rule.votes)}
                if score is None
                else {"adds": decimal_text(score, rule.votes[0])}
            ),
            "locked": place in circuit.locked,
        }
        for place, rule in enumerate(circuit.rules)
    ]
    print_json({"rules": rules, "edits": [record.to_dict() for record in circuit.edits]})
