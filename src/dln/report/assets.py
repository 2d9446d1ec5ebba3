"""The files of the page: scripts, style sheet and templates."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from dln._util.colours import CLASS_COLOURS, DARK_CLASS_COLOURS
from dln.core.circuit import Task

_SCRIPTS: dict[str, Task | None] = {
    "circuit.js": None,
    "number_circuit.js": "number",
    "many_rows.js": None,
    "change.js": None,
    "dom.js": None,
    "dial.js": None,
    "text.js": None,
    "statistics.js": None,
    "bars.js": None,
    "controls.js": None,
    "data.js": None,
    "outcome_parts.js": None,
    "outcome.js": "classes",
    "number_outcome.js": "number",
    "form.js": None,
    "class_rows.js": "classes",
    "number_rows.js": "number",
    "rows.js": None,
    "plots.js": "classes",
    "performance.js": "classes",
    "number_performance.js": "number",
    "rules.js": "classes",
    "number_rules.js": "number",
    "diagram.js": None,
    "edits.js": None,
    "class_edit.js": "classes",
    "number_edit.js": "number",
    "edit.js": None,
    "start.js": None,
}
"""The scripts in the order in which they run, each with its task; None for both.

Each may use those before it.
"""


def page_script(task: Task) -> str:
    """Join the scripts of the page for a task."""
    return "\n".join(_asset(name) for name, own in _SCRIPTS.items() if own in (None, task))


def page_style() -> str:
    """Write the style sheet, with the class colours of diagrams and figures."""
    light, dark = map(_colour_variables, (CLASS_COLOURS, DARK_CLASS_COLOURS))
    marks = "".join(f".c{i}{{--class:var(--c{i})}}" for i in range(len(CLASS_COLOURS)))
    dark_rule = f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f":root{{{light}}}\n{dark_rule}\n{marks}\n{_asset('style.css')}"


def _colour_variables(colours: tuple[str, ...]) -> str:
    return "".join(
        f"--c{number}:{colour};--dln-class-{number}:{colour};"
        for number, colour in enumerate(colours)
    )


@cache
def template(name: str) -> Any:
    """Return a template of the page."""
    import jinja2  # slow to load

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@cache
def _asset(name: str) -> str:
    return (files("dln.report") / "page" / name).read_text(encoding="utf-8")
