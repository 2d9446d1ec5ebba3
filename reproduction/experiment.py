"""The whole experiment: its default cells, and the tables and plots that it writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from reproduction.ablations.results import ablation_store, read_ablations
from reproduction.datasets import HONEST, NAMES, load
from reproduction.datasets.characteristics import Characteristics, describe
from reproduction.files import read_records, write_records
from reproduction.models.outcome import Budget
from reproduction.models.registry import LGN_VARIANTS, MODELS
from reproduction.protocol import SEEDS, Task
from reproduction.run.lgn_inputs import LgnInputs, count_lgn_inputs
from reproduction.run.provenance import count_cores
from reproduction.run.refits import Convergence, fit_drawn, measure_convergence, read_drawn
from reproduction.run.results import read_results, store_of
from reproduction.tables.ablations import ablation_sheet
from reproduction.tables.convergence import convergence_sheet
from reproduction.tables.cost_parts import parts_sheet
from reproduction.tables.datasets import dataset_sheet
from reproduction.tables.diagrams import diagram_sheet, write_diagrams
from reproduction.tables.lgn import lgn_sheet
from reproduction.tables.plots import write_plots
from reproduction.tables.ranks import rank_sheet
from reproduction.tables.ratios import ratio_sheet
from reproduction.tables.targets import target_sheet
from reproduction.tables.times import time_sheet
from reproduction.tables.write import write_sheet, write_tables


@dataclass(frozen=True)
class Selection:
    """The cells and budget that run by default."""

    datasets: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: Budget


FULL = Selection(
    datasets=(*NAMES, HONEST),
    models=tuple(name for name, entry in MODELS.items() if entry.published is not None),
    seeds=SEEDS,
    budget=Budget(),
)
"""The paper's experiment: its eight models, the DLN in three columns."""

QUICK = Selection(
    datasets=("iris", "wine"),
    models=("knn", "dt", "nb", "lgn", "dln", "dln-small"),
    seeds=(0,),
    budget=Budget(trials=2, epochs=20),
)
"""A run that takes seconds and needs no downloaded tables."""


def make_budget(*, quick: bool, jobs: int) -> Budget:
    """Return the budget of a cell; cells that run in parallel share the cores."""
    return QUICK.budget if quick else replace(FULL.budget, threads=max(1, count_cores() // jobs))


RESULTS = Path(__file__).parent / "results"
"""The results of this repository."""

_DATASETS, _LGN_INPUTS, _CONVERGENCE = "datasets.json", "lgn_inputs.json", "convergence.json"
_DIAGRAMS = "diagrams"

_SMALL = (
    *("BreastCancer", "CKD", "Cirrhosis", "Diabetes", "Heart", "HeartFailure", "HepatitisC"),
    "Liver",
)
"""Tables whose networks are fitted again to see how far they converge."""


def keep_everything(results: Path) -> int:
    """Move all loose results into their files; return how many there were."""
    stores = [*(store_of(model, results) for model in MODELS), ablation_store(results)]
    return sum(store.keep() for store in stores)


def describe_everything(results: Path) -> list[Path]:
    """Count rows and columns of all tables, and the inputs of the stored LGNs."""
    tasks = (Task(load(name), seed=0) for name in FULL.datasets)
    return [
        write_records(results / _DATASETS, map(describe, tasks)),
        write_records(results / _LGN_INPUTS, count_lgn_inputs(read_results(results))),
        *refit_everything(results),
    ]


def refit_everything(results: Path) -> list[Path]:
    """Fit stored cells of DLN (paper) again: their convergence, and the circuits that are drawn."""
    found = read_results(results)
    return [
        write_records(results / _CONVERGENCE, measure_convergence(found, _SMALL)),
        *fit_drawn(found, results / _DIAGRAMS),
    ]


def write_everything(results: Path, budget: Budget, folder: Path) -> list[Path]:
    """Write all tables and plots for results of one budget to a folder; return the paths."""
    everything = read_results(results, budget)
    found = [result for result in everything if result.model not in LGN_VARIANTS]
    written = write_tables(found, folder)
    written += write_sheet(target_sheet(found), folder / "targets")
    written += write_sheet(time_sheet(found), folder / "time")
    written += write_sheet(rank_sheet(found), folder / "average_ranks")
    written += write_sheet(ratio_sheet(found), folder / "ratios")
    written += write_sheet(parts_sheet(found), folder / "cost_parts")
    characteristics = read_records(results / _DATASETS, Characteristics)
    if characteristics:
        written += write_sheet(dataset_sheet(characteristics), folder / "datasets")
    if converged := read_records(results / _CONVERGENCE, Convergence):
        written += write_sheet(convergence_sheet(converged), folder / "convergence")
    if drawn := read_drawn(results / _DIAGRAMS):
        written += write_sheet(diagram_sheet(drawn, characteristics), folder / "diagrams")
        written += write_diagrams(drawn, folder)
    if inputs := read_records(results / _LGN_INPUTS, LgnInputs):
        written += write_sheet(lgn_sheet(everything, inputs), folder / "lgn")
    ablations = read_ablations(results)
    if ablations:
        written += write_sheet(ablation_sheet(ablations, found), folder / "ablations")
    return written + write_plots(found, folder)
