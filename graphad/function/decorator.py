"""The decorator `function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from graphad.core.errors import ArgumentTypeError

if TYPE_CHECKING:
    from graphad.function.polymorphic import Function
else:
    Function = (
        Callable  # the annotation as `typing.get_type_hints` sees it, without a class that is slow to import
    )

P = ParamSpec("P")
R = TypeVar("R")


@overload
def function(
    func: Callable[P, R],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: object = None,
) -> Function[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: object = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: object = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: object = None,
) -> Function[..., Any] | Callable[[Callable[..., Any]], Function[..., Any]]:
    """Run a Python function as a graph: traced once per kind of arguments, differentiated and compiled as a whole.

    Args:
      func: The function; without it a decorator is returned.
      input_signature: A list of (nested) TensorSpecs; then there is one trace, for all arguments that they describe.
      autograph: Python's `if`, `while`, `for`, `break`, `return`, `and`, ... on tensors become control flow of the graph. With
      False the function is traced unconverted, and Python control flow on a symbolic tensor raises an error.
      jit_compile: True waits for compiled code, False never compiles, None compiles hot functions in the background.
      experimental_autograph_options: Features that are converted on request, of `autograph.experimental.Feature`.
      reduce_retracing: Let sizes that change from call to call become unknown.
      experimental_relax_shapes, experimental_compile: Older names of `reduce_retracing` and `jit_compile`.
      experimental_implements, experimental_attributes, experimental_follow_type_hints: Accepted for compatibility.
    Returns: A `Function`, called like `func`.
    Raises: ArgumentTypeError (a TypeError): `func` is not callable, or the signature does not fit it.
    Example:
      >>> @function
      ... def double(x):
      ...     return 2 * x
      >>> double(constant(3)).numpy()
      np.int32(6)
    """
    if experimental_compile is not None:
        jit_compile = experimental_compile
    if experimental_relax_shapes is not None:
        reduce_retracing = experimental_relax_shapes

    if jit_compile not in (None, True, False):
        raise ArgumentTypeError(f"function: jit_compile={jit_compile!r}; use True, False or None.")
    # Imported here, since eager programs need none of the modules that trace and run functions.
    from graphad.function.polymorphic import Function

    def decorate(f: Callable[..., Any]) -> Function[..., Any]:
        if not callable(f):
            raise ArgumentTypeError(
                f"function: {' '.join(repr(f).split())} is not a callable object; give the function alone, `@tf.function`, or "
                "options by keyword, `@tf.function(jit_compile=True)`, and the arguments when it is called."
            )
        return Function(
            f,
            input_signature,
            jit_compile,
            reduce_retracing,
            autograph=autograph,
            autograph_options=experimental_autograph_options,
        )

    return decorate if func is None else decorate(func)
