"""Expressions of older names: Keras' own functions of arrays."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, fixed, positive, real

_X, _Y, _Z = {"x": real(2, 3)}, {"y": real(2, 3, 4)}, {"x": real(2, 3), "y": real(2, 3, 4)}
_IMAGES = {"x": real(2, 6, 5, 3), "k": real(3, 2, 3, 4)}
_VOLUMES = {"x": real(2, 4, 4, 3, 2), "k": real(2, 2, 2, 2, 3)}
_SEQUENCES = {"x": real(2, 7, 3), "k": real(3, 3, 2)}

# Calls of functions of `keras.backend`, by what they take.
_CALLS: list[tuple[str, dict[str, Draw]]] = [
    *((f"{f}(x)", _X) for f in "sqrt softplus hard_sigmoid elu softmax l2_normalize square".split()),
    *((f"relu(x, {a})", _X) for a in
      ("0.1", "0.0, 0.5", "0.0, None, 0.3", "0.1, 0.7", "0.1, None, 0.2", "0.2, 1.0, -0.3", "0.0, 6")),
    *((f"{f}(x, {a})", _X) for f in "sum mean max min prod std var".split() for a in ("1", "[0, 1], True")),
    *((f"{f}(x > 0, 1)", _X) for f in "all any mean std var".split()),
    *((f"clip(x, {a})", _X) for a in ("-0.5, 0.5", "None, 0.5", "0.5, -0.5", "-0.2, None")),
    *((f, _X) for f in ("softmax(x, [0, 1])", "elu(x, 0.3)", "cumsum(x, 1)", "cumprod(x)", "argmax(x)", "argmin(x, 0)",
                        "reverse(x, 1)", "repeat(x, 3)", "tile(x, (2, 1))", "transpose(x)", "stack([x, x], 1)",
                        "in_top_k(x, [1, 0], 1)", "map_fn(lambda a: a * a, x)", "foldl(lambda a, b: a * b, x)",
                        "foldr(lambda a, b: a - b, x)")),
    *((f, _Y) for f in ("batch_flatten(y)", "concatenate([y, y])", "concatenate([y, y], 1)", "expand_dims(y)", "flatten(y)",
                        "permute_dimensions(y, (2, 0, 1))", "repeat_elements(y, 2, 1)", "squeeze(y[:, :1], 1)",
                        "temporal_padding(y, (2, 1))", "batch_dot(y, y, (1, 1))", "batch_dot(y, y, 2)",
                        "dot(y, y[0, 0, :, None])", "dot(y, tf.transpose(y, [0, 2, 1]))")),
    *((f"switch({c}, {a}, 2 * {a})", _Z) for c, a in (("x > 0", "x"), ("x > 0", "y"), ("x[:, 0] > 0", "x[:, 0]"))),
    ("switch(tf.reduce_sum(x) > 0, lambda: x, lambda: 2 * x)", _X),
    *((f, _Z) for f in ("batch_dot(x, x)", "batch_dot(x, y, 1)", "batch_dot(y, x, (1, -1))")),
    *((f, {"x": real(2, 3, 4, 5), "y": real(2, 4, 5, 3)}) for f in ("batch_dot(x, y)", "batch_dot(x, y, (1, -1))")),
    *((f"bias_add({f})", {"y": real(2, 3, 4), "x": real(3, 4), "b": real(4)}) for f in ("y, b", "y, x")),
    ("batch_normalization(x, m, v, b, g)", {"x": real(2, 3, 4), "m": real(4), "v": positive(4), "b": real(4), "g": real(4)}),
    *((f"conv1d(x, k{a})", _SEQUENCES) for a in ("", ", 1, 'causal', None, 2", ", 2, 'same'")),
    *((f"conv2d(x, k{a})", _IMAGES) for a in ("", ", (2, 1), 'same'", ", dilation_rate=(2, 2)")),
    ("conv3d(x, k, (1, 2, 1))", _VOLUMES),
    *((f"conv2d_transpose(x, k, {a})", {"x": real(2, 3, 4, 3), "k": real(3, 3, 2, 3)})
      for a in ("(2, 6, 8, 2), (2, 2), 'same'", "(None, 5, 6, 2)")),
    ("depthwise_conv2d(x, k, (2, 2), 'same')", {"x": real(2, 6, 5, 3), "k": real(3, 2, 3, 2)}),
    ("separable_conv2d(x, k, p)", {"x": real(2, 6, 5, 3), "k": real(3, 2, 3, 2), "p": real(1, 1, 6, 4)}),
    *((f"pool2d(x, {a})", {"x": real(2, 6, 5, 3)}) for a in ("(2, 2)", "(2, 3), (2, 2), 'same', None, 'avg'")),
    ("pool3d(x, (2, 2, 2), (2, 2, 1))", {"x": real(2, 4, 4, 3, 2)}),
    *((f"spatial_2d_padding(x, {a})", {"x": real(2, 6, 5, 3)}) for a in
      ("((1, 2), (0, 1))", "((1, 1), (1, 1)), 'channels_first'")),
    ("spatial_3d_padding(x)", {"x": real(2, 4, 4, 3, 2)}),
    *((f"resize_images(x, 2, {a})", {"x": real(2, 3, 4, 2)}) for a in
      ("3, 'channels_last'", "3, 'channels_last', 'bilinear'", "2, 'channels_first', 'nearest'")),
    ("resize_volumes(x, 2, 1, 2, 'channels_last')", {"x": real(2, 2, 3, 2, 1)}),
]  # fmt: skip

_LABELS = {"t": positive(4, 5, low=0.1, high=0.9)}
_CLASSES = {"i": fixed(np.array([0, 3, 4, 1])), "x": real(4, 5)}
_ENTROPIES = [
    *((f"{f}(t, {a})", _LABELS | {"x": real(4, 5)})
      for f in ("binary_crossentropy", "binary_focal_crossentropy", "categorical_focal_crossentropy")
      for a in ("tf.sigmoid(x)", "x, from_logits=True")),
    ("binary_focal_crossentropy(t, tf.sigmoid(x), True)", _LABELS | {"x": real(4, 5)}),
    ("categorical_crossentropy(t, tf.exp(x))", _LABELS | {"x": real(4, 5)}),
    ("categorical_crossentropy(t, tf.exp(x), axis=0)", _LABELS | {"x": real(4, 5)}),
    ("categorical_crossentropy(tf.one_hot(i, 5, dtype=x.dtype), x, True)", _CLASSES),
    *((f"sparse_categorical_crossentropy(i, {a})", _CLASSES) for a in
      ("tf.nn.softmax(x)", "x, True", "x, True, ignore_class=3")),
    ("sparse_categorical_crossentropy(i[:, None], x, True)", _CLASSES),
    ("sparse_categorical_crossentropy(i, y, True, 1)",
     {"i": fixed(np.array([[0, 2, 1, 1], [1, 1, 0, 2]])), "y": real(2, 3, 4)}),
    ("sparse_categorical_crossentropy(i, y, True, ignore_class=1)",
     {"i": fixed(np.array([[0, 2, 1], [1, 1, 0]])), "y": real(2, 3, 4)}),
]  # fmt: skip


def all_cases() -> list[Case]:
    cases = [
        Case(
            f"backend.{k}.{call.partition('(')[0]}",
            f"tf.keras.backend.{call}",
            inputs,
            slack=2,
            precisions=("float32",),
        )
        for k, (call, inputs) in enumerate([*_CALLS, *_ENTROPIES])
    ]
    frames = {"p": positive(2, 6, 4, low=0.05, high=3.0), "n": fixed(np.array([6, 5]))}
    probabilities = "p / tf.reduce_sum(p, -1, keepdims=True)"
    decode = f"(lambda found: [*found[0], found[1]])(tf.keras.backend.ctc_decode({probabilities}, n"
    cost = "[[0, 1, 0], [2, 1, 1]], " + probabilities + ", n[:, None], [[2], [3]]"
    single = ("float32",)
    return [
        *cases,
        Case(
            "backend.ctc_cost",
            f"tf.keras.backend.ctc_batch_cost({cost})",
            frames,
            False,
            slack=4,
            precisions=single,
        ),
        *(
            Case(f"backend.ctc_decode_{k}", f"{decode}{options}))", frames, gradient=False, precisions=single)
            for k, options in enumerate(("", ", False, 5, 2", ", False, 12, 3"))
        ),
    ]
