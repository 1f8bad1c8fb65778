"""Signatures of the functions that layers use: softmax, losses, normalisation, convolutions, pooling, lookups."""

from __future__ import annotations

from tests.fuzz.grow import Grower, NoFit, signature
from tests.fuzz.program import Value


@signature("activation", 1.2)
def softmax(g: Grower) -> None:
    x = g.pick(low=1)
    f = g.choice(["tf.nn.softmax", "tf.nn.log_softmax"])
    axis = f", axis={g.axis(x)}" if g.chance(0.4) else ""
    g.emit(f"{f}($0{axis})", [x], bound=1.0 if f.endswith("nn.softmax") else x.bound + 3)


@signature("network", 1.5)
def losses(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[-1], int) and x.dims[-1] > 1)
    y = g.partner(x, same=True)
    text, dims, traits = g.choice(
        [
            (
                "tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(tf.nn.softmax($1)), logits=$0)",
                x.dims[:-1],
                "chosen",
            ),
            ("tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.sigmoid($1), logits=$0)", x.dims, ""),
            ("tf.nn.l2_loss($0 - $1)", (), ""),
            ("tf.reduce_mean(tf.square($0 - $1))", (), ""),
        ]
    )
    g.emit(text, [x, y], dims=dims, bound=8.0, traits=tuple(traits.split()))


@signature("network", 0.7)
def sparse_loss(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[-1], int) and x.dims[-1] > 1)
    labels = "tf.argmax(tf.sin($0), -1)"  # not of an even function, for which the differences at a tie agree on both sides
    text = f"tf.nn.sparse_softmax_cross_entropy_with_logits(labels={labels}, logits=$0)"
    g.emit(text, [x], dims=x.dims[:-1], bound=8.0, traits=("sharp",))


@signature("network", 1.0)
def normalised(g: Grower) -> None:
    x = g.pick(low=2, fits=lambda x: isinstance(x.dims[-1], int))
    n = int(x.dims[-1])
    scale = g.constant((n,), x.dtype)
    text = g.choice(
        [
            "tf.nn.bias_add($0, $1)",
            "tf.nn.batch_normalization($0, $1, tf.abs($1) + 1.0, $1, $1 + 0.5, 1e-3)",
            "$0 * $1 + tf.nn.moments($0, axes=[-1], keepdims=True)[0]",
            "($0 - tf.reduce_mean($0, -1, True)) * tf.math.rsqrt(tf.math.reduce_variance($0, -1, True) + 0.01) + $1",
        ]
    )
    g.emit(text, [x, scale], bound=x.bound + 3)


@signature("network", 1.5)
def lookup(g: Grower) -> None:
    table = g.pick(rank=2, fits=lambda x: isinstance(x.dims[0], int))
    i = g.pick("i", high=2)
    n = int(table.dims[0])
    g.emit(
        f"tf.nn.embedding_lookup($0, tf.clip_by_value($1, 0, {n - 1}))",
        [table, i],
        dims=(*i.dims, *table.dims[1:]),
        bound=table.bound,
    )


def _out(n: int, k: int, stride: int, same: bool) -> int:
    return -(-n // stride) if same else max(0, -(-(n - k + 1) // stride))


def _image(g: Grower) -> Value:
    """A value of shape [images, height, width, channels], made from existing values."""
    x = g.pick(low=1, fits=lambda x: x.dtype != "float16", tame=8.0)
    if len(x.dims) == 4 and all(isinstance(d, int) for d in x.dims[1:]):
        return x
    if len(x.dims) == 3 and all(isinstance(d, int) for d in x.dims[1:]):
        return g.emit("tf.expand_dims($0, -1)", [x], dims=(*x.dims, 1))
    if len(x.dims) == 2 and isinstance(x.dims[1], int):
        return g.emit(
            f"$0[:, :, tf.newaxis, tf.newaxis] * tf.constant([[[[0.5, -1.0]]]], tf.{x.dtype})",
            [x],
            dims=(*x.dims, 1, 2),
        )
    raise NoFit


@signature("network", 2.0)
def convolution(g: Grower) -> None:
    x = _image(g)
    h, w, c = (int(d) for d in x.dims[1:])
    kh, kw, o = g.whole(1, 3), g.whole(1, 3), g.whole(1, 3)
    stride, same = g.whole(1, 3), g.chance(0.5)
    padding = "SAME" if same else "VALID"
    if not same and (kh > h or kw > w):
        raise NoFit
    if g.chance(0.2):
        kernel = g.constant((kh, kw, c, 2), x.dtype)
        text = f"tf.nn.depthwise_conv2d($0, $1, strides=[1, {stride}, {stride}, 1], padding='{padding}')"
        o = 2 * c
    elif g.chance(0.15) and stride <= min(kh, kw):
        # Transposed: its output is as large as asked for.
        kernel = g.constant((kh, kw, o, c), x.dtype)
        hh, ww = (h * stride, w * stride) if same else ((h - 1) * stride + kh, (w - 1) * stride + kw)
        sizes = f"tf.stack([tf.shape($0)[0], {hh}, {ww}, {o}])"
        text = f"tf.nn.conv2d_transpose($0, $1, {sizes}, strides={stride}, padding='{padding}')"
        g.emit(text, [x, kernel], dims=(x.dims[0], hh, ww, o), bound=x.bound * 8)
        return
    else:
        kernel = g.constant((kh, kw, c, o), x.dtype)
        f = g.choice(["tf.nn.conv2d", "tf.nn.conv2d", "tf.nn.convolution"])
        text = f"{f}($0, $1, strides={stride}, padding='{padding}')"
    g.emit(
        text,
        [x, kernel],
        dims=(x.dims[0], _out(h, kh, stride, same), _out(w, kw, stride, same), o),
        bound=x.bound * 8,
    )


@signature("network", 0.6)
def convolution_in_one(g: Grower) -> None:
    x = g.pick(rank=3, fits=lambda x: all(isinstance(d, int) for d in x.dims[1:]) and x.dtype != "float16")
    n, c = (int(d) for d in x.dims[1:])
    same = g.chance(0.6)
    k = g.whole(1, min(n, 3) + 1)
    kernel = g.constant((k, c, 2), x.dtype)
    padding = "SAME" if same else "VALID"
    g.emit(
        f"tf.nn.conv1d($0, $1, stride=1, padding='{padding}')",
        [x, kernel],
        dims=(x.dims[0], _out(n, k, 1, same), 2),
        bound=x.bound * 6,
    )


@signature("network", 1.2)
def pooling(g: Grower) -> None:
    x = _image(g)
    h, w, c = (int(d) for d in x.dims[1:])
    k, stride, same = g.whole(1, 4), g.whole(1, 3), g.chance(0.5)
    if not same and k > min(h, w):
        raise NoFit
    f = g.choice(["tf.nn.max_pool2d", "tf.nn.avg_pool2d"])
    padding = "SAME" if same else "VALID"
    g.emit(
        f"{f}($0, {k}, {stride}, '{padding}')",
        [x],
        dims=(x.dims[0], _out(h, k, stride, same), _out(w, k, stride, same), c),
        traits=("kinked",),
    )


@signature("network", 0.8)
def dense(g: Grower) -> None:
    x = g.pick(low=2, high=3, fits=lambda x: isinstance(x.dims[-1], int), tame=8.0)
    kernel = g.constant((int(x.dims[-1]), 3), x.dtype)
    f = g.choice(
        ["tf.nn.relu", "tf.tanh", "tf.nn.elu", "tf.nn.selu", "tf.nn.gelu", "tf.sigmoid", "tf.nn.softplus"]
    )
    g.emit(f"{f}($0 @ $1 + 0.25)", [x, kernel], dims=(*x.dims[:-1], 3), bound=x.bound * 6, traits=("kinked",))
