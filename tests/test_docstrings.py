"""What docstrings of public names say: a sentence, arguments, shapes, dtypes, what is returned, errors, sources, and examples,
which run.

    python -m tests.test_docstrings            the numbers by namespace, and what is missing where

What is reached is held: the numbers of `LACKING` may only become smaller.
"""

from __future__ import annotations

import builtins
import doctest
import functools
import importlib
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.late import places_of
from tests.test_names import public_namespaces

PARTS = ("sentence", "arguments", "shapes", "dtypes", "returns", "errors")
# Namespaces, each with those of its names that stand in none before it; those of NumPy last.
_FIRST = [
    f"graphad{name}" for name in (
        "", ".math", ".linalg", ".nn", ".random", ".bitwise", ".signal", ".math.special", ".functional", ".autodiff",
        ".optimizers", ".initializers", ".keras.layers", ".keras.losses", ".keras.metrics", ".keras.activations",
        ".keras.backend", ".keras", ".saved_model", ".train", ".optimize", ".nest", ".debugging", ".test", ".config",
        ".config.experimental", ".config.optimizer", ".config.threading", ".autograph", ".autograph.experimental", ".plot",
        ".errors", ".dtypes",
    )
]  # fmt: skip
_LAST = ["graphad.numpy.linalg", "graphad.numpy.fft", "graphad.numpy"]
_OTHERS = [
    name
    for name in public_namespaces()
    if name not in (*_FIRST, *_LAST) and not name.startswith("graphad.compat")
]
NAMESPACES = [*_FIRST, *_OTHERS, *_LAST]
_HEAD = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Source|Example|Examples):", re.M)
_SHAPES = re.compile(
    r"\[\.\.\.|\[[a-z*0-9][^\]\n]*\]|\[\]|shape|scalar|elementwise|broadcast|rank|one number|any sizes?\b"
)
_DTYPES = re.compile(r"dtype|float|integer|\bint|bool|complex|numeric")
# What takes no value that it refuses has no errors to name.
_NAMELESS = {"name", "self", "cls"}


def public(namespace: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a namespace by name."""
    module = importlib.import_module(namespace)
    for name in sorted(places_of(namespace)):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value) or isinstance(value, tf.DType):
            continue  # what a dtype gives when called is said by its class
        if callable(value):
            yield name, value


@functools.cache
def names() -> dict[str, list[tuple[str, Any]]]:
    """By namespace its callables that no namespace before it has."""
    seen: set[int] = set()
    found: dict[str, list[tuple[str, Any]]] = {}
    for namespace in NAMESPACES:
        found[namespace] = [(name, value) for name, value in public(namespace) if id(value) not in seen]
        seen |= {id(value) for _, value in found[namespace]}
    return found


def _signature(value: Any) -> inspect.Signature:
    if inspect.isclass(value) and not isinstance(vars(value).get("__init__"), type(None)):
        return inspect.signature(value)
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return inspect.Signature()


def sections(text: str) -> dict[str, str]:
    """A docstring by its sections; what stands before the first is called ""."""
    found: dict[str, str] = {}
    places = [(match.start(), match.end(), match[1]) for match in _HEAD.finditer(text)]
    found[""] = text[: places[0][0]] if places else text
    for k, (_, start, name) in enumerate(places):
        found[name] = text[start : places[k + 1][0] if k + 1 < len(places) else len(text)]
    return found


def missing(value: Any) -> list[str]:
    """The parts that a docstring lacks."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and (issubclass(value, Exception) or hasattr(value, "__members__")):
        return [] if text else ["sentence"]
    found = sections(text)
    signature = _signature(value)
    parameters = [
        x.name
        for x in signature.parameters.values()
        if x.name not in _NAMELESS and not x.name.startswith("_")
    ]
    entries = found.get("Args", "")
    named = {
        name.strip(" *`")
        for line in re.findall(r"^  (\S[^:\n]*):", entries, re.M)
        for name in line.split(",")
    } | {name.strip(" *`") for name in re.match(r"^ ?([^:\n]*)", entries)[1].split(",")}  # type: ignore[index]
    types = " ".join(str(x.annotation) for x in signature.parameters.values()) + str(
        signature.return_annotation
    )
    has_tensors = "TensorLike" in types or re.search(r"\bTensor\b", types) is not None
    lacks = []
    if not re.match(r"[^\n].*?[.:]$", found[""].strip().split("\n\n")[0].replace("\n", " ")):
        lacks.append("sentence")
    if set(parameters) - named:
        lacks.append("arguments")
    if has_tensors and not _SHAPES.search(text):
        lacks.append("shapes")
    if has_tensors and not _DTYPES.search(text):
        lacks.append("dtypes")
    gives = signature.return_annotation
    if not inspect.isclass(value) and gives not in (None, "None") and not {"Returns", "Yields"} & set(found):
        lacks.append("returns")
    if parameters and "Raises" not in found:
        lacks.append("errors")
    return lacks


def counted() -> dict[str, tuple[int, dict[str, int], int]]:
    """By namespace how many names there are, how many lack a part, and how many have an example."""
    found = {}
    for namespace, members in names().items():
        lacks: dict[str, int] = defaultdict(int)
        for _, value in members:
            for part in missing(value):
                lacks[part] += 1
        examples = sum(">>>" in (inspect.getdoc(value) or "") for _, value in members)
        found[namespace] = len(members), dict(lacks), examples
    return found


def examples() -> Iterator[tuple[str, Any]]:
    """Every public name whose docstring has an example."""
    for namespace, members in names().items():
        for name, value in members:
            if ">>>" in (inspect.getdoc(value) or ""):
                yield f"{namespace}.{name}", value


class _Close(doctest.OutputChecker):
    """Numbers may differ in their last digits, as they do from machine to machine."""

    number = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        # NumPy's scalars are shown with their type or without.
        want, got = (re.sub(r"np\.\w+\(([^()]*)\)", r"\1", text) for text in (want, got))
        texts = [re.sub(r"\s+", "", self.number.sub("#", text)) for text in (want, got)]
        mine, theirs = ([float(number) for number in self.number.findall(text)] for text in (want, got))
        return texts[0] == texts[1] and np.allclose(mine, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, _ in examples()])
def test_an_example_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = dict(examples())[name]
    own = name.rpartition(".")[2]  # other names of builtins are Python's
    space = {key: getattr(tf, key) for key in tf.__all__ if key == own or not hasattr(builtins, key)}
    space |= {"np": np, "tf": tf}
    home = sys.modules[inspect.unwrap(value).__module__]
    space |= {
        key: thing
        for key, thing in vars(home).items()
        if not key.startswith("_") and key not in space and not hasattr(builtins, key)
    }
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", space, name, None, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(_Close(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert not runner.run(test, out=said.append).failed, "".join(said)


# By namespace how many names lack a part: arguments, shapes, dtypes, returns, errors. The numbers may only become smaller.
# A namespace that is not here lacks nothing; every public name has a sentence.
LACKING: dict[str, tuple[int, int, int, int, int]] = {}
EXAMPLES = 693
MOST_USED = """
    GradientTape Module TensorArray TensorShape TensorSpec Variable abs acos add add_n argmax argmin argsort as_dtype asin
    atan atan2 bitcast boolean_mask broadcast_static_shape broadcast_to cast clip_by_global_norm clip_by_norm clip_by_value
    complex concat cond constant convert_to_tensor cos cosh cumsum custom_gradient divide einsum ensure_shape
    executing_eagerly exp expand_dims eye fill floor foldl function gather gather_nd global_norm grad greater greater_equal
    hessian hvp init_scope is_tensor jacrev jvp less less_equal linearize linspace logical_and logical_not logical_or map_fn
    matmul maximum meshgrid minimum multiply negative norm one_hot ones ones_like pad print profile range rank reduce_all
    reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse roll round
    saturate_cast scan scatter_nd searchsorted sequence_mask shape sigmoid sign sin sinh size slice sort split sqrt square
    squeeze stack stop_gradient subtract switch_case tan tanh tensor_scatter_nd_add tensor_scatter_nd_sub
    tensor_scatter_nd_update tensordot tile transpose truediv type_spec_from_value unstack value_and_grad vectorized_map vjp
    vmap where while_loop zeros zeros_like math.angle math.bincount math.bitwise_and math.bitwise_or math.ceil
    math.confusion_matrix math.conj math.count_nonzero math.cumprod math.divide_no_nan math.erf math.expm1 math.floordiv
    math.floormod math.hypot math.imag math.invert_permutation math.is_finite math.is_inf math.is_nan math.l2_normalize
    math.lgamma math.log math.log10 math.log1p math.log2 math.log_softmax math.logaddexp math.logical_xor math.mod
    math.multiply_no_nan math.polyval math.real math.reciprocal math.rint math.rsqrt math.segment_sum math.sinc math.softmax
    math.softplus math.softsign math.squared_difference math.top_k math.unsorted_segment_sum math.xlogy math.zero_fraction
    linalg.adjoint linalg.band_part linalg.cholesky linalg.cross linalg.det linalg.diag linalg.diag_part linalg.eigh
    linalg.expm linalg.inv linalg.lstsq linalg.matrix_transpose linalg.matvec linalg.normalize linalg.qr linalg.set_diag
    linalg.solve linalg.svd linalg.trace linalg.triangular_solve nn.avg_pool2d nn.bias_add nn.conv2d nn.crelu nn.dropout
    nn.elu nn.embedding_lookup nn.gelu nn.l2_loss nn.leaky_relu nn.max_pool2d nn.moments nn.relu nn.relu6 nn.selu
    nn.sigmoid_cross_entropy_with_logits nn.silu nn.softmax_cross_entropy_with_logits
    nn.sparse_softmax_cross_entropy_with_logits nn.swish random.Generator random.normal random.set_seed
    random.stateless_normal random.uniform autodiff.ForwardAccumulator keras.layers.Dense keras.layers.Flatten
    keras.layers.Sequential
""".split()


# Whose value rests on a published formula or method, which the docstring names.
SOURCED = """
    checkpoint matrix_square_root random_index_shuffle recompute_grad math.bessel_i0 math.bessel_i0e math.bessel_i1
    math.bessel_i1e math.betainc math.digamma math.erf math.erfc math.erfcinv math.erfinv math.igamma math.igammac
    math.lbeta math.lgamma math.log_softmax math.ndtri math.polygamma math.sinc math.sobol_sample math.softmax
    math.softplus math.softsign math.zeta linalg.LinearOperatorHouseholder linalg.LinearOperatorLowRankUpdate
    linalg.expm linalg.logm linalg.pinv nn.atrous_conv2d nn.atrous_conv2d_transpose
    nn.batch_norm_with_global_normalization nn.batch_normalization nn.crelu nn.ctc_greedy_decoder nn.ctc_loss
    nn.depthwise_conv2d nn.dilation2d nn.dropout nn.elu nn.erosion2d nn.gelu nn.group_normalization
    nn.instance_normalization nn.layer_normalization nn.leaky_relu
    nn.local_response_normalization nn.log_poisson_loss nn.lrn nn.relu nn.relu6 nn.selu nn.separable_conv2d
    nn.sigmoid_cross_entropy_with_logits nn.silu nn.softmax_cross_entropy_with_logits
    nn.sparse_softmax_cross_entropy_with_logits nn.swish nn.weighted_cross_entropy_with_logits random.Algorithm
    random.Generator random.categorical random.create_rng_state random.fold_in random.gamma random.normal
    random.poisson random.shuffle random.split random.stateless_binomial random.stateless_categorical
    random.stateless_gamma random.stateless_normal random.stateless_parameterized_truncated_normal
    random.stateless_poisson random.stateless_truncated_normal random.stateless_uniform random.truncated_normal
    random.uniform signal.dct signal.dst signal.hamming_window signal.hann_window signal.idct signal.idst signal.inverse_mdct
    signal.inverse_stft signal.inverse_stft_window_fn signal.kaiser_bessel_derived_window signal.kaiser_window
    signal.linear_to_mel_weight_matrix signal.mdct signal.mfccs_from_log_mel_spectrograms signal.stft
    signal.vorbis_window math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_k0
    math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e math.special.bessel_y0
    math.special.bessel_y1 math.special.dawsn math.special.expint math.special.fresnel_cos math.special.fresnel_sin
    math.special.spence optimizers.Adadelta optimizers.Adagrad optimizers.Adam optimizers.AdamW optimizers.Adamax
    optimizers.Ftrl optimizers.Lion optimizers.Nadam optimizers.RMSprop optimizers.SGD initializers.GlorotNormal
    initializers.GlorotUniform initializers.HeNormal initializers.HeUniform initializers.LecunNormal
    initializers.LecunUniform initializers.Orthogonal initializers.TruncatedNormal initializers.VarianceScaling
    initializers.glorot_normal initializers.glorot_uniform initializers.he_normal initializers.he_uniform
    initializers.lecun_normal initializers.lecun_uniform initializers.orthogonal initializers.truncated_normal
    initializers.variance_scaling keras.layers.BatchNormalization keras.layers.Dropout
    keras.losses.BinaryCrossentropy keras.losses.BinaryFocalCrossentropy keras.losses.CategoricalCrossentropy
    keras.losses.CategoricalFocalCrossentropy keras.losses.CategoricalHinge keras.losses.Hinge keras.losses.Huber
    keras.losses.KLD keras.losses.KLDivergence keras.losses.Poisson keras.losses.SparseCategoricalCrossentropy
    keras.losses.SquaredHinge keras.losses.binary_crossentropy keras.losses.binary_focal_crossentropy
    keras.losses.categorical_crossentropy keras.losses.categorical_focal_crossentropy keras.losses.categorical_hinge
    keras.losses.hinge keras.losses.huber keras.losses.kl_divergence keras.losses.kld
    keras.losses.kullback_leibler_divergence keras.losses.poisson keras.losses.sparse_categorical_crossentropy
    keras.losses.squared_hinge keras.metrics.AUC keras.metrics.BinaryCrossentropy
    keras.metrics.CategoricalCrossentropy keras.metrics.CategoricalHinge keras.metrics.Hinge
    keras.metrics.KLDivergence keras.metrics.MeanIoU keras.metrics.Poisson
    keras.metrics.SparseCategoricalCrossentropy keras.metrics.SquaredHinge keras.activations.elu
    keras.activations.gelu keras.activations.leaky_relu keras.activations.log_softmax keras.activations.relu
    keras.activations.selu keras.activations.silu keras.activations.softmax keras.activations.softplus
    optimize.fixed_point optimize.least_squares optimize.minimize optimize.root optimize.solve_ivp
    image.crop_and_resize image.hsv_to_rgb image.non_max_suppression_with_scores image.random_brightness
    image.random_contrast image.random_crop image.random_flip_left_right image.random_flip_up_down image.random_hue
    image.random_saturation image.resize image.resize_with_pad image.rgb_to_grayscale image.rgb_to_hsv
    image.rgb_to_yiq image.rgb_to_yuv image.sobel_edges image.ssim image.ssim_multiscale
    image.stateless_random_brightness image.stateless_random_contrast image.stateless_random_crop
    image.stateless_random_flip_left_right image.stateless_random_flip_up_down image.stateless_random_hue
    image.stateless_random_saturation image.total_variation image.yiq_to_rgb image.yuv_to_rgb
    keras.optimizers.schedules.CosineDecay keras.optimizers.schedules.CosineDecayRestarts
    keras.optimizers.schedules.InverseTimeDecay linalg.experimental.conjugate_gradient
    nn.experimental.general_dropout nn.experimental.stateless_dropout numpy.random.rand numpy.random.randint
    numpy.random.randn numpy.random.random numpy.random.standard_normal numpy.random.uniform
    random.experimental.index_shuffle random.experimental.stateless_shuffle sparse.softmax numpy.i0
    numpy.nanpercentile numpy.nanquantile numpy.percentile numpy.quantile
""".split()


def sources() -> list[str]:
    """Every public name whose docstring says where its formula is published."""
    return [
        f"{namespace}.{name}"
        for namespace, members in names().items()
        for name, value in members
        if "Source" in sections(inspect.getdoc(value) or "")
    ]


def test_what_rests_on_a_published_formula_names_it():
    found = set(sources())
    assert [name for name in SOURCED if f"graphad.{name}" not in found] == []


# All of these rest on one: a new optimizer, loss or window is in the list above, or here.
BY_NAME = "get", "serialize", "deserialize"
WITHOUT_SOURCE = {
    "graphad.optimizers": {"Optimizer", *BY_NAME},
    "graphad.initializers": {"Identity", "Initializer", "identity", *BY_NAME},
    "graphad.math.special": set(),
    "graphad.keras.activations": {
        "exponential",
        "linear",
        "log_sigmoid",
        "sigmoid",
        "tanh",
        "tanh_shrink",
        "threshold",
        *BY_NAME,
    },
}


@pytest.mark.parametrize("namespace", WITHOUT_SOURCE)
def test_namespaces_of_published_formulas_name_all_of_them(namespace):
    found = set(sources())
    here = {name for name, _ in names()[namespace] if f"{namespace}.{name}" not in found}
    assert here == WITHOUT_SOURCE[namespace]


def test_every_public_name_has_a_sentence():
    assert [
        f"{namespace}.{name}"
        for namespace, members in names().items()
        for name, value in members
        if "sentence" in missing(value)
    ] == []


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_docstrings_say_no_less_than_before(namespace):
    found = counted()[namespace][1]
    lacking = tuple(found.get(part, 0) for part in PARTS[1:])
    allowed = LACKING.get(namespace, (0, 0, 0, 0, 0))
    wanting = [f"{name}: {', '.join(missing(value))}" for name, value in names()[namespace] if missing(value)]
    assert all(now <= before for now, before in zip(lacking, allowed, strict=True)), wanting


def test_the_names_that_are_used_most_have_examples():
    assert len(list(examples())) >= EXAMPLES
    found = {name for name, _ in examples()}
    assert [name for name in MOST_USED if f"graphad.{name}" not in found] == []


def report() -> str:
    total, rows = [0] * (len(PARTS) + 2), []
    for namespace, (count, lacks, examples) in counted().items():
        if count:
            has = [count, *[count - lacks.get(part, 0) for part in PARTS], examples]
            total = [a + b for a, b in zip(total, has, strict=True)]
            rows.append((namespace, has))
    lines = ["".join([f"{'':32}", *[f"{head:>10}" for head in ("names", *PARTS, "example")]])]
    for name, has in [*rows, ("all", total)]:
        lines.append("".join([f"{name:32}", *[f"{number:>10}" for number in has]]))
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
    for namespace, members in names().items():
        if namespace in sys.argv[1:]:
            for name, value in members:
                if missing(value):
                    print(f"{namespace}.{name}: {', '.join(missing(value))}")
