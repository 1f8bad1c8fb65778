"""A graph as a picture: layers from top to bottom, one box per node, curves along the values. Text is escaped.

A node is in the layer below the deepest of its inputs. Within a layer nodes are ordered by the mean position of their inputs
and, in alternate sweeps, of their readers, which leaves few crossings in graphs of readable size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from graphad.core.op import Op
from graphad.graph.ir import Graph, spec_of_constant
from graphad.graph.text import print_spec

MOST_NODES = 150  # of a picture; a larger graph is shown by its first nodes
SWEEPS = 4
LETTER, LINE, GAP_X, GAP_Y, MARGIN = 7.0, 15.0, 18.0, 34.0, 10.0


@dataclass
class Box:
    """One node, input or output of the picture.

    Attributes:
      lines: What is written in it.
      kind: "input", "constant", "node", "effect" or "output"; "pass" where a curve passes a layer.
      reads: The boxes that it reads, by number.
      hint: What is shown where the pointer rests: the user's line.
    """

    lines: list[str]
    kind: str
    reads: list[int]
    hint: str = ""
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        if self.kind == "pass":
            self.width = self.height = 0.0
            return
        self.width = LETTER * max(map(len, self.lines)) + 14
        self.height = LINE * len(self.lines) + 8


_FILL = {
    "input": "#e3eefc",
    "constant": "#eeeeee",
    "node": "#ffffff",
    "effect": "#fde7d9",
    "output": "#e2f4e4",
}


def boxes_of(graph: Graph, most: int = MOST_NODES) -> tuple[list[Box], int]:
    """The boxes of a graph, placed, and how many of its nodes were left out."""
    boxes: list[Box] = []
    maker: dict[int, int] = {}
    for i, spec in enumerate(graph.inputs):
        maker[i] = len(boxes)
        boxes.append(Box([f"%{i}", print_spec(spec)], "input", []))
    for k, array in enumerate(graph.constants):
        maker[len(graph.inputs) + k] = len(boxes)
        said = print_spec(spec_of_constant(array)) if array.shape else str(array)
        boxes.append(Box([f"constant {said[:24]}"], "constant", []))
    shown = graph.nodes[:most]
    for node in shown:
        reads = list(dict.fromkeys(maker[i] for i in node.inputs))
        specs = [print_spec(spec) for spec in node.specs]
        lines = [node.op.name, *_inner(node.op), *(specs if len(specs) <= 2 else [f"{len(specs)} values"])]
        for value in node.outputs:
            maker[value] = len(boxes)
        boxes.append(Box(lines, "effect" if node.op.effects else "node", reads, node.line or ""))
    for k, value in enumerate(graph.outputs):
        if value in maker:
            boxes.append(
                Box([f"result {k}" if len(graph.outputs) > 1 else "result"], "output", [maker[value]])
            )
    read = {i for box in boxes for i in box.reads}
    kept = [i for i, box in enumerate(boxes) if box.kind != "constant" or i in read]
    number = {old: new for new, old in enumerate(kept)}
    boxes = [boxes[i] for i in kept]
    for box in boxes:
        box.reads = [number[i] for i in box.reads]
    _layer(boxes)
    boxes = _with_passes(boxes)
    _place(boxes)
    return boxes, len(graph.nodes) - len(shown)


def svg_of(graph: Graph, most: int = MOST_NODES) -> str:
    """The picture as SVG. A graph of more than `most` nodes says how many are not shown."""
    boxes, left = boxes_of(graph, most)
    width = max((box.x + box.width for box in boxes), default=0) + MARGIN
    height = max((box.y + box.height for box in boxes), default=0) + MARGIN + (LINE if left else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="11">'
    ]
    for box in boxes:
        parts += [_edge(boxes[i], box) for i in box.reads]
    parts += [_drawn(box) for box in boxes if box.kind != "pass"]
    if left:
        parts.append(
            f'<text x="{MARGIN}" y="{height - 6:.0f}" fill="#777">{left} more nodes are not shown</text>'
        )
    return "".join([*parts, "</svg>"])


def _inner(op: Op) -> list[str]:
    """The description of an op's sub-graphs."""
    graphs = [value for value in (getattr(op, name) for name in op.attributes) if isinstance(value, Graph)]
    return [
        f"{graph.name[:20]}: {len(graph.nodes)} {'node' if len(graph.nodes) == 1 else 'nodes'}"
        for graph in graphs
    ]


def _layer(boxes: Sequence[Box]) -> None:
    """Give each box its layer."""
    first: dict[int, int] = {}
    for box in boxes:
        box.layer = 1 + max((boxes[j].layer for j in box.reads), default=-1)
        for j in box.reads:
            first[j] = min(first.get(j, box.layer), box.layer)
    for i, layer in first.items():  # what is given stands just above its first reader
        if not boxes[i].reads:
            boxes[i].layer = layer - 1


def _with_passes(boxes: Sequence[Box]) -> list[Box]:
    """The boxes, with a place in each layer for every curve that passes it."""
    out = list(boxes)
    chains: dict[tuple[int, int], int] = {}  # (the value's box, layer) -> where its curve passes
    for box in boxes:
        for k, source in enumerate(box.reads):
            above = source
            for layer in range(boxes[source].layer + 1, box.layer):
                at = chains.get((source, layer))
                if at is None:
                    at = chains[source, layer] = len(out)
                    out.append(Box([], "pass", [above], layer=layer))
                above = at
            box.reads[k] = above
    return out


def _place(boxes: Sequence[Box]) -> None:
    """Order the layers and give every box its place."""
    readers: list[list[int]] = [[] for _ in boxes]
    for i, box in enumerate(boxes):
        for j in box.reads:
            readers[j].append(i)
    lowest = max((box.layer for box in boxes), default=0)
    layers = [[i for i, box in enumerate(boxes) if box.layer == k] for k in range(lowest + 1)]
    place = {i: float(k) for layer in layers for k, i in enumerate(layer)}
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            for i in layer:
                near = boxes[i].reads if down else readers[i]
                if near:
                    place[i] = sum(place[j] for j in near) / len(near)
            layer.sort(key=lambda i: place[i])
            for k, i in enumerate(layer):
                place[i] = float(k) - len(layer) / 2
    y = MARGIN
    widths = [sum(boxes[i].width for i in layer) + GAP_X * max(0, len(layer) - 1) for layer in layers]
    for layer, width in zip(layers, widths, strict=True):
        x = MARGIN + (max(widths) - width) / 2
        for i in layer:
            boxes[i].x, boxes[i].y = x, y
            x += boxes[i].width + GAP_X
        tallest = max((boxes[i].height for i in layer), default=0.0)
        for i in layer:
            if boxes[i].kind == "pass":
                boxes[i].height = tallest
        y += tallest + GAP_Y


def _edge(above: Box, below: Box) -> str:
    x0, y0 = above.x + above.width / 2, above.y + above.height
    x1, y1 = below.x + below.width / 2, below.y
    bend = (y1 - y0) / 2
    path = f"M{x0:.1f},{y0:.1f} C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}"
    if below.kind == "pass":
        path += f" L{x1:.1f},{y1 + below.height:.1f}"
    return f'<path d="{path}" fill="none" stroke="#999"/>'


def _drawn(box: Box) -> str:
    hint = f"<title>{escape(box.hint)}</title>" if box.hint else ""
    shape = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4" '
        f'fill="{_FILL[box.kind]}" stroke="#666"/>'
    )
    middle = box.x + box.width / 2
    text = [
        f'<text x="{middle:.1f}" y="{box.y + 4 + LINE * (k + 0.75):.1f}" text-anchor="middle"'
        f"{'' if k else ' font-weight=' + chr(34) + 'bold' + chr(34)}>{escape(line)}</text>"
        for k, line in enumerate(box.lines)
    ]
    return f"<g>{hint}{shape}{''.join(text)}</g>"
