"""Result files of the ablations: one file per dataset and variant, with all its seeds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from dln import TableError
from reproduction.ablations.variants import VARIANTS, Ablated, device_of
from reproduction.datasets.known import KNOWN
from reproduction.files import write_atomically
from reproduction.models.outcome import EngineName
from reproduction.run.provenance import provenance


def ablation_path(folder: Path, dataset: str, variant: str) -> Path:
    """Return the path of the result file of a variant on a dataset."""
    return folder / "ablations" / dataset / f"{variant.replace(',', '').replace(' ', '-')}.json"


def write_ablations(results: list[Ablated], folder: Path, engine: EngineName = "native") -> None:
    """Write the results of one variant on one dataset in one atomic step."""
    variant = VARIANTS[results[0].variant]
    document = {
        "draws": variant.draws,
        "epochs": variant.epochs,
        "engine": variant.engine or engine,
        "device": device_of(engine),
        **provenance(),
        "results": [asdict(result) for result in results],
    }
    path = ablation_path(folder, results[0].dataset, results[0].variant)
    write_atomically(path, json.dumps(document, indent=1) + "\n")


def read_ablations(folder: Path) -> list[Ablated]:
    """Read all ablation results; ignore other files."""
    named = {ablation_path(folder, name, variant) for name in KNOWN for variant in VARIANTS}
    return [result for path in sorted(named) if path.exists() for result in _read(path)]


def _read(path: Path) -> list[Ablated]:
    try:
        return [Ablated(**result) for result in json.loads(path.read_text("utf-8"))["results"]]
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(
            f"{path} is not a result file of the ablations; delete it and run again"
        ) from error
