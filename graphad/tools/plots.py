"""`graphad.plot`: graphs, Jacobians and Hessians with their blocks, curves of training, drawn with matplotlib.

Matplotlib is imported by the first picture. Every function draws into the axes it is given, or into a figure of its own, and
returns the axes, so that the caller adds titles, saves and shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, UnavailableError
from graphad.core.tensor import Tensor
from graphad.core.tree import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib may not be installed

MOST_LINES = 60  # boundaries of blocks that are drawn along one axis
_FILL = {
    "input": "#e3eefc",
    "constant": "#eeeeee",
    "node": "#ffffff",
    "effect": "#fde7d9",
    "output": "#e2f4e4",
}


def graph(fn: Callable[..., Any], *args: object, ax: Axes | None = None, **kwargs: object) -> Axes:
    """The traced graph of a function, from top to bottom: one box per node, with what it computes.

    Args:
      fn: A graphad function, called with `args` and `kwargs` (tensors, or specs), a concrete function, or a graph.
      args, kwargs: Arguments of `fn`.
      ax: Matplotlib's axes to draw into; those of a new figure that is large enough by default.
    Returns: The axes.
    Raises:
      ArgumentTypeError (a TypeError): `fn` has no graph.
      UnavailableError (a RuntimeError): matplotlib is not installed.
    Example:
      >>> ax = plot.graph(function(math.tanh), constant([1.0]))
    """
    from graphad.tools.svg import boxes_of

    made = getattr(fn, "get_concrete_function", None)
    found: Any = fn if made is None else made(*args, **kwargs)
    found = getattr(found, "graph", found)
    if not hasattr(found, "nodes"):
        raise ArgumentTypeError(
            f"plot.graph: {fn!r} has no graph; decorate it with @function, or give a concrete function."
        )
    boxes, left = boxes_of(found)
    width = max((box.x + box.width for box in boxes), default=10.0) + 10
    height = max((box.y + box.height for box in boxes), default=10.0) + 10
    ax = _axes(ax, (max(2.0, width / 75), max(1.5, height / 75)))
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    for box in boxes:
        for i in box.reads:
            above = boxes[i]
            x0, y0 = above.x + above.width / 2, above.y + above.height
            x1, y1 = box.x + box.width / 2, box.y
            bend = (y1 - y0) / 2
            points = [(x0, y0), (x0, y0 + bend), (x1, y1 - bend), (x1, y1)]
            codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
            if box.kind == "pass":
                points.append((x1, y1 + box.height))
                codes.append(Path.LINETO)
            ax.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor="#999999"))
    for box in boxes:
        if box.kind == "pass":
            continue
        shape = f"round,pad=0,rounding_size={min(4.0, box.height / 4)}"
        ax.add_patch(
            FancyBboxPatch(
                (box.x, box.y), box.width, box.height, shape, facecolor=_FILL[box.kind], edgecolor="#666666"
            )
        )
        for k, line in enumerate(box.lines):
            y = box.y + 4 + 15 * (k + 0.5)
            weight = "normal" if k else "bold"
            ax.text(
                box.x + box.width / 2,
                y,
                _literal(line),
                ha="center",
                va="center",
                fontsize=7,
                family="monospace",
                weight=weight,
            )
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_axis_off()
    ax.set_aspect("equal")
    title = plain(found.name) + (f", {left} more nodes are not shown" if left else "")
    ax.set_title(_literal(title), fontsize=9)
    return ax


def jacobian(
    values: NestLike, target: NestLike = None, ax: Axes | None = None, names: Sequence[str] | None = None
) -> Axes:
    """A Jacobian as a matrix: a row for each element of the target, a column for each of the source, lines around the blocks.

    A block belongs to one index of the target's first axis and one of the source's: for batches, the diagonal of blocks is what
    belongs to one row of the batch. Colours are linear close to 0 and logarithmic further away; what is exactly 0 is white.

    Args:
      values: A tensor or array of shape [target's shape..., source's shape...], or a list of those for several sources, whose
        columns stand side by side.
      target: The target, its shape, or its number of axes; half of the axes by default, which must be an even number then.
      ax: Matplotlib's axes; those of a new figure by default.
      names: What the sources are called, one for each.
    Returns: The axes.
    Raises: InvalidArgumentError (a ValueError): the axes of the target are not known, or there is nothing to draw.
    Example:
      >>> x = constant([[1.0, 2.0], [3.0, 4.0]])
      >>> with GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = math.tanh(x)
      >>> ax = plot.jacobian(tape.jacobian(y, x), y)
    """
    parts = [
        _array("plot.jacobian", value) for value in (values if isinstance(values, list | tuple) else [values])
    ]
    ranks = [_target_axes(part, target) for part in parts]
    if not parts or any(
        part.shape[:rank] != parts[0].shape[: ranks[0]] for part, rank in zip(parts, ranks, strict=True)
    ):
        raise InvalidArgumentError(
            f"plot.jacobian: Jacobians of one target begin with its shape; these have shapes {[part.shape for part in parts]}."
        )
    rows = parts[0].shape[: ranks[0]]
    columns = [part.shape[rank:] for part, rank in zip(parts, ranks, strict=True)]
    matrix = np.concatenate(
        [part.reshape(math.prod(rows), math.prod(rest)) for part, rest in zip(parts, columns, strict=True)],
        axis=1,
    )
    return _matrix(ax, matrix, _blocks([rows]), _blocks(columns), "target", "source", names, columns)


def hessian(blocks: NestLike, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
    """A Hessian as a matrix, with its blocks.

    Args:
      blocks: A tensor or array of shape [shape..., shape...], or the rows of blocks of several variables, `blocks[i][j]` of shape
        [shape of i..., shape of j...], as `hessian(f, argnums=(0, 1))` gives them.
      ax: Matplotlib's axes; those of a new figure by default.
      names: What the variables are called, one for each.
    Returns: The axes.
    Raises: InvalidArgumentError (a ValueError): the blocks do not fit together.
    Example:
      >>> ax = plot.hessian(hessian(lambda x: reduce_sum(x**3.0))(constant([1.0, 2.0])))
    """
    table = blocks if isinstance(blocks, list | tuple) else [[blocks]]
    arrays = [[_array("plot.hessian", block) for block in row] for row in table]
    count = len(arrays)
    if not count or any(len(row) != count for row in arrays):
        raise InvalidArgumentError(
            f"plot.hessian: it takes as many blocks in each row as there are rows; got rows of {[len(row) for row in arrays]}."
        )
    shapes = [arrays[i][i].shape[: arrays[i][i].ndim // 2] for i in range(count)]
    for i, row in enumerate(arrays):
        for j, block in enumerate(row):
            if block.shape != shapes[i] + shapes[j]:
                raise InvalidArgumentError(
                    f"plot.hessian: block [{i}][{j}] has shape {block.shape}; with variables of shapes {shapes} it must have "
                    f"{shapes[i] + shapes[j]}."
                )
    sizes = [math.prod(shape) for shape in shapes]
    matrix = np.block(
        [[block.reshape(sizes[i], sizes[j]) for j, block in enumerate(row)] for i, row in enumerate(arrays)]
    )
    cuts = _blocks(shapes)
    return _matrix(ax, matrix, cuts, cuts, "", "", names, shapes)


def history(curves: NestLike, ax: Axes | None = None, log: bool | None = None, xlabel: str = "step") -> Axes:
    """Curves of training: losses, accuracies or norms by step.

    Args:
      curves: A mapping of names to numbers, one a step, or numbers alone; tensors too. NaN leaves a gap, whose begin is marked.
      ax: Matplotlib's axes; those of a new figure by default.
      log: Whether the vertical axis is logarithmic; by default if all is positive and spans a factor of 100.
      xlabel: What the horizontal axis counts.
    Returns: The axes.
    Raises: InvalidArgumentError (a ValueError): there is no curve, or one is not a row of numbers.
    Example:
      >>> ax = plot.history({"loss": [1.0, 0.1, 0.01], "validation": [1.1, 0.2, 0.05]})
    """
    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    rows = {name: np.asarray([float(y) for y in values], np.float64) for name, values in named.items()}
    if not rows or not any(row.size for row in rows.values()):
        raise InvalidArgumentError(
            "plot.history: there is no number to draw; give a mapping of names to numbers by step."
        )
    finite = np.concatenate([row[np.isfinite(row)] for row in rows.values()])
    if log is None:
        log = bool(finite.size and finite.min() > 0 and finite.max() > 100 * finite.min())
    ax = _axes(ax, (6.0, 3.6))
    for name, row in rows.items():
        (line,) = ax.plot(
            np.arange(row.size),
            row,
            label=_literal(name) if name else None,
            marker="." if row.size < 30 else None,
        )
        lost = np.flatnonzero(~np.isfinite(row))
        for step in [s for s in lost if s == 0 or np.isfinite(row[s - 1])][:100]:
            ax.axvline(float(step), color=line.get_color(), linestyle=":", linewidth=0.8)
        if lost.size:
            line.set_label(
                _literal(
                    f"{name or 'curve'}, not finite from step {lost[0]}" if lost[-1] == row.size - 1 else name
                )
            )
    if log:
        ax.set_yscale("log")
    ax.set_xlabel(xlabel)
    ax.grid(True, alpha=0.3)
    if any(rows) or any(not np.isfinite(row).all() for row in rows.values()):
        ax.legend()
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as cause:
        raise UnavailableError(
            "plot: matplotlib is not installed; `pip install matplotlib`, or graphad's extra `plot`, brings it."
        ) from cause
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _matrix(
    ax: Axes | None,
    matrix: np.ndarray,
    row_cuts: list[tuple[float, bool]],
    column_cuts: list[tuple[float, bool]],
    ylabel: str,
    xlabel: str,
    names: Sequence[str] | None,
    parts: Sequence[tuple[int, ...]],
) -> Axes:
    if not matrix.size:
        raise InvalidArgumentError(f"plot: there is nothing to draw in a matrix of shape {matrix.shape}.")
    ratio = matrix.shape[0] / matrix.shape[1]
    ax = _axes(ax, (6.0, min(8.0, max(2.4, 5.0 * ratio + 0.6))))
    from matplotlib.colors import SymLogNorm

    shown = np.abs(matrix) if matrix.dtype.kind == "c" else matrix.astype(np.float64)
    finite = np.abs(shown[np.isfinite(shown)])
    top = float(finite.max(initial=0.0)) or 1.0
    norm = SymLogNorm(linthresh=top / 100, vmin=-top, vmax=top)
    masked = np.ma.masked_where(shown == 0, shown)  # NaN is drawn, in the colour of what is bad
    from matplotlib import colormaps

    colours = colormaps["RdBu_r"].with_extremes(bad="white")
    image = ax.imshow(
        masked,
        norm=norm,
        cmap=colours,
        aspect="equal" if 0.2 < ratio < 5 else "auto",
        interpolation="nearest",
    )
    for i, j in np.argwhere(~np.isfinite(shown))[:1000]:
        ax.text(j, i, "x", ha="center", va="center", fontsize=7, color="black")
    for cuts, line in ((row_cuts, ax.axhline), (column_cuts, ax.axvline)):
        if len(cuts) <= MOST_LINES:
            for at, is_part in cuts:
                line(at - 0.5, color="#222222" if is_part else "#aaaaaa", linewidth=1.2 if is_part else 0.6)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set_ylabel(ylabel)
    ax.set_xlabel(xlabel)
    ax.tick_params(length=2, labelsize=7)
    for axis in (ax.xaxis, ax.yaxis):
        locator: Any = axis.get_major_locator()
        locator.set_params(integer=True)
    if names is not None:
        if len(names) != len(parts):
            raise InvalidArgumentError(
                f"plot: there are {len(names)} names for {len(parts)} parts; give one for each."
            )
        sizes = [math.prod(part) for part in parts]
        middles = np.cumsum([0, *sizes])[:-1] + np.asarray(sizes) / 2 - 0.5
        ax.set_xticks(middles, [_literal(name) for name in names])
        if not ylabel:
            ax.set_yticks(middles, [_literal(name) for name in names])
    return ax


def _blocks(shapes: Sequence[tuple[int, ...]]) -> list[tuple[float, bool]]:
    """Where lines are drawn: between parts, and between the first indices of each part of several axes."""
    cuts: list[tuple[float, bool]] = []
    at = 0
    for shape in shapes:
        size = math.prod(shape)
        if len(shape) > 1 and shape[0]:
            cuts += [(at + k * size // shape[0], False) for k in range(1, shape[0])]
        at += size
        cuts.append((at, True))
    return cuts[:-1]


def _target_axes(part: np.ndarray, target: Any) -> int:
    if target is None:
        if part.ndim % 2:
            raise InvalidArgumentError(
                f"plot.jacobian: which of the {part.ndim} axes of shape {part.shape} are the target's? Give it, or its shape."
            )
        return part.ndim // 2
    if isinstance(target, int):
        rank = target
    else:
        shape = tuple(int(size) for size in getattr(target, "shape", target))
        rank = len(shape)
        if part.shape[:rank] != shape:
            raise InvalidArgumentError(
                f"plot.jacobian: a target of shape {shape} has no Jacobian of shape {part.shape}."
            )
    if not 0 <= rank <= part.ndim:
        raise InvalidArgumentError(f"plot.jacobian: shape {part.shape} has no {rank} axes of a target.")
    return rank


def _array(name: str, value: TensorLike) -> np.ndarray:
    if value is None:
        raise InvalidArgumentError(
            f"{name}: a Jacobian is None; the source does not reach the target, tape.why_none says why."
        )
    array = np.asarray(value.numpy() if isinstance(value, Tensor) and hasattr(value, "numpy") else value)
    return array.astype(np.float64) if array.dtype.kind not in "fc" else array


def _literal(text: str) -> str:
    """Text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")
