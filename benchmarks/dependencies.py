"""What each dependency of dln costs: its size, the time of its import, and its licence.

    python -m benchmarks.dependencies

Prints one line for the library and one for each extra. A package counts for the first line that
needs it, directly or not, and every package must be installed. Sizes are those of the files that
pip has installed. Times are processor time, the shortest of five, each in a new process: of
`import dln`, and of importing the packages of an extra after it. dln imports them when they are
needed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
OURS = {"bench", "dev", "docs", "reproduction", "test", "test-autogluon", "test-spark"}
"""The extras for working on dln itself."""

EXTRAS: dict[str, list[str]] = {"": PROJECT["dependencies"]} | {
    name: requirements
    for name, requirements in PROJECT["optional-dependencies"].items()
    if name not in OURS
}
"""What users install: the requirements of the library, and of each extra by its name."""

LICENCES = {
    "MIT": r"\bMIT\b",
    "BSD": r"\b[03]?BSD\b",
    "Apache": r"Apache",
    "PSF": r"\bPSF|Python Software Foundation",
    "MPL": r"\bMPL|Mozilla",
    "ISC": r"\bISC\b",
    "HPND": r"\bHPND|CMU License",
    "zlib": r"\bzlib\b",
    "CC0": r"\bCC0|Unlicense",
    "NVIDIA": r"NVIDIA",
}
"""Permissive licences, and the Mozilla licence, which concerns changes of its own files alone."""

MODULES = {"scikit-learn": "sklearn", "python-sat": "pysat", "cupy-cuda13x": "cupy"}
"""The modules of packages with another name."""


def required(requirements: list[str]) -> dict[str, Distribution | None]:
    """Return the packages that these requirements install, directly or not; None if missing."""
    found: dict[str, Distribution | None] = {}
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        marked = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
        )
        if not marked or name in found:
            continue
        try:
            found[name] = own = distribution(name)
            waiting += [Requirement(each) for each in own.requires or []]
        except PackageNotFoundError:
            found[name] = None
    return found


def licence_texts(package: Distribution) -> list[str]:
    """List what the metadata of a package says about its licence."""
    metadata = package.metadata
    classifiers = metadata.get_all("Classifier") or []
    found = [
        metadata.get("License-Expression") or "",
        (metadata.get("License") or "").partition("\n")[0],
        *(each.rpartition(":: ")[2] for each in classifiers if each.startswith("License ::")),
    ]
    return [text for text in found if text]


def licences_of(package: Distribution) -> set[str]:
    """Return the names of the licences of a package; empty if none is known."""
    texts = licence_texts(package)
    return {
        name
        for name, pattern in LICENCES.items()
        if any(re.search(pattern, text, re.IGNORECASE) for text in texts)
    }


def packages_of(extra: str) -> dict[str, Distribution]:
    """Return the installed packages of an extra that the library itself does not install."""
    library = {} if extra == "" else required(EXTRAS[""])
    found = required(EXTRAS[extra])
    return {name: own for name, own in found.items() if own and name not in library}


def measure_size(package: Distribution) -> int:
    """Return the size of the files of a package in bytes."""
    paths = (Path(str(package.locate_file(file))) for file in package.files or [])
    return sum(path.stat().st_size for path in paths if path.is_file())


def measure_import(modules: list[str]) -> float:
    """Return the processor time in seconds of importing modules after dln; of dln if none."""
    timed = "dln" if not modules else ", ".join(modules)
    code = (
        f"import time{', dln' if modules else ''}; start = time.process_time(); import {timed}; "
        "print(time.process_time() - start)"
    )
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(5))
    return min(float(run.stdout) for run in runs)


def table() -> Iterator[str]:
    """Write the lines of a Markdown table."""
    yield "| extra | packages | MB | import, s | licences |"
    yield "| --- | --- | ---: | ---: | --- |"
    for extra, requirements in EXTRAS.items():
        packages = packages_of(extra)
        names = [Requirement(each).name for each in requirements]
        if not all(name in packages for name in names):
            yield f"| `{extra}` | {', '.join(names)}: not installed | | | |"
            continue
        size = sum(map(measure_size, packages.values())) / 1e6
        modules = [MODULES.get(name, name) for name in names] if extra else []
        licences = sorted(set().union(*map(licences_of, packages.values())))
        label = f"`{extra}`" if extra else "the library"
        yield (
            f"| {label} | {', '.join(names)}; {len(packages)} in all | {size:.0f} | "
            f"{measure_import(modules):.2f} | {', '.join(licences)} |"
        )


if __name__ == "__main__":
    print("\n".join(table()))
