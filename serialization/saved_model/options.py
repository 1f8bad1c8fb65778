"""Options of `save` and `load`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from serialization.wire.limits import Limits

T = TypeVar("T")

SERVING = "serve"
ASSETS_DIRECTORY = "assets"
VARIABLES_DIRECTORY = "variables"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


def directory_of(op: str, path: object) -> str:
    """A directory's path as a string. Raises: ArgumentTypeError: it is neither a string nor a path."""
    return path_of_user(op, path, "export_dir")


def path_of_user(op: str, path: object, name: str = "the path") -> str:
    """A path as a string.

    Raises: ArgumentTypeError: it is neither a string, encoded or not, nor a path; InvalidArgumentError: a null character.
    """
    if isinstance(path, str | bytes | os.PathLike):
        found = os.fsdecode(path)
        if "\0" in found:
            raise InvalidArgumentError(f"{op}: {name} is {found!r}; no path holds a null character.")
        return found
    raise ArgumentTypeError(f"{op}: {name} must be a string or a path, got {path!r}.")


def options_of(op: str, kind: type[T], options: Any) -> T:
    """The given options, or the defaults for None. Raises: ArgumentTypeError: they are not options of this kind."""
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise ArgumentTypeError(f"{op}: options must be {kind.__name__} or None, got {options!r}.")
    return options


def _aliases(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f"SaveOptions: function_aliases must be a dict of functions by name, got {given!r}."
        )
    aliases = dict(given or {})
    for name in aliases:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"SaveOptions: function_aliases has the name {name!r}, which is not a string."
            )
    return aliases


_POLICIES = (None, "save_variable_devices", "expand_distributed_variables")


def _policy(given: object) -> object:
    """The name of a policy for variables, given as it or as an object that has it."""
    name = getattr(given, "value", given)
    name = name.lower() if isinstance(name, str) else name
    if name is not None and name not in _POLICIES:
        raise InvalidArgumentError(
            f"SaveOptions: experimental_variable_policy is {given!r}; Received invalid VariablePolicy value, it may be "
            f"{', '.join(map(repr, _POLICIES))}."
        )
    return name


def _namespaces(given: Sequence[str] | None) -> list[str]:
    names = [given] if isinstance(given, str) else list(given or ())
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(
                f"SaveOptions: Whitelisted namespace must be a string. Got: {name!r} of type {type(name)}."
            )
    return names


class SaveOptions:
    """Options of `save`.

    Args:
      experimental_custom_gradients: Save custom gradients as graphs, so that the loaded model can be differentiated in every
        process. Their functions must be traceable then.
      durable: Flush everything to the disk in order, so that a power failure leaves the old model or the new one.
      function_aliases: A dict of functions of the object, or lists of concrete functions, by other names: see `LoadOptions`.
      experimental_variable_policy: None, "save_variable_devices" or "expand_distributed_variables", which change nothing: there
        is one replica, and a file names no devices.
      namespace_whitelist, save_debug_info, experimental_io_device: Accepted for compatibility; they have no effect.
      experimental_image_format, experimental_skip_saver, experimental_debug_stripper: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such policy, or a namespace that is no string; ArgumentTypeError (a
      TypeError): aliases that are no dict of functions by name. `save` raises for what cannot be saved.
    """

    def __init__(
        self,
        experimental_custom_gradients: bool = True,
        durable: bool = True,
        *,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: Mapping[str, Any] | None = None,
        experimental_io_device: str | None = None,
        experimental_variable_policy: object = None,
        experimental_debug_stripper: bool = False,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
    ) -> None:
        self.experimental_variable_policy = _policy(experimental_variable_policy)
        self.experimental_debug_stripper = bool(experimental_debug_stripper)
        self.experimental_image_format = bool(experimental_image_format)
        self.experimental_skip_saver = bool(experimental_skip_saver)
        self.experimental_custom_gradients = bool(experimental_custom_gradients)
        self.namespace_whitelist = _namespaces(namespace_whitelist)
        self.save_debug_info = save_debug_info
        self.function_aliases = _aliases(function_aliases)
        self.experimental_io_device = experimental_io_device
        self.durable = durable


class LoadOptions:
    """Options of `load`.

    Args:
      verify: "lazy" checks large payloads when they are first read, True everything now, False none of their bytes.
      limits: Bounds on sizes and counts, see `serialization.wire.limits.Limits`.
      links: "refuse" a model whose files are links, which may lead anywhere, or "follow" them: for caches of downloads that
        keep the files of a model elsewhere. The targets are checked as usual.
      experimental_io_device, experimental_variable_policy: Accepted for compatibility.
      experimental_skip_checkpoint: Accepted for compatibility: values are read from the file when they are first used.
      allow_partial_checkpoint: Accepted for compatibility: a saved model has the values of all its variables. For partial
      restores use `train.Checkpoint.restore`.
      experimental_load_function_aliases: Give the loaded object an attribute `function_aliases`, a dict of the functions that
        were saved with `SaveOptions(function_aliases=...)`.
    Raises: InvalidArgumentError (a ValueError): no such way to verify, or to treat links.
    """

    def __init__(
        self,
        verify: bool | Literal["lazy"] = "lazy",
        limits: Limits | None = None,
        links: str = "refuse",
        *,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: object = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.experimental_skip_checkpoint = bool(experimental_skip_checkpoint)
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_io_device = experimental_io_device
        self.allow_partial_checkpoint = bool(allow_partial_checkpoint)
        self.experimental_load_function_aliases = bool(experimental_load_function_aliases)
        self.verify = verify
        self.limits = limits
        self.links = links
