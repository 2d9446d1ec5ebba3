"""`dln demo`: train on a table that comes with scikit-learn, and print the result."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import dln
from dln._util.messages import percent
from dln.cli.options import Quiet
from dln.cli.output import message_printer, print_result
from dln.core.circuit import Circuit
from dln.core.origin import Origin
from dln.evaluate.scores import Tally, tally

_TITLE = "Wisconsin breast cancer"
_TABLE = "scikit-learn's load_breast_cancer"


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where to write model.json and report.html.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Train on an example table and print the rules.

    The table is scikit-learn's copy of the Wisconsin breast cancer data.

    Example: dln demo --output demo
    """
    result = train_demo(verbose=int(sys.stderr.isatty() and not quiet))
    print_result(result.text())
    write_message = message_printer(quiet)
    write_message(f"Trained both in {result.seconds:.1f} s.")
    if output is not None:
        write_message(f"Wrote {' and '.join(map(str, result.write(output)))}.")


@dataclass(frozen=True)
class Demo:
    """Two circuits for the same table: a small one, and one with default parameters."""

    small: Circuit
    usual: Circuit
    small_score: Tally
    usual_score: Tally
    X_test: Any
    y_test: Any
    seconds: float

    def text(self) -> str:
        """Return the rules and the accuracy as text."""
        rows = int(self.small_score.rows.sum())
        small, usual = (
            percent(score.balanced_accuracy) for score in (self.small_score, self.usual_score)
        )
        return "\n".join(
            [
                str(self.small),
                "",
                f"Balanced accuracy on {rows} test rows: {small}",
                f"with {self.small.n_literals} literals and {self.small.n_gates} gates;",
                f"DLNClassifier() by default: {usual} with "
                f"{self.usual.n_literals} literals and {self.usual.n_gates} gates.",
            ]
        )

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write model.json and report.html into a folder, which is created if necessary."""
        from dln.report import DataNote, make_report

        folder.mkdir(parents=True, exist_ok=True)
        model, page = folder / "model.json", folder / "report.html"
        about = DataNote(_TABLE, note="The model was not trained on these rows.")
        report = make_report(self.small, self.X_test, self.y_test, title=_TITLE, data=about)
        self.small.save(model)
        report.save(page)
        return model, page


def train_demo(*, verbose: int = 0) -> Demo:
    """Train both circuits, and test them on a quarter of the rows."""
    from sklearn.datasets import load_breast_cancer  # slow to load
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer(as_frame=False)
    names = [str(name) for name in data.feature_names]
    labels = data.target_names[data.target].astype(str)
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, labels, test_size=0.25, stratify=labels, random_state=0
    )
    start = time.perf_counter()
    # Eight rules, which fit on a page. By default DLNClassifier() chooses the size.
    small = dln.DLNClassifier(layers=(16, 8), n_networks=1, random_state=0, verbose=verbose)
    usual = dln.DLNClassifier(random_state=0, verbose=verbose)
    small.fit(X_train, y_train)
    usual.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    origin = Origin(_TABLE, "", "diagnosis", len(X_train), 0.25, 0, dln.__version__)
    return Demo(
        small=replace(_with_names(small.circuit_, names), origin=origin),
        usual=_with_names(usual.circuit_, names),
        small_score=_score(small.circuit_, X_test, y_test),
        usual_score=_score(usual.circuit_, X_test, y_test),
        X_test=X_test,
        y_test=y_test,
        seconds=seconds,
    )


def _with_names(circuit: Circuit, names: list[str]) -> Circuit:
    """Set the names of the columns, because NumPy arrays have none."""
    columns = [
        replace(column, name=name) for column, name in zip(circuit.columns, names, strict=True)
    ]
    return replace(circuit, logic=replace(circuit.logic, columns=tuple(columns)))


def _score(circuit: Circuit, X: Any, y: Any) -> Tally:
    numbers = np.searchsorted(circuit.class_labels, y)
    evaluation = circuit.evaluate(X, wires=())
    return tally(numbers, evaluation.winners, evaluation.probabilities)
