"""Results of the ablations: one for each dataset, variant and seed."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

from reproduction.ablations.variants import VARIANTS, Ablated, device_of
from reproduction.models.outcome import EngineName
from reproduction.run.provenance import provenance
from reproduction.store import Document, Key, Store


def ablation_store(folder: Path) -> Store:
    """Return the results of all ablations."""
    return Store(folder, "ablations", lambda document: key_of(_result_of(document)))


def key_of(result: Ablated) -> Key:
    """Return the key of a result in its store."""
    return split_key(result.dataset, result.variant, result.seed)


def split_key(dataset: str, variant: str, seed: int) -> Key:
    """Return the key of a split; keys sort by dataset, variant and seed."""
    return dataset, f"{variant}-{seed:02}"


def _result_of(document: Document) -> Ablated:
    return Ablated(**{field.name: document[field.name] for field in fields(Ablated)})


def write_ablated(result: Ablated, folder: Path, engine: EngineName) -> None:
    """Write the result of one variant on one split."""
    variant = VARIANTS[result.variant]
    effort = variant.effort(result.dataset)
    ablation_store(folder).add(
        {
            **asdict(result),
            "draws": effort.draws,
            "epochs": effort.epochs,
            "engine": variant.engine or engine,
            "device": device_of(engine),
            **provenance(),
        }
    )


def read_ablations(folder: Path) -> list[Ablated]:
    """Read the results of all ablations."""
    return [_result_of(document) for document in ablation_store(folder).read()]
