"""Fetch tables from their public sources into a folder that `load` reads.

A source is brought to the form of the project's tables (a header, empty cells where a value is
missing) and kept only if its checksum is then the known one: whatever a server sends, what is
loaded later is the table that the results were made with. Sources that need an account, or whose
rows are in another order, cannot be fetched; the message names where they are.
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

from dln.datasets.dataset import NAMES
from dln.errors import OptionError, TableError
from dln.whole import write_whole

_SECONDS = 60.0


def download(name: str, folder: str | Path) -> Path:
    """Fetch one table into a folder and list it in the folder's manifest.

    Parameters
    ----------
    name : str
        One of `NAMES`. BankChurn, BreastCancer, Cardiotocography, CKD, Cirrhosis, Compas,
        CreditFraud, Diabetes, EyeMovements, HAR and Stroke have no source that can be fetched in
        the form needed.
    folder : str or path
        Made if it is not there. Set `DLN_DATA` to it afterwards.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    OptionError
        If the table is unknown or cannot be fetched.
    TableError
        If the source does not answer, or its table is not the expected one.

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
    write_whole(path, text)
    _list(folder, {**_entry_fields(source), "file": path.name})
    return path


@cache
def _sources() -> dict[str, Any]:
    """Read what is known of the sources, by the names of the tables."""
    text = files("dln.datasets").joinpath("sources.json").read_text("utf-8")
    return {source["name"]: source for source in json.loads(text)}


def _to_csv(source: Mapping[str, Any]) -> str:
    """Fetch the parts of a table and write them the way the project's tables are written."""
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
    """Add a table to the manifest, or replace what it says of it."""
    path = folder / "manifest.json"
    try:
        document = json.loads(path.read_text("utf-8")) if path.exists() else {"datasets": []}
        others = [other for other in document["datasets"] if other["name"] != entry["name"]]
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} is not a manifest of data sets; restore or delete it") from error
    write_whole(path, json.dumps({**document, "datasets": [*others, entry]}, indent=1))
