r"""Graph -> DOT, the text format of Graphviz: `dot -Tsvg circuit.dot`.

Promise: all text is quoted. Nothing in a name can become DOT code, and `\n` stays two characters.
"""

from __future__ import annotations

from collections.abc import Iterable

from dln._util.colours import PAPER
from dln.draw.diagram.graph import Edge, Graph, Vertex, VertexKind
from dln.draw.diagram.metrics import wrap
from dln.draw.diagram.sizes import FONT

_LOOK: dict[VertexKind, str] = {
    "literal": f'shape=box, style="rounded,filled", fillcolor="{PAPER["literal"].light}"',
    "gate": f'shape=diamond, style=filled, fillcolor="{PAPER["gate"].light}", margin="0.02"',
    "class": "shape=box, style=rounded, penwidth=2",
    "rule": "shape=box",
    "part": "shape=note",
}
_FONT = 'fontname="DejaVu Sans"'
_WIDTH, _MOST_LINES = 480.0, 12


def to_dot(graph: Graph) -> str:
    """Return a graph as DOT, from left to right."""
    literals = [vertex.key for vertex in graph.vertices if vertex.kind == "literal"]
    classes = [vertex.key for vertex in graph.vertices if vertex.kind == "class"]
    lines = [
        "digraph circuit {",
        f"  rankdir=LR; labelloc=b; labeljust=l; label={_lines(graph.notes)};",
        f"  {_FONT}; node [{_FONT}]; edge [{_FONT}, arrowsize=0.6];",
        *(
            f"  {vertex.key} [{_LOOK[vertex.kind]}, label={_label(vertex)}];"
            for vertex in graph.vertices
        ),
        *(f"  {edge.source} -> {edge.target} [{_edge(edge)}];" for edge in graph.edges),
    ]
    for rank, keys in (("same", literals), ("max", classes)):
        if keys:
            lines.append(f"  {{ rank={rank}; {'; '.join(keys)}; }}")
    return "\n".join([*lines, "}", ""])


def _label(vertex: Vertex) -> str:
    shown = [part for line in vertex.lines for part in wrap(line, FONT, _WIDTH, _MOST_LINES)]
    return _lines(shown)


def _edge(edge: Edge) -> str:
    if edge.kind == "vote":
        return f'label="{edge.text}"{", style=dashed" if edge.votes < 0 else ""}'
    return "arrowhead=odot" if edge.inverted else "arrowhead=none"


def _lines(texts: Iterable[str]) -> str:
    """Quote lines of text. A backslash would start an escape, `&` an HTML entity."""
    quoted = [
        text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for text in texts
    ]
    joined = "\\n".join(quoted)
    return f'"{joined}"'
