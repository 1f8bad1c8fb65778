"""`Checkpoint`: the variables of a group of objects, saved to a directory and restored by structure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, FailedPreconditionError, InvalidArgumentError
from graphad.core.levels import trace_in_progress
from graphad.core.progress import Progress
from graphad.core.trackable import PRIVATE, Trackable
from graphad.eager.variable import Variable
from serialization.checkpoint.background import finish, start
from serialization.checkpoint.contents import is_state, records_of, state_of, with_nodes_of_program
from serialization.checkpoint.latest import CheckpointState, write_state
from serialization.checkpoint.reader import open_checkpoint
from serialization.checkpoint.restore import Restoration
from serialization.checkpoint.saved import Saved, find_child
from serialization.checkpoint.status import CheckpointLoadStatus, InitializationOnlyStatus
from serialization.convert.functions import FUNCTIONS
from serialization.saved_model.options import options_of, path_of_user
from serialization.storage.write import write_model
from serialization.wire.files import FileSystem
from serialization.wire.limits import DEFAULT_LIMITS, Limits

_ROOT, _COUNTER = PRIVATE + "root", PRIVATE + "save_counter"


class TracedCheckpointError(FailedPreconditionError, NotImplementedError):
    """A checkpoint was saved or restored while a function is traced."""


class CheckpointOptions:
    """Options of saving and restoring checkpoints.

    Args:
      experimental_write_callbacks: Functions that are called after each write, with the path if they take an argument.
      experimental_skip_slot_variables: Restore without the slots of optimizers.
      durable: Flush everything to the disk in order, so that a power failure leaves the old checkpoint or the new one.
      limits: Bounds on sizes and counts of what is read, see `serialization.wire.limits.Limits`.
      experimental_enable_async_checkpoint, enable_async: `save` and `write` return once the values are copied; a thread writes
        them. The checkpoint exists after `sync`; an error is raised by it or by the next call. A
        `CheckpointManager`, which deletes older checkpoints for the new one, waits for it.
      experimental_io_device: Accepted for compatibility.
      experimental_sharding_callback: Must be None: the format determines how values are distributed over files.
    Raises: InvalidArgumentError (a ValueError): an `experimental_sharding_callback`.
    """

    def __init__(
        self,
        experimental_io_device: object = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
        *,
        durable: bool = True,
        limits: Limits | None = None,
    ) -> None:
        if experimental_sharding_callback is not None:
            raise InvalidArgumentError(
                "CheckpointOptions: experimental_sharding_callback must be None; files of a checkpoint are split at 64 MiB."
            )
        for callback in experimental_write_callbacks or ():
            if not callable(callback) or _arguments_of(callback) > 1:
                raise ArgumentTypeError(
                    f"CheckpointOptions: the write callback {callback!r} must be a function of the path, or of nothing."
                )
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = enable_async or experimental_enable_async_checkpoint
        self.experimental_write_callbacks = list(experimental_write_callbacks or ())
        self.enable_async = self.experimental_enable_async_checkpoint
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = None
        self.durable = durable
        self.limits = limits

    def __copy__(self) -> CheckpointOptions:
        made = object.__new__(type(self))
        vars(made).update(vars(self), experimental_write_callbacks=list(self.experimental_write_callbacks))
        return made


def _arguments_of(function: Callable[..., Any]) -> int:
    import inspect

    found = inspect.signature(function).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)


class Checkpoint(Trackable):
    """Saves the variables below some objects, and restores them.

    Values are matched by the names on the path from the root: attributes, keys and positions. Objects that are created after
    `restore` get their values when they are assigned, built or added.

    Args:
      root: An object whose children are those of the checkpoint.
      kwargs: Objects by name: modules, layers, optimizers, metrics, variables, generators, lists and dicts of them.
    Raises: InvalidArgumentError (a ValueError): one of them is not such an object, or the root has another object of that name.
    Example:
      >>> checkpoint = tf.train.Checkpoint(step=tf.Variable(1), net=net)   # doctest: +SKIP
      >>> path = checkpoint.save("training/ckpt")                          # doctest: +SKIP
      >>> checkpoint.restore(path).assert_consumed()                       # doctest: +SKIP
    """

    def __init__(self, root: object = None, **kwargs: Any) -> None:
        vars(self)[_ROOT] = vars(self)[_COUNTER] = None
        if root is not None:
            _require_trackable("root", root, roots=True)
            vars(self)[_ROOT] = root
        below = dict(state_of(root)) if root is not None else {}
        for name, value in kwargs.items():
            _require_trackable(name, value)
            if below.get(name, value) is not value:
                raise InvalidArgumentError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        root = vars(self).get(_ROOT)
        if name == "root" and root is not None:
            return root
        raise AttributeError(f"'Checkpoint' object has no attribute {name!r}", name=name, obj=self)

    @property
    def save_counter(self) -> Variable:
        """The number of saves; part of the checkpoint, so that the numbering continues after a restore."""
        if vars(self)[_COUNTER] is None:
            made = Variable(0, trainable=False, name="save_counter", dtype="int64")
            pending = vars(self).get(PRIVATE + "pending")
            if pending is not None:
                pending.assigned(self, "save_counter", made)
            vars(self)[_COUNTER] = made
        return vars(self)[_COUNTER]  # type: ignore[no-any-return]

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        root = vars(self)[_ROOT]
        mine = dict(self.named_children())
        if isinstance(root, Variable):
            mine["root"] = root
        elif root is not None:
            yield from ((name, child) for name, child in state_of(root) if name not in mine)
        yield from mine.items()
        if vars(self)[_COUNTER] is not None:
            yield "save_counter", vars(self)[_COUNTER]

    # -- saving ----------------------------------------------------------------------------------------------------

    def save(self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None) -> str:
        """Save with the next number, as the latest checkpoint of its directory.

        Args:
          file_prefix: The path without the number, "training/ckpt".
        Returns: The path of the checkpoint, a directory: "training/ckpt-1".
        Raises:
          TracedCheckpointError (a NotImplementedError): called while tracing.
          SaveError (a ValueError), SaveFailedError (an OSError): see `tf.saved_model.save`. Nothing has changed then.
        """
        prefix = path_of_user("Checkpoint.save", file_prefix, "file_prefix")
        _require_eager("save")
        options = options_of("Checkpoint.save", CheckpointOptions, options)

        def written(path: str) -> None:
            directory = os.path.dirname(path)
            write_state(directory or os.curdir, CheckpointState(path, [path]), durable=options.durable)
            _call_back(options, path)

        return self.write_numbered(prefix, None, options, then=written)

    def write_numbered(
        self,
        prefix: str,
        number: int | None,
        options: CheckpointOptions,
        system: FileSystem | None = None,
        then: Callable[[str], None] | None = None,
    ) -> str:
        """Increment the counter and write; the path has that number unless another is given. A failure does not count.

        Without `then`, which is called with the path, it is written when this returns.
        """
        finish(self)
        counter = self.save_counter
        before = counter.numpy()
        counter.assign_add(1)
        try:
            path = f"{prefix}-{int(counter.numpy()) if number is None else number}"
            self._write(path, options, then, system)
        except BaseException:
            counter.assign(before)
            raise
        return path

    def write(self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None) -> str:
        """Save at exactly this path, without a number, and not as the latest of its directory.

        Returns: The path. Read it with `read`.
        """
        path = path_of_user("Checkpoint.write", file_prefix, "file_prefix")
        _require_eager("write")
        options = options_of("Checkpoint.write", CheckpointOptions, options)
        finish(self)
        self._write(path, options, lambda path: _call_back(options, path))
        return path

    def _write(
        self,
        path: str,
        options: CheckpointOptions,
        then: Callable[[str], None] | None,
        system: FileSystem | None = None,
    ) -> None:
        root = vars(self)[_ROOT]
        model, arrays = records_of(self, None if isinstance(root, Variable) else root)
        in_background = options.enable_async and then is not None
        if in_background:
            arrays = {name: array.copy() for name, array in arrays.items()}

        def write() -> None:
            with Progress("Saving", sum(array.nbytes for array in arrays.values()), "B") as progress:
                write_model(
                    path,
                    model,
                    arrays,
                    durable=options.durable,
                    limits=options.limits,
                    system=system,
                    written=lambda size: None if in_background else progress.advance(size),
                )
            if then is not None:
                then(path)

        if in_background:
            start(self, path, write)
        else:
            write()

    def sync(self) -> None:
        """Wait until a background save is written. Raises: its error."""
        finish(self)

    # -- restoring -------------------------------------------------------------------------------------------------

    def restore(self, save_path: Any, options: CheckpointOptions | None = None) -> CheckpointLoadStatus:
        """Assign the values of a checkpoint made by `save` to the existing objects, and to later ones when they are created.

        Args:
          save_path: The path that `save` returned; also a directory of `tf.saved_model.save`, or a checkpoint or SavedModel of
          TensorFlow. None restores nothing. A checkpoint that has only names, as TensorFlow 1 writes them, is restored into the
          existing variables of these names.
        Returns: A status with the result of the matching.
        Raises:
          MissingCheckpointError (an OSError): there is none.
          LoadError (a ValueError): it is damaged, or not a checkpoint.
          InvalidArgumentError (a ValueError): a shape or dtype differs. Nothing has been restored then.
        """
        if save_path is None:
            _ = self.save_counter
            return InitializationOnlyStatus()
        _require_eager("restore")
        _ = self.save_counter
        return self._restored("restore", save_path, options)

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> CheckpointLoadStatus:
        """Restore a checkpoint that was made by `write` and therefore has no `save_counter`; see `restore`."""
        if save_path is None:
            return InitializationOnlyStatus()
        _require_eager("read")
        return self._restored("read", save_path, options)

    def _restored(self, op: str, save_path: str, options: CheckpointOptions | None) -> CheckpointLoadStatus:
        path = path_of_user(f"Checkpoint.{op}", save_path, "save_path")
        options = options_of(f"Checkpoint.{op}", CheckpointOptions, options)
        finish(self)
        saved = open_checkpoint(f"Checkpoint.{op}", path, options.limits or DEFAULT_LIMITS)
        root = vars(self)[_ROOT]
        is_named = not saved.nodes
        if is_named:
            saved = with_nodes_of_program(saved, self, None if isinstance(root, Variable) else root)
        if options.experimental_skip_slot_variables:
            saved = _without_slots(saved)
        restoration = Restoration(saved, {id(vars(self)[_COUNTER])} if is_named else ())
        first = 0
        if isinstance(root, Variable) and saved.nodes[0].key is None:
            first = find_child(saved.nodes[0], "root") or 0
        both = [(self, 0)] if root is None else [(root, first), (self, 0)]
        restoration.start(both)
        return CheckpointLoadStatus(restoration)


def _without_slots(saved: Saved) -> Saved:
    slots = {slot.slot for node in saved.nodes for slot in node.slots}
    nodes = [
        node.replace(slots=(), key=None if number in slots else node.key)
        for number, node in enumerate(saved.nodes)
    ]
    return saved.replace(nodes=tuple(nodes))


def _require_trackable(name: str, value: object, roots: bool = False) -> None:
    allowed = isinstance(value, FUNCTIONS) or (
        is_state(value) and not (roots and isinstance(value, list | tuple | dict))
    )
    if not allowed:
        raise InvalidArgumentError(
            f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got {value!r}. A "
            "module, layer, optimizer, metric, variable or generator is one; lists and dicts of them may be given by keyword."
        )


def _require_eager(op: str) -> None:
    if trace_in_progress() is not None:
        raise TracedCheckpointError(
            f"Calling tf.train.Checkpoint.{op}() from a function is not supported: it would run once, while the function is "
            "traced. Call it outside of the function."
        )


def _call_back(options: CheckpointOptions, path: str) -> None:
    for callback in options.experimental_write_callbacks:
        callback(*[path][: _arguments_of(callback)])


def value_of(x: object) -> int:
    """A number that may be a variable or a tensor."""
    return int(lift(x).numpy())
