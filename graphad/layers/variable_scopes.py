"""Scopes of variables as TensorFlow 1 has them, and `get_variable`, for programs that run eagerly.

Without a graph that is built by hand there is no store of variables: as in TensorFlow's eager code each call of `get_variable`
makes a new one, and `reuse` has no effect. A scope gives names a prefix, and gives its initializer, dtype, constraint and custom
getters to the variables in it and to inner scopes. Scopes belong to their thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike
from graphad.core.dtypes import as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.names import name_scope
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.layers import initializers

AUTO_REUSE = "AUTO_REUSE"  # what programs pass as reuse


class GraphKeys:
    """Names of collections of a graph, which programs pass on; nothing is collected."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    GLOBAL_STEP = "global_step"
    SUMMARIES = "summaries"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"


class VariableScope:
    """What a scope gives to the variables in it, and to inner scopes where they name nothing else.

    Args:
      reuse: Has no effect; the attribute is `AUTO_REUSE`, as in eager code of TensorFlow.
      name: The prefix of names, without a slash at its end.
      initializer: What makes the first value of a variable that names none.
      regularizer, partitioner: Kept as they are; they have no effect.
      use_resource: Has no effect; the attribute is True.
      caching_device: Kept as it is; it has no effect, since reading a variable where it is costs nothing.
      custom_getter: A function of (getter, name, ...) that makes the variables.
      name_scope: The name scope that entering it again opens.
      dtype: The dtype of a variable that names none.
      constraint: The constraint of a variable that names none.
    """

    def __init__(
        self,
        reuse: Any = None,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.name, self.original_name_scope = name, name_scope
        self.initializer, self.regularizer, self.constraint = initializer, regularizer, constraint
        self.caching_device = caching_device
        self.partitioner, self.use_resource = partitioner, True  # all variables are resource variables
        self.custom_getter = custom_getter
        self.dtype = as_dtype(dtype)
        self.reuse: Any = AUTO_REUSE

    @property
    def prefix(self) -> str:
        """What stands before the names of its variables."""
        return f"{self.name}/" if self.name else ""

    def reuse_variables(self) -> None:
        """Nothing but that `reuse` is True."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Change the initializer for what follows."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Change the regularizer that is kept."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Change the dtype for what follows."""
        self.dtype = as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """Change what makes the variables."""
        self.custom_getter = custom_getter

    def set_partitioner(self, partitioner: Any) -> None:
        """Change the partitioner that is kept."""
        self.partitioner = partitioner

    def set_use_resource(self, use_resource: bool) -> None:
        """Nothing for True, which is how variables are."""
        if not use_resource:
            raise InvalidArgumentError("VariableScope: use_resource is False; variables are resources.")

    def set_caching_device(self, caching_device: Any) -> None:
        """Change the device that is kept."""
        self.caching_device = caching_device

    def inner(self, name: str, options: dict[str, Any], getter: Callable[..., Any] | None) -> VariableScope:
        """A scope of that whole name with the options that are not None, and else those of this one."""
        own = {word: getattr(self, word) for word in options}
        given = {word: value for word, value in options.items() if value is not None}
        outer = self.custom_getter
        if outer is None or getter is None:
            both = getter or outer
        else:  # the innermost is called first, and gets the outer one as its getter
            both = _joined(outer, getter)
        return VariableScope(name=name, name_scope=f"{name}/", custom_getter=both, **{**own, **given})


def _joined(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda getter, name, *args, **options: inner(_through(outer, getter), name, *args, **options)


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.current = VariableScope()
        self.counts: dict[str, int] = {}


_scopes = _Scopes()


def get_variable_scope() -> VariableScope:
    """The innermost scope.

    Returns: A `VariableScope`.
    """
    return _scopes.current


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: object = None,
    initializer: Any = None,
    regularizer: object = None,
    caching_device: object = None,
    partitioner: object = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: DTypeLike | None = None,
    use_resource: object = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """A block in which the names of variables of `get_variable` have a prefix.

    Args:
      name_or_scope: A name, which is added to that of the outer scope, or a scope, which is entered again; None for default_name.
      default_name: The name where the other is None, with a number behind it if it was taken before in the outer scope.
      initializer, dtype, constraint: What variables and scopes inside have where they name nothing else.
      custom_getter: A function of (getter, name, ...) that makes the variables inside, with the getter of the outer scope.
      reuse: It has no effect.
      auxiliary_name_scope: Whether the block is a `name_scope` too.
      regularizer, partitioner: Kept in the scope; they have no effect.
      values, caching_device, use_resource: Not used.
    Returns: A block, whose value is the scope.
    Raises: InvalidArgumentError (a ValueError): neither a name nor a default.
    """
    outer = _scopes.current
    options = {
        "initializer": initializer,
        "dtype": dtype,
        "constraint": constraint,
        "regularizer": regularizer,
        "partitioner": partitioner,
    }
    if isinstance(name_or_scope, VariableScope):
        scope = name_or_scope.inner(name_or_scope.name, options, custom_getter)
        scope.original_name_scope = name_or_scope.original_name_scope
        names = name_scope(scope.original_name_scope or scope.prefix)
    else:
        part = name_or_scope or _fresh(outer, default_name)
        scope = outer.inner(f"{outer.prefix}{part}", options, custom_getter)
        names = name_scope(part)
    _scopes.current = scope
    try:
        if auxiliary_name_scope:
            with names:
                yield scope
        else:
            yield scope
    finally:
        _scopes.current = outer


def _fresh(outer: VariableScope, default_name: str | None) -> str:
    if not default_name:
        raise InvalidArgumentError("variable_scope: give a name, or default_name where the name is None.")
    key = f"{outer.prefix}{default_name}"
    count = _scopes.counts.get(key, 0)
    _scopes.counts[key] = count + 1
    return f"{default_name}_{count}" if count else default_name


def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: object = None,
    trainable: bool | None = None,
    collections: object = None,
    caching_device: object = None,
    partitioner: object = None,
    validate_shape: bool = True,
    use_resource: object = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    synchronization: object = None,
    aggregation: object = None,
) -> Variable:
    """A new variable, whose name has the scope before it.

    Args:
      name: The name in its scope.
      shape: The shape; that of the initializer where it is an array.
      dtype: The dtype; that of the scope, or of an array, for None.
      initializer: A function of (shape, dtype), a class of such functions, or the first value. The scope's for None, and without
        one Glorot's uniform numbers, or zeros for integers and bools.
      trainable: Whether tapes watch it; None is True.
      custom_getter: A function of (getter, name, ...) that makes the variable.
      constraint: A function that optimizers apply to the new value.
      regularizer, collections, caching_device, partitioner, validate_shape, use_resource, synchronization, aggregation: Not used.
    Returns: A variable. Each call makes another one.
    Raises: InvalidArgumentError (a ValueError): no shape is given, and none follows from the initializer.
    """
    scope = _scopes.current
    own = custom_getter or scope.custom_getter
    getter: Callable[..., Any] = _made if own is None else _through(own, _made)
    found: Variable = getter(
        f"{scope.prefix}{name}",
        shape=shape,
        dtype=dtype,
        initializer=scope.initializer if initializer is None else initializer,
        trainable=trainable is None or trainable,
        constraint=scope.constraint if constraint is None else constraint,
    )
    return found


def _through(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda name, *args, **options: outer(inner, name, *args, **options)


def _made(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    trainable: bool = True,
    constraint: Any = None,
    **unused: object,
) -> Variable:
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is not None and not callable(initializer):
        value = initializer
    elif shape is None:
        raise InvalidArgumentError(
            f"get_variable: {name!r} has no shape; give one, or an array as the initializer."
        )
    else:
        dtype = _scopes.current.dtype if dtype is None else as_dtype(dtype)
        if initializer is None:
            initializer = initializers.GlorotUniform() if dtype.is_floating else initializers.Zeros()
        value = initializer(shape, dtype=dtype)
    with name_scope(""):
        return Variable(value, trainable=trainable, dtype=dtype, name=name, constraint=constraint)
