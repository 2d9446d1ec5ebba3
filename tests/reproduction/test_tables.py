"""Tables beside the paper's: characteristics, ranks, ratios and the parts of a cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from dln import Above, Circuit, cost
from reproduction.datasets import HONEST, NAMES
from reproduction.datasets.characteristics import Characteristics, describe
from reproduction.experiment import RESULTS
from reproduction.files import read_records, write_records
from reproduction.protocol import Task
from reproduction.published import published
from reproduction.run.lgn_inputs import LgnInputs, count_lgn_inputs
from reproduction.run.refits import DRAWN, Convergence, read_drawn
from reproduction.run.results import read_results
from reproduction.tables.convergence import convergence_sheet
from reproduction.tables.cost_parts import bound_parts, parts_sheet
from reproduction.tables.datasets import dataset_sheet
from reproduction.tables.diagrams import diagram_sheet
from reproduction.tables.lgn import lgn_sheet
from reproduction.tables.ranks import rank_sheet
from reproduction.tables.ratios import ratio_sheet
from reproduction.tables.sheet import Sheet
from tests.reproduction.test_datasets import loaded, needs_data
from tests.reproduction.test_experiment import EIGHT, RESULT, results_for
from tests.support.strategies import circuits

STORED = {one.name: one for one in read_records(RESULTS / "datasets.json", Characteristics)}
LGN_INPUTS = read_records(RESULTS / "lgn_inputs.json", LgnInputs)


def rows_of(sheet: Sheet, section: int = 0) -> dict[str, tuple[str, ...]]:
    """Return the rows of a section by their first cell."""
    return {row[0]: row[1:] for row in sheet.sections[section].rows}


# -- characteristics of the datasets ----------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", [*NAMES, HONEST])
def test_the_stored_characteristics_are_those_of_the_table(name: str) -> None:
    assert describe(Task(loaded(name), seed=0)) == STORED[name]


def test_every_public_table_has_the_characteristics_that_were_published() -> None:
    assert tuple(STORED) == (*NAMES, HONEST)
    for name in NAMES:
        paper = published()["tables"][name]
        for field in ("train", "test", "classes", "continuous", "categorical"):
            assert getattr(STORED[name], field) == paper[field]


def test_characteristics_are_shown_beside_the_published_ones() -> None:
    rows = rows_of(dataset_sheet([replace(STORED["Heart"], train=220)]))
    assert rows["Heart"] == ("220 (219)", "74 (74)", "2 (2)", "5 (5)", "14 (14)", "8", "0")
    assert rows["Liver"][:2] == ("– (434)", "– (145)")
    assert rows["PDAC (not public, could not be found)"][-2:] == ("–", "–")
    assert rows_of(dataset_sheet([STORED[HONEST]]))[HONEST][0] == "1594"


def test_records_that_are_written_are_read(tmp_path: Path) -> None:
    path = tmp_path / "datasets.json"
    assert read_records(path, Characteristics) == []
    assert write_records(path, STORED.values()) == path
    assert read_records(path, Characteristics) == list(STORED.values())
    assert path.read_bytes() == (RESULTS / "datasets.json").read_bytes()


# -- ranks and ratios -------------------------------------------------------------------------


def test_ranks_stand_beside_those_that_were_printed() -> None:
    sheet = rank_sheet(results_for(NAMES, EIGHT))
    rows = rows_of(sheet)
    assert list(rows) == ["KNN", "DT", "RF", "NB", "AB", "MLP", "LGN", "DLN"]
    assert rows["DLN"] == ("2.3", "2.1", "1.0", "1.0", "1.0", "8.0")
    assert rows["KNN"] == ("5.2", "5.1", "5.0", "5.0", "5.0", "4.0")  # seven tied models
    assert rows_of(sheet, 2)["DT"][0] == "1.1"


def test_ranks_need_all_eight_models() -> None:
    assert rows_of(rank_sheet(results_for(NAMES, {"dln": 80.0})))["DLN"] == (
        "2.3", "2.1", "–", "–", "–", "–",
    )  # fmt: skip


def test_a_ratio_divides_the_perceptron_by_a_logic_network() -> None:
    results = results_for(("Heart",), {"mlp": 70.0, "paper": 70.0})
    results = [replace(one, gate_operations=5490) if one.model == "mlp" else one for one in results]
    rows = rows_of(ratio_sheet(results))
    assert rows["BreastCancer"][:2] == ("×7.5K", "×16.0K")  # 4.1M / 545 and 4.1M / 256
    assert rows["Heart"][2:] == ("–", "×10", "–", "–", "–")
    assert rows["geometric mean over 19"][1:4] == ("×579", "–", "–")
    assert rows["largest"][1:4] == ("×16.0K", "–", "×10")


# -- parts of a cost --------------------------------------------------------------------------


@given(circuits(kinds=("number", "integer", "date", "boolean")))
def test_comparisons_and_votes_are_within_the_bounds_that_follow_from_totals(
    circuit: Circuit,
) -> None:
    counted = cost(circuit)
    parts = bound_parts(
        counted.operations,
        counted.gate_operations,
        counted.parameters,
        len(circuit.classes),
        numeric=True,
    )
    kinds = [circuit.columns[one.column].kind for one in circuit.literals if isinstance(one, Above)]
    comparisons = sum(kind != "boolean" for kind in kinds)
    assert parts.least_comparisons <= comparisons <= parts.most_comparisons
    votes = sum(abs(vote) for rule in circuit.rules for vote in rule.votes)
    assert votes <= parts.most_votes


def test_parts_are_compared_with_those_of_the_paper() -> None:
    one = replace(RESULT, model="paper", dataset="HeartFailure")
    results = [
        replace(one, seed=seed, operations=59, gate_operations=3463, parameters=155)
        for seed in range(4)
    ]
    sheet = parts_sheet(results)
    assert sheet.notes[1] == "More comparisons here for certain: 1 tables. Fewer: 0."
    rows = rows_of(sheet)
    assert rows["HeartFailure"] == ("3.5K (2.4K, ×1.4)", "15 to 18", "11 to 13", "41", "19")
    assert rows["Heart"] == ("–",) * 5
    stored = rows_of(parts_sheet(read_results(RESULTS)))
    assert stored["BreastCancer"][1:3] == ("0", "0")  # the table has no continuous column


# -- the LGN ----------------------------------------------------------------------------------


@needs_data
def test_the_stored_inputs_are_those_of_the_encoded_tables() -> None:
    names = ("Heart", "Cirrhosis", "BreastCancer")
    some = [one for one in read_results(RESULTS) if one.dataset in names]
    stored = [one for one in LGN_INPUTS if one.dataset in names]
    assert list(count_lgn_inputs(some)) == stored
    assert len(stored) == 4 * len(names)


def test_the_cost_before_simplification_counts_every_test_gate_and_vote() -> None:
    params = {"first": 6, "ratio": 0.5, "layers": 2, "cutoffs": 4}
    results = [
        replace(one, params=params, operations=10, gate_operations=400, parameters=20)
        for one in results_for(("Heart",), {"lgn": 70.0})
    ]
    inputs = [LgnInputs("Heart", seed, 2, 1) for seed in range(4)]
    rows = rows_of(lgn_sheet(results, inputs))
    # Layers of 6 and 4 gates: 3 + 10 + 2 of 167; 2 * 183 + 3 + 4 * 14 of 2.8K; 6 + 2 + 20 + 4.
    assert rows["Heart"] == (
        "15 (×0.09)", "10 (×0.06)", "425 (×0.15)", "400 (×0.14)", "32 (×0.08)", "20 (×0.05)",
    )  # fmt: skip
    assert rows["mean of ratios (geometric) over 1"][0] == "×0.09"
    assert rows_of(lgn_sheet(results[:3], inputs)) == {
        "mean of ratios (geometric) over 0": ("–",) * 6
    }


def test_binnings_are_compared_split_by_split() -> None:
    results = results_for(("Heart", "Liver"), {"lgn": 70.0, "lgn-uniform": 66.0})
    results[-1] = replace(results[-1], accuracy=results[-1].accuracy - 4.0)
    rows = rows_of(lgn_sheet(results, []), 1)
    assert rows["Heart"] == ("71.5", "67.5", "+4.0", "0.0")
    assert rows["Liver"] == ("71.5", "66.5", "+5.0", "1.0")
    assert rows["mean over 2"] == ("71.5", "67.0", "+4.5", "0.5")
    assert rows_of(lgn_sheet(results[:-1], []), 1).keys() == {"Heart", "mean over 1"}


# -- cells that are fitted again ---------------------------------------------------------------


def test_the_circuits_that_are_drawn_are_those_of_the_stored_results() -> None:
    stored = {(one.dataset, one.seed): one for one in read_results(RESULTS) if one.model == "paper"}
    drawn = read_drawn(RESULTS / "diagrams")
    assert [record.dataset for record, _ in drawn] == list(DRAWN)
    for record, circuit in drawn:
        result = stored[record.dataset, record.seed]
        assert record.accuracy == pytest.approx(result.accuracy, abs=1e-3)
        assert cost(circuit).gate_operations == result.gate_operations
        own = [one for (name, _), one in stored.items() if name == record.dataset]
        assert result.validation == max(one.validation for one in own if one.validation)


def test_the_circuits_of_the_table_of_convergence_are_those_of_the_stored_results() -> None:
    stored = {(one.dataset, one.seed): one for one in read_results(RESULTS) if one.model == "paper"}
    records = read_records(RESULTS / "convergence.json", Convergence)
    assert len(records) == 8 * 4 + 8
    trained = [record for record in records if record.training == "straight-through"]
    moved = [
        one for one in trained if abs(one.hard - stored[one.dataset, one.seed].accuracy) > 1e-3
    ]
    # A circuit has its thresholds moved to short decimals. That changes test rows of one network.
    assert [(one.dataset, one.seed) for one in moved] == [("Cirrhosis", 2)]


def test_convergence_is_averaged_over_seeds() -> None:
    one = Convergence("Heart", 0, "straight-through", 0.5, 0.25, 0.1, 70.0, 80.0)
    two = replace(one, seed=1, gates=0.7, soft=72.0)
    rows = rows_of(convergence_sheet([one, two]))
    assert rows["Heart"] == ("60", "25", "10", "71.0", "80.0", "+9.0")


def test_a_diagram_is_listed_with_the_features_it_reads() -> None:
    drawn = read_drawn(RESULTS / "diagrams")
    rows = rows_of(diagram_sheet(drawn, list(STORED.values())))
    for record, circuit in drawn:
        n_read = len({literal.column for literal in circuit.literals})
        counts = [int(cell.split(" of ")[0]) for cell in rows[record.dataset][2:4]]
        assert sum(counts) == n_read
