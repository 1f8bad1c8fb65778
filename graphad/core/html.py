"""Values and models as HTML for notebooks. All text is escaped, since names and values may come from untrusted files.

The HTML uses no scripts and no external styles, so that it looks the same in every notebook viewer.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.shapes import format_dims
from graphad.core.tree import Branch, counts, in_bytes, tree_of

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.eager.variable import Variable


COUNTED = 10_000_000  # the range of larger tensors is not computed
MOST_PARTS = 500  # at most so many parts of a model are shown

_BOX = "font-family:monospace;font-size:12px;line-height:1.4"
_FAINT = "color:#777"


def box(title: str, *parts: str) -> str:
    """A block: a title, which is escaped, and HTML below it."""
    head = f'<div style="font-weight:bold">{escape(title)}</div>'
    return f'<div style="{_BOX}">{head}{"".join(parts)}</div>'


def note(text: str) -> str:
    """A line in grey."""
    return f'<div style="{_FAINT}">{escape(text)}</div>'


def pre(text: str) -> str:
    """Preformatted text."""
    return f'<pre style="margin:4px 0;white-space:pre;overflow-x:auto">{escape(text)}</pre>'


def folded(title: str, inside: str, is_open: bool = False) -> str:
    """A folded part; its title is escaped, `inside` is HTML."""
    mark = " open" if is_open else ""
    return f"<details{mark}><summary>{escape(title)}</summary>{inside}</details>"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Rows of cells, all escaped."""
    style = "padding:1px 8px;text-align:left;border-bottom:1px solid #ddd"
    short = style + ";white-space:nowrap"  # keeps a number and its unit on one line
    lines = ["".join(f'<th style="{style}">{escape(cell)}</th>' for cell in head)]
    lines += [
        "".join(f'<td style="{short if len(cell) <= 24 else style}">{escape(cell)}</td>' for cell in row)
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse:collapse;{_BOX}">{body}</table>'


def of_tensor(x: Any) -> str:
    """A tensor: shape, dtype, memory, its range, and the numbers as NumPy prints them."""
    return _array("Tensor", x.data, x.dtype.name)


def of_variable(x: Variable) -> str:
    """A variable: its name, whether it is trained, and its value."""
    kind = "Variable" if x.trainable else "Variable, not trained,"
    return _array(f"{kind} {x.name!r}", x.data, x.dtype.name)


def of_module(x: object) -> str:
    """A module, or an object from a file: its tree, the deeper parts folded."""
    trained, fixed, size = counts(x)
    total = f"{trained + fixed:,} parameters, {trained:,} of them trained, {in_bytes(size)}"
    left = [MOST_PARTS]
    return box("", _branch(tree_of(x), 0, left), note(total))


def _array(title: str, data: Array, dtype: str) -> str:
    array = np.asarray(data)
    said = f"{title} {dtype}{format_dims(array.shape)}, {in_bytes(array.nbytes)}"
    text = str(data)
    return box(said, pre(text), note(_range(array)) if array.ndim else "")


def _range(array: Array) -> str:
    """The smallest and the largest number, and how many elements are NaN or infinite."""
    if not array.size:
        return "no elements"
    if array.size > COUNTED or array.dtype.kind not in "fiu":
        return ""
    if array.dtype.kind != "f":
        return f"from {array.min()} to {array.max()}"
    finite = array[np.isfinite(array)]
    parts = [f"from {finite.min()} to {finite.max()}"] if finite.size else []
    nans = int(np.isnan(array).sum())
    infinite = array.size - finite.size - nans
    parts += [f"{nans} NaN"] if nans else []
    parts += [f"{infinite} infinite"] if infinite else []
    return ", ".join(parts)


def _branch(branch: Branch, depth: int, left: list[int]) -> str:
    if left[0] <= 0:
        return ""
    left[0] -= 1
    if not branch.below:
        return f"<div>{escape(branch.text)}</div>"
    inside = "".join([_branch(below, depth + 1, left) for below in branch.below])
    if left[0] <= 0:
        inside += note("... and more")
    return folded(branch.text, f'<div style="margin-left:1.5em">{inside}</div>', depth < 2)
