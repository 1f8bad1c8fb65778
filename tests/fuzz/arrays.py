"""Signatures of ops that move values: shapes, transpositions, slices, gather and scatter, joining, padding, sizes as values."""

from __future__ import annotations

from tests.fuzz.grow import Grower, count, signature
from tests.fuzz.program import Dims, Value


def _definite(dims: Dims) -> bool:
    return all(isinstance(d, int) for d in dims)


def _any(g: Grower, **wants: object) -> Value:
    """A value that is mostly real, sometimes complex, integer or boolean."""
    kind = str(g.rng.choice(["f", "c", "i", "b"], p=[0.86, 0.06, 0.05, 0.03]))
    return g.pick(kind, **wants)  # type: ignore[arg-type]


@signature("array", 2.0)
def reshape(g: Grower) -> None:
    x = _any(g)
    named = [d for d in x.dims if isinstance(d, str)]
    known = [d for d in x.dims if isinstance(d, int)]
    total = count(tuple(known))
    if not named:
        options: list[tuple[str, Dims]] = [
            ("[-1]", (total,)),
            (f"[1, {total}]", (1, total)),
            (f"[{total}, 1]", (total, 1)),
        ]
        options += [(f"[{k}, -1]", (k, total // k)) for k in (2, 3) if total % k == 0]
        if total % 4 == 0:
            options.append(("[2, -1, 2]", (2, total // 4, 2)))
    elif len(named) == 1:
        b = named[0]
        options = [
            (f"[-1, {total}]", (b, total)),
            (f"[-1, 1, {total}]", (b, 1, total)),
            (f"[{total}, -1]", (total, b)),
        ]
        if total == 1:
            options.append(("[-1]", (b,)))
        if isinstance(x.dims[0], str):
            options.append((f"tf.stack([tf.shape($0)[0], {total}])", (b, total)))
            options.append((f"tf.concat([tf.shape($0)[:1], [{total}]], 0)", (b, total)))
    else:
        options = [("tf.shape($0)", x.dims)]
    text, dims = g.choice(options)
    g.emit(f"tf.reshape($0, {text})", [x], dims=dims)


@signature("array", 1.5)
def transpose(g: Grower) -> None:
    x = _any(g, low=2)
    if g.chance(0.4):
        g.emit("tf.transpose($0)", [x], dims=tuple(reversed(x.dims)))
        return
    perm = [int(k) for k in g.rng.permutation(len(x.dims))]
    g.emit(f"tf.transpose($0, {perm})", [x], dims=tuple(x.dims[k] for k in perm))


@signature("array", 1.5)
def expand(g: Grower) -> None:
    x = _any(g)
    rank = len(x.dims)
    axis = g.whole(-rank - 1, rank + 1)
    k = axis if axis >= 0 else axis + rank + 1
    dims = (*x.dims[:k], 1, *x.dims[k:])
    if k == 0 and g.chance(0.3):
        g.emit("$0[tf.newaxis]", [x], dims=dims)
    else:
        g.emit(f"tf.expand_dims($0, {axis})", [x], dims=dims)


@signature("array", 1.0)
def squeeze(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: 1 in x.dims)
    if _definite(x.dims) and g.chance(0.5):
        g.emit("tf.squeeze($0)", [x], dims=tuple(d for d in x.dims if d != 1))
        return
    axis = g.axis(x, lambda d: d == 1)
    k = axis % len(x.dims)
    g.emit(f"tf.squeeze($0, axis=[{axis}])", [x], dims=(*x.dims[:k], *x.dims[k + 1 :]))


@signature("array", 2.5)
def index(g: Grower) -> None:
    """Basic indexing of every kind; a named size is only taken whole, reversed, or summed after."""
    x = _any(g, low=1)
    parts, dims = [], []
    for d in x.dims[: g.whole(1, len(x.dims) + 1)]:
        if g.chance(0.08):
            parts.append("tf.newaxis")
            dims.append(1)
        if isinstance(d, str):
            parts.append(g.choice([":", "::-1", ":"]))
            dims.append(d)
            continue
        options: list[tuple[str, int | None]] = [
            (":", d),
            ("::-1", d),
            ("::2", (d + 1) // 2),
            ("-1:", 1),
            (":1", 1),
        ]
        options += [(str(g.whole(-d, d)), None)] * 3
        options += [("1:", d - 1), (":-1", d - 1), ("::-2", (d + 1) // 2)] if d > 1 else []
        text, size = g.choice(options)
        parts.append(text)
        if size is not None:
            dims.append(size)
    rest = x.dims[len([p for p in parts if p != "tf.newaxis"]) :]
    if g.chance(0.2):
        parts.append("...")
    g.emit(f"$0[{', '.join(parts)}]", [x], dims=(*dims, *rest))


@signature("array", 0.7)
def part(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: _definite(x.dims[-1:]))
    n = int(x.dims[-1])
    begin = g.whole(0, n)
    size = g.whole(1, n - begin + 1)
    zeros = [0] * (len(x.dims) - 1)
    if g.chance(0.5):
        sizes = [-1] * (len(x.dims) - 1) + [size]
        g.emit(f"tf.slice($0, {[*zeros, begin]}, {sizes})", [x], dims=(*x.dims[:-1], size))
        return
    text = f"tf.slice($0, {[*zeros, begin]}, tf.concat([tf.shape($0)[:-1], [{size}]], 0))"
    g.emit(text, [x], dims=(*x.dims[:-1], size))


@signature("array", 0.5)
def strided(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: _definite(x.dims[:1]) and x.dims[0] > 1)
    n = int(x.dims[0])
    begin, end, step = g.choice([(0, n, 2), (1, n, 1), (n - 1, 0, -1), (0, n - 1, 1)])
    size = len(range(begin, end, step))
    g.emit(f"tf.strided_slice($0, [{begin}], [{end}], [{step}])", [x], dims=(size, *x.dims[1:]))


@signature("array", 0.8)
def rows_apart(g: Grower) -> None:
    """Slices and concatenations of a named axis, brought back to known sizes at once."""
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[0], str))
    text = g.choice(
        [
            "tf.reduce_sum($0[1:] * $0[:-1], axis=0)",
            "tf.reduce_sum($0[::2], axis=0)",
            "tf.reduce_sum(tf.concat([$0, $0 * 2.0], 0), axis=0)",
            "tf.reduce_sum(tf.tile($0, [2] + [1] * ($0.shape.rank - 1)), axis=0)",
            "tf.reduce_sum(tf.repeat($0, 2, axis=0), axis=0)",
            "tf.reduce_sum(tf.pad($0, [[1, 2]] + [[0, 0]] * ($0.shape.rank - 1), constant_values=0.5), axis=0)",
            "tf.reduce_sum(tf.gather($0, tf.range(tf.shape($0)[0])[::-1]) * $0, axis=0)",
        ]
    )
    if "rank" in text:
        text = text.replace("($0.shape.rank - 1)", str(len(x.dims) - 1))
    g.emit(text, [x], dims=x.dims[1:], bound=x.bound**2 * 3)


@signature("array", 1.5)
def gather(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: any(isinstance(d, int) for d in x.dims))
    axis = g.axis(x, lambda d: isinstance(d, int))
    k = axis % len(x.dims)
    n = int(x.dims[k])
    if g.chance(0.35):
        found = g.pick("i", high=2)
        text = f"tf.gather($0, tf.clip_by_value($1, 0, {n - 1}), axis={axis})"
        g.emit(text, [x, found], dims=(*x.dims[:k], *found.dims, *x.dims[k + 1 :]), bound=x.bound)
        return
    wanted = [g.whole(0, n) for _ in range(g.whole(1, 4))]
    what = f"[{wanted}]" if g.chance(0.2) else f"{wanted}" if g.chance(0.8) else f"{wanted[0]}"
    more: Dims = (1, len(wanted)) if what.startswith("[[") else (len(wanted),) if what.startswith("[") else ()
    g.emit(
        f"tf.gather($0, tf.constant({what}), axis={axis})", [x], dims=(*x.dims[:k], *more, *x.dims[k + 1 :])
    )


@signature("array", 0.6)
def gather_rows(g: Grower) -> None:
    x = _any(g, low=2, fits=lambda x: isinstance(x.dims[1], int))
    rows = f"tf.range(tf.shape($0)[0]) % {x.dims[1]}"
    g.emit(f"tf.gather($0, {rows}, batch_dims=1, axis=1)", [x], dims=(x.dims[0], *x.dims[2:]))


@signature("array", 0.6)
def gather_nd(g: Grower) -> None:
    x = _any(g, low=2, fits=lambda x: _definite(x.dims[:2]))
    a, b = int(x.dims[0]), int(x.dims[1])
    rows = [[g.whole(0, a), g.whole(0, b)] for _ in range(g.whole(1, 4))]
    g.emit(f"tf.gather_nd($0, tf.constant({rows}))", [x], dims=(len(rows), *x.dims[2:]))


@signature("array", 1.0)
def scatter(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: _definite(x.dims))
    n = int(x.dims[0])
    what = g.choice(["scatter_nd", "add", "update"])
    if what == "scatter_nd":
        rows = [[g.whole(0, 4)] for _ in range(n)]
        g.emit(
            f"tf.scatter_nd(tf.constant({rows}), $0, {[4, *x.dims[1:]]})",
            [x],
            dims=(4, *x.dims[1:]),
            bound=x.bound * 2,
        )
        return
    rows = [[int(k)] for k in g.rng.permutation(n)[: g.whole(1, n + 1)]]
    rows = rows + rows[:1] if what == "add" else rows
    text = f"tf.tensor_scatter_nd_{what}($0, tf.constant({rows}), tf.sin($0)[:{len(rows)}])"
    if len(rows) > n:
        text = f"tf.tensor_scatter_nd_add($0, tf.constant({rows[:n]}), tf.sin($0)[:{min(n, len(rows))}])"
    g.emit(text, [x], bound=x.bound + 2)


@signature("array", 1.5)
def join(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: any(isinstance(d, int) for d in x.dims))
    y = g.partner(x, same=True) if _definite(x.dims) else g.pick(x.kind, fits=lambda y: y.same_type(x))
    if g.chance(0.5):
        axis = g.axis(x, lambda d: isinstance(d, int))
        k = axis % len(x.dims)
        dims = (*x.dims[:k], 2 * int(x.dims[k]), *x.dims[k + 1 :])
        g.emit(f"tf.concat([$0, $1], {g.choice(['', 'axis='])}{axis})", [x, y], dims=dims)
        return
    axis = g.whole(-len(x.dims) - 1, len(x.dims) + 1)
    k = axis if axis >= 0 else axis + len(x.dims) + 1
    g.emit(f"tf.stack([$0, $1], axis={axis})", [x, y], dims=(*x.dims[:k], 2, *x.dims[k:]))


@signature("array", 1.0)
def stack_scalars(g: Grower) -> None:
    x = g.pick(rank=0)
    y = g.pick(rank=0, fits=lambda y: y.dtype == x.dtype)
    g.emit(
        g.choice(["tf.stack([$0, $1])", "tf.convert_to_tensor([$0, $1])", "tf.concat([[$0], [$1]], 0)"]),
        [x, y],
        dims=(2,),
    )


@signature("array", 1.2)
def split(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: any(isinstance(d, int) and d > 1 for d in x.dims))
    axis = g.axis(x, lambda d: isinstance(d, int) and d > 1)
    k = axis % len(x.dims)
    n = int(x.dims[k])

    def sized(size: int) -> tuple[Dims, str, float]:
        return (*x.dims[:k], size, *x.dims[k + 1 :]), x.dtype, x.bound

    if g.chance(0.4):
        dims = (*x.dims[:k], *x.dims[k + 1 :])
        if n > 3:
            g.emit(f"tf.unstack($0, axis={axis})[1]", [x], dims=dims, traits=("sized",))
            return
        names = ", ".join(f"%{i}" for i in range(n))
        every = [(dims, x.dtype, x.bound)] * n
        g.emit(f"{names} = tf.unstack($0, axis={axis})", [x], results=every, traits=("sized",))
    elif n % 2 == 0 and g.chance(0.6):
        g.emit(f"%0, %1 = tf.split($0, 2, axis={axis})", [x], results=[sized(n // 2)] * 2)
    else:
        g.emit(f"%0, %1 = tf.split($0, [1, {n - 1}], axis={axis})", [x], results=[sized(1), sized(n - 1)])


@signature("array", 1.2)
def enlarge(g: Grower) -> None:
    x = _any(g, low=1, fits=lambda x: any(isinstance(d, int) for d in x.dims))
    axis = g.axis(x, lambda d: isinstance(d, int)) % len(x.dims)
    rank, n = len(x.dims), int(x.dims[axis])
    what = g.choice(["tile", "repeat", "pad", "pad", "broadcast"])
    if what == "tile":
        times = [2 if k == axis else 1 for k in range(rank)]
        size, text = 2 * n, f"tf.tile($0, {times})"
    elif what == "repeat":
        size, text = 2 * n, f"tf.repeat($0, 2, axis={axis})"
        if g.chance(0.3):
            counts = [g.whole(0, 3) for _ in range(n)]
            if not sum(counts):
                counts[0] = 1
            size, text = sum(counts), f"tf.repeat($0, {counts}, axis={axis})"
    elif what == "pad":
        mode = g.choice(["CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC"])
        if x.kind in "bc" or (mode == "REFLECT" and n < 2):
            mode = "CONSTANT"
        width = (g.whole(0, 2), g.whole(0, 2)) if mode != "CONSTANT" else (g.whole(0, 3), g.whole(0, 3))
        widths = [list(width) if k == axis else [0, 0] for k in range(rank)]
        more = (
            ", constant_values=1.5"
            if mode == "CONSTANT" and x.kind == "f" and g.chance(0.4)
            else f", mode='{mode}'"
        )
        size, text = n + sum(width), f"tf.pad($0, {widths}{more})"
    else:
        if x.dims[axis] != 1 or not _definite(x.dims):
            size = n
            g.emit("tf.broadcast_to($0, tf.concat([[2], tf.shape($0)], 0))", [x], dims=(2, *x.dims))
            return
        size = 3
        text = f"tf.broadcast_to($0, {[*x.dims[:axis], 3, *x.dims[axis + 1 :]]})"
    g.emit(text, [x], dims=(*x.dims[:axis], size, *x.dims[axis + 1 :]))


@signature("array", 1.0)
def turn(g: Grower) -> None:
    x = _any(g, low=1)
    axis = g.axis(x)
    if g.chance(0.5):
        g.emit(f"tf.reverse($0, [{axis}])", [x])
    else:
        g.emit(f"tf.roll($0, shift={g.whole(-2, 3)}, axis={axis})", [x])


@signature("array", 0.8)
def masked(g: Grower) -> None:
    """The entries that a mask selects, reduced in the same statement, since their number is unknown."""
    x = g.pick(low=1)
    text = g.choice(
        [
            "tf.reduce_sum(tf.boolean_mask($0, $0 > 0.0))",
            "tf.reduce_mean(tf.boolean_mask($0, $0 < 10.0))",
            "tf.reduce_sum(tf.gather_nd($0, tf.where($0 > 0.5)) ** 2)",
            "tf.reduce_sum(tf.sin(tf.boolean_mask($0, tf.abs($0) < 1.0)))",
        ]
    )
    g.emit(text, [x], dims=(), bound=x.bound * 8, traits=("sharp", "dynamic"))


@signature("array", 0.6)
def like(g: Grower) -> None:
    x = g.pick()
    text = g.choice(
        [
            "tf.zeros_like($0) + $0",
            "tf.ones_like($0) * $0",
            f"tf.fill(tf.shape($0), tf.constant(1.5, tf.{x.dtype})) * $0",
            f"tf.zeros(tf.shape($0), tf.{x.dtype}) - $0",
            f"tf.cast(tf.size($0), tf.{x.dtype}) * 0.25 + $0",
            f"$0 + tf.cast(tf.rank($0), tf.{x.dtype})",
        ]
    )
    g.emit(text, [x], bound=x.bound + 5.0)


@signature("array", 0.6)
def counted(g: Grower) -> None:
    """Numbers made from sizes."""
    x = g.pick(low=1)
    real = x.dtype
    text = g.choice(
        [
            f"$0 * tf.cast(tf.range(tf.shape($0)[-1]), tf.{real})",
            f"$0 + tf.cast(tf.reverse(tf.range(tf.shape($0)[-1]), [0]), tf.{real})",
            f"$0 * tf.one_hot(tf.argmax($0, -1), tf.shape($0)[-1], dtype=tf.{real})"
            if isinstance(x.dims[-1], int)
            else f"$0 * tf.cast(tf.shape($0)[-1], tf.{real})",
        ]
    )
    if x.dtype == "float16":
        text = "$0 * 2.0"
    g.emit(text, [x], bound=x.bound * 4, traits=("sharp",) if "argmax" in text else ())


@signature("array", 1.5)
def hot(g: Grower) -> None:
    i = g.pick("i", high=2)
    depth = g.whole(2, 4)
    if g.chance(0.7):
        g.emit(
            f"tf.one_hot($0, {depth}, dtype=tf.{g.style.real})",
            [i],
            dims=(*i.dims, depth),
            dtype=g.style.real,
            bound=1.0,
        )
    else:
        g.emit(
            f"tf.cast(tf.sequence_mask($0, {depth}), tf.{g.style.real})",
            [i],
            dims=(*i.dims, depth),
            dtype=g.style.real,
            bound=1.0,
        )


@signature("array", 0.4)
def grid(g: Grower) -> None:
    x = g.pick(rank=1)
    y = g.pick(rank=1, fits=lambda y: y.dtype == x.dtype)
    n, m = x.dims[0], y.dims[0]
    if g.chance(0.5):
        g.emit(
            "%0, %1 = tf.meshgrid($0, $1)",
            [x, y],
            results=[((m, n), x.dtype, x.bound), ((m, n), y.dtype, y.bound)],
        )
    else:
        g.emit(
            "%0, %1 = tf.meshgrid($0, $1, indexing='ij')",
            [x, y],
            results=[((n, m), x.dtype, x.bound), ((n, m), y.dtype, y.bound)],
        )


@signature("array", 0.3)
def found_place(g: Grower) -> None:
    x = g.pick(rank=1, fits=lambda x: isinstance(x.dims[0], int) and x.dtype != "float16")
    side, number = g.choice(["left", "right"]), "tf.where(tf.math.is_nan($0), tf.zeros_like($0), $0)"
    g.emit(
        f"tf.searchsorted(tf.constant([-1.0, 0.0, 1.0], tf.{x.dtype}), {number}, side='{side}')",
        [x],
        dtype="int32",
        bound=3.0,
        traits=("sharp",),
    )
