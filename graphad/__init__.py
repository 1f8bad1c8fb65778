"""graphad: automatic differentiation of numerical Python, eager, compiled and saved.

Names and behaviour are TensorFlow's where a name is TensorFlow's: `import graphad as tf`. The public names are listed in the stub
beside this file, `__init__.pyi`; those whose modules are not imported here are imported when they are first used.
"""

import warnings

from graphad.core.collector import held, settle

with held:  # classes and functions stay
    import graphad.core.finding

    graphad.core.finding.install(__spec__, "core", beside=("serialization",))

    # What every program needs, in the order of the floors.
    import graphad.core.device
    import graphad.core.indexed_slices
    import graphad.core.names
    import graphad.core.pages
    import graphad.ops.array
    import graphad.ops.math
    import graphad.ops.linalg.matmul
    import graphad.ops.math.reduce  # a loss is a sum or a mean
    import graphad.ops.math.trigonometric
    import graphad.eager.variable
    import graphad.function.polymorphic  # the first call must not wait for what traces it
    import graphad.function.decorator

    settle()

from graphad.core.guests import when_imported
from graphad.core.late import attach
from graphad.core.registry import register_later

newaxis = None

__getattr__, __dir__ = attach(__name__)

# The modules of ops that programs may do without, each with the names of its ops.
register_later(
    {
        "graphad.ops.array.along": "take_along_axis take_along_axis_grad",
        "graphad.ops.array.block": "block_bounds",
        "graphad.ops.array.combine": "scatter_combine scatter_extreme",
        "graphad.ops.array.ensure": "ensure_shape",
        "graphad.ops.array.gather": "gather gather_grad gather_nd scatter_nd",
        "graphad.ops.array.identity_matrix": "eye",
        "graphad.ops.array.indicators": "one_hot",
        "graphad.ops.array.join": "concat split stack unstack",
        "graphad.ops.array.masks": "boolean_mask boolean_mask_grad",
        "graphad.ops.array.padding": "mirror_pad mirror_pad_grad pad pad_inner",
        "graphad.ops.array.scatter": "segment_gather tensor_scatter_nd_update unsorted_segment_sum",
        "graphad.ops.array.sequence": "range steps unit_steps",
        "graphad.ops.array.slice": "getitem getitem_grad slice_update",
        "graphad.ops.array.sorting": "argsort top_indices",
        "graphad.ops.array.strided": "slice slice_grad",
        "graphad.ops.array.tiling": "repeat repeat_grad tile",
        "graphad.ops.array.transpose": "reverse roll swap_axes transpose",
        "graphad.ops.control.call": "call",
        "graphad.ops.control.cond": "cond",
        "graphad.ops.control.custom": "closed_custom custom_gradient unsaved_custom",
        "graphad.ops.control.either": "either",
        "graphad.ops.control.loop": "loop",
        "graphad.ops.image.boxes": "non_max_suppression",
        "graphad.ops.image.overlaps": "suppress_overlaps",
        "graphad.ops.image.suppression": "suppress_by_class",
        "graphad.ops.linalg.banded": "banded_solve",
        "graphad.ops.linalg.contraction": "einsum",
        "graphad.ops.linalg.determinants": "cofactors det slogdet",
        "graphad.ops.linalg.diagonal": "band_part diag_part diagonal diagonal_put set_diag",
        "graphad.ops.linalg.eigen": "eigh hermitian_eigenvalues singular_values svd",
        "graphad.ops.linalg.factors": "eig lu qr",
        "graphad.ops.linalg.functions": "expm logm matrix_direction sqrtm",
        "graphad.ops.linalg.pseudo_inverse": "pseudo_inverse",
        "graphad.ops.linalg.systems": "cholesky inv solve triangular_solve",
        "graphad.ops.linalg.tridiagonal": "tridiagonal_eigenvalues",
        "graphad.ops.math.bessel": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 "
        "bessel_k1e bessel_y0 bessel_y1 dawsn erfcx expint fresnel_cos fresnel_sin gamma spence",
        "graphad.ops.math.beta_density": "beta_density",
        "graphad.ops.math.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift mul_high right_shift",
        "graphad.ops.math.cardinal_sine": "sinc",
        "graphad.ops.math.convolved": "vector_convolution",
        "graphad.ops.math.cumulative": "cumprod cumsum cumulative_logsumexp linear_recurrence product_of_others shift_by_one",
        "graphad.ops.math.digits": "cbrt copysign exp2 hypot log10 log2",
        "graphad.ops.math.gamma": "lgamma polygamma",
        "graphad.ops.math.incomplete": "betainc erfcinv igamma igamma_by_a igammac log1pmx ndtri nextafter polygamma_at",
        "graphad.ops.math.parameter_slopes": "betainc_by zeta zeta_by_x",
        "graphad.ops.math.polynomial": "polynomial_division",
        "graphad.ops.math.position": "argmax argmin",
        "graphad.ops.math.rounding": "ceil floor round trunc",
        "graphad.ops.math.search": "searchsorted",
        "graphad.ops.math.segment": "sorted_ids",
        "graphad.ops.math.segment_extremes": "unsorted_segment_max unsorted_segment_min unsorted_segment_prod",
        "graphad.ops.math.segment_others": "segment_others",
        "graphad.ops.math.special": "erf erfc erfinv exp_square",
        "graphad.ops.math.sum_of_products": "sum_of_products",
        "graphad.ops.math.sums": "add_n",
        "graphad.ops.math.truncated": "gcd truncatediv truncatemod",
        "graphad.ops.nn.activation": "elu elu_grad leaky_relu leaky_relu_grad relu relu6 relu_grad",
        "graphad.ops.nn.convolution_ops": "convolution convolution_filter_grad convolution_input_grad",
        "graphad.ops.nn.cross_entropy": "sparse_cross_entropy sparse_cross_entropy_grad",
        "graphad.ops.nn.ctc_beams": "ctc_beams",
        "graphad.ops.nn.isotonic": "isotonic_segments",
        "graphad.ops.nn.pooling_ops": "avg_pool avg_pool_grad max_pool max_pool_grad max_pool_pick",
        "graphad.ops.nn.softmaxes": "log_softmax softmax",
        "graphad.ops.nn.windows": "patches patches_sum",
        "graphad.ops.random.candidates": "draw_classes",
        "graphad.ops.random.draw": "draw random_key random_set_state split_key",
        "graphad.ops.random.gammas": "draw_gamma gamma_slope",
        "graphad.ops.random.index_shuffle": "random_index_shuffle",
        "graphad.ops.random.samples": "draw_counts",
        "graphad.ops.signal.cosines_and_sines": "dct dst",
        "graphad.ops.signal.fourier": "fft irfft rfft",
        "graphad.ops.sparse.products": "products_at sparse_product",
        "graphad.ops.state.checks": "check_numerics",
        "graphad.ops.state.clock": "timestamp",
        "graphad.ops.state.effects": "assert print",
        "graphad.ops.state.slices": "assign_slices",
        "graphad.vectorize.vectorize_graph": "vectorize",
    }
)

# NumPy warns where IEEE arithmetic gives infinities or NaN (1/0, log(0)); graphad computes many of those on purpose in
# branches that are not taken. Warnings of NumPy calls in the user's own modules are left alone.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"graphad\.")

when_imported("einops._backends", "graphad.ops.einops")
