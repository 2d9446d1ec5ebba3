"""Ctrl-C ends a fit at once, and can keep what was learned."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child process")

# The child prints READY from inside the training, through the callback that shows progress.
CHILD = """
import contextlib, sys, warnings
import numpy as np
import dln.estimators.classifier
from dln import DLNClassifier

stage, on_interrupt = sys.argv[1:]

def show(progress):
    if progress.stage == stage and any(len(history) for history in progress.histories):
        print("READY", flush=True)

@contextlib.contextmanager
def printing(*, enabled):
    yield show

dln.estimators.classifier.progress_bar = printing
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = (X[:, 0] > 0).astype(int)
model = DLNClassifier(
    epochs=2_000_000,
    tau="auto" if stage == "select" else 2.0,
    layers=(8, 4), n_networks=1, random_state=0, on_interrupt=on_interrupt,
)
try:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
else:
    print([str(warning.message) for warning in caught], flush=True)
    print("score", model.score(X, y), "epochs", model.history_["loss"].shape[1], flush=True)
"""

LONG = 60.0  # a stuck child is a failure, a slow machine is not


def interrupt(stage: str, on_interrupt: str) -> str:
    """Interrupt a child process during training, and return what it printed."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, stage, on_interrupt],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert child.stdout is not None
        lines = []
        for line in child.stdout:
            lines.append(line)
            if line == "READY\n":
                break
        assert "READY\n" in lines, "".join(lines)
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=LONG)
        return rest.replace("READY\n", "")
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("stage", ["select", "train"])
def test_ctrl_c_raises_keyboard_interrupt_at_once(stage: str) -> None:
    # The fit would take hours: a child that did not stop would be a failure after a minute.
    assert interrupt(stage, "raise") == "KeyboardInterrupt\n"


def test_ctrl_c_keeps_what_was_learned_with_a_warning() -> None:
    warned, result = interrupt("train", "keep").splitlines()
    assert "The fit was interrupted. The model keeps what it had learned so far." in warned
    _, score, _, epochs = result.split()
    assert 0 <= float(score) <= 1  # the accuracy depends on the moment of the interrupt
    assert 1 <= int(epochs) < 2_000_000
