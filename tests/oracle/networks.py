"""More expressions of `tf.nn`: blocks, morphology, sums of moments, look-ups in sparse rows, labels without times."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, fixed, positive, real, whole

_IDS = "tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 3]], i, [3, 4])"
_WEIGHTS = "tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 3]], w, [3, 4])"
_HOLES = "tf.SparseTensor([[0, 0], [0, 1], [1, 0], [3, 0], [3, 3]], i, [5, 4])"


def _blocks() -> list[tuple[str, str, dict[str, Draw]]]:
    x = {"x": real(2, 4, 6, 3)}
    return [
        ("space_to_batch", "tf.nn.space_to_batch(x, [2, 3], [[0, 0], [0, 0]])", x),
        ("space_to_batch_padded", "tf.space_to_batch(x, [3, 2], [[1, 1], [2, 0]])", x),
        ("space_to_batch_one", "tf.space_to_batch_nd(x, [2], [[0, 2]])", {"x": real(2, 4)}),
        ("batch_to_space", "tf.batch_to_space(x, [2, 3], [[1, 0], [0, 2]])", {"x": real(12, 2, 3, 2)}),
        (
            "batch_to_space_three",
            "tf.batch_to_space(x, [2, 1, 2], [[0, 1], [0, 0], [1, 1]])",
            {"x": real(4, 2, 3, 2)},
        ),
        (
            "with_space_to_batch",
            "tf.nn.with_space_to_batch(x, [2, 2], 'SAME', lambda y, axes, padding: tf.nn.conv2d(y, k, 1, padding), [3, 2])",
            {**x, "k": real(3, 2, 3, 2)},
        ),
        (
            "depthwise_input",
            "tf.nn.depthwise_conv2d_backprop_input([1, 5, 4, 2], k, x, [1, 2, 2, 1], 'SAME')",
            {"x": real(1, 3, 2, 4), "k": real(3, 2, 2, 2)},
        ),
        (
            "depthwise_filter",
            "tf.nn.depthwise_conv2d_backprop_filter(y, [2, 2, 2, 2], x, [1, 1, 1, 1], 'VALID')",
            {"x": real(1, 2, 3, 4), "y": real(1, 3, 4, 2)},
        ),
        ("sufficient_statistics", "list(tf.nn.sufficient_statistics(x, [0, 2]))[:3]", x),
        (
            "sufficient_statistics_shift",
            "tf.nn.sufficient_statistics(x, [0], shift=x[0] * 0.5, keepdims=True)",
            x,
        ),
        (
            "normalize_moments",
            "tf.nn.normalize_moments(tf.constant(4.0, x.dtype), x, y, None)",
            {"x": real(3), "y": positive(3)},
        ),
        (
            "normalize_moments_shift",
            "tf.nn.normalize_moments(tf.constant(4.0, x.dtype), x, y, x * 0.3)",
            {"x": real(3), "y": positive(3)},
        ),
    ]


def _single() -> list[tuple[str, str, dict[str, Draw]]]:
    """What TensorFlow has once alone, or only without derivatives of order two."""
    image = {"x": real(1, 5, 6, 2), "k": real(3, 2, 2)}
    table = {"p": real(6, 3), "i": fixed(np.int64([5, 0, 2, 2, 4])), "w": positive(5)}
    some = {**table, "i": fixed(np.int64([5, -1, -2, 2, 4]))}
    frames = {"x": real(7, 3, 5), "n": fixed(np.int32([7, 5, 6]))}
    labels = {
        "y": fixed(np.int32([[1, 2, 2, 4], [3, 1, 0, 0], [2, 0, 0, 0]])),
        "m": fixed(np.int32([4, 2, 0])),
    }
    sparse = "tf.SparseTensor(tf.constant([[0, 0], [0, 1], [1, 0], [2, 0]], tf.int64), tf.constant([1, 1, 2, 0]), [3, 2])"
    return [
        *(
            (
                f"{f}_{padding.lower()}",
                f"tf.nn.{f}(x, k, [1, 2, 1, 1], '{padding}', 'NHWC', [1, 1, 2, 1])",
                image,
            )
            for f in ("dilation2d", "erosion2d")
            for padding in ("SAME", "VALID")
        ),
        *(
            (
                f"embedding_{kind}",
                f"tf.convert_to_tensor(tf.nn.embedding_lookup_sparse(p, {_IDS}, {weights}, combiner='{kind}'))",
                table,
            )
            for kind, weights in (("sum", "None"), ("mean", "None"), ("sqrtn", "None"))
        ),
        *(
            (
                f"embedding_{kind}_weighted",
                f"tf.nn.embedding_lookup_sparse(p, {_IDS}, {_WEIGHTS}, combiner='{kind}')",
                table,
            )
            for kind in ("sum", "mean", "sqrtn")
        ),
        (
            "embedding_norm",
            f"tf.nn.embedding_lookup_sparse(p, {_IDS}, None, combiner='sum', max_norm=1.0)",
            table,
        ),
        ("embedding_safe", f"tf.nn.safe_embedding_lookup_sparse(p, {_HOLES})", some),
        (
            "embedding_safe_default",
            f"tf.nn.safe_embedding_lookup_sparse(p, {_HOLES}, default_id=1, combiner='sum')",
            some,
        ),
        ("ctc_loss", "tf.nn.ctc_loss(y, x, m, n)", {**frames, **labels}),
        ("ctc_loss_last", "tf.nn.ctc_loss(tf.minimum(y, 3), x, m, n, blank_index=-1)", {**frames, **labels}),
        (
            "ctc_loss_batch_major",
            "tf.nn.ctc_loss(y, tf.transpose(x, [1, 0, 2]), m, n, logits_time_major=False)",
            {**frames, **labels},
        ),
        ("ctc_loss_sparse", f"tf.nn.ctc_loss({sparse}, x, None, n, blank_index=-1)", frames),
    ]


def _valued() -> list[tuple[str, str, dict[str, Draw]]]:
    frames = {"x": real(8, 3, 4), "n": fixed(np.int32([8, 5, 1]))}
    decoded = "(lambda found, score: [found[0].indices, found[0].values, found[0].dense_shape, score])"
    return [
        ("required_paddings", "tf.required_space_to_batch_paddings([5, 7], [2, 3], [[1, 0], [0, 2]])", {}),
        ("greedy", f"{decoded}(*tf.nn.ctc_greedy_decoder(x, n))", frames),
        (
            "greedy_repeated",
            f"{decoded}(*tf.nn.ctc_greedy_decoder(x, n, merge_repeated=False, blank_index=1))",
            frames,
        ),
        (
            "collapse_repeated",
            "tf.nn.collapse_repeated(i, [5, 3])",
            {"i": fixed(np.int32([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5]]))},
        ),
        (
            "collapse_repeated_random",
            "tf.nn.collapse_repeated(i, tf.constant([6, 0, 2], tf.int64))",
            {"i": whole(0, 3, 3, 6)},
        ),
    ]


def all_cases() -> list[Case]:
    cases = [Case(f"networks.{n}", call, inputs, slack=3) for n, call, inputs in _blocks()]
    for n, call, inputs in _single():
        precisions = ("float32",) if n.startswith("ctc_loss") else ("float32", "float64")
        cases.append(Case(f"networks.{n}", call, inputs, second=False, slack=10, precisions=precisions))
    return cases + [Case(f"networks.{n}", call, inputs, gradient=False) for n, call, inputs in _valued()]
