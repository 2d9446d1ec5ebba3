"""Make the pictures of the README and the docs again: `make pictures`, with Chromium installed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from drawings import write_drawings
from playwright.sync_api import sync_playwright

from dln import Circuit, simplify
from dln.cli import main
from dln.draw import draw_circuit

HERE = Path(__file__).parent
VIEWS = {
    "report.png": ({"width": 1200, "height": 1180}, None),
    "performance.png": ({"width": 1200, "height": 790}, "performance-section"),
}
"""File, size of the window, and the section at its top; None for the top of the page."""


def make_pictures() -> None:
    """Draw the method; run the demo, draw its circuit and photograph its report."""
    write_drawings(HERE)
    with tempfile.TemporaryDirectory() as folder:
        assert main(["demo", "--output", folder]) == 0
        circuit = simplify(Circuit.load(Path(folder) / "model.json"))
        draw_circuit(circuit).save(HERE / "circuit.svg")
        with sync_playwright() as tools:
            browser = tools.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, (viewport, section) in VIEWS.items():
                page = browser.new_page(viewport=viewport)
                page.goto((Path(folder) / "report.html").as_uri())
                if section:
                    page.evaluate(f"find('{section}').scrollIntoView({{ behavior: 'instant' }})")
                # The page forbids the style element by which Playwright would hide the caret.
                page.screenshot(path=HERE / name, caret="initial")
            browser.close()


if __name__ == "__main__":
    make_pictures()
