"""Strategies of TensorFlow's `distribute` for a program that runs as one replica on one device.

Training programs are written against a strategy: they make variables in its scope, run a step in each of its replicas and
reduce the results. With one replica a step is a call, and a sum over replicas is its value. Several replicas are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from threading import local
from typing import Any

from graphad.core.convert import lift
from graphad.core.device import device as on_device
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.foreign_errors import UnimplementedError
from graphad.core.nest_functions import map_structure
from graphad.core.refusal import members, refuse
from graphad.core.tensor import Tensor
from graphad.ops.math import reduce_mean, reduce_sum


class ReduceOp(Enum):
    """How values of replicas become one: by their sum or their mean."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """The operation that a `VariableAggregation` names.

        Raises: InvalidArgumentError (a ValueError): it names none.
        """
        return _reduce_op("from_variable_aggregation", getattr(aggregation, "name", aggregation))


class InputContext:
    """The argument of a function that makes a data set for one input pipeline.

    Args:
      num_input_pipelines: How many there are.
      input_pipeline_id: The number of this one.
      num_replicas_in_sync: How many replicas share a batch.
    Raises: Nothing.
    """

    def __init__(
        self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """How many elements of a batch a replica has.

        Raises: InvalidArgumentError (a ValueError): the batch cannot be divided evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise InvalidArgumentError(
                f"get_per_replica_batch_size: a batch of {global_batch_size} is not divisible by {self.num_replicas_in_sync} "
                "replicas."
            )
        return global_batch_size // self.num_replicas_in_sync


class RunOptions:
    """Options of `Strategy.run`, which have no effect with one replica.

    Args: experimental_enable_dynamic_batch_size, experimental_bucketizing_dynamic_shape, experimental_xla_options: Not used.
    Raises: Nothing.
    """

    def __init__(
        self,
        experimental_enable_dynamic_batch_size: bool = True,
        experimental_bucketizing_dynamic_shape: bool = False,
        experimental_xla_options: object = None,
    ) -> None:
        self.experimental_enable_dynamic_batch_size = experimental_enable_dynamic_batch_size
        self.experimental_bucketizing_dynamic_shape = experimental_bucketizing_dynamic_shape
        self.experimental_xla_options = experimental_xla_options


class ReplicaContext:
    """The replica in which a step runs, which is the only one.

    Args: strategy: The strategy that runs the step.
    Raises: Nothing.
    Attributes: num_replicas_in_sync: 1. replica_id_in_sync_group: An int32 scalar, 0. strategy: The strategy that runs the step.
    """

    num_replicas_in_sync = 1

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        return lift(0)

    def all_reduce(self, reduce_op: Any, value: Any, options: object = None) -> Any:
        """The sum or mean over the replicas: the value itself.

        Args:
          reduce_op: `ReduceOp.SUM`, `ReduceOp.MEAN`, or its name.
          value: A nest of tensors.
          options: Without effect.
        Raises: InvalidArgumentError (a ValueError): no such operation.
        """
        _reduce_op("all_reduce", reduce_op)
        return map_structure(_lifted, value)

    def all_gather(self, value: Any, axis: int, options: object = None) -> Any:
        """The values of all replicas along an axis: the value itself."""
        return map_structure(_lifted, value)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """`merge_fn(strategy, *args, **kwargs)`, called outside of the replica."""
        with _entered(self.strategy, None):
            return merge_fn(self.strategy, *args, **kwargs or {})


class Strategy:
    """One replica on the device that is current; the base class of the others.

    Args: extended: Without effect.
    Raises: Nothing.
    Attributes: num_replicas_in_sync: 1. cluster_resolver: None.
    Example:
      >>> strategy = distribute.get_strategy()
      >>> with strategy.scope():
      ...     v = Variable(1.0)
      >>> strategy.run(lambda x: v + x, args=(2.0,)).numpy()
      np.float32(3.0)
    """

    num_replicas_in_sync = 1
    cluster_resolver = None
    _device: str | None = None

    def __init__(self, extended: object = None) -> None:
        pass

    @property
    def extended(self) -> Strategy:
        """The strategy itself."""
        return self

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        with self._on_device():
            return (lift(0.0).device,)

    parameter_devices = worker_devices

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A block in which `get_strategy` gives this one, and what is made is on its device."""
        with _entered(self, _IN_DEFAULT if self is _DEFAULT else None), self._on_device():
            yield self

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        if self._device is None:
            yield
        else:
            with on_device(self._device):
                yield

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
        options: object = None,
    ) -> Any:
        """`fn(*args, **kwargs)`, called in the replica.

        Raises: ArgumentTypeError (a TypeError): `fn` cannot be called.
        """
        if not callable(fn):
            raise ArgumentTypeError(f"run: fn is a {type(fn).__name__}; give a function.")
        with _entered(self, ReplicaContext(self)), self._on_device():
            return fn(*args, **kwargs or {})

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """The sum or mean over the replicas, of which there is one, and along an axis if it is given.

        Args:
          reduce_op: `ReduceOp.SUM`, `ReduceOp.MEAN`, or its name.
          value: A nest of what `run` returned.
          axis: An axis, or None.
        Raises: InvalidArgumentError (a ValueError): no such operation, or no such axis.
        """
        function = reduce_sum if _reduce_op("reduce", reduce_op) is ReduceOp.SUM else reduce_mean
        return map_structure(_lifted if axis is None else lambda x: function(x, axis), value)

    def gather(self, value: Any, axis: int) -> Any:
        """The values of all replicas along an axis: the value itself."""
        return map_structure(_lifted, value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas, one after the other."""
        return (value,)

    def experimental_distribute_dataset(self, dataset: Any, options: object = None) -> Any:
        """The data set, of which the replica takes all elements."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: object = None
    ) -> Any:
        """The data set that the function makes for the only input pipeline."""
        return dataset_fn(InputContext())

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """What the function gives for the replica, whose `ReplicaContext` is its argument."""
        return value_fn(ReplicaContext(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: one replica>"


class OneDeviceStrategy(Strategy):
    """One replica on a device.

    Args: device: The name of a device, "/cpu:0" or "cuda".
    Raises: when it is used: there is no such device.
    """

    def __init__(self, device: str) -> None:
        self._device = device


class MirroredStrategy(Strategy):
    """One replica on the device that is given, or on the one that is current.

    Args:
      devices: None, or the name of one device, also in a list.
      cross_device_ops: Without effect.
    Raises: UnimplementedError: several devices.
    """

    def __init__(self, devices: str | Sequence[str] | None = None, cross_device_ops: object = None) -> None:
        words = "give the name of a device, or a list of one"
        given = () if devices is None else devices
        listed = (
            [devices] if isinstance(devices, str) else members("MirroredStrategy", "devices", given, words)
        )
        for name in listed:
            if not isinstance(name, str):
                refuse(TypeError(), "MirroredStrategy", "one of devices", name, words)
        if len(listed) > 1:
            raise UnimplementedError(
                f"MirroredStrategy: {len(listed)} devices, {', '.join(listed)}; a program runs as one replica on one device."
            )
        self._device = listed[0] if listed else None


class TPUStrategy(Strategy):
    """A class that programs name, and that libraries derive theirs from while they are imported. There are no TPUs.

    Args: args, options: Whatever is given.
    Raises: UnimplementedError: always.
    """

    def __init__(self, *args: object, **options: object) -> None:
        raise UnimplementedError(
            f"{type(self).__name__}: there are no TPUs; a program runs as one replica on one device: use OneDeviceStrategy."
        )


class _Context(local):
    """The strategies whose scopes and steps a thread is in, the innermost last, each with its replica's context in a step."""

    def __init__(self) -> None:
        self.entered: list[tuple[Strategy, ReplicaContext | None]] = []


_DEFAULT = Strategy()
_IN_DEFAULT = ReplicaContext(_DEFAULT)
_context = _Context()


@contextmanager
def _entered(strategy: Strategy, replica: ReplicaContext | None) -> Iterator[None]:
    _context.entered.append((strategy, replica))
    try:
        yield
    finally:
        _context.entered.pop()


def _lifted(value: Any) -> Any:
    return value if value is None else lift(value)


def _reduce_op(caller: str, given: Any) -> ReduceOp:
    name = given.value if isinstance(given, ReduceOp) else given
    if not isinstance(name, str) or name.upper() not in ReduceOp.__members__:
        raise InvalidArgumentError(f"{caller}: reduce_op is {given!r}; give ReduceOp.SUM or ReduceOp.MEAN.")
    return ReduceOp[name.upper()]


def get_strategy() -> Strategy:
    """The strategy that is current.

    Returns: That of the innermost scope or step; outside of any, that of one replica on the current device.
    """
    return _context.entered[-1][0] if _context.entered else _DEFAULT


def has_strategy() -> bool:
    """Whether a strategy is current that the program has chosen.

    Returns: A bool: whether a scope or step of another strategy than the default one is around.
    """
    return get_strategy() is not _DEFAULT


def in_cross_replica_context() -> bool:
    """Whether replicas are seen from outside.

    Returns: A bool: whether a scope is the innermost thing around, and not a step.
    """
    return get_replica_context() is None


def get_replica_context() -> ReplicaContext | None:
    """The replica that a step runs in.

    Returns: Its `ReplicaContext`; None in a scope outside of a step.
    """
    return _context.entered[-1][1] if _context.entered else _IN_DEFAULT
