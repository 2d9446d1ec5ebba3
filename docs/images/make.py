"""Make the README's pictures anew: `make pictures`, with Chromium installed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from dln import Circuit, simplify
from dln.cli import main
from dln.draw import draw_circuit

HERE = Path(__file__).parent
FIRST_WITH_A_CHANGE = """() => {
  load(testRows.find((row) => nearestChanges(circuit, features, row.cells).length).cells);
}"""


def make_pictures() -> None:
    """Run the demo, draw its circuit and photograph its report."""
    with tempfile.TemporaryDirectory() as folder:
        assert main(["demo", "--output", folder]) == 0
        circuit = simplify(Circuit.load(Path(folder) / "model.json"))
        draw_circuit(circuit).save(HERE / "circuit.svg")
        with sync_playwright() as tools:
            browser = tools.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1120, "height": 980})
            page.goto((Path(folder) / "report.html").as_uri())
            page.evaluate(FIRST_WITH_A_CHANGE)
            page.screenshot(path=HERE / "report.png")
            browser.close()


if __name__ == "__main__":
    make_pictures()
