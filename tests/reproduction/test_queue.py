"""Which cell of the experiment starts next."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from reproduction.run.cells import Cell
from reproduction.run.queue import Queue
from reproduction.run.results import write_result
from tests.reproduction.test_experiment import RESULT

BEST, SMALL = Cell("Heart", "dln", 0), Cell("Heart", "dln-small", 0)
TREE, OTHER_SEED = Cell("Heart", "dt", 0), Cell("Heart", "dln-small", 1)


def test_cells_come_in_their_order(tmp_path: Path) -> None:
    queue = Queue([TREE, BEST, OTHER_SEED], tmp_path)
    assert [queue.take(()) for _ in range(4)] == [TREE, BEST, OTHER_SEED, None]


def test_two_of_one_search_are_not_run_side_by_side(tmp_path: Path) -> None:
    for first, second in ((BEST, SMALL), (SMALL, BEST)):
        queue = Queue([second, TREE, OTHER_SEED], tmp_path)
        assert queue.take([first]) == TREE
        assert queue.take([first, TREE]) == OTHER_SEED
        assert queue.take([first]) is None
        assert queue.take(()) == second  # the first has failed, since the second has no result


def test_a_result_that_came_with_another_is_not_run_for(tmp_path: Path) -> None:
    queue = Queue([SMALL, TREE], tmp_path)
    write_result(replace(RESULT, **asdict(SMALL)), tmp_path)
    assert queue.take(()) == TREE
    assert queue.take(()) is None
