"""Sphinx settings of the documentation; `make docs` builds it (see make_site.py)."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version as _version
from typing import Any

project = "dln"
author = "The dln developers"
copyright = "the dln developers, MIT licence"
release = _version("dln")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["images/*.py", "gallery/*.py"]

# Pages are Markdown that GitHub renders too. Headings get the anchors that GitHub gives them.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# Notebooks are executed when they have changed. A cell that fails breaks the build.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# Docstrings put names in single backticks. Public names become links (see `setup`).
default_role = "code"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"  # the list beside a page is narrow

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "dln"
html_static_path = ["_static"]
html_extra_path = ["../gallery"]  # reports, which make_site.py writes
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "dln"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "install": [], "gallery/index": []}

MODULES = ("dln", "dln.draw", "dln.report", "dln.search")
"""The modules whose `__all__` is the public interface."""

PLACES = {
    name: f"{module}.{name}"
    for module in reversed(MODULES)
    for name in import_module(module).__all__
}


def link_names(
    _app: Any, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]
) -> None:
    """Turn public names in the single backticks of a docstring into links."""

    def linked(match: re.Match[str]) -> str:
        name = match[1].partition("(")[0]
        return f":py:obj:`{match[1]} <{PLACES[name]}>`" if name in PLACES else match[0]

    lines[:] = [
        re.sub(r"(?<![`:\w])`([A-Za-z_]\w*(?:\(\))?)`(?![`_])", linked, line) for line in lines
    ]


def setup(app: Any) -> None:
    """Register the extension of this site."""
    app.connect("autodoc-process-docstring", link_names)
