"""Results of the ablations: one for each dataset and variant, with all its seeds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from reproduction.ablations.variants import VARIANTS, Ablated, device_of
from reproduction.models.outcome import EngineName
from reproduction.run.provenance import provenance
from reproduction.store import Document, Key, Store


def ablation_store(folder: Path) -> Store:
    """Return the results of all ablations."""
    return Store(folder, "ablations", _key_of)


def _key_of(document: Document) -> Key:
    (pair,) = {(result.dataset, result.variant) for result in _results_of(document)}
    return pair


def _results_of(document: Document) -> list[Ablated]:
    return [Ablated(**result) for result in document["results"]]


def write_ablations(results: list[Ablated], folder: Path, engine: EngineName = "native") -> None:
    """Write the results of one variant on one dataset."""
    variant = VARIANTS[results[0].variant]
    ablation_store(folder).add(
        {
            "draws": variant.draws,
            "epochs": variant.epochs,
            "engine": variant.engine or engine,
            "device": device_of(engine),
            **provenance(),
            "results": [asdict(result) for result in results],
        }
    )


def read_ablations(folder: Path) -> list[Ablated]:
    """Read the results of all ablations."""
    documents = ablation_store(folder).read()
    return [result for document in documents for result in _results_of(document)]
