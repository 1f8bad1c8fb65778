"""Arguments for each of `raw_ops`; `python tests/ops/raw_cases.py` stores TensorFlow's results and signatures, where that is
installed.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("raw_results.json")


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.RandomState(seed).uniform(0.1, 0.9, shape).astype(np.float32)


U, V, W = drawn(0, 2, 3), drawn(1, 2, 3), drawn(2, 2, 3)
S = U - 0.5  # of both signs
I, J = np.array([[7, -8, 9]], np.int32), np.array([[2, 3, -4]], np.int32)
C = (U + 1j * V).astype(np.complex64)
M = (drawn(3, 2, 3, 3) + 3 * np.eye(3)).astype(np.float32)
SYM = (M + np.swapaxes(M, 1, 2)).astype(np.float32)
IMAGE, KERNEL = drawn(4, 1, 5, 5, 2), drawn(5, 3, 3, 2, 3)
ROWS, PLACES = drawn(6, 5, 3), np.array([0, 0, 1, 2, 2], np.int32)
TABLE, AT = drawn(7, 4, 3), np.array([[3], [1]], np.int32)
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3], [0, 2, 1, 3]], np.float32)

TURNED = np.array([[0.9, 0.3, -0.7, -0.2, 1.1, 0.4, 0.02, -0.03]], np.float32)

_OF_ONE = """Abs Acos Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1
Floor Inv IsFinite IsInf IsNan Lgamma Log Log1p Ndtri Neg OnesLike Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square
Tan Tanh ZerosLike""".split()
_OF_TWO = """Add AddV2 Div DivNoNan Equal Greater GreaterEqual Less LessEqual Maximum Minimum Mul MulNoNan NotEqual Pow RealDiv
SquaredDifference Sub Xdivy Xlog1py Xlogy FloorDiv FloorMod Mod TruncateMod ApproximateEqual""".split()
_OF_INTEGERS = "BitwiseAnd BitwiseOr BitwiseXor TruncateDiv".split()
_ACTIVATIONS = "Elu Relu Relu6 Selu Softplus Softsign LeakyRelu".split()
_REDUCTIONS = "EuclideanNorm Max Mean Min Prod Sum".split()
_RUNNING = "Cumsum Cumprod CumulativeLogsumexp".split()
_SLOPES = "EluGrad SeluGrad".split()
_SLOPES_OF_FEATURES = "LeakyReluGrad Relu6Grad ReluGrad SoftplusGrad SoftsignGrad".split()
_SLOPES_OF_RESULTS = "InvGrad ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad".split()
_TRANSFORMS = {"FFT": 1, "IFFT": 1, "FFT2D": 2, "IFFT2D": 2, "FFT3D": 3, "IFFT3D": 3}

CASES: dict[str, dict[str, Any]] = {
    **{op: {"x": U} for op in _OF_ONE},
    **{op: {"x": U, "y": V} for op in _OF_TWO},
    **{op: {"x": I, "y": J} for op in _OF_INTEGERS},
    **{op: {"features": S} for op in _ACTIVATIONS},
    **{op: {"input": U, "axis": [0], "keep_dims": True} for op in _REDUCTIONS},
    **{op: {"x": U, "axis": 1, "reverse": True} for op in _RUNNING},
    **{op: {"gradients": V, "outputs": S} for op in _SLOPES},
    **{op: {"gradients": V, "features": 9 * S} for op in _SLOPES_OF_FEATURES},
    **{op: {"y": U, "dy": V} for op in _SLOPES_OF_RESULTS},
    **{op: {"input": np.stack([C] * 2)} for op in _TRANSFORMS},
    **{op: {"input": input} for op, input in {"Conj": C, "Angle": C, "Real": C, "Imag": C, "Identity": U, "Snapshot": U,
        "StopGradient": U, "Rank": U, "Shape": U, "Size": U}.items()},
    **{op: {"input": M} for op in "MatrixDeterminant MatrixInverse Qr LogMatrixDeterminant".split()},
    **{op: {"input": M[0].astype(np.complex64)} for op in "MatrixLogarithm MatrixSquareRoot".split()},
    **{f"Segment{op}": {"data": ROWS, "segment_ids": PLACES} for op in "Max Mean Min Prod Sum".split()},
    **{f"UnsortedSegment{op}": {"data": ROWS, "segment_ids": PLACES[::-1].copy(), "num_segments": 3}
       for op in "Max Min Prod Sum".split()},
    **{f"TensorScatter{op}": {"tensor": TABLE, "indices": AT, "updates": ROWS[:2]} for op in "Add Max Min Sub Update".split()},
    **{op: {"logits": S} for op in "Softmax LogSoftmax".split()},
    "Acosh": {"x": 1 + U}, "AddN": {"inputs": [U, V, W]}, "Atan2": {"y": S, "x": V},
    "All": {"input": U > 0.3, "axis": [1]}, "Any": {"input": U > 0.6, "axis": 1},
    "ArgMax": {"input": U, "dimension": 1}, "ArgMin": {"input": U, "dimension": 0},
    "AvgPool": {"value": IMAGE, "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    "BatchMatMul": {"x": M, "y": SYM, "adj_x": True}, "BatchMatMulV2": {"x": M, "y": SYM[:1], "adj_y": True},
    "BatchToSpaceND": {"input": drawn(8, 4, 1, 2, 1), "block_shape": [2, 2], "crops": [[0, 0], [1, 0]]},
    "Betainc": {"a": U, "b": V, "x": W}, "BiasAdd": {"value": IMAGE, "bias": ROWS[0, :2]},
    "BiasAddGrad": {"out_backprop": IMAGE}, "Bitcast": {"input": U, "type": "int32"},
    "BroadcastGradientArgs": {"s0": [2, 1, 3], "s1": [1, 3]},
    "BroadcastTo": {"input": U, "shape": [2, 2, 3]}, "Cast": {"x": 9 * S, "DstT": "int32"}, "Cholesky": {"input": SYM},
    "ClipByValue": {"t": U, "clip_value_min": 0.3, "clip_value_max": 0.6}, "Complex": {"real": U, "imag": V},
    "ComplexAbs": {"x": C}, "Concat": {"concat_dim": 1, "values": [U, V]}, "ConcatV2": {"values": [U, V], "axis": 0},
    "Conv2D": {"input": IMAGE, "filter": KERNEL, "strides": [1, 2, 1, 1], "padding": "EXPLICIT",
               "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0]},
    "Conv2DBackpropInput": {"input_sizes": [1, 5, 5, 2], "filter": KERNEL, "out_backprop": drawn(9, 1, 3, 3, 3),
                            "strides": [1, 2, 2, 1], "padding": "SAME"},
    "Conv3D": {"input": drawn(1, 1, 3, 4, 4, 2), "filter": drawn(2, 2, 2, 2, 2, 3), "strides": [1, 1, 2, 1, 1],
               "padding": "SAME"},
    "Cross": {"a": U, "b": V}, "DepthToSpace": {"input": drawn(1, 1, 2, 2, 4), "block_size": 2},
    "DepthwiseConv2dNative": {"input": IMAGE, "filter": KERNEL, "strides": [1, 1, 1, 1], "padding": "VALID"},
    "Diag": {"diagonal": U[0]}, "DiagPart": {"input": M[0]},
    "DynamicPartition": {"data": ROWS, "partitions": PLACES, "num_partitions": 3},
    "DynamicStitch": {"indices": [[2, 0], [1]], "data": [TABLE[:2], TABLE[2:3]]},
    "Einsum": {"inputs": [M, SYM], "equation": "bij,bjk->bik"}, "Empty": {"shape": [2, 1], "dtype": "float32", "init": True},
    "EnsureShape": {"input": U, "shape": [2, 3]}, "ExpandDims": {"input": U, "axis": 1},
    "Fill": {"dims": [2, 2], "value": 7}, "Gather": {"params": TABLE, "indices": [2, 0]},
    "GatherNd": {"params": TABLE, "indices": [[1, 2], [0, 0]]},
    "GatherV2": {"params": TABLE[:2], "indices": [[2], [0]], "axis": 1, "batch_dims": 1},
    "FusedBatchNorm": {"x": IMAGE, "scale": ROWS[0, :2], "offset": ROWS[1, :2], "mean": ROWS[2, :2], "variance": ROWS[3, :2]},
    "FusedBatchNormV2": {"x": IMAGE, "scale": ROWS[0, :2], "offset": ROWS[1, :2], "mean": ROWS[2, :2],
                         "variance": ROWS[3, :2], "exponential_avg_factor": 0.75},
    "Igamma": {"a": U, "x": V}, "Igammac": {"a": U, "x": V}, "Invert": {"x": I},
    "InvertPermutation": {"x": [2, 0, 1]}, "IRFFT": {"input": C, "fft_length": [4]},
    "L2Loss": {"t": U}, "LeftShift": {"x": np.abs(I), "y": [[1, 0, 2]]}, "LinSpace": {"start": 1.0, "stop": 2.0, "num": 4},
    "LogicalAnd": {"x": U > 0.4, "y": V > 0.4}, "LogicalNot": {"x": U > 0.4}, "LogicalOr": {"x": U > 0.4, "y": V > 0.4},
    "MatMul": {"a": U, "b": V, "transpose_b": True}, "MatrixBandPart": {"input": M, "num_lower": 0, "num_upper": 1},
    "MatrixDiag": {"diagonal": U}, "MatrixDiagPart": {"input": M}, "MatrixSetDiag": {"input": M, "diagonal": U},
    "MatrixSolve": {"matrix": M, "rhs": SYM, "adjoint": True},
    "MatrixTriangularSolve": {"matrix": M, "rhs": SYM, "lower": False},
    "MaxPool": {"input": IMAGE, "ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    "MirrorPad": {"input": U, "paddings": [[1, 0], [1, 1]], "mode": "REFLECT"},
    "NextAfter": {"x1": U, "x2": V},
    "NonMaxSuppression": {"boxes": BOXES, "scores": [0.5, 0.9, 0.2, 0.7], "max_output_size": 3},
    "NonMaxSuppressionV3": {"boxes": BOXES, "scores": [0.5, 0.9, 0.2, 0.7], "max_output_size": 3, "iou_threshold": 0.5,
                            "score_threshold": 0.3},
    "OneHot": {"indices": [2, 0], "depth": 3, "on_value": 5.0, "off_value": -1.0, "axis": 0},
    "Pack": {"values": [U, V], "axis": 1}, "Pad": {"input": U, "paddings": [[1, 0], [0, 2]]},
    "PadV2": {"input": U, "paddings": [[1, 0], [0, 2]], "constant_values": 3.0},
    "Polygamma": {"a": np.float32([[1, 2, 3]]), "x": U}, "Range": {"start": 1, "limit": 8, "delta": 3},
    "Reshape": {"tensor": U, "shape": [3, -1]},
    "ImageProjectiveTransformV2": {"images": IMAGE, "transforms": TURNED, "output_shape": np.array([4, 6], np.int32),
                                   "interpolation": "BILINEAR", "fill_mode": "REFLECT"},
    "ImageProjectiveTransformV3": {"images": IMAGE, "transforms": TURNED[:1], "output_shape": [4, 6],
                                   "fill_value": np.float32(0.3), "interpolation": "BILINEAR"},
    "ResizeBilinear": {"images": IMAGE, "size": [3, 7], "half_pixel_centers": True},
    "ResizeNearestNeighbor": {"images": IMAGE, "size": [3, 7], "half_pixel_centers": True},
    "ReverseSequence": {"input": TABLE, "seq_lengths": [1, 3, 2, 0], "seq_dim": 1},
    "ReverseV2": {"tensor": U, "axis": [1]}, "RFFT": {"input": U, "fft_length": [3]},
    "RightShift": {"x": I, "y": [[1, 0, 2]]}, "Roll": {"input": TABLE, "shift": [1, -1], "axis": [0, 1]},
    "ScatterNd": {"indices": AT, "updates": ROWS[:2], "shape": [4, 3]},
    "SelectV2": {"condition": U > 0.5, "t": V, "e": 0.0}, "SelfAdjointEigV2": {"input": SYM},
    "ShapeN": {"input": [U, M]}, "Slice": {"input": TABLE, "begin": [1, 0], "size": [2, -1]},
    "SoftmaxCrossEntropyWithLogits": {"features": S, "labels": np.float32([[0, 1, 0], [0.5, 0.2, 0.3]])},
    "SpaceToBatchND": {"input": drawn(1, 1, 2, 3, 1), "block_shape": [2, 2], "paddings": [[0, 0], [1, 0]]},
    "SpaceToDepth": {"input": drawn(1, 1, 4, 2, 1), "block_size": 2},
    "SparseReorder": {"input_indices": np.int64([[2, 0], [0, 1], [0, 0]]), "input_values": np.float32([3, 2, 1]),
                      "input_shape": np.int64([3, 2])},
    "SparseSoftmaxCrossEntropyWithLogits": {"features": S, "labels": np.int32([2, 0])},
    "SparseTensorDenseMatMul": {"a_indices": np.int64([[0, 1], [2, 0]]), "a_values": np.float32([2, 3]),
                                "a_shape": np.int64([3, 2]), "b": U, "adjoint_a": False},
    "Split": {"axis": 1, "value": U, "num_split": 3}, "SplitV": {"value": U, "size_splits": [1, 2], "axis": 1, "num_split": 2},
    "Squeeze": {"input": U[None, :, None], "axis": [0]},
    "StridedSlice": {"input": TABLE, "begin": [0, 2], "end": [4, 0], "strides": [2, -1], "end_mask": 2, "begin_mask": 1},
    "Tile": {"input": U, "multiples": [2, 1]}, "TopKV2": {"input": U, "k": 2},
    "Transpose": {"x": M, "perm": [2, 0, 1]}, "Unique": {"x": [3, 1, 3]}, "UniqueWithCounts": {"x": [3, 1, 3]},
    "UniqueV2": {"x": [3, 1, 3], "axis": [0]}, "UniqueWithCountsV2": {"x": [3, 1, 3], "axis": [0]},
    "Bucketize": {"input": 9 * S, "boundaries": [-2.0, 0.0, 1.5]},
    "IgammaGradA": {"a": 3 * U, "x": V[0]}, "RandomGammaGrad": {"alpha": 3 * U, "sample": V},
    **{f"MatrixDiagPart{v}": {"input": M, "k": [-1, 2], "padding_value": 7.0} for v in ("V2", "V3")},
    **{f"MatrixDiag{v}": {"diagonal": U[None], "k": [-1, 0], "num_rows": 3, "num_cols": 4,
                          "padding_value": 7.0} for v in ("V2", "V3")},
    **{f"MatrixSetDiag{v}": {"input": M[:1], "diagonal": U[None], "k": [-1, 0]} for v in ("V2", "V3")},
    "Unpack": {"value": U, "num": 3, "axis": 1}, "Where": {"condition": U > 0.5}, "Zeta": {"x": 2 + U, "q": V},
}  # fmt: skip
# Drawn from a state of each library: by shape and dtype.
DRAWN: dict[str, dict[str, Any]] = {
    "Multinomial": {"logits": S, "num_samples": 4, "seed": 1},
    "RandomShuffle": {"value": TABLE, "seed": 1},
    "RandomStandardNormal": {"shape": [2, 3], "dtype": "float64"},
    "RandomUniform": {"shape": [2, 3], "dtype": "float32", "seed": 3, "seed2": 4},
    "RandomUniformInt": {"shape": [4], "minval": 2, "maxval": 9},
    "StatelessRandomNormal": {"shape": [3], "seed": [1, 2]},
    "StatelessRandomUniform": {"shape": [3], "seed": [1, 2]},
    "TruncatedNormal": {"shape": [5], "dtype": "float32"},
}


def result(tf: Any, op: str, given: dict[str, Any]) -> list[np.ndarray]:
    """What the op gives, flat."""
    options = {key: getattr(tf, value) if value in ("int32", "float32", "float64") else value for key, value in given.items()
               if not isinstance(value, np.ndarray)}  # fmt: skip
    tensors = {key: tf.constant(value) for key, value in given.items() if isinstance(value, np.ndarray)}
    return [np.asarray(y) for y in tf.nest.flatten(getattr(tf.raw_ops, op)(**tensors, **options))]


def stored(y: np.ndarray, is_drawn: bool) -> list[Any]:
    parts = np.stack([y.real, y.imag], -1) if y.dtype.kind == "c" else y
    return [
        str(y.dtype),
        list(y.shape),
        [] if is_drawn else [float(f"{n:.9g}") for n in parts.ravel().tolist()],
    ]


def main() -> None:
    import tensorflow as tf

    data = {}
    for op, given in sorted({**CASES, **DRAWN}.items()):
        ys = [stored(y, op in DRAWN) for y in result(tf, op, given)]
        data[op] = {"signature": str(inspect.signature(getattr(tf.raw_ops, op))), "results": ys}
    lines = ",\n".join(f"{json.dumps(op)}: {json.dumps(data[op])}" for op in data)
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(len(data), "ops")


if __name__ == "__main__":
    main()
