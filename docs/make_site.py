"""Build the documentation site: `make docs` writes build/site/index.html.

The pages of this folder are collected in a build folder, together with what is generated (the API
reference) and what belongs elsewhere in the repository (the changelog, the tables of the
reproduction). Sphinx then builds the site from there. A broken link is an error.
`--check` only looks for errors; `--fresh` makes everything again.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from conf import MODULES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
GALLERY = ROOT / "build" / "gallery"

API = DOCS / "reference" / "api" / "index.md"
"""The start of the API reference; the list of its pages is added."""

ELSEWHERE = {
    "SECURITY.md": "project/security.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "LICENSE": "project/LICENSE.txt",
    "README.md": "index.md",
    "reproduction/results/tables": "measurements/tables",
}
"""Files and folders outside docs/ that pages link to, and their place in the site."""

TITLES = {
    "estimators": "Estimators",
    "search": "Parameter search",
    "core": "Circuits",
    "evaluate": "Evaluation",
    "explain": "Rules and explanations",
    "prove": "Proofs",
    "shrink": "Simplify and prune",
    "paths": "Budgets and paths",
    "edits": "Edits by people",
    "decisions": "Probabilities",
    "costs": "Costs",
    "exporters": "Export",
    "draw": "Diagrams and plots",
    "report": "Reports",
    "train": "Settings of training",
    "errors": "Errors and warnings",
}
"""The package that defines a public name decides on which page of the API it is."""


TABLES = {
    "beyond": "Models beyond the paper's",
    "cost_parts": "Parts of the cost",
    "lgn": "Logic gate networks (LGN)",
    "ratios": "Perceptrons relative to logic networks",
    "time": "Time of the experiment",
}
"""The titles of tables of the reproduction that are not clear from the names of their files."""

KERNEL = """# Between the processes of one machine, no encryption is needed.
c.IPKernelApp.log_level = 40
"""
"""Settings of the kernel that executes notebooks; it warns of connections without encryption."""


def collect_pages() -> None:
    """Write all pages to the build folder; files that have not changed keep their time."""
    written = {_write(place, text.encode()) for place, text in api_pages()}
    for source, place in _sources():
        if PAGES / place in written:
            continue
        if source.suffix in {".md", ".ipynb"}:
            text = _with_links(source.read_text("utf-8"), source, place)
            if source.suffix == ".md" and not text.startswith(("# ", "---\n")):
                title = TABLES.get(source.stem, source.stem.replace("_", " ").capitalize())
                text = f"# {title}\n\n{text}"
            content = text.encode()
        else:
            content = source.read_bytes()
        written.add(_write(place, content))
    for old in PAGES.rglob("*"):
        if old.is_file() and old not in written:
            old.unlink()


def _sources() -> Iterator[tuple[Path, str]]:
    """List the files of the site with their places."""
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path, path.relative_to(DOCS).as_posix()
    for name, place in ELSEWHERE.items():
        path = ROOT / name
        if path.is_dir():
            for inner in sorted(path.iterdir()):
                if inner.suffix in {".md", ".svg"}:
                    yield inner, f"{place}/{inner.name}"
        elif path.exists() and name != "README.md":
            yield path, place


def _with_links(text: str, source: Path, place: str) -> str:
    """Point the links of a page at the places that files have in the site."""

    def moved(match: re.Match[str]) -> str:
        before, link = match.groups()
        name, mark, anchor = link.partition("#")
        target = (source.parent / name).resolve()
        if not name or "://" in link or not target.is_relative_to(ROOT) or not target.exists():
            return match[0]  # Sphinx reports what is wrong with it
        new = os.path.relpath(_place_of(target), Path(place).parent)
        return f"{before}{new}{mark}{anchor}"

    return re.sub(r"(\]\()([^)\s\"{}]+)", moved, text)


def _place_of(target: Path) -> str:
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    name = target.relative_to(ROOT).as_posix()
    for outside, place in ELSEWHERE.items():
        if name == outside or name.startswith(f"{outside}/"):
            return place + name.removeprefix(outside)
    return name


def _write(place: str, content: bytes) -> Path:
    path = PAGES / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
    return path


# -- the API ----------------------------------------------------------------------------------


def api_pages() -> Iterator[tuple[str, str]]:
    """Write one page for each package that defines public names, and a page that lists them."""
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            package = _package_of(getattr(loaded, name))
            names[package].setdefault(name, module)
    for package, members in names.items():
        blocks = [_block(name, module) for name, module in sorted(members.items())]
        yield f"reference/api/{package}.md", "\n".join([f"# {_title(package)}\n", *blocks])
    known = [*TITLES, *sorted(set(names) - set(TITLES))]
    listed = "\n".join(package for package in known if package in names)
    lines = [
        f"- [{_title(package)}]({package}.md): "
        + ", ".join(
            f"{{py:obj}}`{name} <{names[package][name]}.{name}>`" for name in sorted(names[package])
        )
        for package in known
        if package in names
    ]
    start = API.read_text("utf-8")
    contents = f"```{{toctree}}\n:hidden:\n\n{listed}\n```"
    yield API.relative_to(DOCS).as_posix(), "\n".join([start, *lines, "", contents, ""])


def _title(package: str) -> str:
    return TITLES.get(package, package.capitalize())


def _package_of(value: object) -> str:
    """Return the package below dln that defines a public object; constants are in core."""
    module = getattr(value, "__module__", "") or ""
    return module.split(".")[1] if module.startswith("dln.") else "core"


def _block(name: str, module: str) -> str:
    value = getattr(importlib.import_module(module), name)
    lines = [f"```{{eval-rst}}\n.. currentmodule:: {module}\n"]
    if inspect.isclass(value) and issubclass(value, Exception):
        lines += [f".. autoexception:: {name}"]
    elif inspect.isclass(value):
        routing = [
            each
            for each in dir(value)
            if re.fullmatch(r"set_\w+_request|get_metadata_routing", each)
        ]
        lines += [f".. autoclass:: {name}", "   :members:"]
        lines += ["   :inherited-members: BaseEstimator, ClassifierMixin, RegressorMixin, tuple"]
        lines += [f"   :exclude-members: {', '.join(routing)}"] if routing else []
    elif inspect.isfunction(value):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. autodata:: {name}", "   :no-value:"]
    return "\n".join([*lines, "```\n"])


# -- the command ------------------------------------------------------------------------------


def build_site(check: bool = False) -> int:
    """Collect the pages and run Sphinx; warnings are errors.

    A check resolves all links but writes no pages and executes no notebooks, so it takes seconds.
    """
    collect_pages()
    GALLERY.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    if check:
        command += ["-b", "dummy", "-D", "nb_execution_mode=off"]
    else:
        make_gallery()
        command += ["-b", "html"]
    cache, target = (f"site-{'check' if check else 'cache'}", "site-none" if check else "site")
    build = ROOT / "build"
    places = ["-d", str(build / cache), str(PAGES), str(build / target)]
    settings = {**os.environ, "IPYTHONDIR": str(_configure_kernel(build / "ipython"))}
    done = subprocess.run([*command, *places], check=False, env=settings)
    if done.returncode == 0 and not check:
        print(f"The site is in {SITE / 'index.html'}")
    return done.returncode


def _configure_kernel(folder: Path) -> Path:
    """Write the settings of the kernel for notebooks; those of the user are not read."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL, "utf-8")
    return folder


def make_gallery() -> None:
    """Write the reports of the gallery, unless the same script has written them before."""
    script = DOCS / "gallery" / "reports.py"
    mark = GALLERY / "written-by"
    if not mark.exists() or mark.read_bytes() != script.read_bytes():
        shutil.rmtree(GALLERY, ignore_errors=True)
        subprocess.run([sys.executable, str(script), str(GALLERY / "reports")], check=True)
        mark.write_bytes(script.read_bytes())


if __name__ == "__main__":
    if "--fresh" in sys.argv:
        shutil.rmtree(PAGES, ignore_errors=True)
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.rmtree(GALLERY, ignore_errors=True)
    sys.exit(build_site(check="--check" in sys.argv))
