"""Results in a notebook: executed, converted to HTML as Jupyter shows it, and read in Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.browser import open_tab
from tests.support.tools import find_module

CELLS = (
    """import dln
circuit = dln.Circuit(
    (dln.Column("age", "integer"), dln.Column("ward", "category", ("<b>", "south"))),
    (dln.Above(0, 54.0), dln.Among(1, (0,))),
    (dln.Node(dln.GATES[6], 0, 1),),
    (dln.Rule(0, (0, 2)), dln.Rule(2, (1, 0))),
    (1, 0),
    ("healthy", "ill"),
)
price = dln.Circuit(
    logic=dln.Logic((dln.Column("age", "integer"),), (dln.Above(0, 54.0),), ()),
    readout=dln.Score((dln.Rule(0, (32,)),), (125,), digits=1, name="price"),
)""",
    "circuit",
    "dln.rule_table(circuit, [[60, 'south'], [40, '<b>']], ['ill', 'healthy'])",
    "circuit.explain([60, 'south'])",
    "price",
    "price.explain([60])",
)
WORDS = ("age > 54", "healthy", "ward", "price")

# The contrast of text with what is behind it, by the formula of WCAG 2.
CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const read = (colour, under) => {
    canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = colour => colour.map(x => x / 255)
    .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = node => {
    const above = node ? behind(node.parentElement) : [255, 255, 255];
    return node ? read(getComputedStyle(node).backgroundColor, above) : above;
  };
  const opacity = node => node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
  return [...document.querySelectorAll('.dln-sheet :is(p, caption, th, td)')].map(node => {
    const back = behind(node), front = read(getComputedStyle(node).color, back);
    const share = opacity(node);
    const seen = front.map((x, k) => share * x + (1 - share) * back[k]);
    const [low, high] = [light(seen), light(back)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@pytest.fixture(scope="module")
def notebook() -> Any:
    """Execute the cells in a kernel."""
    for name in ("nbclient", "nbconvert", "ipykernel"):
        find_module(name)
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    found.metadata.kernelspec = {"name": "python3", "language": "python", "display_name": "Python"}
    NotebookClient(found, timeout=120).execute()
    return found


def test_every_result_has_html_and_text(notebook: Any) -> None:
    for cell in notebook.cells[1:]:
        (output,) = cell.outputs
        assert {"text/html", "text/plain"} <= set(output.data)
        assert "<b>" not in output.data["text/html"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_are_legible_on_light_and_dark_pages(
    notebook: Any, browser: Any, theme: str
) -> None:
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(theme=theme, require_js_url="", mathjax_url="").from_notebook_node(
        notebook
    )
    with open_tab(browser, viewport={"width": 900, "height": 1400}, offline=True) as tab:
        tab.page.set_content(page)
        assert tab.page.locator(".dln-sheet").count() == len(CELLS) - 1
        text = tab.page.inner_text("body")
        assert all(word in text for word in WORDS)
        contrasts = tab.page.evaluate(CONTRASTS)
        assert len(contrasts) > 30
        assert min(contrasts) > 4.5
        sheets = tab.page.locator(".dln-sheet").all()
        assert all(sheet.evaluate("x => x.scrollWidth <= x.clientWidth") for sheet in sheets)
