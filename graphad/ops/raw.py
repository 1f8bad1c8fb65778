"""TensorFlow's ops under the names and with the arguments that its kernels have: `raw_ops.AddV2(x=x, y=y)`.

Each is a function of those that have names of their own. A row of `_SAME` is an op whose arguments are in order those of such
a function; `_OTHERS` has the ops whose arguments, defaults or results differ; slopes of gradients are in `raw_slopes.py`,
ops of coordinates in `raw_indices.py`, of several diagonals in `raw_diagonals.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any

from graphad.core import dtypes
from graphad.core.blame import blamed
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.ops import array, image, linalg, math, nn, older_arguments, random, signal
from graphad.ops.math import truncated
from graphad.ops.nn import blocks
from graphad.ops.raw_diagonals import DIAGONALS
from graphad.ops.raw_indices import INDEXED
from graphad.ops.raw_slopes import SLOPES

_SPACES = SimpleNamespace(
    array=array, linalg=linalg, math=math, nn=nn, random=random, signal=signal, image=image
)
# op: its arguments, and the function that takes them in this order
_SAME = """
Abs: x = math.abs
Acos: x = math.acos
Acosh: x = math.acosh
Add: x y = math.add
AddN: inputs = math.add_n
AddV2: x y = math.add
Asin: x = math.asin
Asinh: x = math.asinh
Atan: x = math.atan
Atan2: y x = math.atan2
Atanh: x = math.atanh
BesselI0: x = math.bessel_i0
BesselI0e: x = math.bessel_i0e
BesselI1: x = math.bessel_i1
BesselI1e: x = math.bessel_i1e
Betainc: a b x = math.betainc
BitwiseAnd: x y = math.bitwise_and
BitwiseOr: x y = math.bitwise_or
BitwiseXor: x y = math.bitwise_xor
BroadcastTo: input shape = array.broadcast_to
Ceil: x = math.ceil
Cholesky: input = linalg.cholesky
ClipByValue: t clip_value_min clip_value_max = math.clip_by_value
Conj: input = math.conj
Cos: x = math.cos
Cosh: x = math.cosh
Cross: a b = linalg.cross
Diag: diagonal = linalg.tensor_diag
DiagPart: input = linalg.tensor_diag_part
Digamma: x = math.digamma
DivNoNan: x y = math.divide_no_nan
DynamicPartition: data partitions num_partitions = array.dynamic_partition
DynamicStitch: indices data = array.dynamic_stitch
Elu: features = nn.elu
EnsureShape: input shape = array.ensure_shape
Erf: x = math.erf
Erfc: x = math.erfc
Erfinv: x = math.erfinv
Exp: x = math.exp
Expm1: x = math.expm1
ExpandDims: input axis = array.expand_dims
FFT: input = signal.fft
FFT2D: input = signal.fft2d
FFT3D: input = signal.fft3d
Fill: dims value = array.fill
Floor: x = math.floor
FloorDiv: x y = math.floordiv
FloorMod: x y = math.floormod
Greater: x y = math.greater
GreaterEqual: x y = math.greater_equal
IFFT: input = signal.ifft
IFFT2D: input = signal.ifft2d
IFFT3D: input = signal.ifft3d
Identity: input = array.identity
Igamma: a x = math.igamma
Igammac: a x = math.igammac
Inv: x = math.reciprocal
Invert: x = math.invert
InvertPermutation: x = math.invert_permutation
IsFinite: x = math.is_finite
IsInf: x = math.is_inf
IsNan: x = math.is_nan
L2Loss: t = nn.l2_loss
LeftShift: x y = math.left_shift
Less: x y = math.less
LessEqual: x y = math.less_equal
Lgamma: x = math.lgamma
LinSpace: start stop num = array.linspace
Log: x = math.log
Log1p: x = math.log1p
LogMatrixDeterminant: input = linalg.slogdet
LogSoftmax: logits = nn.log_softmax
LogicalAnd: x y = math.logical_and
LogicalNot: x = math.logical_not
LogicalOr: x y = math.logical_or
MatrixBandPart: input num_lower num_upper = linalg.band_part
MatrixDeterminant: input = linalg.det
MatrixDiag: diagonal = linalg.diag
MatrixDiagPart: input = linalg.diag_part
MatrixLogarithm: input = linalg.logm
MatrixSetDiag: input diagonal = linalg.set_diag
MatrixSquareRoot: input = linalg.sqrtm
Maximum: x y = math.maximum
Minimum: x y = math.minimum
MirrorPad: input paddings mode = array.pad
Mul: x y = math.multiply
MulNoNan: x y = math.multiply_no_nan
Ndtri: x = math.ndtri
Neg: x = math.negative
NextAfter: x1 x2 = math.nextafter
OnesLike: x = array.ones_like
Pad: input paddings = array.pad
Polygamma: a x = math.polygamma
Pow: x y = math.pow
Range: start limit delta = array.range
Rank: input = array.rank
RealDiv: x y = math.truediv
Reciprocal: x = math.reciprocal
Relu: features = nn.relu
Relu6: features = nn.relu6
Reshape: tensor shape = array.reshape
ReverseV2: tensor axis = array.reverse
RightShift: x y = math.right_shift
Rint: x = math.rint
Roll: input shift axis = array.roll
Round: x = math.round
Rsqrt: x = math.rsqrt
SegmentMax: data segment_ids = math.segment_max
SegmentMean: data segment_ids = math.segment_mean
SegmentMin: data segment_ids = math.segment_min
SegmentProd: data segment_ids = math.segment_prod
SegmentSum: data segment_ids = math.segment_sum
SelectV2: condition t e = math.where
Selu: features = nn.selu
Sigmoid: x = math.sigmoid
Sign: x = math.sign
Sin: x = math.sin
Sinh: x = math.sinh
Slice: input begin size = array.slice
Snapshot: input = array.identity
Softmax: logits = nn.softmax
Softplus: features = math.softplus
Softsign: features = nn.softsign
Sqrt: x = math.sqrt
Square: x = math.square
SquaredDifference: x y = math.squared_difference
StopGradient: input = array.stop_gradient
Sub: x y = math.subtract
Tan: x = math.tan
Tanh: x = math.tanh
Tile: input multiples = array.tile
Transpose: x perm = array.transpose
UnsortedSegmentMax: data segment_ids num_segments = math.unsorted_segment_max
UnsortedSegmentMin: data segment_ids num_segments = math.unsorted_segment_min
UnsortedSegmentProd: data segment_ids num_segments = math.unsorted_segment_prod
UnsortedSegmentSum: data segment_ids num_segments = array.unsorted_segment_sum
Where: condition = math.where
Xdivy: x y = math.xdivy
Xlog1py: x y = math.xlog1py
Xlogy: x y = math.xlogy
ZerosLike: x = array.zeros_like
Zeta: x q = math.zeta
"""


def _div(x: Any, y: Any) -> Any:
    """The quotient; of integers without its fraction."""
    x = array.convert_to_tensor(x)
    return truncated.truncatediv(x, y) if x.dtype.is_integer else math.truediv(x, y)


def _padding(padding: str, explicit: list[int]) -> Any:
    """The padding as public functions take it: EXPLICIT means pairs that come one after the other."""
    pairs = [list(explicit[k : k + 2]) for k in range(0, len(explicit), 2)]
    return pairs if padding == "EXPLICIT" else padding


def _conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Any = (),
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
) -> Any:
    return nn.conv2d(input, filter, strides, _padding(padding, explicit_paddings), data_format, dilations)


def _conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Any = (),
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
) -> Any:
    pairs = _padding(padding, explicit_paddings)
    return nn.conv2d_transpose(out_backprop, filter, input_sizes, strides, pairs, data_format, dilations)


def _depthwise(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = (),
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
) -> Any:
    pairs, apart = (
        _padding(padding, explicit_paddings),
        dilations[1:3] if data_format == "NHWC" else dilations[2:],
    )
    return nn.depthwise_conv2d(input, filter, strides, pairs, data_format, apart)


def _max_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = (),
    data_format: str = "NHWC",
) -> Any:
    return nn.max_pool2d(input, ksize, strides, _padding(padding, explicit_paddings), data_format)


def _strided_slice(
    input: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    return array.strided_slice(input, begin, end, strides, *masks)


def _bias_grad(out_backprop: Any, data_format: str = "NHWC") -> Any:
    g = array.convert_to_tensor(out_backprop)
    if len(g.shape) < 2:
        raise InvalidArgumentError(
            f"raw_ops.BiasAddGrad: out_backprop has shape {g.shape}; it needs two axes at least."
        )
    channels = 1 if data_format.startswith("NC") else len(g.shape) - 1
    return math.reduce_sum(g, [axis for axis in range(len(g.shape)) if axis != channels])


def _fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float = 0.0001,
    exponential_avg_factor: float = 1,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    """The result, what is to be kept, and what has normalised."""
    y, *kept = older_arguments.fused_batch_norm(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon,
        data_format,
        is_training,
        exponential_avg_factor=exponential_avg_factor,
    )
    if not is_training:
        return y, *kept, *kept
    images = array.convert_to_tensor(x)
    channels = 1 if data_format.startswith("NC") else len(images.shape) - 1
    return y, *kept, *nn.moments(images, [axis for axis in range(len(images.shape)) if axis != channels])


def _cross_entropy(features: Any, labels: Any) -> Any:
    logits = array.convert_to_tensor(features)
    labels = array.convert_to_tensor(labels, logits.dtype)
    return nn.softmax_cross_entropy_with_logits(labels, logits), nn.softmax(logits) - labels


def _sparse_cross_entropy(features: Any, labels: Any) -> Any:
    logits = array.convert_to_tensor(features)
    places = array.one_hot(labels, array.shape(logits)[-1], dtype=logits.dtype)
    return nn.sparse_softmax_cross_entropy_with_logits(labels, logits), nn.softmax(logits) - places


def _resized(method: str, images: Any, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    if align_corners or not half_pixel_centers:
        raise ArgumentTypeError(
            f"raw_ops: resizing with align_corners={align_corners} and half_pixel_centers={half_pixel_centers} is not "
            "included; give half_pixel_centers=True, or use image.resize or compat.v1.image.resize."
        )
    return image.resize(images, size, method)


def _drawn_integers(shape: Any, minval: Any, maxval: Any, seed: int, seed2: int) -> Any:
    low = array.convert_to_tensor(minval)
    return random.uniform(shape, low, maxval, low.dtype, _seed(seed, seed2))


def _seed(seed: int, seed2: int) -> int | None:
    """One seed of the two, of which 0 and 0 stand for none."""
    return None if seed == seed2 == 0 else seed * 1_000_003 + seed2


def _reduction(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, axis, keep_dims=False: reduce(input, axis, keep_dims)


def _eigenvalues(input: Any, compute_v: bool = True) -> Any:
    x = array.convert_to_tensor(input)
    return linalg.eigh(x) if compute_v else (linalg.eigvalsh(x), array.zeros([], x.dtype))


_OTHERS: dict[str, Callable[..., Any]] = {
    "All": _reduction(math.reduce_all),
    "Any": _reduction(math.reduce_any),
    "EuclideanNorm": _reduction(math.reduce_euclidean_norm),
    "Max": _reduction(math.reduce_max),
    "Mean": _reduction(math.reduce_mean),
    "Min": _reduction(math.reduce_min),
    "Prod": _reduction(math.reduce_prod),
    "Sum": _reduction(math.reduce_sum),
    "Angle": lambda input, Tout=dtypes.float32: math.cast(math.angle(input), Tout),
    "ApproximateEqual": lambda x, y, tolerance=1e-05: math.less(math.abs(math.subtract(x, y)), tolerance),
    "ArgMax": lambda input, dimension, output_type=dtypes.int64: math.argmax(input, dimension, output_type),
    "ArgMin": lambda input, dimension, output_type=dtypes.int64: math.argmin(input, dimension, output_type),
    "AvgPool": lambda value, ksize, strides, padding, data_format="NHWC": nn.avg_pool2d(
        value, ksize, strides, padding, data_format
    ),
    "BatchMatMul": lambda x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False: linalg.matmul(
        x, y, adjoint_a=adj_x, adjoint_b=adj_y
    ),
    "BatchMatMulV2": lambda x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False: linalg.matmul(
        x, y, adjoint_a=adj_x, adjoint_b=adj_y
    ),
    "BatchToSpaceND": lambda input, block_shape, crops: blocks.batch_to_space(input, block_shape, crops),
    "BiasAdd": lambda value, bias, data_format="NHWC": nn.bias_add(value, bias, data_format),
    "BiasAddGrad": _bias_grad,
    "Bitcast": lambda input, type: math.bitcast(input, type),
    "Cast": lambda x, DstT, Truncate=False: math.cast(x, DstT),
    "Complex": lambda real, imag, Tout=dtypes.complex64: math.cast(math.complex(real, imag), Tout),
    "ComplexAbs": lambda x, Tout=dtypes.float32: math.cast(math.abs(x), Tout),
    "Concat": lambda concat_dim, values: array.concat(values, concat_dim),
    "ConcatV2": lambda values, axis: array.concat(values, axis),
    "Conv2D": _conv2d,
    "Conv2DBackpropInput": _conv2d_backprop_input,
    "Conv3D": lambda input, filter, strides, padding, data_format="NDHWC", dilations=[1, 1, 1, 1, 1]: (
        nn.conv3d(input, filter, strides, padding, data_format, dilations)
    ),
    "Cumprod": lambda x, axis, exclusive=False, reverse=False: math.cumprod(x, axis, exclusive, reverse),
    "Cumsum": lambda x, axis, exclusive=False, reverse=False: math.cumsum(x, axis, exclusive, reverse),
    "CumulativeLogsumexp": lambda x, axis, exclusive=False, reverse=False: math.cumulative_logsumexp(
        x, axis, exclusive, reverse
    ),
    "DepthToSpace": lambda input, block_size, data_format="NHWC": nn.depth_to_space(
        input, block_size, data_format
    ),
    "DepthwiseConv2dNative": _depthwise,
    "Div": _div,
    "Einsum": lambda inputs, equation: linalg.einsum(equation, *inputs),
    "Empty": lambda shape, dtype, init=False: array.zeros(shape, dtype),
    "Equal": lambda x, y, incompatible_shape_error=True: (
        math.equal(x, y) if incompatible_shape_error else array.convert_to_tensor(x) == y
    ),
    "FusedBatchNorm": _fused_batch_norm,
    "FusedBatchNormV2": _fused_batch_norm,
    "Gather": lambda params, indices, validate_indices=True: array.gather(params, indices),
    "GatherV2": lambda params, indices, axis, batch_dims=0: array.gather(
        params, indices, axis=axis, batch_dims=batch_dims
    ),
    "Imag": lambda input, Tout=dtypes.float32: math.cast(math.imag(input), Tout),
    "IRFFT": lambda input, fft_length, Treal=dtypes.float32: math.cast(
        signal.irfft(input, fft_length), Treal
    ),
    "LeakyRelu": lambda features, alpha=0.2: nn.leaky_relu(features, alpha),
    "MatMul": lambda a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False: linalg.matmul(
        a, b, transpose_a, transpose_b
    ),
    "MatrixInverse": lambda input, adjoint=False: linalg.inv(input, adjoint),
    "MatrixSolve": lambda matrix, rhs, adjoint=False: linalg.solve(matrix, rhs, adjoint),
    "MatrixTriangularSolve": lambda matrix, rhs, lower=True, adjoint=False: linalg.triangular_solve(
        matrix, rhs, lower, adjoint
    ),
    "MaxPool": _max_pool,
    "Mod": lambda x, y: truncated.truncatemod(x, y),
    "Multinomial": lambda logits, num_samples, seed=0, seed2=0, output_dtype=dtypes.int64: random.categorical(
        logits, num_samples, output_dtype, _seed(seed, seed2)
    ),
    "NonMaxSuppression": lambda boxes, scores, max_output_size, iou_threshold=0.5: image.non_max_suppression(
        boxes, scores, max_output_size, iou_threshold
    ),
    "NonMaxSuppressionV3": lambda boxes, scores, max_output_size, iou_threshold, score_threshold: (
        image.non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
    ),
    "NotEqual": lambda x, y, incompatible_shape_error=True: (
        math.not_equal(x, y) if incompatible_shape_error else array.convert_to_tensor(x) != y
    ),
    "OneHot": lambda indices, depth, on_value, off_value, axis=-1: array.one_hot(
        indices, depth, on_value, off_value, axis
    ),
    "Pack": lambda values, axis=0: array.stack(values, axis),
    "PadV2": lambda input, paddings, constant_values: array.pad(input, paddings, "CONSTANT", constant_values),
    "Qr": lambda input, full_matrices=False: linalg.qr(input, full_matrices),
    "RandomShuffle": lambda value, seed=0, seed2=0: random.shuffle(value, _seed(seed, seed2)),
    "RandomStandardNormal": lambda shape, dtype, seed=0, seed2=0: random.normal(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
    "RandomUniform": lambda shape, dtype, seed=0, seed2=0: random.uniform(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
    "RandomUniformInt": lambda shape, minval, maxval, seed=0, seed2=0: _drawn_integers(
        shape, minval, maxval, seed, seed2
    ),
    "Real": lambda input, Tout=dtypes.float32: math.cast(math.real(input), Tout),
    "ResizeBilinear": lambda images, size, align_corners=False, half_pixel_centers=False: _resized(
        "bilinear", images, size, align_corners, half_pixel_centers
    ),
    "ResizeNearestNeighbor": lambda images, size, align_corners=False, half_pixel_centers=False: _resized(
        "nearest", images, size, align_corners, half_pixel_centers
    ),
    "ReverseSequence": lambda input, seq_lengths, seq_dim, batch_dim=0: array.reverse_sequence(
        input, seq_lengths, seq_dim, batch_dim
    ),
    "RFFT": lambda input, fft_length, Tcomplex=dtypes.complex64: math.cast(
        signal.rfft(input, fft_length), Tcomplex
    ),
    "SelfAdjointEigV2": _eigenvalues,
    "Shape": lambda input, out_type=dtypes.int32: array.shape(input, out_type),
    "ShapeN": lambda input, out_type=dtypes.int32: array.shape_n(input, out_type),
    "Size": lambda input, out_type=dtypes.int32: array.size(input, out_type),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SpaceToBatchND": lambda input, block_shape, paddings: nn.space_to_batch(input, block_shape, paddings),
    "SpaceToDepth": lambda input, block_size, data_format="NHWC": nn.space_to_depth(
        input, block_size, data_format
    ),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "Split": lambda axis, value, num_split: array.split(value, num_split, axis),
    "SplitV": lambda value, size_splits, axis, num_split: array.split(value, size_splits, axis, num_split),
    "Squeeze": lambda input, axis=[]: array.squeeze(input, axis or None),
    "StatelessRandomNormal": lambda shape, seed, dtype=dtypes.float32: random.stateless_normal(
        shape, seed, dtype=dtype
    ),
    "StatelessRandomUniform": lambda shape, seed, dtype=dtypes.float32: random.stateless_uniform(
        shape, seed, dtype=dtype
    ),
    "StridedSlice": _strided_slice,
    "TopKV2": lambda input, k, sorted=True, index_type=dtypes.int32: array.top_k(
        input, k, sorted, index_type
    ),
    "TruncateDiv": lambda x, y: truncated.truncatediv(x, y),
    "TruncatedNormal": lambda shape, dtype, seed=0, seed2=0: random.truncated_normal(
        shape, dtype=dtype, seed=_seed(seed, seed2)
    ),
    "TruncateMod": lambda x, y: truncated.truncatemod(x, y),
    "Unique": lambda x, out_idx=dtypes.int32: array.unique(x, out_idx),
    "UniqueWithCounts": lambda x, out_idx=dtypes.int32: array.unique_with_counts(x, out_idx),
    "Unpack": lambda value, num, axis=0: array.unstack(value, num, axis),
    **DIAGONALS,
    **SLOPES,
    **INDEXED,
}
# Arguments that are no tensors, by name, and what they must be; what Python or NumPy refuses is said of them.
_KINDS = {
    **dict.fromkeys(("strides", "ksize", "explicit_paddings", "dilations"), "Sequence[int]"),
    **dict.fromkeys(("data_format", "equation", "mode"), "str"),
    **dict.fromkeys(("inputs", "values"), "Sequence[Any]"),
    **dict.fromkeys(("seed", "seed2", "num", "num_split"), "int"),
    **dict.fromkeys(("exclusive", "reverse", "keep_dims"), "bool"),
}


def _rows() -> dict[str, tuple[str, ...]]:
    """The arguments and the place of each op of `_SAME`."""
    rows = {}
    for line in _SAME.strip().splitlines():
        op, _, rest = line.partition(": ")
        arguments, _, place = rest.partition(" = ")
        rows[op] = (place, *arguments.split())
    return rows


class RawOps:
    """TensorFlow's ops by the names of its kernels, with their arguments, given by name: `raw_ops.AddV2(x=x, y=y)`.

    Each op is a function of those that have public names of their own, so it is differentiated, traced and saved as these are.
    Two seeds of 0 stand for none. Ops that concern sessions, queues, files, strings and resources are left out.

    Raises: AttributeError: graphad has no such op. ArgumentTypeError (a TypeError): an argument that is not given by name, is
      missing or unknown.
    Example:
      >>> raw_ops.AddV2(x=[1.0, 2.0], y=3.0).numpy()
      array([4., 5.], dtype=float32)
    """

    def __init__(self) -> None:
        self._same = _rows()

    def __dir__(self) -> list[str]:
        return sorted([*self._same, *_OTHERS])

    def __reduce__(self) -> str:
        return "raw_ops"  # there is one

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not (name in self._same or name in _OTHERS):
            near = get_close_matches(name, dir(self), 1)
            raise AttributeError(
                f"raw_ops.{name}: not part of graphad; "
                + (f"the nearest name is raw_ops.{near[0]}." if near else "dir(raw_ops) lists what is."),
                name=name,
            )
        made = _by_name(name, self._same.get(name))
        vars(self)[name] = made
        return made


def _by_name(op: str, row: tuple[str, ...] | None) -> Callable[..., Any]:
    """The function of an op, whose arguments are given by name."""
    target: Any
    if row is None:
        target = _OTHERS[op]
        parameters = list(inspect.signature(target).parameters.values())
    else:
        target = functools.reduce(getattr, row[0].split("."), _SPACES)
        parameters = [inspect.Parameter(part, inspect.Parameter.POSITIONAL_OR_KEYWORD) for part in row[1:]]
    defaults = {part.name: part.default for part in parameters}
    known = [*defaults, "name"]

    def run(*args: object, **given: Any) -> Any:
        if args:
            raise ArgumentTypeError(
                f"raw_ops.{op} only takes keyword args (possible keys: {known}); name each of the {len(args)} given."
            )
        given.pop("name", None)
        missing = [
            part
            for part, default in defaults.items()
            if default is inspect.Parameter.empty and part not in given
        ]
        unknown = [part for part in given if part not in defaults]
        if missing or unknown:
            wrong = (
                f"argument {missing[0]!r} is missing" if missing else f"there is no argument {unknown[0]!r}"
            )
            raise ArgumentTypeError(f"raw_ops.{op}: {wrong}; it takes {', '.join(known)}.")
        try:
            return target(*[given.get(part, default) for part, default in defaults.items()])
        except Exception as error:  # raised on, as it is or with the name of the argument
            told = blamed(declared, (), given, error)
            if told is error:
                raise
            raise told from told.__cause__

    def declared(**given: Any) -> None:
        """What says the kinds of the arguments."""

    run.__name__ = declared.__name__ = op
    run.__qualname__ = f"raw_ops.{op}"  # as pickle finds it
    run.__doc__ = f"TensorFlow's op {op} of {', '.join(defaults)}."
    last = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    shown = [p.replace(annotation=p.empty) for p in parameters]
    run.__signature__ = inspect.Signature([*shown, last])  # type: ignore[attr-defined]
    kinds = [p.replace(annotation=_KINDS.get(part, p.empty)) for part, p in zip(defaults, shown, strict=True)]
    declared.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    return run


raw_ops = RawOps()
