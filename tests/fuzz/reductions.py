"""Signatures of reductions, running sums, sorting, segments."""

from __future__ import annotations

from tests.fuzz.grow import Grower, signature
from tests.fuzz.program import Dims, Value


def _axes(g: Grower, x: Value) -> tuple[str, Dims]:
    """Text of the axis and keepdims arguments, and the sizes that remain."""
    rank = len(x.dims)
    if g.chance(0.3) or not rank:
        chosen, text = set(range(rank)), ""
        if g.chance(0.2) and rank:
            text = f", axis={list(range(rank))}"
    elif g.chance(0.7):
        axis = g.axis(x)
        chosen, text = {axis % rank}, f", axis={axis}"
    elif g.chance(0.15):
        chosen, text = set(), ", axis=[]"
    else:
        some = [k for k in range(rank) if g.chance(0.6)] or [0]
        chosen, text = set(some), f", axis={[k - rank if g.chance(0.3) else k for k in some]}"
    if g.chance(0.3):
        return text + ", keepdims=True", tuple(1 if k in chosen else d for k, d in enumerate(x.dims))
    return text, tuple(d for k, d in enumerate(x.dims) if k not in chosen)


_REDUCTIONS = {
    "tf.reduce_sum": (3.0, 8.0, ""),
    "tf.reduce_mean": (2.0, 1.0, ""),
    "tf.reduce_max": (1.0, 1.0, "kinked"),
    "tf.reduce_min": (1.0, 1.0, "kinked"),
    "tf.reduce_prod": (0.8, 4.0, ""),
    "tf.reduce_logsumexp": (1.0, 2.0, ""),
    "tf.math.reduce_variance": (0.7, 4.0, ""),
    "tf.math.reduce_std": (0.4, 1.0, "kinked"),
    "tf.math.reduce_euclidean_norm": (0.5, 2.0, "kinked"),
}


def _reduction(name: str, weight: float, factor: float, traits: str) -> None:
    def make(g: Grower) -> None:
        x = g.pick(tame=2.0 if name == "tf.reduce_prod" else None)
        text, dims = _axes(g, x)
        g.emit(f"{name}($0{text})", [x], dims=dims, bound=x.bound * factor, traits=tuple(traits.split()))

    signature("reduction", weight, name)(make)


for _name, (_weight, _factor, _text) in _REDUCTIONS.items():
    _reduction(_name, _weight, _factor, _text)


@signature("reduction", 0.4)
def reduce_other(g: Grower) -> None:
    kind = g.choice("bic")
    x = g.pick(kind)
    text, dims = _axes(g, x)
    if kind == "b":
        g.emit(f"{g.choice(['tf.reduce_any', 'tf.reduce_all'])}($0{text})", [x], dims=dims)
    elif kind == "i":
        f = g.choice(["tf.reduce_sum", "tf.math.count_nonzero", "tf.reduce_sum", "tf.reduce_max"])
        if f == "tf.reduce_max" and any(isinstance(d, str) for d in x.dims):
            f = "tf.reduce_sum"
        dtype = "int64" if "nonzero" in f else x.dtype
        result = g.emit(f"{f}($0{text})", [x], dims=dims, dtype=dtype, bound=60.0)
        g.emit("tf.clip_by_value($0, -9, 9)", [result], bound=9.0)
    else:
        f = g.choice(["tf.reduce_sum", "tf.reduce_mean"])
        g.emit(f"{f}($0{text})", [x], dims=dims, bound=x.bound * 4)


@signature("reduction", 1.2)
def running(g: Grower) -> None:
    x = g.pick(low=1, tame=8.0)
    f, traits = g.choice(
        [
            ("tf.cumsum", ()),
            ("tf.cumsum", ()),
            ("tf.math.cumprod", ("chosen",)),
            ("tf.math.cumulative_logsumexp", ()),
        ]
    )
    if f == "tf.math.cumprod":
        x = g.squashed(x, 1.5) if x.bound > 2.0 else x
        operand = "tf.abs($0) + 0.5"  # at zeros TensorFlow's derivative differs, see docs/differences.md
        traits = ("kinked",)
    else:
        operand = "$0"
    options = g.choice(["", ", exclusive=True", ", reverse=True", ", exclusive=True, reverse=True"])
    if f == "tf.math.cumulative_logsumexp" and "exclusive" in options:
        options = ""
    g.emit(f"{f}({operand}, axis={g.axis(x)}{options})", [x], bound=x.bound * 4, traits=traits)


@signature("reduction", 0.7)
def sorted_values(g: Grower) -> None:
    x = g.pick(low=1)
    text = g.choice(["", ", direction='DESCENDING'"])
    g.emit(f"tf.sort($0, axis={g.axis(x)}{text})", [x], traits=("kinked",))


@signature("reduction", 0.6)
def position(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: any(not isinstance(d, str) for d in x.dims))
    axis = g.axis(x, lambda d: not isinstance(d, str))
    dims = tuple(d for k, d in enumerate(x.dims) if k != axis % len(x.dims))
    what = g.choice(["argmax", "argmin", "argsort"])
    if what == "argsort":
        g.emit(f"tf.argsort($0, axis={axis}, stable=True)", [x], dtype="int32", bound=4.0, traits=("sharp",))
    else:
        dtype = g.choice(["int32", "int64"])
        g.emit(
            f"tf.{what}($0, axis={axis}, output_type=tf.{dtype})",
            [x],
            dims=dims,
            dtype=dtype,
            bound=4.0,
            traits=("sharp",),
        )


@signature("reduction", 0.5)
def best(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[-1], int) and x.dims[-1] >= 2)
    k = g.whole(1, int(x.dims[-1]) + 1)
    dims = (*x.dims[:-1], k)
    values, places = g.emit(
        f"%0, %1 = tf.math.top_k($0, k={k})",
        [x],
        results=[(dims, x.dtype, x.bound), (dims, "int32", 4.0)],
        traits=("kinked", "sharp"),
    )


@signature("reduction", 0.9)
def segments(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[0], int))
    n = int(x.dims[0])
    if g.chance(0.5):
        ids = sorted(g.whole(0, 3) for _ in range(n))
        f = g.choice(["tf.math.segment_sum", "tf.math.segment_mean"])
        g.emit(f"{f}($0, tf.constant({ids}))", [x], dims=(ids[-1] + 1, *x.dims[1:]), bound=x.bound * 3)
        return
    ids = [g.whole(0, 3) for _ in range(n)]
    f = g.choice(["tf.math.unsorted_segment_sum", "tf.math.unsorted_segment_mean"])
    g.emit(f"{f}($0, tf.constant({ids}), 3)", [x], dims=(3, *x.dims[1:]), bound=x.bound * 3)


@signature("reduction", 0.4)
def segments_of_rows(g: Grower) -> None:
    """Segments whose number is computed: one for even rows, one for odd ones."""
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[0], str))
    g.emit(
        "tf.math.unsorted_segment_sum($0, tf.range(tf.shape($0)[0]) % 2, 2)",
        [x],
        dims=(2, *x.dims[1:]),
        bound=x.bound * 3,
    )
