"""The limits of a model file: its format, its version, and how large its parts may be."""

from __future__ import annotations

from typing import Any

from dln.errors import CircuitError

FORMAT = "dln-circuit"
VERSION = 2
"""The version that is written. Version 1, which has no "readout", is read as well."""

BOUNDS = {
    "characters in the file": 2**26,
    "columns": 2**20,
    "literals": 2**20,
    "gates": 2**20,
    "rules": 2**20,
    "classes": 10_000,
    "edits": 10_000,
    "votes (rules times classes)": 2**22,
    "leads in the calibration": 2**10,
    "categories in one column": 2**20,
    "characters in one text": 2**20,
}
"""The largest number of each part that a file may hold; docs/reference/model-file.md lists them."""

_COUNTED = ("columns", "literals", "gates", "rules", "classes", "edits")


def check_bounds(document: dict[str, Any]) -> None:
    """Refuse a document with too many or too long parts, before its parts are checked."""
    parts = {key: value for key, value in document.items() if isinstance(value, list)}
    sizes = {key: len(parts.get(key, ())) for key in _COUNTED}
    for key, size in sizes.items():
        check_bound(key, size)
    check_bound("votes (rules times classes)", sizes["rules"] * sizes["classes"])
    calibration = document.get("calibration")
    leads = calibration.get("leads") if isinstance(calibration, dict) else None
    check_bound("leads in the calibration", len(leads) if isinstance(leads, list) else 0)
    texts = [document.get("name"), *parts.get("classes", ())]
    for column in parts.get("columns", ()):
        if isinstance(column, dict):
            categories = column.get("categories")
            categories = categories if isinstance(categories, list) else []
            check_bound("categories in one column", len(categories))
            texts += [column.get("name"), *categories]
    texts += [text for edit in parts.get("edits", ()) for text in _texts_in(edit)]
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    check_bound("characters in one text", longest)


def _texts_in(edit: Any) -> list[Any]:
    return list(edit.values()) if isinstance(edit, dict) else []


def check_bound(name: str, found: int) -> None:
    """Raise `CircuitError` if a file would hold more than its bound."""
    if found > BOUNDS[name]:
        raise CircuitError(
            f"too large for a model file: {found:,} {name}; at most {BOUNDS[name]:,} are allowed"
        )
