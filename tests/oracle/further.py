"""Expressions of what came later: drawn classes, beams, sorted sequences, boxes, counts by rows."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, fixed, positive, real, whole


def _sampled() -> list[Case]:
    values = "(tf.constant([1, 3, 8, 5], tf.int64), p, q)"
    inputs = {
        "w": real(9, 4),
        "b": real(9),
        "x": real(3, 4),
        "p": positive(3, 2),
        "q": positive(4),
        "i": fixed(np.array([[1, 2], [8, 0], [4, 4]])),
    }
    cases = []
    for f in ("nce_loss", "sampled_softmax_loss"):
        for removes in (True, False):
            call = f"tf.nn.{f}(w, b, i, x, 4, 9, 2, {values}, {removes})"
            cases.append(Case(f"further.{f}_{removes}", call, inputs, slack=3, precisions=("float32",)))
    return cases


def _boxes(*lead: int) -> Draw:
    def draw(rng: np.random.Generator) -> np.ndarray:
        low = rng.random((*lead, 2))
        return np.concatenate([low, low + rng.random((*lead, 2)) * 0.6], -1)

    return draw


def _valued() -> list[tuple[str, str, dict[str, Draw]]]:
    samplers = "[getattr(tf.random, f + '_candidate_sampler')(i, 2, 4, False, 9)[1] for f in ('uniform', 'log_uniform')]"
    labels = {"i": fixed(np.array([[1, 2], [8, 0], [4, 4]]))}
    counts = {"i": whole(0, 6, 3, 4)}
    frames = {"x": real(7, 3, 5), "n": fixed(np.int32([7, 4, 1]))}
    beams = "(lambda found, score: [part for s in found for part in (s.indices, s.values, s.dense_shape)] + [score])"
    one, many = {"b": _boxes(8), "s": positive(8)}, {"b": _boxes(2, 8), "s": positive(2, 8)}
    return [
        ("samplers", samplers, labels),
        ("fixed_unigram", "tf.random.fixed_unigram_candidate_sampler(i, 2, 4, False, 9, distortion=0.7, num_reserved_ids=2, "
         "unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])[1]", labels),
        ("all_candidates", "list(tf.random.all_candidate_sampler(i, 2, 9, True))", labels),
        ("accidental_hits", "list(tf.nn.compute_accidental_hits(i, tf.constant([1, 3, 8, 5], tf.int64), 2))", labels),
        ("unique_labels", "list(tf.nn.ctc_unique_labels(i))", {"i": whole(0, 4, 3, 6)}),
        ("isotonic_segments", "[tf.nn.isotonic_regression(x, d, a)[1] for d in (True, False) for a in (0, 1)]",
         {"x": real(6, 5)}),
        ("beams", f"{beams}(*tf.nn.ctc_beam_search_decoder(x, n, 4, 2))", frames),
        ("beams_many", f"{beams}(*tf.nn.ctc_beam_search_decoder(x, n, 20, 3))", frames),
        ("bincount_rows", "[tf.math.bincount(i, axis=-1), tf.math.bincount(i, axis=-1, maxlength=3, minlength=2), "
         "tf.math.bincount(i, axis=-1, minlength=9), tf.math.bincount(i[0], axis=-1)]", counts),
        ("bincount_binary", "[tf.math.bincount(i, axis=a, binary_output=True) for a in (-1, 0)]", counts),
        ("overlaps", "tf.image.non_max_suppression_overlaps(o, s, 5, 0.6, 0.4)",
         {"o": positive(8, 8, low=0, high=1), "s": positive(8)}),
        ("padded", "list(tf.image.non_max_suppression_padded(b, s, 6, 0.3, pad_to_max_output_size=True))", one),
        ("not_padded", "list(tf.image.non_max_suppression_padded(b, s, 6, 0.3))", one),
        ("padded_images", "list(tf.image.non_max_suppression_padded(b, s, 6, 0.3, pad_to_max_output_size=True))", many),
        ("combined", "list(tf.image.combined_non_max_suppression(b, s, 2, 5, 0.3, 0.5))",
         {"b": _boxes(2, 8, 1), "s": positive(2, 8, 3)}),
        ("combined_classes", "list(tf.image.combined_non_max_suppression(b, s, 2, 9, 0.3, 0.5, True, False))",
         {"b": _boxes(2, 8, 3), "s": positive(2, 8, 3)}),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    single = ("float32",)
    cases = _sampled()
    cases += [
        Case("further.isotonic", "[tf.nn.isotonic_regression(x, d)[0] for d in (True, False)]", {"x": real(3, 6)},
             second=False),
        Case("further.isotonic_columns", "tf.nn.isotonic_regression(x, axis=0)[0]", {"x": real(6, 2)}, second=False),
        Case("further.bincount_weights", "tf.math.bincount(i, x, axis=-1, minlength=9)",
             {"i": whole(0, 6, 3, 4), "x": real(3, 4)}, gradient=False),
        Case("further.volumes", "[tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 2, 1], p) for p in ('SAME', 'VALID')]",
             {"x": real(1, 4, 4, 5, 2)}),
        Case("further.drawn", "tf.image.draw_bounding_boxes(x, b, c)",
             {"x": positive(2, 7, 9, 3), "b": _boxes(2, 3), "c": positive(2, 3)}, gradient=False, precisions=single),
        Case("further.drawn_plain", "[tf.image.draw_bounding_boxes(x[..., :k], b, None) for k in (1, 3, 4)]",
             {"x": positive(2, 7, 9, 4), "b": _boxes(2, 3)}, gradient=False, precisions=single),
        Case("further.crossentropy_axis", "tf.keras.losses.categorical_crossentropy(y, x, axis=1)",
             {"x": positive(3, 4, 5), "y": positive(3, 4, 5)}, slack=5, precisions=single),
        Case("further.ignored_class", "tf.keras.losses.sparse_categorical_crossentropy(i, x, True, 2)",
             {"x": real(3, 5, 4), "i": whole(0, 4, 3, 5)}, slack=5, precisions=single),
        *(Case(f"further.fake_quant_{k}", f"tf.quantization.fake_quant_with_min_max_{call}",
               {"x": real(4, 6), "a": fixed(low), "b": fixed(high)}, second=False, precisions=single)
          for k, (call, low, high) in enumerate((
              ("args(x, -1.0, 1.5) + 0.0 * a * b", -1.0, 1.5), ("vars(x, a, b, 4, True)", -0.7, 1.1),
              ("vars(x, a, b, 3)", 0.4, 1.3), ("vars(x, a, b)", 0.0, 0.0),
              ("vars_per_channel(x, a, b, 5)", np.linspace(-1.0, 0.3, 6), np.linspace(0.5, 1.5, 6)),
          ))),
        Case("further.fake_quant_derivatives",
             "[*tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(g, x, [-0.5, -1.0], [0.8, 1.9], 4), "
             "*tf.quantization.fake_quant_with_min_max_vars_gradient(g, x, -0.5, 0.8, 4), "
             "tf.quantization.fake_quant_with_min_max_args_gradient(g, x, -0.5, 0.8, 4)]",
             {"x": real(5, 2), "g": real(5, 2)}, gradient=False, precisions=single),
    ]  # fmt: skip
    return cases + [
        Case(f"further.{n}", call, inputs, gradient=False, precisions=single) for n, call, inputs in _valued()
    ]
