"""Check the docs: commands exist and run, snippets give what they say, links resolve."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from benchmarks.dependencies import OURS
from dln import GATES, Above, Circuit, CircuitPath, Column, Node, Origin, PathPoint, Rule
from dln.cli.app import app
from tests.conftest import Run
from tests.support.tools import find_module, find_tool

ROOT = Path(__file__).parents[1]
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *GUIDES]
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which tells of what is gone
CIRCUIT = Circuit(
    (Column("age", "integer"), Column("smoker", "boolean")),
    (Above(0, 54.0), Above(1, 0.5)),
    (Node(GATES[1], 0, 1),),
    (Rule(2, (0, 1)),),
    (0, 0),
    ("healthy", "ill"),
    origin=Origin("heart.csv", "", "disease", 18, 0.25, 0, "0.1.0"),
)
LONG = {"demo", "train", "search"}  # commands that other tests run


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M)


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of each `dln` command in a page's shell examples."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("dln "):
                yield shlex.split(line.partition(" > ")[0], comments=True)[1:]


# -- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_shell_examples_parse(page: Path) -> None:
    group = typer.main.get_command(app)
    for verb, *arguments in commands(page):
        if not verb.startswith("--"):
            group.commands[verb].make_context(verb, arguments)  # raises on an unknown option


@pytest.mark.parametrize("name", ["README", "cli", "report", "diagram", "export"])
def test_the_commands_of_a_page_run_one_after_the_other(name: str, run: Run) -> None:
    prepare()
    page = next(page for page in PAGES if page.stem == name)
    shown = [words for words in commands(page) if words[0] not in {*LONG, "--install-completion"}]
    assert shown
    for words in shown:
        status, _, messages = run(*words)
        assert status == 0, (words, messages)


def prepare() -> None:
    """Write the files that the commands of the pages read."""
    rows = "age,smoker,disease\n" + "60,true,ill\n60,false,healthy\n30,true,healthy\n" * 8
    for table in ("heart.csv", "patients.csv", "test.csv", "train.csv"):
        Path(table).write_text(rows)
    Path("patients.csv.gz").write_bytes(gzip.compress(rows.encode()))
    for model in ("heart.json", "iris.json"):
        CIRCUIT.save(model)
    CircuitPath((PathPoint(CIRCUIT, 0.9, 0.01),), chosen=0).save("path.json")


JSON = [
    ("train", "heart.csv -t disease -o m.json --layers 4,2 --networks 1 --epochs 2"),
    ("evaluate", "heart.json heart.csv -t disease"),
    ("simplify", "heart.json -o small.json"),
    ("prune", "heart.json heart.csv -t disease -o small.json"),
    ("verify", "heart.json heart.json"),
    ("verify", "heart.json other.json"),
    ("cost", "heart.json"),
]


@pytest.mark.parametrize(("verb", "arguments"), JSON)
def test_the_docs_name_what_json_holds(verb: str, arguments: str, run: Run) -> None:
    prepare()
    replace(CIRCUIT, base_votes=(1, 0)).save("other.json")
    found = set(json.loads(run(verb, *arguments.split(), "--json")[1]))
    page = ROOT / "docs" / "reference" / "cli.md"
    text = page.read_text("utf-8").partition("## JSON output")[2]
    (row,) = re.findall(rf"^\| `{verb}` \| (.*) \|$", text, re.M)
    named = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row)))
    assert found <= named
    assert found == named or verb == "verify"  # its keys depend on the answer


def code(page: Path) -> list[str]:
    """Return the code of a page: its code spans, and the lines of its code blocks."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.M))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.M)
    indented = re.findall(r"^ {4}(\S.*)$", prose, re.M)
    spans = re.findall(r"`([^`]+)`", re.sub(r"\s*\n\s*", " ", prose))
    return [re.split(r"  +#| [|>] ", line)[0] for line in [*fenced.splitlines(), *indented, *spans]]


def mentions(page: Path) -> Iterator[list[str]]:
    """Yield the words after `dln` wherever a page shows a command.

    Unlike `commands`, these may be fragments, such as `dln trends --rising`.
    """
    for line in code(page):
        if match := re.match(r"(?:Example: |\$ (?:time )?)?dln (.+)", line):
            yield match[1].split()


def options_known_to(verb: str) -> set[str]:
    parameters = typer.main.get_command(app).commands[verb].params
    return {name for option in parameters for name in [*option.opts, *option.secondary_opts]}


def options_in(script: Path) -> set[str]:
    text = script.read_text("utf-8")
    if "add_options(" in text:  # the options of every benchmark that can be resumed
        text += (ROOT / "benchmarks/resume.py").read_text("utf-8")
    return set(re.findall(r'"(--[a-z-]+)"', text))


def options_of(words: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.stem)
def test_every_mentioned_command_and_option_exists(page: Path) -> None:
    group = typer.main.get_command(app)
    for verb, *words in mentions(page):
        if re.fullmatch(r"[a-z]+", verb):  # not VERB or --version
            assert verb in group.commands, verb
            known = options_known_to(verb)
            assert options_of(words) - {"--help", "-h"} <= known, (verb, words)


def test_commands_are_found_in_spans_and_blocks() -> None:
    shown = [words[0] for words in mentions(ROOT / "docs" / "guides" / "audit.md")]
    assert {"train", "verify", "trends"} <= set(shown)


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.stem)
def test_every_mentioned_benchmark_and_make_target_exists(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for line in code(page):
        if match := re.search(r"benchmarks(?:/(\w+)\.py|\.(\w+))(.*)", line):
            script = ROOT / "benchmarks" / f"{match[1] or match[2]}.py"
            assert options_of(match[3].split()) <= options_in(script), line
        if match := re.search(r"-m reproduction(.*)", line):
            assert options_of(match[1].split()) <= options_in(ROOT / "reproduction/__main__.py"), (
                line
            )
        if match := re.match(r"(?:\$ )?make ([a-z-]+)", line):
            assert match[1] in targets, line


# -- snippets of docs/guides/export.md --------------------------------------------------------

EXPORT = ROOT / "docs" / "guides" / "export.md"


@pytest.fixture(name="folder")
def exported(tmp_path: Path, run: Run) -> Path:
    """Export as the page says."""
    find_module("onnx")
    prepare()
    for words in commands(EXPORT):
        assert run(*words)[0] == 0
    return tmp_path


def test_the_c_of_the_docs_is_a_program(folder: Path) -> None:
    gcc = find_tool("gcc", package="gcc")
    (snippet,) = blocks(EXPORT, "c")
    (folder / "main.c").write_text(snippet)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([gcc, *strict, "-o", "main", "main.c"], cwd=folder, check=True)
    said = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    assert said.stdout == "ill\n"


def test_the_python_of_the_docs_gives_what_it_says(folder: Path) -> None:
    (snippet,) = [block for block in blocks(EXPORT, "python") if "import heart\n" in block]
    checks = re.sub(r"^(heart\..*)  # (.*)$", r"assert \1 == \2", snippet, flags=re.M)
    assert checks.count("assert") == 3
    subprocess.run([sys.executable, "-c", checks], cwd=folder, check=True)


def test_the_onnx_of_the_docs_answers(folder: Path) -> None:
    find_module("onnxruntime")
    (snippet,) = [block for block in blocks(EXPORT, "python") if "import onnxruntime" in block]
    check = "assert label.tolist() == ['ill'] and probabilities.shape == (1, 2)"
    subprocess.run([sys.executable, "-c", f"{snippet}\n{check}"], cwd=folder, check=True)


def test_the_javascript_of_the_docs_gives_what_it_says(folder: Path) -> None:
    node = find_tool("node", package="nodejs")
    (snippet,) = blocks(EXPORT, "js")
    checks, count = re.subn(r"^(.*); // ([\"\[].*)$", r"equal(\1, \2);", snippet, flags=re.M)
    assert count == 2
    (folder / "main.mjs").write_text(
        f'import {{ deepStrictEqual as equal }} from "node:assert";\n{checks}'
    )
    subprocess.run([node, "main.mjs"], cwd=folder, check=True)


# -- links, names, extras, layout -------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_anchors_resolve(page: Path) -> None:
    for link in re.findall(r"(?:\]\(|src=\")([^)\s\"]+)", page.read_text("utf-8")):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_contents_of_its_part() -> None:
    for page in GUIDES:
        index = page.parent / "index.md"
        if page != index:
            contents = "\n".join(blocks(index, "{toctree}")).splitlines()
            assert page.stem in contents, page


def test_the_readme_links_every_part() -> None:
    text = README.read_text("utf-8")
    for index in (ROOT / "docs").glob("*/index.md"):
        assert f"](docs/{index.parent.name}/index.md)" in text


def test_extras_that_are_named_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    sources = [*PAGES, *(ROOT / "src").rglob("*.py")]
    texts = [file.read_text("utf-8") for file in sources]
    named = {x for text in texts for x in re.findall(r"(?:dln|\.)\[([a-z,]+)\]", text)}
    assert {extra for names in named for extra in names.split(",")} <= extras
    install = (ROOT / "docs" / "install.md").read_text("utf-8")
    table = install.partition("| extra |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) == extras - OURS


def test_the_layout_names_every_module() -> None:
    text = CONTRIBUTING.read_text("utf-8").partition("## Layout")[2].partition("Imports point")[0]
    package = ROOT / "src" / "dln"
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("_")}
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    named = set(re.findall(r"(?<![\w/.])\w+(?:\.py|/)(?=\s)", text))
    assert modules | folders <= named
    assert {name for name in named if name.endswith(".py")} == modules


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.stem)
def test_pages_that_name_pickles_warn_that_loading_one_runs_code(page: Path) -> None:
    text = " ".join(page.read_text("utf-8").split())
    warning = re.search("pickle (does|runs code)|run code when loaded", text)
    assert "pickle" not in text.lower() or warning
