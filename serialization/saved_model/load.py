"""`load`: the object of a saved model. Nothing in the file is executed."""

from __future__ import annotations

import os
from typing import Any

from graphad.core.errors import GraphadError, InvalidArgumentError
from graphad.core.frames import warn_user
from serialization.convert.objects import ObjectReader, as_load_error
from serialization.errors import LoadError
from serialization.saved_model.options import SERVING, LoadOptions, directory_of, options_of
from serialization.storage.read import contains_model, read_model


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether there is a model in this directory.

    Args:
      export_dir: A path.
    Returns: True or False.
    Raises: Nothing.
    """
    return contains_model(directory_of("contains_saved_model", export_dir))


def load(export_dir: str | os.PathLike[str], tags: Any = None, options: LoadOptions | None = None) -> Any:
    """The object saved in a directory.

    Args:
      export_dir: The directory.
      tags: None, or "serve", alone or in a list; a model has only this version.
      options: See `LoadOptions`.
    Returns: An object with the attributes of the saved one, callable if its `__call__` was a function; `signatures` maps keys
      to functions.
    Raises:
      ArgumentTypeError (a TypeError): `export_dir` is not a path, or `options` are others.
      InvalidArgumentError (a ValueError): other tags.
      MissingModelError (an OSError): there is no model.
      LoadError (a ValueError): the file is damaged, too large, too new or unsafe; the message names file and field.
    """
    export_dir, options = directory_of("load", export_dir), options_of("load", LoadOptions, options)
    asked = [] if tags is None else [tags] if isinstance(tags, str) else list(tags)
    if asked not in ([], [SERVING]):
        raise InvalidArgumentError(
            f"load: Got an incompatible argument to `tags`: {asked}. A saved model has the one tag {SERVING!r}; leave `tags` out."
        )
    model, arrays = read_model(export_dir, options.limits, options.verify, options.links)
    reader = ObjectReader(model, arrays)
    try:
        root = reader.root()
        aliases = reader.aliases() if options.experimental_load_function_aliases else None
    except LoadError as error:
        error.file = error.file or os.path.join(export_dir, "saved_model.msgpack")
        raise
    except GraphadError as error:
        raise as_load_error(error) from error
    if reader.graphs.unsaved:
        names = ", ".join(sorted(reader.graphs.unsaved))
        warn_user(
            f"Importing a function with ops with unsaved custom gradients ({names}). Will likely fail if a gradient is "
            "requested."
        )
    if aliases is not None:
        _give_aliases(root, aliases)
    return root


def _give_aliases(root: object, aliases: dict[str, Any]) -> None:
    if not hasattr(root, "__dict__") or "function_aliases" in vars(root):
        raise InvalidArgumentError(
            "Could not load with experimental_load_function_aliases: the object has an attribute of its own called "
            "'function_aliases', or can have none; load it without."
        )
    vars(root)["function_aliases"] = aliases
