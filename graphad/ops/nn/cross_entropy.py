"""Cross-entropies from logits, composed so that log(0) never occurs.

The one of class indices is an op of its own: its gradient is the softmax minus 1 at the label, which simpler ops could not
express without further passes over all classes. It also returns log(softmax), from which the gradient is computed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, TupleOp, define
from graphad.core.shapes import are_compatible, format_dims, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like, zeros_like
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.sequence import Steps
from graphad.ops.array.sizes import known_value
from graphad.ops.array.support import all_stacked, index_tensor, same_row
from graphad.ops.choice import larger
from graphad.ops.directly import directly
from graphad.ops.math import (
    cast,
    equal,
    exp,
    maximum,
    minimum,
    not_equal,
    reduce_any,
    reduce_sum,
    softplus,
    where,
)
from graphad.ops.math.compare import IS_FINITE, TAKEN
from graphad.ops.nn.softmaxes import LogSoftmax, log_softmax
from graphad.ops.rules import (
    FLOATING,
    INTEGER,
    require_fit,
    require_kind,
    require_rank,
    require_same_shape,
    scalar_like,
)

if TYPE_CHECKING:
    from graphad.core.dims import Dim


def _without_classes(x: TensorSpec) -> TensorSpec:
    return x.with_dims(None if x.dims is None else x.dims[:-1])


def _is_label(labels: Tensor, classes: Dim | int) -> Tensor:
    """The one-hot mask of the labels over all classes. `classes` is a number or a size symbol."""
    return equal(expand_dims(labels, -1), bind(Steps(0, classes, 1, labels.dtype)))


class _PerLabel(Op):
    """The base of the two ops: there is one label for each row of classes."""

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, xs))


def _loss_of_labels(labels: TensorSpec, logits: TensorSpec) -> TensorSpec:
    """One number per label [...] for logits [..., n]. Raises: GraphadError: they do not fit."""
    name = "sparse_softmax_cross_entropy_with_logits"
    require_kind(name, labels, INTEGER, "labels")
    require_kind(name, logits, FLOATING, "logits")
    require_rank(name, logits, 1, "logits")
    loss = _without_classes(logits)
    if not are_compatible(labels.dims, loss.dims):
        raise InvalidArgumentError(
            f"{name}: labels with shape {format_dims(labels.dims)} do not fit logits with shape {format_dims(logits.dims)}; "
            "labels.shape must equal logits.shape[:-1]."
        )
    if labels.dims is None or loss.dims is None:
        return loss if labels.dims is None else loss.with_dims(labels.dims)
    pairs = zip(loss.dims, labels.dims, strict=True)
    return loss.with_dims(tuple([mine if size is None else size for size, mine in pairs]))


@define
class SparseCrossEntropy(_PerLabel, TupleOp):
    """Two outputs for labels [...] and logits [..., n]: -log(softmax(logits))[label], NaN for labels outside 0 to n - 1; and
    log(softmax(logits)).
    """

    name = "sparse_cross_entropy"
    keeps = ((0,), (1,))

    def infer(self, labels: TensorSpec, logits: TensorSpec) -> tuple[TensorSpec, ...]:
        loss = _loss_of_labels(labels, logits)
        return loss, logits

    def eval(self, labels: Array, logits: Array) -> tuple[Array, ...]:
        log_p = LogSoftmax(-1).eval(logits)
        classes = logits.shape[-1]
        if not classes:
            return np.full(np.shape(labels), np.nan, logits.dtype), log_p
        are_classes = arrays.are_below(labels, classes)
        at = (labels if are_classes else np.clip(labels, 0, classes - 1)).astype(np.intp)
        places = arrays.arange(0, labels.size, np.intp, log_p)
        loss = -(log_p.reshape(labels.size, classes)[places, at.reshape(-1)].reshape(labels.shape))
        if not are_classes:
            loss = np.where(at == labels, loss, logits.dtype.type(np.nan))
        return loss, log_p

    def vjp(self, ctx: VjpContext, g: Tensor | None, h: Tensor | None) -> Cotangents:
        labels, log_p = ctx.inputs[0], ctx.outputs[1]
        if ctx.is_masked:  # of rows that were not taken nothing is read that is not finite
            rows = [] if g is None else [expand_dims(not_equal(g, scalar_like(0, g)), -1)]
            rows += [] if h is None else [reduce_any(not_equal(h, scalar_like(0, h)), axis=-1, keepdims=True)]
            kept = functools.reduce(lambda x, y: bind(TAKEN, x, y), [*rows, bind(IS_FINITE, log_p)])
            log_p = where(kept, log_p, scalar_like(0, log_p))
        x_bar = None if g is None else bind(SPARSE_CROSS_ENTROPY_GRAD, labels, log_p, g)
        if h is not None:
            of_log_p = h - exp(log_p) * reduce_sum(h, axis=-1, keepdims=True)
            x_bar = of_log_p if x_bar is None else x_bar + of_log_p
        return None, x_bar

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        row = same_row(axes)
        return (MIXED, MIXED) if row == len(specs[0].dims or ()) else (row, row)

    def expand(self, labels: Ranked, logits: Ranked) -> tuple[Tensor, Tensor]:
        classes = logits.dims[-1]
        log_p = log_softmax(logits)
        chosen = _is_label(labels, classes)
        loss = -reduce_sum(where(chosen, log_p, scalar_like(0, logits)), axis=-1)
        return where(reduce_any(chosen, axis=-1), loss, lift(float("nan"), logits.dtype)), log_p


@define
class SparseCrossEntropyGrad(_PerLabel):
    """g * (exp(log_p) - onehot(label)), with zeros for the one-hot row of a label that is not a class; g [...] has one number
    per label."""

    name = "sparse_cross_entropy_grad"
    keeps = (True, False)

    def infer(self, labels: TensorSpec, log_p: TensorSpec, g: TensorSpec) -> TensorSpec:
        loss = _loss_of_labels(labels, log_p)
        if g.dtype is not loss.dtype or not are_compatible(g.dims, loss.dims):
            raise InvalidArgumentError(
                f"{self.name}: {g} is not a cotangent of {loss}, one number per label."
            )
        return log_p

    def eval(self, labels: Array, log_p: Array, g: Array) -> Array:
        classes = log_p.shape[-1]
        out: np.ndarray = np.exp(log_p).reshape(labels.size, classes)
        flat = labels.reshape(-1)
        if arrays.are_below(labels, classes):
            out[arrays.arange(0, labels.size, np.intp, out), flat] -= 1
        else:
            (at,) = np.nonzero((flat >= 0) & (flat < classes))
            out[at, flat[at]] -= 1
        out *= np.reshape(g, (-1, 1))
        return out.reshape(log_p.shape)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        labels, log_p, g = ctx.inputs
        of_log_p = h * exp(log_p) * expand_dims(g, -1) if ctx.needs(1) else None
        # The derivative by g is the sum over the classes of h times the result for g = 1.
        of_g = reduce_sum(h * bind(self, labels, log_p, ones_like(g)), axis=-1) if ctx.needs(2) else None
        return None, of_log_p, of_g

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        row = same_row(axes)
        return MIXED if row == len(specs[0].dims or ()) else row

    def expand(self, labels: Ranked, log_p: Ranked, g: Ranked) -> Tensor | None:
        p = exp(log_p)
        chosen = _is_label(labels, log_p.dims[-1])
        return where(chosen, p - scalar_like(1, p), p) * expand_dims(g, -1)


SPARSE_CROSS_ENTROPY, SPARSE_CROSS_ENTROPY_GRAD = SparseCrossEntropy(), SparseCrossEntropyGrad()


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """-log(softmax(logits))[label], one number per label.

    Args:
      labels: Integer tensor [...], 0 <= label < classes; another label is an error, or gives NaN where its value is known only
        at run time.
      logits: Float tensor [..., classes].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError: the shapes do not fit, or a label is out of range; DTypeError: labels are not integers.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    Example:
      >>> nn.sparse_softmax_cross_entropy_with_logits([1], [[0.0, 0.0]]).numpy()
      array([0.6931472], dtype=float32)
    """
    labels = index_tensor("sparse_softmax_cross_entropy_with_logits", labels, "labels")
    logits = lift(logits)
    classes = logits.dims[-1] if logits.dims else None
    known = known_value(labels)
    if known is not None and type(classes) is int:
        _require_labels(known, classes)
    if labels.dtype.itemsize < 4 or labels.dtype.kind == "uint":
        # The indices of all classes must fit.
        labels = cast(labels, int32 if labels.dtype.itemsize < 4 else int64)
    return bind(SPARSE_CROSS_ENTROPY, labels, logits)[0]


def _require_labels(labels: Array, classes: int) -> None:
    if arrays.are_below(labels, classes):
        return
    wrong = np.ravel(labels)[np.ravel((labels < 0) | (labels >= classes))]
    name = "sparse_softmax_cross_entropy_with_logits"
    raise InvalidArgumentError(
        f"{name}: Received a label value of {wrong[0]} which is outside the valid range of [0, {classes})."
    )


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """-sum(labels * log(softmax(logits))) along one axis.

    Args:
      labels: Float tensor [..., classes]: probabilities.
      logits: Float tensor [..., classes]. One of the two may have size 1 along any axis, and is repeated along it first.
      axis: The axis of the classes.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit; DTypeError (a TypeError): another dtype.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    Example:
      >>> nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[0.0, 0.0]]).numpy()
      array([0.6931472], dtype=float32)
    """
    logits, labels = lift_pair("softmax_cross_entropy_with_logits", logits, labels)
    require_fit("softmax_cross_entropy_with_logits", labels, logits, ("labels", "logits"))
    if not _has_every_class(logits, labels, axis):
        logits = logits + zeros_like(labels)  # one logit for all classes says that they are equally likely
    return -reduce_sum(labels * log_softmax(logits, axis), axis=axis)


def _has_every_class(logits: Tensor, labels: Tensor, axis: int) -> bool:
    """Whether logits are known to have a size along `axis` that is not repeated to fit the labels."""
    if logits.dims is None or labels.dims is None:
        return False
    n, place = len(logits.dims), normalize_axis("softmax_cross_entropy_with_logits", axis, len(logits.dims))
    if len(labels.dims) > n:
        return False
    size = logits.dims[place]
    beside = place - n + len(labels.dims)
    wanted = labels.dims[beside] if beside >= 0 else 1
    return size is not None and (size == wanted or size != 1)


def _of_sigmoids(x: Any, z: Any) -> Any:
    """The numbers of `sigmoid_cross_entropy_with_logits` for many logits of one dtype."""
    if type(x) is not np.ndarray or type(z) is not np.ndarray or x.dtype != z.dtype or x.dtype.kind != "f":
        return None
    y = larger(x, x.dtype.type(0))
    if y.shape != z.shape or y.dtype.itemsize < 4:
        return None
    product = x * z
    y -= product
    np.abs(x, product)
    for step in (np.negative, np.exp, np.log1p):
        step(product, product)
    y += product
    return y


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """-labels * log(sigmoid(x)) - (1 - labels) * log(1 - sigmoid(x)), elementwise, for large |x| too.

    Args:
      labels: Tensor of any shape, a float dtype: probabilities.
      logits: Tensor x of the same shape and dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes differ; DTypeError (a TypeError): the dtypes differ.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    Example:
      >>> nn.sigmoid_cross_entropy_with_logits([1.0], [0.0]).numpy()
      array([0.6931472], dtype=float32)
    """
    x, z = lift_pair("sigmoid_cross_entropy_with_logits", logits, labels)
    require_same_shape("sigmoid_cross_entropy_with_logits", z, x, ("labels", "logits"))
    found = directly(_of_sigmoids, x, z)
    if found is not None:
        return found
    # max(x, 0) and -|x|: at 0 the derivatives of both go to their first operand, and so are consistent in every order.
    return maximum(x, lift(0, x.dtype)) - x * z + softplus(minimum(-x, x))
