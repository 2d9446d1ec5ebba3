"""Download tables from their public sources into a folder that `load` reads.

A source is converted to the project's format (a header, empty cells for missing values). It is kept
only if the converted file has the expected checksum, so that it is the table that the results were
made with. Sources that need an account, or have their rows in another order, cannot be downloaded;
the error message names where to find them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import urllib.request
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dln import OptionError, TableError
from reproduction.datasets.dataset import NAMES
from reproduction.files import write_atomically

_SECONDS = 60.0


def download(name: str, folder: str | Path) -> Path:
    """Download one table into a folder and add it to the folder's manifest.

    Parameters
    ----------
    name : str
        One of `NAMES`. BankChurn, BreastCancer, Cardiotocography, CKD, Cirrhosis, Compas,
        CreditFraud, Diabetes, EyeMovements, HAR and Stroke cannot be downloaded.
    folder : str or path
        Target folder; created if needed. Set `DLN_DATA` to it afterwards.

    Returns
    -------
    pathlib.Path
        The path of the table.

    Raises
    ------
    OptionError
        If the table is unknown or cannot be downloaded.
    TableError
        If the source does not answer, or its table has changed.

    Examples
    --------
    >>> download("Stroke", "tables")
    Traceback (most recent call last):
    dln.errors.OptionError: Stroke cannot be downloaded; can be: Heart, HeartFailure, ...
    """
    if name not in NAMES:
        raise OptionError(f"there is no data set {name!r}; known are {', '.join(NAMES)}")
    if name not in _sources():
        raise OptionError(
            f"{name} cannot be downloaded; can be: {', '.join(_sources())}. Get the table by hand "
            "and list it in the folder's manifest.json"
        )
    source = _sources()[name]
    text = _to_csv(source)
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != source["sha256"]:
        raise TableError(
            f"the source of {name} has changed: its table has the checksum {found[:12]}…, expected "
            f"{source['sha256'][:12]}…; get an older copy of {source['origin']}"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    write_atomically(path, text)
    _list(folder, {**_entry_fields(source), "file": path.name})
    return path


@cache
def _sources() -> dict[str, Any]:
    """Read the sources by table name."""
    text = files("reproduction.datasets").joinpath("sources.json").read_text("utf-8")
    return {source["name"]: source for source in json.loads(text)}


def _to_csv(source: Mapping[str, Any]) -> str:
    """Download the parts of a table and return them in the project's format."""
    columns = [column["name"] for column in source["columns"]]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for part in source["parts"]:
        rows = csv.reader(io.StringIO(_fetch(part["url"])), delimiter=source["separator"])
        for row in list(rows)[source["header_lines"] :]:
            if row:
                cells = dict(zip(source["order"], row, strict=False)) | {"split": part.get("split")}
                writer.writerow(_cell(cells.get(column), source["missing"]) for column in columns)
    return stream.getvalue()


def _cell(text: str | None, missing: str) -> str:
    return "" if text is None or text == missing else text


def _fetch(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            fetched: bytes = answer.read()
    except OSError as error:
        raise TableError(f"cannot fetch {url}: {error}; look for it by hand") from error
    return fetched.decode("utf-8-sig", "replace")


def _entry_fields(source: Mapping[str, Any]) -> dict[str, Any]:
    return {key: source[key] for key in ("name", "sha256", "target", "paper", "columns")}


def _list(folder: Path, entry: Mapping[str, Any]) -> None:
    """Add or replace the manifest entry of a table."""
    path = folder / "manifest.json"
    try:
        document = json.loads(path.read_text("utf-8")) if path.exists() else {"datasets": []}
        others = [other for other in document["datasets"] if other["name"] != entry["name"]]
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} is not a manifest of data sets; restore or delete it") from error
    write_atomically(path, json.dumps({**document, "datasets": [*others, entry]}, indent=1))
