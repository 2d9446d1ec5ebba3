"""Read raw tables from a folder with a manifest, after checking their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dln import OptionError, TableError
from reproduction.datasets.dataset import EMBEDDED


@dataclass(frozen=True)
class Entry:
    """The manifest entry of one file; `kinds` maps each column to its kind."""

    file: str
    sha256: str
    target: str
    kinds: Mapping[str, str]


def find_folder() -> Path:
    """Return the folder of the tables."""
    folder = os.environ.get("DLN_DATA", "")
    if not folder:
        raise OptionError(
            "DLN_DATA is not set; set it to the folder with the data sets' manifest "
            "(python -m reproduction download fills one with what is public)"
        )
    return Path(folder)


def read_entry(folder: Path, name: str) -> Entry:
    """Read the manifest entry of one table."""
    path = folder / "manifest.json"
    try:
        found = {entry["name"]: entry for entry in json.loads(path.read_text("utf-8"))["datasets"]}
        entry = found[name]
        return Entry(
            file=entry["file"],
            sha256=entry["sha256"],
            target=entry["target"],
            kinds={column["name"]: column["kind"] for column in entry["columns"]},
        )
    except OSError as error:
        raise TableError(f"cannot read {path}; set DLN_DATA to the folder that has it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} does not describe {name}; restore the manifest") from error


def check_tables(names: Iterable[str]) -> None:
    """Raise an error if the folder has none of these tables; if it has some, their cells fail."""
    needed = [name for name in dict.fromkeys(names) if name not in EMBEDDED]
    refused = []
    for name in needed:
        try:
            read_entry(find_folder(), name.removesuffix("-honest"))
        except TableError as error:
            refused.append(error)
    if needed and len(refused) == len(needed):
        raise refused[0]


def read_file(folder: Path, entry: Entry, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Check the checksum of a file and read it; categories are read as text."""
    path = folder / entry.file
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TableError(f"cannot read {path}, which the manifest lists; restore it") from error
    if sha256 != entry.sha256:
        raise TableError(
            f"{path} has the checksum {sha256[:12]}…, the manifest says {entry.sha256[:12]}…; "
            "restore the file"
        )
    text = {column: str for column, kind in kinds.items() if kind == "categorical"}
    # Only empty cells are missing values: in these tables, words such as None or NA are levels.
    # Missing values stay missing. The paper does not say what it did with those that it kept.
    return pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""])
