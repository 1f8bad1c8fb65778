"""Convolutions, pools and layers of neural networks whose arguments had another order or other names in TensorFlow 1.

`compat.v1.nn` lists them; each calls the newer function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, ShapeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, nn
from graphad.ops.nn.embeddings import Combiner
from graphad.ops.older_arguments import newer
from graphad.ops.sparse.tensor import SparseTensor

Sizes = int | Sequence[int]
Padding = str | Sequence[Any]


def _given(op: str, name: str, new: Any, old_name: str, old: Any) -> Any:
    """The value of an argument with two names, of which one must be given."""
    found = newer(op, name, new, old_name, old)
    if found is None:
        raise ArgumentTypeError(f"{op}: {name} is missing, which may also be called {old_name}.")
    return found


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: Sizes | None = None,
    padding: Padding = "VALID",
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.conv1d`; `value` is an older name of `input`."""
    x = _given("conv1d", "input", input, "value", value)
    return nn.conv1d(x, filters, 1 if stride is None else stride, padding, data_format or "NWC", dilations)  # type: ignore[arg-type]


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    data_format: str = "NDHWC",
    dilations: Sizes | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """As `graphad.nn.conv3d`; `filter` is an older name of `filters`."""
    kernel = _given("conv3d", "filters", filters, "filter", filter)
    return nn.conv3d(input, kernel, strides, padding, data_format or "NDHWC", dilations)


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sizes | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """As `graphad.nn.conv2d`; `filter` is an older name of `filters`."""
    kernel = _given("conv2d", "filters", filters, "filter", filter)
    return nn.conv2d(input, kernel, strides, padding, data_format or "NHWC", dilations)


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: ShapeLike | None = None,
    strides: Sizes = 1,
    padding: Padding = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.conv2d_transpose`; `value` and `filter` are older names of `input` and `filters`."""
    x = _given("conv2d_transpose", "input", input, "value", value)
    kernel = _given("conv2d_transpose", "filters", filters, "filter", filter)
    if output_shape is None:
        raise ArgumentTypeError(
            "conv2d_transpose: output_shape is missing; give the four sizes of the result."
        )
    return nn.conv2d_transpose(x, kernel, output_shape, strides, padding, data_format, dilations)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Sizes,
    padding: Padding,
    rate: Sizes | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.depthwise_conv2d`; `rate` is an older name of `dilations`."""
    apart = newer("depthwise_conv2d", "dilations", dilations, "rate", rate)
    return nn.depthwise_conv2d(input, filter, strides, padding, data_format, apart)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Sizes,
    padding: Padding,
    rate: Sizes | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.separable_conv2d`; `rate` is an older name of `dilations`."""
    apart = newer("separable_conv2d", "dilations", dilations, "rate", rate)
    return nn.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, data_format, apart
    )


def _pool(name: str) -> Callable[..., Tensor]:
    newest = getattr(nn, name)

    def pool(
        value: TensorLike | None = None,
        ksize: Sizes | None = None,
        strides: Sizes | None = None,
        padding: Padding | None = None,
        data_format: str | None = "NHWC",
        name: str | None = None,
        input: TensorLike | None = None,
    ) -> Tensor:
        x = _given(pool.__name__, "input", input, "value", value)
        found: Tensor = newest(x, ksize, strides, padding, data_format)
        return found

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"As `graphad.nn.{name}`; `value` is an older name of `input`."
    return pool


max_pool = _pool("max_pool")
avg_pool = _pool("avg_pool")


def pool(
    input: TensorLike,
    window_shape: ShapeLike,
    pooling_type: str,
    padding: Padding,
    dilation_rate: Sizes | None = None,
    strides: Sizes | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.pool`; `dilation_rate` is an older name of `dilations`."""
    wide = newer("pool", "dilations", dilations, "dilation_rate", dilation_rate)
    return nn.pool(input, window_shape, pooling_type, strides, padding, data_format, wide)


def convolution(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: Padding | None = None,
    strides: Sizes | None = None,
    dilation_rate: Sizes | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: Sizes | None = None,
) -> Tensor:
    """As `graphad.nn.convolution`; `filter` and `dilation_rate` are older names of `filters` and `dilations`."""
    kernel = _given("convolution", "filters", filters, "filter", filter)
    wide = newer("convolution", "dilations", dilations, "dilation_rate", dilation_rate)
    return nn.convolution(input, kernel, strides, padding or "VALID", data_format, wide)


def _table(op: str, name: str, pieces: TensorLike | Sequence[TensorLike], strategy: str) -> Any:
    """A table in pieces: with the strategy "div" these follow one another, with "mod" row k is in piece k % their number."""
    if strategy not in ("mod", "div"):
        raise InvalidArgumentError(f"{op}: partition_strategy is {strategy!r}; it is 'mod' or 'div'.")
    if not isinstance(pieces, list | tuple):
        return pieces
    if len(pieces) == 1 or strategy == "div":
        return pieces[0] if len(pieces) == 1 else array.concat(pieces, 0)
    tables = [lift(piece) for piece in pieces]
    sizes = [table.dims[0] if table.dims else None for table in tables]
    count, rows = len(tables), sum(n for n in sizes if isinstance(n, int))
    if sizes != [-(-(rows - k) // count) for k in range(count)]:
        raise InvalidArgumentError(
            f"{op}: {name} has pieces of {sizes} rows; with the strategy 'mod' row k is in piece k % {count}, so that the first "
            "ones may have one row more. Join them into one table, or use 'div'."
        )
    starts = np.cumsum([0, *sizes[:-1]])
    return array.gather(array.concat(tables, 0), [starts[k % count] + k // count for k in range(rows)])


def embedding_lookup(
    params: TensorLike | Sequence[TensorLike],
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """As `graphad.nn.embedding_lookup`, of a table that may be in pieces: row k is in piece k % n, or n rows in each."""
    return nn.embedding_lookup(
        _table("embedding_lookup", "params", params, partition_strategy), ids, max_norm
    )


def embedding_lookup_sparse(
    params: TensorLike | Sequence[TensorLike],
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: Combiner | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """As `graphad.nn.embedding_lookup_sparse`, of a table that may be in pieces; see `embedding_lookup`."""
    table = _table("embedding_lookup_sparse", "params", params, partition_strategy)
    return nn.embedding_lookup_sparse(table, sp_ids, sp_weights, combiner, max_norm)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike | Sequence[TensorLike],
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: Combiner = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """As `graphad.nn.safe_embedding_lookup_sparse`, of a table that may be in pieces; see `embedding_lookup`."""
    table = _table("safe_embedding_lookup_sparse", "embedding_weights", embedding_weights, partition_strategy)
    return nn.safe_embedding_lookup_sparse(table, sparse_ids, sparse_weights, combiner, default_id, max_norm)


def nce_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = "nce_loss",
) -> Tensor:
    """As `graphad.nn.nce_loss`; of weights in several pieces with the strategy "div"."""
    table = _table("nce_loss", "weights", weights, partition_strategy)
    return nn.nce_loss(
        table,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
    )


def sampled_softmax_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str | None = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """As `graphad.nn.sampled_softmax_loss`; of weights in several pieces with the strategy "div"."""
    table = _table("sampled_softmax_loss", "weights", weights, partition_strategy)
    return nn.sampled_softmax_loss(
        table,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
    )


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """As `graphad.nn.crelu`."""
    return nn.crelu(features, axis)


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """As `graphad.nn.space_to_depth`."""
    return nn.space_to_depth(input, block_size, data_format)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """As `graphad.nn.depth_to_space`."""
    return nn.depth_to_space(input, block_size, data_format)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """As `graphad.nn.weighted_cross_entropy_with_logits`; `targets` is an older name of `labels`."""
    classes = _given("weighted_cross_entropy_with_logits", "labels", labels, "targets", targets)
    return nn.weighted_cross_entropy_with_logits(classes, logits, pos_weight)  # type: ignore[arg-type]


def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """As `graphad.nn.weighted_moments`; `keep_dims` is an older name of `keepdims`."""
    keep = newer("weighted_moments", "keepdims", keepdims, "keep_dims", keep_dims)
    return nn.weighted_moments(x, axes, frequency_weights, bool(keep))


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """x @ weights + biases."""
    return nn.bias_add(linalg.matmul(x, weights), biases)


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """The positive part of x @ weights + biases."""
    return nn.relu(xw_plus_b(x, weights, biases))
