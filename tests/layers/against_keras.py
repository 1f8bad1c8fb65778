"""Layers that are compared with Keras', and what each gives; `python -m tests.layers.against_keras` stores Keras' numbers anew,
by an interpreter that has TensorFlow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data" / "keras.npz"

# By name: what makes the layer, the shape of its input, and whether that holds positions.
CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "conv1d causal": (lambda l: l.Conv1D(3, 2, padding="causal", dilation_rate=2), (2, 7, 2)),
    "conv1d strided": (lambda l: l.Conv1D(3, 3, strides=2, padding="same", activation="relu"), (2, 7, 2)),
    "conv2d grouped": (lambda l: l.Conv2D(4, 3, groups=2, padding="same"), (2, 5, 6, 4)),
    "conv2d dilated": (lambda l: l.Conv2D(3, (2, 3), dilation_rate=(2, 1), use_bias=False), (2, 6, 6, 2)),
    "conv3d": (lambda l: l.Conv3D(2, (2, 3, 1), strides=(1, 2, 1), padding="same"), (1, 4, 5, 3, 2)),
    "conv3d valid": (lambda l: l.Conv3D(2, 2), (1, 3, 4, 3, 2)),
    "transposed": (lambda l: l.Conv2DTranspose(3, 3, strides=2, padding="same"), (2, 3, 4, 2)),
    "transposed valid": (lambda l: l.Conv2DTranspose(2, (3, 2), strides=(2, 3)), (1, 3, 3, 2)),
    "max pool 1d": (lambda l: l.MaxPooling1D(2, 1, padding="same"), (2, 5, 3)),
    "max pool 2d": (lambda l: l.MaxPooling2D((2, 3), 2), (2, 5, 7, 2)),
    "average pool 1d": (lambda l: l.AveragePooling1D(3, 2, padding="same"), (2, 6, 3)),
    "average pool 2d": (lambda l: l.AveragePooling2D(2, padding="same"), (2, 5, 5, 2)),
    "global average 1d": (lambda l: l.GlobalAveragePooling1D(), (2, 5, 3)),
    "global average 2d": (lambda l: l.GlobalAveragePooling2D(keepdims=True), (2, 4, 5, 3)),
    "global max 2d": (lambda l: l.GlobalMaxPooling2D(), (2, 4, 5, 3)),
    "layer norm": (lambda l: l.LayerNormalization(), (4, 6)),
    "layer norm, axes": (lambda l: l.LayerNormalization(axis=[1, 2], epsilon=1e-2), (3, 4, 5)),
    "layer norm, no scale": (lambda l: l.LayerNormalization(scale=False), (3, 4, 5)),
    "group norm": (lambda l: l.GroupNormalization(3), (2, 4, 5, 6)),
    "group norm, axis": (lambda l: l.GroupNormalization(2, axis=1, epsilon=1e-2), (3, 4, 5)),
    "group norm, vectors": (lambda l: l.GroupNormalization(2, scale=False), (3, 4)),
    "instance norm": (lambda l: l.GroupNormalization(-1, center=False), (2, 4, 3)),
    "dense": (lambda l: l.Dense(3, activation="gelu"), (2, 4, 5)),
    "relu": (lambda l: l.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2), (4, 5)),
    "leaky relu": (lambda l: l.LeakyReLU(negative_slope=0.2), (4, 5)),
    "prelu": (lambda l: l.PReLU(), (4, 3, 5)),
    "prelu, shared": (lambda l: l.PReLU(shared_axes=[1, 2]), (2, 3, 4, 5)),
    "activation": (lambda l: l.Activation("softplus"), (4, 5)),
    "reshape": (lambda l: l.Reshape((5, -1)), (4, 10)),
    "flatten": (lambda l: l.Flatten(), (4, 2, 3)),
    "elu": (lambda l: l.ELU(alpha=0.5), (4, 5)),
    "softmax": (lambda l: l.Softmax(), (4, 5)),
    "softmax, axes": (lambda l: l.Softmax(axis=(1, 2)), (2, 4, 5)),
    "identity": (lambda l: l.Identity(), (4, 5)),
    "rescaling": (lambda l: l.Rescaling(0.5, offset=[1.0, 2.0]), (3, 2)),
    "global max 1d": (lambda l: l.GlobalMaxPool1D(), (2, 5, 3)),
    "permute": (lambda l: l.Permute((3, 1, 2)), (2, 3, 4, 5)),
    "repeat vector": (lambda l: l.RepeatVector(3), (2, 4)),
    "zeros 1d": (lambda l: l.ZeroPadding1D((1, 2)), (2, 3, 2)),
    "zeros 2d": (lambda l: l.ZeroPadding2D(((1, 0), 2)), (2, 3, 2, 2)),
    "zeros 2d, equal": (lambda l: l.ZeroPadding2D((1, 2)), (2, 3, 2, 2)),
    "larger 1d": (lambda l: l.UpSampling1D(3), (2, 3, 2)),
    "larger 2d": (lambda l: l.UpSampling2D((2, 3)), (2, 3, 2, 2)),
    "larger 2d, bilinear": (lambda l: l.UpSampling2D(interpolation="bilinear"), (2, 3, 2, 2)),
    "larger 2d, bicubic": (lambda l: l.UpSampling2D(interpolation="bicubic"), (2, 3, 2, 2)),
    "glu": (lambda l: l.Activation("glu"), (4, 6)),
    **{
        name: (lambda l, name=name: l.Activation(name), (4, 5))
        for name in (
            "exponential hard_sigmoid hard_silu linear log_sigmoid mish relu6 softsign swish celu hard_shrink hard_tanh "
            "soft_shrink sparse_plus sparse_sigmoid squareplus tanh_shrink"
        ).split()
    },
}
# By name: what makes the layer, and the shapes of its inputs.
MERGES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "add": (lambda l: l.Add(), [(2, 3), (2, 1), (2, 3)]),
    "add, ranks": (lambda l: l.Add(), [(2, 4, 3), (2, 3)]),
    "subtract": (lambda l: l.Subtract(), [(2, 3), (2, 3)]),
    "multiply": (lambda l: l.Multiply(), [(2, 3), (2, 3), (2, 1)]),
    "average": (lambda l: l.Average(), [(2, 3), (2, 3), (2, 3)]),
    "maximum": (lambda l: l.Maximum(), [(2, 3), (2, 3)]),
    "minimum": (lambda l: l.Minimum(), [(2, 3), (2, 3)]),
    "concatenate": (lambda l: l.Concatenate(), [(2, 3), (2, 4)]),
    "concatenate, axis": (lambda l: l.Concatenate(axis=1), [(2, 3, 2), (2, 1, 2)]),
}
CELLS: dict[str, Any] = {
    "lstm": lambda l: l.LSTMCell(4),
    "gru": lambda l: l.GRUCell(4),
    "gru, reset before": lambda l: l.GRUCell(4, reset_after=False),
    "simple": lambda l: l.SimpleRNNCell(4, activation="relu"),
}


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def results(
    tf: Any, layer: Any, inputs: list[np.ndarray], wraps: Any = lambda f: f, merges: bool = False
) -> list[np.ndarray]:
    """The outputs of a layer, and the gradients of their weighted sum by its weights and inputs."""
    given = [tf.constant(x) for x in inputs]

    def call(*xs: Any) -> Any:
        if merges:
            return layer(list(xs))
        return layer(xs[0], list(xs[1:])) if len(xs) > 1 else layer(xs[0])

    call(*given)
    layer.set_weights([drawn(100 + k, *w.shape) * 0.5 for k, w in enumerate(layer.get_weights())])

    def run(*xs: Any) -> Any:
        with tf.GradientTape() as tape:
            for x in xs:
                tape.watch(x)
            outputs = tf.nest.flatten(call(*xs))
            loss = tf.add_n([tf.reduce_sum(y * drawn(7 + k, *y.shape)) for k, y in enumerate(outputs)])
        weights = list(layer.trainable_weights)
        return [*outputs, *tape.gradient(loss, [*weights, *xs], unconnected_gradients="zero")]

    return [np.asarray(y) for y in wraps(run)(*given)]


def every(tf: Any, wraps: Any = lambda f: f) -> dict[str, list[np.ndarray]]:
    layers = tf.keras.layers
    found = {
        name: results(tf, make(layers), [drawn(1, *shape)], wraps) for name, (make, shape) in CASES.items()
    }
    for name, (make, shapes) in MERGES.items():
        inputs = [drawn(1 + k, *shape) for k, shape in enumerate(shapes)]
        found[name] = results(tf, make(layers), inputs, wraps, merges=True)
    for name, make in CELLS.items():
        states = 2 if name == "lstm" else 1
        inputs = [drawn(1, 3, 5), *[drawn(2 + k, 3, 4) for k in range(states)]]
        found[name] = results(tf, make(layers), inputs, wraps)
    return found


def main() -> None:
    import tensorflow

    kept = {f"{name}/{k}": y for name, all_of in every(tensorflow).items() for k, y in enumerate(all_of)}
    np.savez_compressed(DATA, **kept)
    print(len(kept), "arrays")


if __name__ == "__main__":
    main()
