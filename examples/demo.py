"""Train on scikit-learn's breast cancer table, show the rules, and write a report.

Run by `make demo`. Writes demo/model.json and demo/report.md.
"""

from __future__ import annotations

import time
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split

from dln import Circuit, DLNClassifier

OUTPUT = Path("demo")


def main() -> None:
    """Train, test, print and save."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target.map(dict(enumerate(data.target_names)))
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, labels, test_size=0.25, stratify=labels, random_state=0
    )
    start = time.perf_counter()
    # Small on purpose: eight rules that fit on a page. DLNClassifier() chooses its size itself.
    small = DLNClassifier(layers=(16, 8), n_networks=1, random_state=0, verbose=1)
    small.fit(X_train, y_train)
    usual = DLNClassifier(random_state=0, verbose=1).fit(X_train, y_train)
    seconds = time.perf_counter() - start

    OUTPUT.mkdir(exist_ok=True)
    small.circuit_.save(OUTPUT / "model.json")
    circuit = Circuit.load(OUTPUT / "model.json")  # all that is needed to predict from here on
    predicted = circuit.predict(X_test)
    accuracy = balanced_accuracy_score(y_test, predicted)
    usual_accuracy = balanced_accuracy_score(y_test, usual.predict(X_test))
    report = "\n".join(
        [
            "# Wisconsin breast cancer",
            "",
            f"- {len(X_train)} rows to train on, {len(X_test)} to test on",
            f"- balanced accuracy on the test rows: {100 * accuracy:.1f} %",
            f"- {circuit.n_literals} literals, {circuit.n_gates} gates, {len(circuit.rules)} rules",
            f"- DLNClassifier() as it comes: {100 * usual_accuracy:.1f} %, "
            f"{usual.circuit_.n_gates} gates",
            "",
            "## Test rows, true class by predicted class",
            "",
            _confusion_table(circuit, y_test, predicted),
            "",
            "## Rules",
            "",
            "```",
            str(circuit),
            "```",
            "",
        ]
    )
    (OUTPUT / "report.md").write_text(report, encoding="utf-8")
    print(circuit)
    print(f"\nBalanced accuracy on {len(X_test)} test rows: {100 * accuracy:.1f} %")
    print(f"with {circuit.n_literals} literals and {circuit.n_gates} gates;")
    print(
        f"DLNClassifier() as it comes: {100 * usual_accuracy:.1f} % with "
        f"{usual.circuit_.n_literals} literals and {usual.circuit_.n_gates} gates."
    )
    print(f"Both trained in {seconds:.1f} s.")
    print(f"Wrote {OUTPUT / 'model.json'} and {OUTPUT / 'report.md'}")


def _confusion_table(circuit: Circuit, truth: object, predicted: object) -> str:
    names = [str(label) for label in circuit.classes]
    counts = confusion_matrix(truth, predicted, labels=list(circuit.classes))
    lines = ["| true | " + " | ".join(names) + " |", "| --- " * (len(names) + 1) + "|"]
    for name, row in zip(names, counts, strict=True):
        lines.append(f"| {name} | " + " | ".join(str(count) for count in row) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
