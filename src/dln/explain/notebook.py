"""An HTML fragment of tables -> the same fragment with a style, for notebooks.

The style applies only to `.dln-sheet` and loads nothing. Text and lines use the notebook's text
colour, so they are legible on light and dark pages. Classes have the colours of the diagrams.
"""

from __future__ import annotations

from dln._util.colours import CLASS_COLOURS, DARK_CLASS_COLOURS

_DARK_PAGES = ('[data-jp-theme-light="false"]', ".vscode-dark", "html[theme=dark]")
"""How JupyterLab, VS Code and Colab mark dark pages."""

_SHEET = ".dln-sheet" * 3
"""Repeated for a higher specificity than the notebook's own rules for tables."""

_RULES = {
    "": "font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; max-width: 60rem",
    "p": "margin: 0 0 .4em; opacity: .75",
    "p.headline": "font-size: 1.15em; font-weight: 600; opacity: 1",
    "table": "color: inherit; font-size: 1em; border: 0; border-collapse: collapse;"
    " table-layout: auto; width: auto; margin: .6em 0 1.1em",
    "caption": "caption-side: top; text-align: left; color: inherit; font-weight: 600;"
    " padding: 0 0 .25em",
    "caption[class]": "border-left: 4px solid var(--dln-class); padding: 0 0 0 .5em",
    "tr": "background: none; border: 0",
    ":is(th, td)": "background: none; border: 0; text-align: left;"
    " vertical-align: top; padding: .3em 1.2em .3em 0; white-space: normal; max-width: 36rem;"
    " overflow-wrap: anywhere",
    "th": "font-size: .85em; font-weight: 500; opacity: .65;"
    " border-bottom: 1px solid color-mix(in srgb, currentColor 35%, transparent)",
    "td": "border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent)",
    ".number": "text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap",
    "td.code": "font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;"
    " font-size: .93em",
}


def styled(fragment: str) -> str:
    """Put the style before a fragment of `dln.explain.document`."""
    return f"<style>\n{_STYLE}\n</style>\n{fragment}"


def _style() -> str:
    lines = [f"{_SHEET}{' ' * bool(parts)}{parts} {{ {rule} }}" for parts, rule in _RULES.items()]
    for number, (light, dark) in enumerate(zip(CLASS_COLOURS, DARK_CLASS_COLOURS, strict=True)):
        lines.append(f".dln-sheet .class-{number} {{ --dln-class: {light} }}")
        pages = ", ".join(f"{page} .dln-sheet .class-{number}" for page in _DARK_PAGES)
        lines.append(f"{pages} {{ --dln-class: {dark} }}")
    return "\n".join(lines)


_STYLE = _style()
