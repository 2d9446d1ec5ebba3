"""Build the conda package of conda/recipe.yaml and test it: `make conda`.

rattler-build and all packages come from PyPI, so conda-forge is not needed. The packages that the
recipe requires are made here: from wheels, from this Python, and without files for the compiler,
which is the machine's own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path

from rattler_build import (
    EnvironmentIsolation,
    Stage0Recipe,
    ToolConfiguration,
    VariantConfig,
    assemble_package,
)

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "conda"
PLATFORM = "linux-64"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BUILD = ("cmake", "nanobind", "ninja", "pip", "scikit-build-core")
RUN = ("jinja2", "narwhals", "numpy", "scikit-learn")
COMPILER = {"gxx_linux-64": "14.0", "sysroot_linux-64": "2.28"}
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
ALONE = ("--no-deps", "--ignore-installed")


def pack(name: str, version: str, files: Path, depends: Iterable[str] = ()) -> None:
    """Add a package to the channel."""
    assemble_package(
        name,
        version,
        PLATFORM,
        "0",
        WORK / "channel" / PLATFORM,
        files_dir=files,
        depends=[*depends],
        compression_level=1,
        detect_prefix=False,
    )


def empty_folder(name: str) -> Path:
    """Make a folder for the files of a package."""
    folder = WORK / "files" / name
    folder.mkdir(parents=True)
    return folder


def pack_python() -> None:
    """Pack this Python; it finds its library relative to its executable."""
    files, base = empty_folder("python"), Path(sys.base_prefix)
    (files / "bin").mkdir()
    shutil.copy2(base / "bin" / f"python{PYTHON}", files / "bin")
    for alias in ("python", "python3"):
        (files / "bin" / alias).symlink_to(f"python{PYTHON}")
    ignored = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a")
    for folder in (f"lib/python{PYTHON}", f"include/python{PYTHON}"):
        shutil.copytree(base / folder, files / folder, ignore=ignored)
    for library in base.glob("lib/libpython*.so*"):
        shutil.copy2(library, files / "lib")
    pack("python", sys.version.split()[0], files)


def conda_name(requirement: str) -> str:
    """Return the name in a requirement, or of a wheel, as conda spells it."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def run_in_environment(folder: Path) -> None:
    """Let the scripts in a folder run with the Python of their environment, not with this one."""
    for script in folder.glob("*"):
        first, _, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!"):
            script.write_bytes(b"#!/usr/bin/env python\n" + rest)


def pack_wheel(wheel: Path, available: set[str]) -> None:
    """Pack a wheel with its dependencies, except those that other systems need."""
    name, version, *_ = wheel.name.split("-")
    files = empty_folder(name)
    subprocess.run([*PIP, "install", *ALONE, "--prefix", files, wheel], check=True)
    packages = files / f"lib/python{PYTHON}/site-packages"
    (found,) = distributions(path=[str(packages)])
    required = {conda_name(each) for each in found.requires or () if "extra ==" not in each}
    data = packages / "cmake/data"
    if data.is_dir():  # the scripts of this wheel are for an environment of pip
        shutil.rmtree(files / "bin")
        shutil.copytree(data, files, dirs_exist_ok=True)
        shutil.rmtree(data)
    else:
        run_in_environment(files / "bin")
    pack(conda_name(name), version, files, {"python", *required & available})


def make_channel() -> None:
    """Make every package that the recipe requires."""
    pack_python()
    for name, version in COMPILER.items():
        pack(name, version, empty_folder(name))
    folder = WORK / "wheels"
    download = [*PIP, "download", "--only-binary", ":all:", "--dest", folder, *BUILD, *RUN]
    subprocess.run(download, check=True)
    wheels = sorted(folder.glob("*.whl"))
    available = {conda_name(wheel.name.partition("-")[0]) for wheel in wheels}
    for wheel in wheels:
        pack_wheel(wheel, available)


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "channel" / PLATFORM).mkdir(parents=True)
    make_channel()
    variants = VariantConfig(
        {
            "python": [PYTHON],
            "cxx_compiler": ["gxx"],
            "cxx_compiler_version": ["14"],
            "c_stdlib": ["sysroot"],
            "c_stdlib_version": ["2.28"],
        }
    )
    (recipe,) = Stage0Recipe.from_file(ROOT / "conda" / "recipe.yaml").render(variants)
    built = recipe.run_build(
        ToolConfiguration(test_strategy="native"),
        output_dir=WORK / "channel",
        channels=[(WORK / "channel").as_uri()],
        env_isolation=EnvironmentIsolation.CONDA_BUILD,
    )
    print(*built.packages, sep="\n")
