"""Scene -> SVG, for a file or as part of an HTML page.

Colours are CSS variables. A page may set `--dln-page`, `--dln-ink` and the others; otherwise they
follow the reader's light or dark scheme. Each vertex and edge is a group with `data-rules`, the
numbers of the rules that depend on it. If a page gives some groups the class `dln-lit` and the
picture the class `dln-picking`, only these groups are highlighted.

Promise: all text is escaped. Nothing in a name can become markup.
"""

from __future__ import annotations

import hashlib
from html import escape

from dln._util.colours import (
    CLASS_COLOURS,
    DARK_CLASS_COLOURS,
    FILLS,
    PAPER,
    class_colour,
)
from dln.draw.diagram.scene import Box, Diamond, Item, Path, Round, Scene, Shape, Text

_FONTS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


def to_svg(scene: Scene, prefix: str | None = None) -> str:
    """Return a scene as SVG.

    Ids begin with `prefix`. By default it is derived from the content, so that several diagrams can
    be in one page.
    """
    body = "\n".join(_group(item) for item in scene.items)
    if prefix is None:
        prefix = f"dln-{hashlib.sha256(body.encode('utf-8', 'replace')).hexdigest()[:8]}"
    prefix = escape(prefix)
    width, height = _number(scene.width), _number(scene.height)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" class="dln-diagram" role="img" \
aria-labelledby="{prefix}-title {prefix}-desc" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}">
<title id="{prefix}-title">{_escaped(scene.title)}</title>
<desc id="{prefix}-desc">{_escaped(scene.description)}</desc>
<style>
{_STYLE}
</style>
<rect class="dln-page" width="{width}" height="{height}"/>
{body}
</svg>
"""


def _escaped(text: str) -> str:
    """Escape a text. Characters that XML does not allow are replaced."""
    legal = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return escape(legal)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# -- items ------------------------------------------------------------------------------------


def _group(item: Item) -> str:
    names = f"dln-{item.kind}"
    if item.label is not None:
        names += f" dln-of{class_colour(item.label)}"
    title = f"<title>{_escaped(item.title)}</title>" if item.title else ""
    shapes = "".join(_shape(shape) for shape in item.shapes)
    return f'<g class="{names}"{_data(item)}>{title}{shapes}</g>'


def _data(item: Item) -> str:
    """Return the data attributes of an item. All values are whole numbers."""
    if item.kind == "note":
        return ""
    values = {
        "wire": "" if item.wire is None else str(item.wire),
        "class": "" if item.label is None else str(item.label),
        "rule": " ".join(map(str, item.rule)),
    }
    known = "".join(f' data-{name}="{value}"' for name, value in values.items() if value)
    return f'{known} data-rules="{" ".join(map(str, item.rules))}"'


def _shape(shape: Shape) -> str:
    match shape:
        case Box():
            x, y = _number(shape.x - shape.width / 2), _number(shape.y - shape.height / 2)
            width, height = _number(shape.width), _number(shape.height)
            radius = _number(shape.radius)
            return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'
        case Diamond():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.corners)
            return f'<polygon points="{points}"/>'
        case Round():
            x, y, radius = _number(shape.x), _number(shape.y), _number(shape.radius)
            return f'<circle cx="{x}" cy="{y}" r="{radius}"/>'
        case Path():
            first, *rest = [f"{_number(x)} {_number(y)}" for x, y in shape.points]
            look = {"dln-against": shape.dashed, "dln-trunk": shape.neutral}
            names = " ".join(name for name, wanted in look.items() if wanted)
            chosen = f' class="{names}"' if names else ""
            return f'<path{chosen} d="M{first}C{" ".join(rest)}"/>'
        case Text():
            return _text(shape)


def _text(text: Text) -> str:
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    bold = ' font-weight="bold"' if text.bold else ""
    start = f'<text x="{_number(text.x)}" y="{_number(text.base)}" font-size="{_number(text.size)}"'
    return f"{start}{anchor}{bold}>{_escaped(text.text)}</text>"


# -- style ------------------------------------------------------------------------------------


def _use(name: str) -> str:
    """Return a colour of the page, with our own as fallback."""
    return f"var(--dln-{name},var(--own-{name}))"


def _make_style() -> str:
    def own(scheme: int) -> str:
        inks = {name: ink[scheme] for name, ink in PAPER.items()}
        classes = (CLASS_COLOURS, DARK_CLASS_COLOURS)[scheme]
        inks |= {f"class-{number}": colour for number, colour in enumerate(classes)}
        return "".join(f"--own-{name}:{colour};" for name, colour in inks.items())

    lines = [
        f".dln-diagram{{{own(0)}font-family:{_FONTS}}}",
        f"@media (prefers-color-scheme:dark){{.dln-diagram{{{own(1)}}}}}",
        f".dln-diagram .dln-page{{fill:{_use('page')}}}",
        f".dln-diagram text{{fill:{_use('ink')};white-space:pre}}",
        f".dln-diagram .dln-note text{{fill:{_use('muted')}}}",
        ".dln-diagram path{fill:none;stroke-width:1.4}",
        ".dln-diagram path.dln-against{stroke-dasharray:5 4}",
        f".dln-diagram path.dln-trunk{{stroke:{_use('line')}}}",
        ".dln-diagram rect,.dln-diagram polygon,.dln-diagram circle{stroke-width:1.3}",
        ".dln-diagram rect.dln-page{stroke:none}",
    ]
    for kind, (fill, line) in FILLS.items():
        lines.append(f".dln-diagram .dln-{kind}{{fill:{_use(fill)};stroke:{_use(line)}}}")
    lines.append(f".dln-diagram .dln-class{{fill:{_use('class')}}}")
    lines += [
        f".dln-diagram .dln-of{number}{{stroke:{_use(f'class-{number}')}}}"
        for number in range(len(CLASS_COLOURS))
    ]
    lines += [
        ".dln-diagram .dln-class rect{stroke-width:2.2}",
        ".dln-diagram text{stroke:none}",
        ".dln-diagram.dln-picking g[data-rules]:not(.dln-lit){opacity:.18}",
        f".dln-diagram .dln-lit path{{stroke:{_use('lit')};stroke-width:2.6}}",
    ]
    return "\n".join(lines)


_STYLE = _make_style()
