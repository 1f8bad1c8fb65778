"""`check_gradients`: derivatives of a function beside differences of its values, element by element.

Central differences at two steps are extrapolated to fourth order; how far the two disagree, and how many bits are lost in the
subtraction, bound their error. Where the bound is too wide, smaller steps are tried. So a mismatch is reported only if it
exceeds the error bound.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphad.core.composites import flatten_records
from graphad.core.convert import lift
from graphad.core.errors import (
    ArgumentTypeError,
    GradientMismatchError,
    InvalidArgumentError,
    MissingRuleError,
)
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.gradient.forward import ForwardAccumulator
from graphad.gradient.tape import GradientTape
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import reshape
from graphad.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike


SEED = 20260101
SCALES = 4  # steps that are tried, each an eighth of the one before
LISTED = 5  # mismatches that an error lists
_TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 3e-2, "bfloat16": 1e-1}


class Mismatch(NamedTuple):
    """One derivative that differs from differences.

    Attributes:
      result: The element of the result, `y[0, 1]`, as text.
      argument: The element of the argument, `x[2]`, as text.
      derivative: The value from automatic differentiation.
      difference: The value from finite differences.
      bound: The error bound of the difference.
      mode: "reverse" or "forward".
    """

    result: str
    argument: str
    derivative: float
    difference: float
    bound: float
    mode: str


@dataclass
class GradientCheck:
    """The result of `check_gradients`, which raises if derivatives differ.

    Attributes:
      compared: How many derivatives were compared.
      largest_error: The largest relative difference among them, where the derivative is not 0.
      kinks: Elements where the function has a kink: there any slope between those of both sides is right.
      unsure: Elements where no step gave differences to compare with.
      modes: "reverse", and "forward" where every op has a forward derivative.
    """

    compared: int = 0
    largest_error: float = 0.0
    kinks: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    modes: tuple[str, ...] = ("reverse",)

    def __str__(self) -> str:
        parts = [f"{self.compared} derivatives agree with differences to {self.largest_error:.2g}"]
        parts.append(f"modes: {', '.join(self.modes)}")
        parts += [f"at a kink: {', '.join(self.kinks)}"] if self.kinks else []
        parts += [f"not compared: {', '.join(self.unsure)}"] if self.unsure else []
        return "; ".join(parts)


class _Leaf(NamedTuple):
    value: Any  # an eager tensor or a variable
    name: str


def check_gradients(
    f: Callable[..., Any], order: int = 1, rtol: float | None = None, elements: int = 100
) -> Callable[..., GradientCheck]:
    """Compare the derivatives of `f` with differences of its values, in reverse and forward mode.

    Args:
      f: A function of nests of tensors and variables that gives a nest of tensors; real arguments are differentiated. It must
        give the same for the same arguments.
      order: 2 compares second derivatives, too: those of a weighted sum of the first.
      rtol: The relative difference that is allowed, beside the error of the differences; by default 1e-6 for float64, 2e-3
        for float32. float64 arguments make a much sharper test.
      elements: How many elements of the arguments, and how many of the results, are looked at; of larger ones so many are
        drawn at random, always the same.

    Returns: A function of the arguments of `f` that gives a `GradientCheck`.

    Raises:
      GradientMismatchError (a ValueError and an AssertionError): derivatives differ; it names the worst elements.
      InvalidArgumentError (a ValueError): there is nothing to compare, or `f` gives other numbers for the same arguments.

    Example:
      >>> print(check_gradients(math.tanh)(constant([0.5, 1.0], float64)))
      8 derivatives agree with differences to ...; modes: reverse, forward
    """
    if not callable(f):
        raise ArgumentTypeError(
            f"check_gradients: {f!r} cannot be called; give the function, and its arguments to what comes back."
        )
    if order not in (1, 2):
        raise InvalidArgumentError(f"check_gradients: the order is {order!r}; it is 1 or 2.")

    def check(*args: object) -> GradientCheck:
        found = _checked(f, args, rtol, elements)
        if order == 2:
            second = _checked(_slopes(f), args, rtol, elements, "the gradient of ")
            found.compared += second.compared
            found.largest_error = max(found.largest_error, second.largest_error)
            found.kinks += [name for name in second.kinks if name not in found.kinks]
            found.unsure += [name for name in second.unsure if name not in found.unsure]
            found.modes = tuple([mode for mode in found.modes if mode in second.modes])
        return found

    return check


def _slopes(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a weighted sum of the results of `f`."""

    def slopes(*args: TensorLike) -> Any:
        leaves = [x for x in flatten_records(list(args))[0] if _is_real(x)]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(leaves)
            results = [y for y in flatten_records(f(*args))[0] if _is_real(y)]
            total = sum(reduce_sum(y * _weights(y)) for y in results)
        return tape.gradient(total, leaves, unconnected_gradients="zero")

    slopes.__name__ = getattr(f, "__name__", "f")
    slopes.__signature__ = _signature(f)  # type: ignore[attr-defined]
    return slopes


def _weights(y: Any) -> Tensor:
    weights = np.random.default_rng(SEED).uniform(0.5, 1.5, y.shape.as_list())
    return lift(weights.astype(y.dtype.numpy))


def _checked(
    f: Callable[..., Any], args: Sequence[Any], rtol: float | None, elements: int, prefix: str = ""
) -> GradientCheck:
    flat, rebuild = flatten_records(list(args))
    names = _names(f, args)
    # Every leaf is a new tensor, so that an argument that is passed twice counts twice.
    lifted = [_own(x) if _is_real(x) and not isinstance(x, Handle) else x for x in flat]
    leaves = [
        _Leaf(x, name)
        for i, (x, name) in enumerate(zip(lifted, names, strict=True))
        if _is_real(x) and not any(x is other for other in lifted[:i])
    ]
    if not leaves:
        raise InvalidArgumentError(
            "check_gradients: no argument is a real tensor or variable; give float32 or float64 ones (complex ones as two)."
        )

    def call(k: int = -1, data: TensorLike | None = None) -> list[Any]:
        """The real results, with the data of leaf k replaced."""
        if k >= 0 and isinstance(leaves[k].value, Handle):
            return _with_value(leaves[k].value, data, lambda: _results(f, lifted, rebuild))
        values = list(lifted)
        if k >= 0:
            values = [EagerTensor(data) if x is leaves[k].value else x for x in values]
        return _results(f, values, rebuild)

    outputs = call()
    if not outputs:
        raise InvalidArgumentError(
            f"check_gradients: {_title(f)} gives no real tensor; there is nothing to compare."
        )
    base = [np.asarray(y.data, np.float64) for y in outputs]
    if any(
        not np.array_equal(a, np.asarray(y.data, np.float64), equal_nan=True)
        for a, y in zip(base, call(), strict=True)
    ):
        raise InvalidArgumentError(
            f"check_gradients: {_title(f)} gives other numbers for the same arguments; set seeds inside, or draw outside."
        )
    rows = [_chosen(y.size, elements) for y in base]
    columns = [_chosen(int(np.prod(leaf.value.shape.as_list())), elements) for leaf in leaves]
    tables = {
        "reverse": _reverse(f, lifted, rebuild, leaves, rows, columns),
        "forward": _forward(f, lifted, rebuild, leaves, rows, columns),
    }
    known = {mode: table for mode, table in tables.items() if table is not None}
    found = GradientCheck(modes=tuple(known))
    results = [
        _Result("result" if len(outputs) == 1 else f"result {o}", y, chosen)
        for o, (y, chosen) in enumerate(zip(base, rows, strict=True))
    ]
    wrong: list[tuple[float, Mismatch]] = []
    for k, leaf in enumerate(leaves):
        tolerance = rtol if rtol is not None else _TOLERANCE[leaf.value.dtype.name]
        for c, column in enumerate(columns[k]):
            where = _element(leaf.name, leaf.value.shape.as_list(), column)
            slopes = _differences(partial(call, k), leaf.value, column, base, rows, tolerance)
            if slopes is None:
                found.unsure.append(where)
                continue
            derivatives = {mode: [of_result[k][:, c] for of_result in table] for mode, table in known.items()}
            wrong += _compared(found, where, slopes, results, derivatives, tolerance)
    if wrong:
        raise _mismatch(prefix + _title(f), wrong, found.compared)
    return found


class _Result(NamedTuple):
    """A result: what messages call it, its value, and the elements that are looked at."""

    name: str
    value: np.ndarray
    elements: np.ndarray


def _compared(
    found: GradientCheck,
    argument: str,
    slopes: tuple[list[np.ndarray], ...],
    results: Sequence[_Result],
    derivatives: Mapping[str, Sequence[np.ndarray]],
    tolerance: float,
) -> list[tuple[float, Mismatch]]:
    """The derivatives by one element of an argument that differ from its differences, with the sizes of the errors.

    Args:
      found: Where it is noted what was compared, what is not known, and where the function has a kink.
      argument: The element, for messages.
      slopes: What `_differences` gives along that element.
      derivatives: By mode, for each result and element.
    """
    wrong, has_kink = [], False
    is_edge = not all(np.isfinite(bounds).all() for bounds in slopes[1])
    for o, result in enumerate(results):
        for r, row in enumerate(result.elements):
            numeric, bound, low, high = (float(part[o][r]) for part in slopes)
            shown = _element(result.name, result.value.shape, row)
            if not np.isfinite(bound):
                _note(found.unsure, argument if np.isfinite(result.value.reshape(-1)[row]) else shown)
                continue
            for mode, of_results in derivatives.items():
                exact = float(of_results[o][r])
                if is_edge and not np.isfinite(exact):  # 0 times a pole
                    _note(found.unsure, argument)
                    continue
                found.compared += 1
                error = abs(exact - numeric)
                allowed = tolerance * max(abs(numeric), abs(exact)) + bound
                if low < high:
                    has_kink = True
                    if low - allowed <= exact <= high + allowed:
                        continue
                if error <= allowed:
                    if exact and bound <= tolerance * abs(exact):
                        found.largest_error = max(found.largest_error, error / abs(exact))
                    continue
                size = error / max(abs(numeric), 1e-30) if np.isfinite(error) else np.inf
                wrong.append((size, Mismatch(shown, argument, exact, numeric, bound, mode)))
    if has_kink:
        found.kinks.append(argument)
    return wrong


def _note(places: list[str], place: str) -> None:
    if place not in places:
        places.append(place)


def _mismatch(title: str, wrong: list[tuple[float, Mismatch]], compared: int) -> GradientMismatchError:
    wrong.sort(key=lambda pair: -pair[0])
    lines = [
        f"d {m.result} / d {m.argument} is {m.derivative:.8g} ({m.mode} mode), differences give {m.difference:.8g} "
        f"(off by at most {m.bound:.1g})"
        for _, m in wrong[:LISTED]
    ]
    more = f"; and {len(wrong) - LISTED} more" if len(wrong) > LISTED else ""
    error = GradientMismatchError(
        f"check_gradients: {len(wrong)} of {compared} derivatives of {title} differ from differences: {'; '.join(lines)}{more}. "
        "Look at custom gradients, stop_gradient and NumPy calls on the way there."
    )
    error.mismatches = [m for _, m in wrong]
    return error


def _own(x: TensorLike) -> EagerTensor:
    tensor = lift(x)
    if not isinstance(tensor, EagerTensor):
        raise InvalidArgumentError(
            f"check_gradients: {tensor!r} has no value yet; call it outside of functions."
        )
    return EagerTensor(tensor.data)


def _results(f: Callable[..., Any], values: Sequence[Any], rebuild: Any) -> list[Any]:
    return [lift(y) for y in flatten_records(f(*rebuild(list(values))))[0] if _is_real(y)]


def _with_value(variable: Handle, data: Any, call: Callable[[], list[Any]]) -> list[Any]:
    """The result of a call while the variable has another value."""
    before = variable.data
    variable.assign(data)  # type: ignore[attr-defined]
    try:
        return call()
    finally:
        variable.assign(before)  # type: ignore[attr-defined]


def _reverse(
    f: Callable[..., Any],
    values: Sequence[Any],
    rebuild: object,
    leaves: Sequence[_Leaf],
    rows: Sequence[np.ndarray],
    columns: Sequence[np.ndarray],
) -> list[list[np.ndarray]]:
    """By result and argument, the chosen rows and columns of the Jacobians of a tape."""
    wanted = [leaf.value for leaf in leaves]
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(wanted)
        parts = [gather(reshape(y, [-1]), r) for y, r in zip(_results(f, values, rebuild), rows, strict=True)]
    table = []
    for part, chosen in zip(parts, rows, strict=True):
        found = tape.jacobian(part, wanted, unconnected_gradients="zero")
        table.append(
            [
                np.asarray(j, np.float64).reshape(len(chosen), -1)[:, c]
                for j, c in zip(found, columns, strict=True)
            ]
        )
    return table


def _forward(
    f: Callable[..., Any],
    values: Sequence[Any],
    rebuild: object,
    leaves: Sequence[_Leaf],
    rows: Sequence[np.ndarray],
    columns: Sequence[np.ndarray],
) -> list[list[np.ndarray]] | None:
    """The same by forward mode, a column at a time; None where an op has no forward derivative."""
    table = [[np.zeros((len(r), len(c))) for c in columns] for r in rows]
    try:
        for k, leaf in enumerate(leaves):
            for c, column in enumerate(columns[k]):
                tangent = np.zeros(leaf.value.shape.as_list(), leaf.value.dtype.numpy)
                tangent.reshape(-1)[column] = 1
                with ForwardAccumulator(leaf.value, lift(tangent)) as accumulator:
                    outputs = _results(f, values, rebuild)
                for o, y in enumerate(outputs):
                    dot = accumulator.jvp(y)
                    if dot is not None:
                        table[o][k][:, c] = np.asarray(dot, np.float64).reshape(-1)[rows[o]]
    except MissingRuleError:
        return None
    return table


def _differences(
    call: Callable[[Any], list[Any]],
    leaf: Any,
    column: int,
    base: Sequence[np.ndarray],
    rows: Sequence[np.ndarray],
    tolerance: float,
) -> tuple[list[np.ndarray], ...] | None:
    """By result, the slopes along one element, bounds of their errors, and the least and largest slope where there is a kink.

    None where the function is not finite on both sides at any step.
    """
    data = np.asarray(leaf.data)
    kind = np.float64 if data.dtype == np.float64 else np.float32
    eps = (
        float(np.finfo(kind).eps)
        if data.dtype.itemsize >= 4
        else 2.0**-8
        if data.dtype.kind == "V"
        else 2.0**-10
    )
    center = float(data.reshape(-1)[column])
    chosen = [y.reshape(-1)[r] for y, r in zip(base, rows, strict=True)]
    noise = [eps * (_largest(y) + _largest(part)) for y, part in zip(base, chosen, strict=True)]

    def at(step: float) -> tuple[float, list[np.ndarray]]:
        moved = np.array(data)
        moved.reshape(-1)[column] = center + step
        real = float(moved.reshape(-1)[column]) - center  # the step after rounding
        outputs = call(moved if moved.ndim else moved[()])
        return real, [
            np.asarray(y.data, np.float64).reshape(-1)[r] for y, r in zip(outputs, rows, strict=True)
        ]

    # Values that are not finite near the edge of the domain give no slope, which the bound shows.
    best: tuple[list[np.ndarray], ...] | None = None
    step = eps**0.2 * max(1.0, abs(center))
    for _ in range(SCALES):
        points = [at(s) for s in (step, -step, step / 2, -step / 2)]
        step /= 8
        if any(real == 0.0 for real, _ in points):
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            found = _slopes_of(points, chosen, noise)
        if best is None:
            best = found
        else:  # for each entry the best estimate
            for o in range(len(chosen)):
                better = found[1][o] < best[1][o]
                for mine, new in zip(best, found, strict=True):
                    mine[o] = np.where(better, new[o], mine[o])
        if all(
            (bound <= tolerance * np.maximum(np.abs(slope), 1e-3)).all()
            for slope, bound in zip(best[0], best[1], strict=True)
        ):
            break
    return best


def _slopes_of(
    points: Sequence[tuple[float, list[np.ndarray]]], base: Sequence[np.ndarray], noise: Sequence[float]
) -> tuple[list[np.ndarray], ...]:
    """Slopes, bounds, least and largest slopes from the values at h, -h, h/2 and -h/2."""
    (up, y_up), (down, y_down), (near_up, y_near_up), (near_down, y_near_down) = points
    slopes, bounds, lows, highs = [], [], [], []
    for o, y in enumerate(base):
        wide = (y_up[o] - y_down[o]) / (up - down)
        narrow = (y_near_up[o] - y_near_down[o]) / (near_up - near_down)
        lost = 2 * noise[o] / (near_up - near_down)
        slope = narrow + (narrow - wide) / 3
        bound = np.abs(narrow - wide) + 4 * lost
        bound = np.where(np.isfinite(bound), bound, np.inf)  # outside the domain
        right, left = (y_near_up[o] - y) / near_up, (y_near_down[o] - y) / near_down
        far_right, far_left = (y_up[o] - y) / up, (y_down[o] - y) / down
        # Of a smooth function the two sides come closer as the step shrinks; at a kink they stay apart.
        jump = np.abs(right - left)
        kink = (
            (jump > 0.8 * np.abs(far_right - far_left)) & (jump > 100 * lost) & (jump > 1e-3 * np.abs(right))
        )
        slopes.append(slope)
        bounds.append(bound)
        lows.append(np.where(kink, np.minimum(left, right), slope))
        highs.append(np.where(kink, np.maximum(left, right), slope))
    return slopes, bounds, lows, highs


def _largest(y: np.ndarray) -> float:
    return float(np.abs(y[np.isfinite(y)]).max(initial=0.0))


def _chosen(size: int, most: int) -> np.ndarray:
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.default_rng(SEED).choice(size, most, replace=False))


def _is_real(x: TensorLike) -> bool:
    if isinstance(x, float):
        return True
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind == "f"
    return isinstance(x, Tensor | Handle) and x.spec.dtype.is_floating


def _signature(f: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


def _names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The name of each leaf of the arguments: its parameter, numbered if it has several leaves."""
    signature = _signature(f)
    listed = (
        []
        if signature is None
        else [p.name for p in signature.parameters.values() if "VAR" not in p.kind.name]
    )
    names = []
    for i, arg in enumerate(args):
        count = len(flatten_records(arg)[0])
        name = listed[i] if i < len(listed) else f"argument {i}"
        names += [name] if count == 1 else [f"{name}.{k}" for k in range(count)]
    return names


def _title(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def _element(name: str, shape: Sequence[int], number: int) -> str:
    if not len(shape):
        return name
    return f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(number, shape))}]"
