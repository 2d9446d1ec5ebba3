"""SIGTERM and SIGHUP end the command cleanly: no partial file, exit status 128 + number."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from dln.cli.signals import orderly_stop
from tests.support.commands import COMMAND, LONG, saved_model, written_rows

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals to a child process")
__all__ = ["saved_model", "written_rows"]

ENDINGS = [signal.SIGTERM, signal.SIGHUP]


# The command stops in the middle of its work, with the output open, and waits for the signal.
CHILD = """
import signal, sys
from dln.cli import main
from dln.evaluate.predictor import Predictor

def wait(*_):
    print("READY", flush=True)
    signal.pause()

Predictor._source = wait
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", ENDINGS)
def test_a_command_that_is_stopped_while_it_writes_leaves_no_partial_file(
    number: int, model: Path, rows: Path
) -> None:
    output = model.with_name("answers.csv")
    output.write_text("old")
    child = subprocess.Popen(
        [COMMAND[0], "-c", CHILD, "predict", model, rows, "--output", output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"READY\n"
        assert len(list(model.parent.glob(".*.dln"))) == 1
        child.send_signal(number)
        _, said = child.communicate(timeout=LONG)
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, said) == (128 + number, b"")
    assert sorted(os.listdir(model.parent)) == ["answers.csv", "model.json", "rows.csv"]
    assert output.read_text() == "old"


@pytest.mark.parametrize("number", ENDINGS)
def test_the_signal_raises_and_the_handler_is_removed_afterwards(number: int) -> None:
    before = signal.getsignal(number)
    try:
        with pytest.raises(SystemExit) as caught, orderly_stop():
            signal.raise_signal(number)
        assert caught.value.code == 128 + number
        signal.raise_signal(number)  # ignored while the process ends, so the cleanup goes on
    finally:
        for ending in ENDINGS:
            signal.signal(ending, signal.SIG_DFL)
    with orderly_stop():
        pass
    assert signal.getsignal(number) == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with orderly_stop():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_may_run_a_command() -> None:
    entered = []

    def enter() -> None:
        with orderly_stop():
            entered.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [signal.SIG_DFL]


def test_the_library_installs_no_handler() -> None:
    lines = (
        "import signal, dln, dln.cli",
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL",
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL",
    )
    subprocess.run([COMMAND[0], "-c", "\n".join(lines)], check=True)
