"""Results on disk: nothing is lost, whatever is interrupted; two results of one key are refused."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import TableError
from reproduction.files import write_atomically
from reproduction.store import Document, Key, Store


def key_of(document: Document) -> Key:
    return document["table"], document["seed"]


def store_in(folder: Path) -> Store:
    return Store(folder, "dt", key_of)


def document(seed: int, value: float = 0.5) -> dict[str, Any]:
    return {"table": "Heart", "seed": seed, "value": value, "note": "é"}


def loose(store: Store) -> list[str]:
    return sorted(path.name for path in store.folder.glob("running/dt/*.json"))


def interrupt_at(step: int, patch: pytest.MonkeyPatch) -> None:
    """Raise an error instead of the given write or deletion, counted from 0."""
    steps = iter(range(1_000))

    def guarded(act: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: Any, **options: Any) -> None:
            if next(steps) == step:
                raise KeyboardInterrupt
            act(*arguments, **options)

        return run

    patch.setattr("reproduction.store.write_atomically", guarded(write_atomically))
    patch.setattr(Path, "unlink", guarded(Path.unlink))


ACTIONS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 12)),
    st.tuples(st.just("keep"), st.just(0)),
    st.tuples(st.just("interrupted keep"), st.integers(0, 5)),
)


@given(st.lists(ACTIONS, max_size=20))
def test_no_result_is_lost_whenever_keeping_is_interrupted(actions: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        store, known = store_in(Path(folder)), set[int]()
        for action, number in actions:
            if action == "add":
                store.add(document(number))
                known.add(number)
            elif action == "keep":
                store.keep()
                assert loose(store) == []
            else:
                with pytest.MonkeyPatch.context() as patch:
                    interrupt_at(number, patch)
                    with suppress(KeyboardInterrupt):
                        store.keep()
            assert store.read() == [document(seed) for seed in sorted(known)]
            assert all(store.has(("Heart", seed)) == (seed in known) for seed in range(13))


def test_the_file_is_sorted_by_numbers_and_keeping_again_changes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for seed in (10, 2, 1):
        store.add(document(seed))
    assert (store.keep(), loose(store)) == (3, [])
    text = store.path.read_text("utf-8")
    assert [json.loads(line)["seed"] for line in text.splitlines()] == [1, 2, 10]
    assert store.keep() == 0
    store.add(document(2))
    assert (store.keep(), loose(store)) == (1, [])
    assert store.path.read_text("utf-8") == text


def test_a_loose_result_may_be_replaced_but_not_a_kept_one(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.add(document(0, 0.1))
    store.add(document(0, 0.2))
    store.keep()
    assert store.read() == [document(0, 0.2)]
    text = store.path.read_text("utf-8")
    store.add(document(0, 0.3))
    told = r"running.dt.Heart-0\.json differs from the same result in .*dt\.jsonl; delete the wrong"
    for act in (store.read, store.keep):
        with pytest.raises(TableError, match=told):
            act()
    assert (loose(store), store.path.read_text("utf-8")) == (["Heart-0.json"], text)


def test_values_that_compare_equal_are_not_the_same_result(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.add(document(0, float("nan")))
    assert store.keep() == 1
    store.add(document(0, float("nan")))
    assert store.keep() == 1  # the same text
    store.add(document(1, 1))
    store.keep()
    store.add(document(1, 1.0))
    with pytest.raises(TableError, match="differs"):
        store.keep()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"table": "Heart"}', "3"])
def test_what_is_no_result_is_told_with_its_place(text: str, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    write_atomically(tmp_path / "running" / "dt" / "Heart-0.json", text)
    with pytest.raises(TableError, match=r"Heart-0\.json is not a result; delete it and run again"):
        store.keep()
    store.path.write_text(f"{json.dumps(document(1))}\n{text}\n", "utf-8")
    with pytest.raises(TableError, match=r"dt\.jsonl, line 2, is not a result"):
        store.has(("Heart", 3))


def test_a_wrong_name_and_a_second_line_are_told(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    write_atomically(tmp_path / "running" / "dt" / "Heart-7.json", json.dumps(document(0)))
    with pytest.raises(TableError, match=r"Heart-7\.json is named wrongly; rename it to .*t-0\.j"):
        store.read()
    lines = [json.dumps(document(0, value)) for value in (0.1, 0.1, 0.2)]
    store.path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(TableError, match=r"line 3, differs from an earlier line of the same resul"):
        store.has(("Heart", 1))


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for name in ("notes.md", ".draft.json"):
        write_atomically(tmp_path / "running" / "dt" / name, "{")
    store.add(document(0))
    assert (store.keep(), len(store.read())) == (1, 1)


def add_and_keep(folder: Path, seeds: range) -> None:
    for seed in seeds:
        store_in(folder).add(document(seed))
        store_in(folder).keep()


def test_processes_that_keep_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    parts = [range(start, start + 20) for start in (0, 20, 40)]
    processes = [context.Process(target=add_and_keep, args=(tmp_path, part)) for part in parts]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert store_in(tmp_path).read() == [document(seed) for seed in range(60)]
    assert loose(store_in(tmp_path)) == []
