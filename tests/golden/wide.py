"""Golden models that use many ops, a family each: what a second reader of the format has to be able to evaluate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import graphad as gd
from graphad.core.bind import bind_all
from graphad.core.registry import lookup

Spec = gd.TensorSpec
VECTOR, MATRIX = Spec([None]), Spec([None, None])


def module(**functions: tuple[Callable[..., Any], list[Any]]) -> Any:
    made = gd.Module()
    for name, (function, specs) in functions.items():
        setattr(made, name, gd.function(function, input_signature=specs))
    return made


def elementwise() -> Any:
    def floats(x: Any) -> Any:
        inside = gd.tanh(x)
        above = gd.abs(x) + 0.5
        m = gd.math
        return [
            m.exp(x), m.expm1(x), m.log(above), m.log1p(above), m.sqrt(above), m.rsqrt(above), m.reciprocal(above),
            m.sin(x), m.cos(x), m.tan(x), m.asin(inside), m.acos(inside), m.atan(x), m.sinh(x), m.cosh(x), m.asinh(x),
            m.acosh(above + 1.0), m.atanh(inside * 0.5), m.sigmoid(x), m.softplus(x), m.erf(x), m.erfc(x),
            m.floor(x), m.ceil(x), m.round(x), m.sign(x), m.square(x), m.is_nan(x), m.is_inf(x), m.is_finite(x),
            gd.nn.relu(x), gd.nn.elu(x), gd.clip_by_value(x, -0.5, 0.5), m.lgamma(above),
        ]  # fmt: skip

    def pairs(x: Any, y: Any) -> Any:
        m = gd.math
        return [
            x - y, x / (y + 3.0), x // (y + 3.0), x % (y + 3.0), m.maximum(x, y), m.minimum(x, y), m.atan2(x, y),
            m.squared_difference(x, y), m.divide_no_nan(x, gd.zeros_like(y)), m.multiply_no_nan(x, y),
            m.xlogy(gd.abs(x), gd.abs(y)), m.xdivy(x, y + 3.0), m.pow(gd.abs(x), y), gd.where(x > y, x, y),
            gd.cast(x < y, gd.float32), x <= y, x >= y, x == y, x != y, gd.add_n([x, x + y, x]),
        ]  # fmt: skip

    def integers(a: Any, b: Any) -> Any:
        bits = gd.math
        return [
            a // b, a % b, a**2, bits.bitwise_and(a, b), bits.bitwise_or(a, b), bits.bitwise_xor(a, b), bits.invert(a),
            bits.left_shift(a, b), bits.right_shift(a, b), gd.cast(a, gd.int8), gd.bitcast(a, gd.uint8),
        ]  # fmt: skip

    def complexes(x: Any, y: Any) -> Any:
        z = gd.complex(x, y)
        return [z * z, gd.math.conj(z), gd.math.real(z), gd.math.imag(z), gd.abs(z), gd.exp(z)]

    def booleans(x: Any, y: Any) -> Any:
        a, b = x > 0.0, y > 0.0
        m = gd.math
        return [m.logical_and(a, b), m.logical_or(a, b), m.logical_xor(a, b), m.logical_not(a)]

    return module(
        floats=(floats, [VECTOR]),
        pairs=(pairs, [MATRIX, VECTOR]),
        integers=(integers, [Spec([None], gd.int32), Spec([], gd.int32)]),
        complexes=(complexes, [VECTOR, VECTOR]),
        booleans=(booleans, [VECTOR, VECTOR]),
    )


def arrays() -> Any:
    def shapes(x: Any) -> Any:
        n = gd.shape(x)[0]
        return [
            gd.reshape(x, [-1]), gd.reshape(x, [n, 1, -1]), gd.expand_dims(x, 1), gd.squeeze(gd.expand_dims(x, 0), [0]),
            gd.transpose(x), gd.broadcast_to(x, [2, n, 3]), gd.tile(x, [2, 1]), gd.tile(x, [n, 1]), gd.size(x), gd.rank(x),
            gd.ones_like(x), gd.zeros_like(x), gd.reverse(x, [0]), gd.roll(x, [1], [0]), gd.pad(x, [[1, 0], [0, 2]]),
            gd.pad(x, [[1, 1], [1, 1]], "REFLECT"), gd.pad(x, gd.stack([[n, 0], [0, 1]])),
        ]  # fmt: skip

    def parts(x: Any, i: Any) -> Any:
        return [
            x[1], x[:, -1], x[::-1], x[..., gd.newaxis, 1:], x[i], x[i:, 0], x[1:, 1::2], gd.concat([x, x * 2.0], 1),
            gd.stack([x, x + 1.0], -1), *gd.split(x, [1, 2], 1), *gd.unstack(x, 3, 1), gd.slice(x, [0, 1], [2, 2]),
            gd.tensor_scatter_nd_update(x, [[0]], [[7.0, 8.0, 9.0]]),
        ]  # fmt: skip

    def lookups(x: Any, i: Any) -> Any:
        return [
            gd.gather(x, i), gd.gather(x, i, axis=1), gd.gather_nd(x, gd.stack([i, i], -1)), gd.one_hot(i, 3),
            gd.scatter_nd(i[:, gd.newaxis], x[: gd.size(i)], [4, 3]), gd.where(x > 0.0), gd.boolean_mask(x, x > 0.0),
            gd.math.unsorted_segment_sum(x[: gd.size(i)], i, 4), gd.argsort(x, -1), gd.argmax(x, 0), gd.argmin(x, 1),
            gd.math.top_k(x, 2)[1], gd.searchsorted(gd.sort(x, -1), x), gd.repeat(x, [2, 0, 1], axis=1), gd.sort(x, 0),
        ]  # fmt: skip

    def made(n: Any) -> Any:
        return [
            gd.range(n),
            gd.range(0.0, 1.0, 0.25),
            gd.eye(n),
            gd.eye(2, 3),
            gd.zeros([n, 2]),
            gd.fill([2, n], 5),
        ]

    return module(
        shapes=(shapes, [Spec([None, 3])]),
        parts=(parts, [Spec([None, 3]), Spec([], gd.int32)]),
        lookups=(lookups, [Spec([None, 3]), Spec([None], gd.int32)]),
        made=(made, [Spec([], gd.int32)]),
    )


def sums() -> Any:
    def reductions(x: Any) -> Any:
        m = gd.math
        return [
            gd.reduce_sum(x), gd.reduce_sum(x, 0), gd.reduce_mean(x, 1, keepdims=True), gd.reduce_max(x, 0), gd.reduce_min(x, -1),
            gd.reduce_prod(x, [0, 1]), gd.reduce_logsumexp(x, 1), gd.reduce_all(x > -9.0), gd.reduce_any(x > 1.0, 0),
            gd.cumsum(x, 1), gd.cumsum(x, 0, exclusive=True, reverse=True), m.cumprod(x, 0), m.cumulative_logsumexp(x, 1),
            gd.nn.softmax(x), gd.nn.log_softmax(x, 0), m.reduce_variance(x, 0), gd.linalg.norm(x),
        ]  # fmt: skip

    def products(a: Any, b: Any) -> Any:
        square = gd.matmul(a, a, transpose_b=True) + 4.0 * gd.eye(2)
        lower = gd.linalg.cholesky(square)
        return [
            gd.matmul(a, b), gd.matmul(a, a, transpose_a=True), gd.einsum("ij,jk->ki", a, b), gd.linalg.inv(square),
            gd.linalg.det(square), gd.linalg.solve(square, a), gd.linalg.triangular_solve(lower, a), lower,
            gd.linalg.diag_part(square), gd.linalg.band_part(square, 0, -1), gd.linalg.slogdet(square)[1],
            gd.linalg.eigvalsh(square),
            gd.linalg.trace(square),
        ]  # fmt: skip

    def gradient(a: Any, b: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch([a, b])
            y = (
                gd.reduce_mean(gd.nn.softmax(gd.tanh(gd.matmul(a, b))) ** 2)
                + gd.reduce_max(a)
                + gd.reduce_sum(gd.gather(b, [0, 0]))
            )
        return tape.gradient(y, [a, b])

    return module(
        reductions=(reductions, [MATRIX]),
        products=(products, [Spec([2, 3]), Spec([3, 2])]),
        gradient=(gradient, [Spec([None, 3]), Spec([3, None])]),
    )


def images() -> Any:
    def net(x: Any, kernel: Any, labels: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch([x, kernel])
            y = gd.nn.relu(gd.nn.conv2d(x, kernel, [2, 1], "SAME"))
            pooled = gd.nn.max_pool2d(y, 2, 1, "VALID") + gd.nn.avg_pool2d(y, 2, 1, "VALID")
            logits = gd.reduce_mean(pooled, [1, 2])
            loss = gd.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return [loss, *tape.gradient(loss, [x, kernel])]

    def windows(x: Any, kernel: Any) -> Any:
        return [
            gd.nn.conv2d(x, kernel, 1, "VALID", dilations=2), gd.nn.max_pool2d(x, 3, 2, "SAME"),
            gd.nn.avg_pool2d(x, 3, 2, "SAME"), gd.nn.conv2d(x, kernel, 1, [[0, 0], [1, 0], [2, 1], [0, 0]]),
        ]  # fmt: skip

    image, kernel = Spec([None, 6, 5, 2]), Spec([2, 2, 2, 3])
    return module(net=(net, [image, kernel, Spec([None], gd.int32)]), windows=(windows, [image, kernel]))


def draws() -> Any:
    def kinds(seed: Any) -> Any:
        r = gd.random
        return [
            *[f([5], seed, dtype=d) for f in (r.stateless_uniform, r.stateless_normal, r.stateless_truncated_normal)
              for d in (gd.float16, gd.float32, gd.float64)],
            r.stateless_uniform([3], seed, -7, 9, gd.int32), r.stateless_uniform([3], seed, None, None, gd.int64),
            r.stateless_truncated_normal([200], seed),
        ]  # fmt: skip

    def sized(seed: Any, n: Any) -> Any:
        return [gd.random.stateless_uniform([n, 2], seed), gd.random.stateless_normal([n], seed)]

    made = module(
        kinds=(kinds, [Spec([2], gd.int64)]), sized=(sized, [Spec([2], gd.int32), Spec([], gd.int32)])
    )
    made.rng = gd.random.Generator.from_seed(-5)
    made.own = gd.function(lambda: (made.rng.uniform([3]), made.rng.normal([2, 2])), input_signature=[])
    return made


def steps() -> Any:
    def search(x: Any) -> Any:
        return gd.while_loop(
            lambda i, y: gd.reduce_sum(y) < 50.0,
            lambda i, y: (i + 1, y * 1.5 + 1.0),
            [0, gd.abs(x)],
            maximum_iterations=20,
        )

    def scanned(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.scan(lambda a, b: gd.tanh(a * 0.5 + b), x, initializer=gd.zeros_like(x[0]), reverse=True)
        return y, tape.gradient(y, x)

    def chosen(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.cond(gd.reduce_sum(x) > 0.0, lambda: gd.exp(x) * x, lambda: gd.sin(x))
        return y, tape.gradient(y, x)

    def rows(x: Any, w: Any) -> Any:
        f = lambda row: gd.cond(gd.reduce_sum(row) > 0.0, lambda: gd.tanh(row), lambda: row * w)  # noqa: E731
        return gd.vectorized_map(f, x)

    inner = gd.function(lambda x: gd.sin(x) + 1.0)

    def nested(x: Any) -> Any:
        return gd.map_fn(lambda row: inner(inner(row)), x)

    def dictionary(given: Any, *, z: Any, b: Any) -> Any:
        return {"first": given["y"] - given["x"], "second": (z * 2.0 - b, given["x"])}

    made = module(
        search=(search, [VECTOR]),
        scanned=(scanned, [Spec([None, 2])]),
        chosen=(chosen, [VECTOR]),
        rows=(rows, [Spec([3, 2]), Spec([2])]),
        nested=(nested, [Spec([None, 2])]),
    )
    made.dictionary = gd.function(dictionary)
    one = gd.constant(1.0)
    made.dictionary({"y": one, "x": one}, z=one, b=one)
    return made


def _real(*shape: int) -> Any:
    return np.sin(1.0 + np.arange(math.prod(shape)) ** 2.0).reshape(shape).astype(np.float32)


def _ints(*values: Any) -> Any:
    return np.array(values, np.int32)


_IDS, _KEY = _ints(1, 0, 2), np.array([5, 6], np.int64)
_PHOTO = _real(2, 4, 5, 3)
_ONE, _TWO, _THREE = np.int32(1), np.int32(2), np.int32(3)
_FIRST, _ALL = ("at", 1), (("all", 1),)
_WHOLE = ("slice", None, None, None, None)
# Ops whose sizes, positions and keys refer to inputs, in every way of referring: name, attributes, inputs.
REFERRING: list[tuple[str, tuple[Any, ...], list[Any]]] = [
    ("reshape", (_ALL,), [_real(2, 3), _ints(3, -1)]),
    ("reshape", ((_FIRST, -1),), [_real(2, 3), _THREE]),
    ("reshape", ((("at", 2), 1, ("at", 1, 1)),), [_real(2, 3), _ints(9, 3), _TWO]),
    ("broadcast_to", (_ALL,), [_real(2, 1), _ints(3, 2, 4)]),
    ("broadcast_to", ((("at", 1, 0), 3),), [_real(2, 1), _ints(2, 9)]),
    ("sum_to", (_ALL,), [_real(4, 2, 3), _ints(2, 1)]),
    ("sum_to", ((_FIRST, 1),), [_real(4, 2, 3), _TWO]),
    ("transpose", (_ALL,), [_real(2, 3, 4), _ints(2, 0, 1)]),
    ("split", ((("at", 1, 1), ("at", 2)), 0), [_real(5, 2), _ints(9, 2), _THREE]),
    ("split", ((-1, _FIRST), 1), [_real(2, 5), _TWO]),
    ("gather_grad", (0, 0, _ALL), [_real(3, 2), _IDS, _ints(4, 2)]),
    ("gather_grad", (1, 0, (2, ("at", 1, 1))), [_real(2, 3), _IDS, _ints(9, 4)]),
    ("scatter_nd", (_ALL, 0), [_ints([1], [0]), _real(2, 3), _ints(4, 3)]),
    ("scatter_nd", ((_FIRST, 3), 0), [_ints([1], [1]), _real(2, 3), _THREE]),
    ("take_along_axis_grad", (0, _ALL), [_real(2, 3), _ints([1, 0, 2], [0, 0, 1]), _ints(4, 3)]),
    ("unsorted_segment_sum", (_FIRST, 0), [_real(3, 2), _IDS, np.int32(4)]),
    ("getitem", ((_FIRST,),), [_real(4, 3), _TWO]),
    ("getitem", ((_WHOLE, ("at", 1, 1)),), [_real(4, 3), _ints(9, -1)]),
    ("getitem", ((("slice", ("at", 1, 0), ("at", 1, 1), None, 2), "..."),), [_real(4, 3), _ints(1, 3)]),
    ("getitem", ((("slice", ("at", 2), None, -1, None), "new", _FIRST),), [_real(4, 3), _ONE, _TWO]),
    ("getitem_grad", ((_FIRST,), (("all", 2),)), [_real(3), _ONE, _ints(2, 3)]),
    ("getitem_grad", ((("slice", 1, 3, None, None),), (_FIRST, 3)), [_real(2, 3), np.int32(4)]),
    ("slice_update", ((_FIRST,),), [_real(2, 3), _real(3), _ONE]),
    ("pad", (_ALL,), [_real(2, 3), np.float32(0.5), _ints([1, 0], [0, 2])]),
    ("pad", (((1, 0), ("at", 1, 1)),), [_real(2, 3), np.float32(0.5), _ints([9, 9], [0, 2])]),
    ("pad_inner", (_ALL,), [_real(4, 3), _ints([1, 0], [0, 2])]),
    ("tile", (_ALL,), [_real(2, 3), _ints(2, 3)]),
    ("one_hot", (_FIRST, -1), [_ints(1, 0, 2), _real(), np.float32(0.25), _THREE]),
    ("eye", (_FIRST, ("at", 2), "float32"), [_TWO, _THREE]),
    ("eye", (2, _FIRST, "float32"), [_THREE]),
    ("unit_steps", (_FIRST, "float32"), [_THREE]),
    ("top_indices", (_FIRST, "int32"), [_real(2, 5), _THREE]),
    ("split_key", (_FIRST,), [_KEY, _THREE]),
    ("draw", ("uniform", _ALL, "float32"), [_KEY, _ints(2, 3)]),
    ("draw", ("integers", (_FIRST, 3), "int32"), [_KEY, _THREE, np.int32(9), _TWO]),
    ("irfft", (1, _FIRST, False), [_real(2, 4) + 1j * _real(2, 4)[:, ::-1], np.int32(6)]),
    ("irfft", (1, _FIRST, False), [_real(2, 4) + 1j * _real(2, 4)[:, ::-1], np.int32(7)]),
    ("patches_sum", ((2, 2), (1, 1), "VALID", (1, 1), _ALL), [_real(2, 3, 4, 2, 2, 3), _ints(2, 4, 5, 3)]),
    ("avg_pool_grad", ((2, 2), (2, 2), "SAME", (1, 1), (2, _FIRST, 5, 3)), [_real(2, 2, 3, 3), np.int32(4)]),
    ("convolution_input_grad", ((1, 1), "SAME", (1, 1), _ALL), [_real(2, 4, 5, 2), _real(2, 2, 3, 2), _ints(2, 4, 5, 3)]),
    ("convolution_filter_grad", ((1, 1), "SAME", (1, 1), (2, ("at", 1, 1), 3, 2)), [_PHOTO, _real(2, 4, 5, 2), _ints(0, 2)]),
]  # fmt: skip

# More of them, in a model of their own: what a model holds is never written again.
MORE_REFERRING: list[tuple[str, tuple[Any, ...], list[Any]]] = [
    ("unsorted_segment_max", (_FIRST, 0), [_real(3, 2), _IDS, np.int32(4)]),
    ("unsorted_segment_min", (_FIRST, 0), [_real(3, 2), _IDS, np.int32(4)]),
    ("unsorted_segment_prod", (_FIRST, 0), [_real(3, 2), _ints(1, 0, 1), np.int32(3)]),
    ("draw_gamma", (_ALL,), [_KEY, np.float32(1.5) + _real(3) ** 2, _ints(2, 3)]),
    ("draw_counts", ((_FIRST, 3), "poisson", "int32"), [_KEY, np.array([0.5, 3.0, 50.0]), _TWO]),
    ("draw_counts", (_ALL, "binomial", "float32"), [_KEY, np.array([4.0, 30.0]), np.array([0.5, 0.1]), _ints(3, 2)]),
]  # fmt: skip


def referring_calls(table: Any = REFERRING) -> dict[str, list[Any]]:
    """The name of each function of a model of such ops, and what it is called with."""
    return {f"{name}_{k}": inputs for k, (name, _, inputs) in enumerate(table)}


def samples() -> Any:
    """See `MORE_REFERRING`."""
    return references(MORE_REFERRING)


def references(table: Any = REFERRING) -> Any:
    """A function for each of these ops. They are bound as they are: in user code most stand only where sizes are unknown."""

    def made(op: Any, name: str) -> Any:
        def function(*xs: Any) -> Any:
            return list(bind_all(op, xs))

        function.__name__ = name
        return function

    functions = {}
    for (kind, attributes, inputs), name in zip(table, referring_calls(table), strict=True):
        op = lookup(kind)(*[gd.as_dtype(a) if a in ("float32", "int32") else a for a in attributes])
        specs = [Spec([None] * np.ndim(x), gd.constant(x).dtype) for x in inputs]
        functions[name] = (made(op, name), specs)
    return module(**functions)


def jacobians() -> Any:
    def jacobian(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.reshape(gd.sin(x[:, None] * gd.constant([1.0, 2.0, 3.0, 4.0])), [-1])
        return tape.jacobian(y, x)

    def derived(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.reduce_sum(jacobian(x) ** 2)
        return tape.gradient(y, x)

    def rows(x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.nn.softmax(x)
        return tape.batch_jacobian(y, x)

    return module(jacobian=(jacobian, [VECTOR]), derived=(derived, [VECTOR]), rows=(rows, [MATRIX]))


FAMILIES = {
    "jacobians": jacobians,
    "references": references,
    "samples": samples,
    "elementwise": elementwise,
    "arrays": arrays,
    "sums": sums,
    "images": images,
    "draws": draws,
    "steps": steps,
}
