"""Loaded objects: plain objects with attributes, functions with their saved traces, signatures.

No class name of the file is looked up. A restored function selects among its traces like the original; if none fits, the error
lists them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.composites import flatten_records, is_record
from graphad.core.convert import lift
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, DTypeError, GraphadError
from graphad.core.levels import busy, current
from graphad.core.shapes import TensorShape, format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.core.tracebacks import for_user
from graphad.core.trackable import Trackable
from graphad.function.concrete import ConcreteFunction, with_tensors_for_lists
from graphad.function.kinds import GenericFunction
from graphad.function.printed import Printed
from graphad.function.signature import Arguments, Literal, Signature, sizes_known, sort_out
from serialization.convert.values import with_restored_tuples

if TYPE_CHECKING:
    from graphad.graph.ir import Graph

_KEPT = 64  # kinds of arguments for which the selected trace is cached


class AssetPath(str):
    """The path of an asset: a string, which `numpy()` gives as bytes, as of a tensor of strings."""

    __slots__ = ()

    def numpy(self) -> bytes:
        return os.fsencode(self)


class Asset(Trackable):
    """A file that belongs to a model. It is copied on save; after loading, `asset_path` is the copy.

    Args:
      path: The file; checked when the model is saved.
    Raises: Nothing until the model is saved.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._graphad_path = os.fspath(path)
        except TypeError as cause:
            raise ArgumentTypeError(
                f"Asset: path is {path!r}; a string or a path of a file is needed."
            ) from cause

    @property
    def asset_path(self) -> AssetPath:
        return AssetPath(self._graphad_path)

    def __fspath__(self) -> str:
        return self._graphad_path

    def __repr__(self) -> str:
        return f"<Asset {self._graphad_path!r}>"


_LEFT_BEHIND = (
    "A file holds variables, functions and objects of them; numbers, texts and plain methods stay behind."
)


# Attributes of modules that loaded objects have too, unless a child has that name.
_WANTED: dict[str, Callable[[Handle], bool]] = {
    "variables": lambda variable: True,
    "trainable_variables": lambda variable: variable.trainable,
    "non_trainable_variables": lambda variable: not variable.trainable,
}


class Restored(Trackable):
    """An object from a file: its children are attributes.

    `variables`, `trainable_variables` and `non_trainable_variables` are those of the object and of all below it.
    """

    _graphad_class_name = ""

    def __getattr__(self, name: str) -> tuple[Handle, ...] | None:
        if name in _WANTED:
            from graphad.core.tree import variables_of

            return tuple(filter(_WANTED[name], variables_of(self)))
        found = [] if name.startswith("_") else [key for key in vars(self) if not key.startswith("_")]
        told = (
            f" It has {', '.join(sorted(found)[:8])}" + (" and more." if len(found) > 8 else ".")
            if found
            else ""
        )
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}."
            + (f"{told} {_LEFT_BEHIND}" if told else ""),
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        from graphad.core.tree import short

        return f"<restored {short(self)}>"

    def __str__(self) -> str:
        from graphad.core.tree import text_of, tree_of

        return text_of(tree_of(self))

    def _repr_html_(self) -> str:
        from graphad.core.html import of_module  # used in notebooks only

        return of_module(self)


class RestoredCallable(Restored):
    """A restored object whose class had a saved `__call__`."""

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        return vars(self)["__call__"](*args, **kwargs)


class RestoredFunction(Printed):
    """A function from a file.

    Attributes:
      concrete_functions: Its traces, in their order.
      jit_compile: That of the saved function.
    """

    def __init__(
        self,
        name: str,
        signature: Signature,
        concretes: Sequence[ConcreteFunction],
        jit_compile: bool | None = None,
    ) -> None:
        self._name = name
        self.signature = signature
        self.concrete_functions = list(concretes)
        self.jit_compile = jit_compile
        self.__name__ = name
        self.__signature__ = signature.signature
        self._chosen = {concrete.arguments.key: concrete for concrete in concretes}
        self._own = len(self._chosen)
        self._fast: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        return self.signature.input_signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and busy() is None:
            # The same short way as for traced functions: plain tensors by shape and dtype.
            key = []
            for x in args:
                if type(x) is not EagerTensor:
                    break
                key.append(x.data.shape)
                key.append(x.data.dtype.num)
            else:
                found = self._fast.get(tuple(key))
                if found is not None:
                    run, captures, results = found
                    try:
                        outputs = run([x.data for x in args] + captures, self.jit_compile)
                    except Exception as error:  # raised on, with a traceback that ends in the user's code
                        raise for_user(error)  # noqa: B904 - it is the same error
                    return results.build([EagerTensor(y) for y in outputs])
        try:
            return self._call(args, kwargs)
        except Exception as error:  # raised on, with a traceback that ends in the user's code
            raise for_user(error)  # noqa: B904 - it is the same error

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = self._arguments(args, kwargs)
        concrete = self._chosen.get(arguments.key)
        values: Any = arguments.values
        if concrete is None:
            concrete, values = self._fitting(arguments, args, kwargs)
            if len(self._chosen) < self._own + _KEPT and _same(values, arguments.values):
                self._chosen[arguments.key] = concrete
        result = concrete.call_flat(values)
        self._remember(args, kwargs, values, concrete)
        return result

    def _remember(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        values: Sequence[Tensor],
        concrete: ConcreteFunction,
    ) -> None:
        if kwargs or len(self._fast) >= _KEPT or len(args) != len(values) or current() is not None:
            return
        if concrete.captures_elsewhere:
            return
        if not all(type(x) is EagerTensor and x is y for x, y in zip(args, values, strict=True)):
            return
        key: list[Any] = []
        for x in args:
            key += [x.data.shape, x.data.dtype.num]
        captures = [x.data if type(x) is EagerTensor else x for x in concrete.captured_inputs]
        self._fast[tuple(key)] = (concrete.executable.run, captures, concrete.results)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if not self.concrete_functions:
            raise self._without_traces()
        if any(
            isinstance(x, list | tuple | dict | Sparse | TensorShape) or is_record(x)
            for x in (*args, *kwargs.values())
        ):
            args, kwargs = with_restored_tuples(args), with_restored_tuples(kwargs)
        try:
            return self.signature.arguments(args, kwargs)
        except ArgumentTypeError:
            raise self._refused(args, kwargs) from None

    def _fitting(
        self, arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        best: tuple[int, ConcreteFunction, list[Any]] | None = None
        listed = None
        if self.signature.input_signature is None and any(
            isinstance(x, list | tuple) for x in (*args, *kwargs.values())
        ):
            listed = self.signature.bound(args, kwargs)
        for concrete in self.concrete_functions:
            values = _values_for(concrete.arguments, arguments)
            if values is None and listed is not None:
                values = self._with_tensors_for_lists(concrete, *listed)
            if values is None:
                continue
            score = sum(sizes_known(leaf) for leaf in concrete.arguments.leaves)
            if best is None or score > best[0]:
                best = score, concrete, values
        if best is None:
            raise self._misfit(args, kwargs)
        return best[1], best[2]

    def _with_tensors_for_lists(
        self, concrete: ConcreteFunction, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[Tensor] | None:
        """The tensors to pass if a trace has tensors where the arguments have lists of numbers, or None."""
        traced_args, traced_kwargs = concrete.structured_input_signature
        if len(traced_args) != len(args) or traced_kwargs.keys() != kwargs.keys():
            return None
        try:
            ordered = tuple([with_tensors_for_lists(a, x) for a, x in zip(traced_args, args, strict=True)])
            named = {key: with_tensors_for_lists(traced_kwargs[key], x) for key, x in kwargs.items()}
        except GraphadError:
            return None
        return _values_for(concrete.arguments, sort_out(ordered, named))

    def _without_traces(self) -> ValueError:
        return ValueError(
            f"Found zero restored functions for caller function. {self._name} was saved before it was called, or was "
            "only called with arguments that a file cannot hold, of which saving warns, so the file has nothing of it; give it "
            "an input_signature, or call it once with tensors and plain values, before saving."
        )

    def _refused(self, args: Any, kwargs: dict[str, Any]) -> Exception:
        """The error for arguments that do not fit the parameters, the signature, or, nested as they are, any trace."""
        try:
            self.signature.bound(args, kwargs)
            if self.signature.input_signature is not None:
                self.signature.arguments(args, kwargs)
        except ArgumentTypeError as error:
            return error
        return self._misfit(args, kwargs)

    def _misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        options = [
            f"Option {k + 1}:\n  {concrete.structured_input_signature!r}"
            for k, concrete in enumerate(self.concrete_functions)
        ]
        got = ", ".join(
            [_described(x) for x in args] + [f"{key}={_described(x)}" for key, x in kwargs.items()]
        )
        text = (
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
            f"  ({got})\nExpected these arguments to match one of the following {len(options)} option(s):\n"
            + "\n".join(options)
        )
        if self.signature.input_signature is None:
            return ValueError(
                f"{text}\nA file holds no Python to trace for other arguments. Before saving, call the function with such ones, "
                "or give it an input_signature with None for sizes that differ."
            )
        return ArgumentTypeError(
            "Binding inputs to tf.function failed: arguments that its input_signature leaves out have the values that they had "
            f"when it was traced. {text}"
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The concrete function for these specs or values. Raises: ValueError: none fits."""
        if not self.concrete_functions:
            raise self._without_traces()
        if (
            not args
            and not kwargs
            and self.signature.input_signature is None
            and len(self.concrete_functions) == 1
        ):
            return self.concrete_functions[0]
        args, kwargs = with_restored_tuples(args), with_restored_tuples(kwargs)
        try:
            try:
                arguments = self.signature.placeholders(args, kwargs)
            except ArgumentTypeError:
                raise self._refused(args, kwargs) from None
            return self._chosen.get(arguments.key) or self._fitting(arguments, args, kwargs)[0]
        except Exception as error:  # raised on, with a traceback that ends in the user's code
            raise for_user(error)  # noqa: B904 - it is the same error

    def experimental_get_tracing_count(self) -> int:
        return len(self.concrete_functions)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """One block per trace; if not verbose, one line."""
        from graphad.function.printing import listing

        return listing(self.concrete_functions, verbose)

    def __reduce__(self) -> Any:
        from graphad.function.pickling import loaded_refused

        raise loaded_refused(self._name)

    def __deepcopy__(self, memo: Any) -> RestoredFunction:
        """The same traces with copies of their captures."""
        import copy

        return RestoredFunction(
            self._name, self.signature, copy.deepcopy(self.concrete_functions, memo), self.jit_compile
        )

    def __repr__(self) -> str:
        from graphad.core.tree import plain
        from graphad.function.printing import counted, head

        traces = counted(len(self.concrete_functions), "trace")
        return f"<restored function {plain(self._name)}{head(self.signature)} with {traces}>"


GenericFunction.register(RestoredFunction)


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _values_for(mine: Arguments, theirs: Arguments) -> list[Tensor] | None:
    """The tensors to pass, or None if the arguments are of another kind.

    Python numbers become tensors, and variables are read where a trace took a tensor.
    """
    if mine.structure != theirs.structure or len(mine.leaves) != len(theirs.leaves):
        return None
    values: dict[int, Any] = {}
    for a, b, slot, given in zip(mine.leaves, theirs.leaves, mine.slots, theirs.slots, strict=True):
        if isinstance(a, TensorSpec):
            value: Any = None
            if isinstance(b, TensorSpec):
                if a.dtype is not b.dtype or not a.is_compatible_with(b) or (a.is_handle and not b.is_handle):
                    return None
                value = theirs.values[given]
                if isinstance(value, Handle) and not a.is_handle:
                    value = lift(value)
            elif isinstance(b, Literal) and isinstance(b.value, int | float | complex):
                try:
                    value = lift(b.value, a.dtype)
                except GraphadError:
                    return None
                if not a.is_compatible_with(value):
                    return None
            else:
                return None
            values.setdefault(slot, value)
        elif a != b:
            return None
    return [values[i] for i in range(len(values))]


def _described(x: object) -> str:
    """An argument for a message: specs stand for the tensors, nested ones too, and what is long is cut."""
    try:
        leaves, rebuild = flatten_records(x)
        specs = [getattr(leaf, "spec", None) for leaf in leaves]
        text = repr(rebuild([s if isinstance(s, TensorSpec) else leaf for s, leaf in zip(specs, leaves)]))
    except RecursionError:
        return f"a {type(x).__name__} that is nested very deeply"
    return text if len(text) <= 300 else text[:297] + "..."


class SignatureFunction:
    """One entry of `loaded.signatures`: called by keyword, it returns a dict."""

    def __init__(self, concrete: ConcreteFunction, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.concrete = concrete
        self.input_names = tuple(inputs)
        self.output_names = tuple(outputs)

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        specs = self.concrete.arguments.specs
        named = [TensorSpec(s.dims, s.dtype, n) for s, n in zip(specs, self.input_names, strict=True)]
        return (), dict(zip(self.input_names, named, strict=True))

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """The specs of the outputs, by name."""
        found = self._named(self.concrete.structured_outputs)
        return {name: TensorSpec(spec.dims, spec.dtype, name) for name, spec in found.items()}

    @property
    def output_shapes(self) -> dict[str, TensorShape]:
        return {name: spec.shape for name, spec in self.structured_outputs.items()}

    @property
    def output_dtypes(self) -> dict[str, DType]:
        return {name: spec.dtype for name, spec in self.structured_outputs.items()}

    @property
    def name(self) -> bytes:
        return self.concrete.name

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables it reads or writes."""
        return self.concrete.variables

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return self.concrete.trainable_variables

    @property
    def captured_inputs(self) -> list[Any]:
        return self.concrete.captured_inputs

    @property
    def graph(self) -> Graph:
        return self.concrete.graph

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Keywords, result and captures, one a line; if not verbose, keywords and result in one line."""
        from graphad.function.printing import pretty

        shown = [(name, pretty(spec)) for name, spec in self.structured_input_signature[1].items()]
        results = pretty(self.structured_outputs)
        if not verbose:
            return f"({', '.join(['*', *[f'{name}: {spec}' for name, spec in shown]]) if shown else ''}) -> {results}"
        lines = ["Input Parameters:", *[f"  {name} (KEYWORD_ONLY): {spec}" for name, spec in shown]]
        captured = [f"  {i}: {pretty(x.spec)}" for i, x in enumerate(self.captured_inputs)] or ["  None"]
        return "\n".join([*lines, "Output Type:", f"  {results}", "Captures:", *captured])

    @property
    def inputs(self) -> list[TensorSpec]:
        return self.concrete.inputs

    @property
    def outputs(self) -> list[TensorSpec]:
        return self.concrete.outputs

    def _named(self, result: Any) -> dict[str, Any]:
        return dict(zip(self.output_names, flat_outputs(result), strict=True))

    def __call__(self, *args: object, **kwargs: Any) -> dict[str, Any]:
        given = dict(zip(self.input_names, args, strict=False)) | kwargs
        few = len(self.input_names) == 1  # with several keywords a positional argument would be ambiguous
        if len(args) > few or set(given) != set(self.input_names):
            raise ArgumentTypeError(
                f"signature: it takes the keywords {', '.join(self.input_names) or '(none)'}; got {', '.join(given) or 'none'}"
                + (" by position." if args else ".")
            )
        specs = self.concrete.arguments.specs
        try:
            values = [
                _fitted(name, given[name], spec) for name, spec in zip(self.input_names, specs, strict=True)
            ]
            return self._named(self.concrete.call_flat(values))
        except Exception as error:  # raised on, with a traceback that ends in the user's code
            raise for_user(error)  # noqa: B904 - it is the same error

    def __repr__(self) -> str:
        return f"<signature ({', '.join(self.input_names)}) -> ({', '.join(self.output_names)})>"

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def _fitted(name: str, value: object, spec: TensorSpec) -> Any:
    """A keyword argument of a signature as the tensor, or the variable, that its trace takes."""
    if spec.is_handle:
        fits = (
            isinstance(value, Handle)
            and value.spec.dtype is spec.dtype
            and spec.is_compatible_with(value.spec)
        )
        if not fits:
            raise ArgumentTypeError(
                f"signature: {name!r} must be a variable like {spec}; got {_described(value)}."
            )
        return value
    known = isinstance(value, Tensor) or hasattr(value, "__graphad_tensor__")
    tensor = lift(value) if known else lift(value, spec.dtype)
    if tensor.dtype is not spec.dtype:
        raise DTypeError(f"signature: {name!r} is a {tensor.dtype.name} tensor; {spec.dtype.name} is needed.")
    if not spec.is_compatible_with(tensor):
        raise ArgumentTypeError(
            f"signature: {name!r} has shape {format_dims(tensor.dims)}; it must be {format_dims(spec.dims)}."
        )
    return tensor


def flat_outputs(value: TensorSpec | dict[str, Any] | list[TensorSpec]) -> list[Any]:
    """The outputs of a signature in the order of their names: a dict by sorted key."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list | tuple) else [value]


class SignatureMap(Mapping[str, SignatureFunction]):
    """The signatures of a loaded model: a read-only mapping."""

    def __init__(self, functions: Mapping[str, SignatureFunction]) -> None:
        self._functions = dict(functions)

    def __getitem__(self, key: str) -> SignatureFunction:
        return self._functions[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"<signatures: {', '.join(self._functions)}>"
