"""Elements of a data set: nests of tensors for the user, and of NumPy arrays between steps.

Tuples, named tuples, dicts and records (dataclasses, extension types) are nests, and None is a nest without tensors; anything
else, lists too, is one tensor.
A list that a function returns is the exception: it is a tuple, as a function of several ops gives its results in a list.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.composites import flatten_fields, flatten_records, is_record, of_slice, of_stack, reranked
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError, StructureError
from graphad.core.scopes import executing_eagerly
from graphad.core.shapes import Dims, TensorShape, as_dims, format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec, TypeSpec
from graphad.core.tensor import Handle, Tensor
from graphad.data.sparse import SparseArray, sparse_spec
from graphad.ops.sparse.tensor import SparseTensor, SparseTensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import Array, NestLike


def mapped(function: Callable[..., Any], x: NestLike, *others: NestLike) -> Any:
    """The nest of `function` applied to the leaves of `x` and the corresponding leaves of the others."""
    if isinstance(x, dict):
        parts = {key: mapped(function, x[key], *[other[key] for other in others]) for key in x}
        return parts if type(x) is dict else type(x)(parts)
    if isinstance(x, tuple):
        items = [mapped(function, *parts) for parts in zip(x, *others, strict=True)]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    if is_record(x) and not isinstance(x, DatasetSpec):
        fields, rebuild = flatten_records(x)
        rows = [flatten_records(other)[0] for other in others]
        return rebuild([function(*parts) for parts in zip(fields, *rows, strict=True)])
    if x is None and all(other is None for other in others):
        return None
    return function(x, *others)


def leaves(x: NestLike) -> list[Any]:
    """The leaves of the nest in order."""
    found: list[Any] = []
    mapped(found.append, x)
    return found


@dataclass(frozen=True)
class DatasetSpec(TypeSpec):
    """The spec of a window, which is a data set.

    Args: element_spec: The specs of its elements.
    Raises: TypeError: it is missing.
    Example:
      >>> data.Dataset.range(6).window(3).element_spec.element_spec
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    element_spec: Any

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"

    @property
    def value_type(self) -> type:
        """The class of what it describes."""
        found: type = importlib.import_module("graphad.data.dataset").Dataset
        return found

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        """The spec of a data set."""
        return DatasetSpec(value.element_spec)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether the elements of a data set, or of those that another spec describes, may be of this spec."""
        other = (
            spec_or_value.element_spec
            if _is_window(spec_or_value)
            else getattr(spec_or_value, "element_spec", None)
        )
        try:
            joint_specs("is_compatible_with", self.element_spec, other)
        except ArgumentTypeError:
            return False
        return True


def joint_specs(op: str, first: Any, other: Any) -> Any:
    """The spec of elements of either kind: sizes that differ are unknown.

    Raises: ArgumentTypeError (a TypeError): the structures, the dtypes or the plain fields of records differ.
    """
    joint = _joint(first, other)
    if joint is None:
        raise ArgumentTypeError(
            f"{op}: the elements of the data sets differ in structure, dtype or plain fields: {first} and {other}."
        )
    return joint[0]


def require_state(op: str, before: NestLike, after: NestLike, is_first: bool) -> None:
    """Raises: ArgumentTypeError (a TypeError): the state after a step has another structure, or other dtypes, than before it.

    Dtypes are compared after each step, structures after the first one.
    """
    if is_first or [getattr(x, "dtype", None) for x in leaves(before)] != [
        getattr(x, "dtype", None) for x in leaves(after)
    ]:
        first, other = spec_of(before), spec_of(after)
        if _joint(first, other) is None:
            raise ArgumentTypeError(
                f"{op}: the new state must match the initial state in structure and dtype; it is {other} after {first}."
            )


def _joint(first: Any, other: Any) -> tuple[Any] | None:
    """The joint spec in a tuple, or None where there is none."""
    first, other = _of_known_ranks(first, other)
    leaves, rebuild, tree = flatten_fields(first)
    others, _, own_tree = flatten_fields(other)
    if tree != own_tree:
        return None
    found = []
    for mine, its in zip(leaves, others, strict=True):
        if isinstance(mine, TensorSpec) and isinstance(its, TensorSpec):
            if mine.dtype is not its.dtype:
                return None
            found.append(TensorSpec(mine.shape.most_specific_compatible_shape(its.shape), mine.dtype))
        elif type(mine) is type(its) and bool(mine == its):
            found.append(mine)
        else:
            return None
    return (mapped(lambda leaf: sparse_spec(leaf) or leaf, rebuild(found)),)


def _of_known_ranks(first: Any, other: Any) -> tuple[Any, Any]:
    """The specs with the sizes of sparse tensors that both have, where they are of one rank."""
    pairs = list(zip(leaves(first), leaves(other), strict=False))
    joint = [
        SparseTensorSpec(mine.shape.most_specific_compatible_shape(its.shape), mine.dtype)
        if isinstance(mine, SparseTensorSpec)
        and isinstance(its, SparseTensorSpec)
        and mine.dtype is its.dtype
        else None
        for mine, its in pairs
    ]
    if not any(joint):
        return first, other

    def with_joint(x: Any) -> Any:
        rest = iter(joint)
        return mapped(lambda leaf: next(rest, None) or leaf, x)

    return with_joint(first), with_joint(other)


def like(spec: Any, dims: Any) -> Any:
    """The spec of another shape for a leaf like that of an array or a spec."""
    kind = TensorSpec if sparse_spec(spec) is None else SparseTensorSpec
    return kind(dims, spec.dtype)


class Alike:
    """Checks that the first elements of several iterators have one structure.

    Args: op: The method that makes one data set of several.
    """

    def __init__(self, op: str) -> None:
        self._op, self._spec = op, None

    def of(self, elements: Iterator[Any]) -> Iterator[Any]:
        """The same elements; the first of them is checked when it is taken."""
        is_checked = False

        def checked(element: NestLike) -> Any:
            nonlocal is_checked
            if not is_checked:
                spec = spec_of(element)
                self._spec = spec if self._spec is None else joint_specs(self._op, self._spec, spec)
                is_checked = True
            return element

        return map(checked, elements)


def _is_window(leaf: object) -> bool:
    return hasattr(leaf, "__graphad_stream__")


def is_traced(leaf: Any) -> bool:
    """Whether a leaf belongs to a function that is being traced and has no value yet, as what that reads of a variable."""
    if isinstance(leaf, list | tuple):
        return any(is_traced(part) for part in leaf)
    if isinstance(leaf, Handle):
        return not executing_eagerly()
    return isinstance(leaf, Tensor) and not leaf.has_value and leaf.known is None


def on_host(x: NestLike) -> Any:
    """The nest with an array for each leaf that is no window.

    Raises: ArgumentTypeError: it is None. InvalidArgumentError: one is traced, and has no value that is known.
    """
    if x is None:
        raise ArgumentTypeError(
            "Dataset: an element is None, as a function without `return` gives it; None may only stand among the parts of one."
        )

    def held(leaf: Any) -> Any:
        if _is_window(leaf):
            return leaf
        tensor = leaf if isinstance(leaf, SparseTensor) else lift(_joined(leaf))
        found: Any = SparseArray.of(tensor) if isinstance(tensor, SparseTensor) else None
        if isinstance(tensor, Tensor):
            found = tensor.numpy() if tensor.has_value else tensor.known
        if found is None:
            raise InvalidArgumentError(
                f"Dataset: a tensor of shape {format_dims(tensor.dims)} belongs to a function that is being traced and has no "
                "value yet, and data sets read from memory; make the data set outside of the function, or loop over the "
                "tensor itself."
            )
        return found if isinstance(found, SparseArray) else np.asarray(found)

    return mapped(held, x)


def _joined(leaf: Any) -> Any:
    """A list of NumPy arrays of one kind as one array, which keeps their dtype where a list of numbers would get int32."""
    if type(leaf) is list and leaf and all(isinstance(part, np.ndarray) for part in leaf):
        if len({(part.shape, part.dtype) for part in leaf}) == 1:
            return np.stack(leaf)
    return leaf


def copied(x: NestLike) -> Any:
    """The same leaves in new tuples and dicts, which a function may change."""
    return mapped(lambda leaf: leaf, x)


def returned(result: NestLike) -> Any:
    """What a function gave as an element: a list is a tuple, and a list inside is one tensor."""
    nest = tuple(result) if isinstance(result, list) else result
    return mapped(lambda leaf: lift(leaf) if isinstance(leaf, list) else leaf, nest)


def shown(x: NestLike) -> Any:
    """A nest of arrays and windows as a nest of tensors and windows."""
    return mapped(
        lambda leaf: (
            leaf.tensor() if isinstance(leaf, SparseArray) else leaf if _is_window(leaf) else lift(leaf)
        ),
        x,
    )


def called(function: Callable[..., Any], element: NestLike) -> Any:
    """`function` of an element, whose parts are its arguments if it is a tuple."""
    x = shown(element)
    return applied(function, *x) if type(x) is tuple else applied(function, x)


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)`. Raises: OutOfRangeError: it raised StopIteration, which would end the data set without a word."""
    try:
        return function(*arguments)
    except StopIteration as cause:
        raise OutOfRangeError(
            "Dataset: the function of an element asked an iterator for its next element and there is none; "
            "next(iterator, None) gives None instead."
        ) from cause


def reranked_each(x: NestLike, change: Callable[[TensorShape], TensorShape]) -> Any:
    """An element after slicing or stacking, with `change` applied to the shapes that records in it keep."""
    if isinstance(x, np.ndarray | np.generic | TensorSpec | SparseArray | Sparse):
        return x
    if isinstance(x, dict):
        parts = {key: reranked_each(part, change) for key, part in x.items()}
        return parts if type(x) is dict else type(x)(parts)
    if isinstance(x, tuple):
        items = [reranked_each(part, change) for part in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return reranked(x, change) if is_record(x) else x


def at(i: int, x: NestLike) -> Any:
    """The slice of number `i` of each leaf."""
    return reranked_each(mapped(lambda array: array[i], x), of_slice)


def all_slices(x: NestLike, count: int) -> Iterator[Any]:
    """The slices of each leaf, one after another."""
    if type(x) is np.ndarray:
        return iter(x)
    if type(x) is tuple and x and all(type(leaf) is np.ndarray for leaf in x):
        return zip(*x, strict=True)
    if type(x) is dict and x and all(type(leaf) is np.ndarray for leaf in x.values()):
        return (dict(zip(x, row, strict=True)) for row in zip(*x.values(), strict=True))
    return (at(i, x) for i in range(count))


def stacked(elements: Sequence[Any]) -> Any:
    """Elements of one shape, stacked. Raises: InvalidArgumentError: the shapes differ."""

    def stack(*rows: Any) -> Any:
        if isinstance(rows[0], SparseArray):
            return SparseArray.stacked(rows)
        kind, dtype, shape = type(rows[0]), rows[0].dtype, rows[0].shape
        odd = next((row for row in rows if row.shape != shape), None)
        if odd is not None:
            raise InvalidArgumentError(
                f"batch: the elements have shapes {rows[0].shape} and {odd.shape}; padded_batch fills up the smaller ones."
            )
        if dtype.kind in "biufc" and all(type(row) is kind and row.dtype is dtype for row in rows):
            return np.concatenate(rows).reshape(len(rows), *shape) if shape else np.array(rows, dtype)
        return np.stack(rows)

    return reranked_each(mapped(stack, elements[0], *elements[1:]), of_stack(len(elements)))


def _asked(shape: Any, dims: Dims) -> Dims:
    """The sizes that an element of the shape `dims` is padded to, None for the largest; a number is the size of a vector."""
    if shape is None:
        return dims
    is_list = not isinstance(shape, TensorShape) and np.ndim(shape) == 1
    asked = as_dims([None if size is None or size == -1 else size for size in shape] if is_list else shape)
    if asked is None:
        return dims
    known = [None] * len(asked) if dims is None else list(dims)
    if len(known) != len(asked):
        raise InvalidArgumentError(
            f"padded_batch: padded_shapes has {format_dims(asked)} for elements of shape {format_dims(dims)}; as many sizes are "
            "needed."
        )
    if any(
        size is not None and least is not None and size < least
        for size, least in zip(asked, known, strict=True)
    ):
        raise InvalidArgumentError(
            f"padded_batch: an element has shape {format_dims(dims)}, padded_shapes says {format_dims(asked)}."
        )
    return asked


def _refuse_sparse(x: NestLike) -> None:
    if any(sparse_spec(leaf) is not None for leaf in leaves(x)):
        raise ArgumentTypeError(
            "padded_batch: the elements hold sparse tensors; batch makes one of them, whatever their sizes."
        )


def padded_specs(specs: NestLike, shapes: NestLike) -> Any:
    """The specs of elements after padding."""
    _refuse_sparse(specs)
    asked_for = iter(_beside(specs, shapes))
    return mapped(lambda spec: TensorSpec(_asked(next(asked_for), spec.dims), spec.dtype), specs)


def padded(elements: Sequence[Any], shapes: NestLike, values: NestLike) -> Any:
    """Elements of several shapes, each padded to the largest or the given sizes, and stacked."""

    first = elements[0]
    _refuse_sparse(first)
    asked_for = iter(zip(_beside(first, shapes), _beside(first, values), strict=True))

    def fill(*rows: NestLike) -> Array:
        shape, value = next(asked_for)
        sizes = tuple(max(found) for found in zip(*[row.shape for row in rows], strict=True))
        asked = _asked(shape, sizes) or sizes
        largest = [most if size is None else size for most, size in zip(sizes, asked, strict=True)]
        out = np.full([len(rows), *largest], 0 if value is None else value, rows[0].dtype)
        for i, row in enumerate(rows):
            place: Any = (i, *map(slice, row.shape))
            out[place] = row
        return out

    return reranked_each(mapped(fill, *elements), of_stack(len(elements)))


def _beside(element: NestLike, given: NestLike) -> list[Any]:
    """An argument for each leaf of an element, in order; a single one is used for all leaves.

    A tuple may hold those for the fields of a record.
    """
    count = len(leaves(element))
    if not isinstance(given, tuple | dict):
        return [given] * count
    if isinstance(element, dict) and isinstance(given, dict) and element.keys() == given.keys():
        return [x for key in element for x in _beside(element[key], given[key])]
    if isinstance(element, tuple) and isinstance(given, tuple) and len(given) == len(element):
        return [x for part, own in zip(element, given, strict=True) for x in _beside(part, own)]
    if count == 1:  # the sizes of the only leaf
        return [given]
    if is_record(element) and isinstance(given, tuple) and len(given) == count:
        return list(given)
    raise InvalidArgumentError(f"padded_batch: {given!r} has another structure than the elements.")


def spec_of(x: NestLike) -> Any:
    """The specs of an element of arrays, tensors or specs."""
    return mapped(
        lambda leaf: (
            sparse_spec(leaf) or leaf
            if isinstance(leaf, TensorSpec | SparseArray | Sparse)
            else DatasetSpec(leaf.element_spec)
            if _is_window(leaf)
            else TensorSpec(leaf.shape, leaf.dtype)
            if isinstance(leaf, Tensor)
            else TensorSpec(np.shape(leaf), np.asarray(leaf).dtype)
        ),
        x,
    )


def require_like(op: str, signature: Any, item: Any) -> None:
    """Raises: StructureError: an item has not the dicts and tuples of a signature."""
    if isinstance(signature, dict):
        fits = isinstance(item, Mapping) and signature.keys() <= item.keys()
        pairs = [(part, item[key]) for key, part in signature.items()] if fits else []
    elif isinstance(signature, tuple):
        fits = hasattr(item, "__len__") and hasattr(item, "__iter__") and len(item) == len(signature)
        pairs = list(zip(signature, item, strict=True)) if fits else []
    else:
        return
    if not fits:
        raise StructureError(f"{op}: an element is {item!r:.100}, the signature is {signature!r:.200}.")
    for part, value in pairs:
        require_like(op, part, value)
