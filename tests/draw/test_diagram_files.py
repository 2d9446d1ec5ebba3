"""Diagrams as SVG, DOT, PNG and PDF, and the command that draws them."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given

from dln import Above, Among, Circuit, Column, Node, OptionError, Rule
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import format_text
from dln.draw import draw_circuit
from dln.draw.diagram.diagram import Detail, Format
from dln.draw.diagram.paint import to_figure
from dln.draw.diagram.scene import Text
from tests.support.strategies import circuits, law

DETAILS: list[Detail] = ["gates", "rules"]
SIGNATURES: dict[Format, bytes] = {
    "svg": b"<svg ",
    "dot": b"digraph ",
    "png": b"\x89PNG\r\n\x1a\n",
    "pdf": b"%PDF-",
}
NASTY = [
    "<script>alert(1)</script>",
    '"><svg onload="x">',
    "]]>&amp;<!--",
    "two\nlines\\n",
    "bell\x07 and \x00",
    '"] ; x [label="',
    "\\N \\G $a_b$ {|}",
    "half \ud800 pair",
]
SVG = "{http://www.w3.org/2000/svg}"
LONG = 60.0

Run = Callable[..., tuple[int, str, str]]


def circuit(name: str = "age") -> Circuit:
    return Circuit(
        (Column(name, "integer"), Column(f"{name} 2", "category", (name, "other"))),
        (Above(0, 54.0), Among(1, (0,))),
        (Node(GATE_BY_NAME["A_OR_NOT_B"], 0, 1),),
        (Rule(2, (0, 3)), Rule(0, (-1, 0))),
        (1, 0),
        (f"not {name}", name),
    )


def numbers(element: ElementTree.Element, name: str) -> tuple[int, ...]:
    return tuple(map(int, element.get(f"data-{name}", "").split()))


# -- SVG --------------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", DETAILS)
@law
@given(circuit=circuits())
def test_svg_is_xml_with_the_content_of_the_scene(detail: Detail, circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail=detail)
    root = ElementTree.fromstring(diagram.to_svg())
    assert root.tag == f"{SVG}svg"
    groups = root.findall(f"{SVG}g")
    for group, item in zip(groups, diagram.scene.items, strict=True):
        assert group.get("class", "").split()[0] == f"dln-{item.kind}"
        assert numbers(group, "rules") == item.rules
        assert numbers(group, "rule") == item.rule
        assert numbers(group, "wire") == (() if item.wire is None else (item.wire,))
        assert numbers(group, "class") == (() if item.label is None else (item.label,))
        texts = [shape.text for shape in item.shapes if isinstance(shape, Text)]
        assert [text.text or "" for text in group.findall(f"{SVG}text")] == texts
        title = group.find(f"{SVG}title")
        assert (title.text if title is not None else "") == item.title


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("detail", DETAILS)
def test_nothing_in_a_name_becomes_markup(name: str, detail: Detail) -> None:
    svg = draw_circuit(circuit(name), detail=detail).to_svg()
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {
        "svg",
        "title",
        "desc",
        "style",
        "g",
        "rect",
        "polygon",
        "circle",
        "path",
        "text",
    }
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or "href" in name}
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(format_text(name) in title for title in titles)


def test_svg_has_a_title_and_unique_ids() -> None:
    diagram = draw_circuit(circuit())
    others = [diagram.to_svg("second-"), draw_circuit(circuit("weight")).to_svg()]
    ids = []
    for svg in (diagram.to_svg(), *others):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img"
        named = root.get("aria-labelledby", "").split()
        found = [element.get("id") for element in root.iter() if element.get("id")]
        assert named == found
        assert len(found) == 2
        ids += found
    assert len(set(ids)) == 6
    assert "second--title" in ids


def test_colours_come_from_the_page_or_follow_its_scheme() -> None:
    svg = draw_circuit(circuit()).to_svg()
    assert "var(--dln-ink,var(--own-ink))" in svg
    assert "prefers-color-scheme:dark" in svg
    style = svg.split("<style>")[1].split("</style>")[0]
    rules = [line for line in style.split("\n") if line]
    assert all(".dln-diagram" in line.split("{")[0] or line.startswith("@media") for line in rules)


def test_notebooks_show_a_diagram() -> None:
    diagram = draw_circuit(circuit())
    assert diagram._repr_svg_() == diagram.to_svg()


# -- DOT --------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("detail", DETAILS)
def test_graphviz_shows_every_vertex_and_edge(detail: Detail) -> None:
    for name in ("age", *NASTY):
        diagram = draw_circuit(circuit(name), detail=detail)
        done = subprocess.run(
            ["dot", "-Tsvg"],
            input=diagram.to_dot().encode(),
            capture_output=True,
            check=False,
            timeout=LONG,
        )
        assert done.returncode == 0, done.stderr
        root = ElementTree.fromstring(done.stdout)
        found = [group.get("class") for group in root.iter(f"{SVG}g")]
        assert found.count("node") == len(diagram.graph.vertices)
        assert found.count("edge") == len(diagram.graph.edges)
        texts = {(text.text or "").replace("\xa0", " ") for text in root.iter(f"{SVG}text")}
        assert format_text(name) in texts  # the second class


@law
@given(circuits())
def test_dot_has_no_line_breaks_or_open_quotes_in_texts(circuit: Circuit) -> None:
    diagram = draw_circuit(circuit, detail="rules")
    dot = diagram.to_dot()
    statements = len(diagram.graph.vertices) + len(diagram.graph.edges)
    assert dot.count("\n") == statements + 5  # two of settings, one rank, two of braces
    for line in dot.split("\n"):
        assert line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 0


# -- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("form", SIGNATURES)
def test_the_ending_of_a_file_determines_its_format(
    form: Format, detail: Detail, tmp_path: Path
) -> None:
    path = tmp_path / f"circuit.{form.upper()}"
    draw_circuit(circuit("$price$ & <b>"), detail=detail).save(path)
    content = path.read_bytes()
    assert content.startswith(SIGNATURES[form])
    assert content == draw_circuit(circuit("$price$ & <b>"), detail=detail).to_bytes(form)


def test_a_png_shows_the_whole_scene() -> None:
    from matplotlib.image import imread

    diagram = draw_circuit(circuit())
    pixels = imread(io.BytesIO(diagram.to_bytes("png")))
    height, width = pixels.shape[:2]
    assert width / height == pytest.approx(diagram.scene.width / diagram.scene.height, rel=0.01)
    assert width > 1.5 * diagram.scene.width  # sharp
    assert len({tuple(pixel) for pixel in pixels.reshape(-1, pixels.shape[2])[::7]}) > 10


def test_letters_that_the_font_lacks_are_boxes_and_reported_once(run: Run, tmp_path: Path) -> None:
    circuit("ward 🏥中🏥").save(tmp_path / "model.json")
    for name in ("a.png", "a.pdf"):  # pytest makes matplotlib's own warnings errors
        status, _, err = run("draw", "model.json", "-o", name)
        note = "The font lacks 🏥中, drawn as □. An .svg file has all letters."
        assert (status, err) == (0, f"{note}\ndrew gates to {name}\n")
    assert run("draw", "model.json", "-o", "a.svg")[2] == "drew gates to a.svg\n"
    texts = to_figure(draw_circuit(circuit("ward 🏥中")).scene).axes[0].texts
    assert "ward □□ > 54" in [text.get_text() for text in texts]


@pytest.mark.parametrize(("name", "found"), [("a.jpg", "ends in .jpg"), ("a", "has no ending")])
def test_other_endings_are_refused(name: str, found: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=f"{found}, expected one of .svg, .dot, .png, .pdf"):
        draw_circuit(circuit()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


# -- the command ------------------------------------------------------------------------------


def command(*arguments: object, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "dln", "draw", *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=LONG,
        cwd=folder,
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    circuit().save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_the_command_writes_svg_to_standard_output(model: Path, tmp_path: Path) -> None:
    done = command(model, "--detail", "rules", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == draw_circuit(circuit(), detail="rules").to_svg()


def test_the_command_writes_a_file_and_reports_it_on_standard_error(
    model: Path, tmp_path: Path
) -> None:
    done = command(model, "-o", "circuit.svg", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"drew gates to circuit.svg\n"
    assert (tmp_path / "circuit.svg").read_text("utf-8") == draw_circuit(circuit()).to_svg()


def test_the_command_uses_its_options(run: Run, model: Path) -> None:
    for form, signature in SIGNATURES.items():
        path = model.with_name(f"circuit.{form}")
        assert run("draw", model, "-o", path)[0] == 0
        assert path.read_bytes().startswith(signature)
    _, out, _ = run("draw", model, "--detail", "rules", "--most-rules", 1)
    assert "Not shown: 1 more rule, none with more votes than these." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "circuit.jpg"), "circuit.jpg ends in .jpg, expected one of .svg, .dot, .png, .pdf"),
        (("-o", "no/circuit.svg"), "there is no folder"),
        (("--detail", "all"), "Invalid value for '--detail'"),
        (("--most-rules", "0"), "Invalid value for '--most-rules'"),
    ],
)
def test_the_command_reports_errors_in_one_line(
    run: Run, model: Path, arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = run("draw", model, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("dln: ")
    assert message in err
    assert err.count("\n") == 1
