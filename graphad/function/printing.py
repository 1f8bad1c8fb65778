"""Printing of trace signatures: one parameter a line, or one line in Python's notation.

Containers are shown by kind, `List[...]`, `Tuple[...]`, `Dict[['key', ...]]`, a named tuple under its own name; tensors as
specs, variables as `VariableSpec`, and Python values, which a trace is bound to, as `Literal[...]`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle
from graphad.function.signature import Arguments, Literal, Signature

_LITERALS = (int, float, complex, str, bytes, frozenset, type(None))


def pretty(x: object) -> str:
    """One argument or result."""
    if isinstance(x, Literal):
        return pretty(x.value)
    if isinstance(x, TensorSpec):
        return repr(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return _named(type(x).__name__, zip(x._fields, x, strict=True))
    if isinstance(x, list | tuple):
        return f"{'List' if isinstance(x, list) else 'Tuple'}[{', '.join(map(pretty, x))}]"
    if isinstance(x, dict):
        return _named("Dict", x.items())
    return f"Literal[{x!r}]" if isinstance(x, _LITERALS) else repr(x)


def _named(kind: str, items: Any) -> str:
    return f"{kind}[{', '.join([f'[{key!r}, {pretty(value)}]' for key, value in items])}]"


def parameters(signature: Signature, arguments: Arguments) -> list[tuple[str, str, str]]:
    """The name, the kind and the traced argument of each parameter, as text."""
    return [(name, kind, pretty(value)) for name, kind, value in typed_parameters(signature, arguments)]


def typed_parameters(signature: Signature, arguments: Arguments) -> list[tuple[str, str, Any]]:
    """The name, the kind and the traced argument of each parameter."""
    shown = [
        leaf.value
        if slot < 0
        else leaf
        if leaf.is_handle
        else TensorSpec(leaf.dims, leaf.dtype, arguments.names.get(i))
        for i, (leaf, slot) in enumerate(zip(arguments.leaves, arguments.slots, strict=True))
    ]
    args, kwargs = arguments.rebuild(shown)
    kinds = inspect.Parameter
    known = [
        p.kind.name
        for p in signature.signature.parameters.values()
        if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    if any(p.kind is kinds.VAR_POSITIONAL for p in signature.signature.parameters.values()):
        # Parameters before `*args` cannot be given by name if there are positional arguments behind them.
        known = ["POSITIONAL_ONLY"] * len(args)
    out = [(signature.positional_name(i), known[i], value) for i, value in enumerate(args)]
    return out + [(key, "KEYWORD_ONLY", value) for key, value in kwargs.items()]


def block(
    signature: Signature,
    arguments: Arguments,
    results: TensorSpec | dict[str, Any] | None,
    captures: Sequence[Any],
) -> str:
    """Parameters, result and captures, one a line."""
    lines = ["Input Parameters:"]
    lines += [f"  {name} ({kind}): {value}" for name, kind, value in parameters(signature, arguments)]
    lines += ["Output Type:", f"  {pretty(results)}", "Captures:"]
    captured = [f"  {i}: {_captured(x)}" for i, x in enumerate(captures)]
    return "\n".join(lines + (captured or ["  None"]))


def _captured(x: Any) -> str:
    return (
        f"{pretty(x.spec)} of {x.name!r}" if isinstance(x, Handle) and hasattr(x, "name") else pretty(x.spec)
    )


def line(signature: Signature, arguments: Arguments, results: TensorSpec) -> str:
    """`(x: TensorSpec(...), *, n: Literal[3]) -> TensorSpec(...)`."""
    shown: list[str] = []
    last = "POSITIONAL_OR_KEYWORD"
    for name, kind, value in parameters(signature, arguments):
        if last == "POSITIONAL_ONLY" and kind != last:
            shown.append("/")
        if kind == "KEYWORD_ONLY" and last != kind:
            shown.append("*")
        shown.append(f"{name}: {value}")
        last = kind
    if last == "POSITIONAL_ONLY":
        shown.append("/")
    return f"({', '.join(shown)}) -> {pretty(results)}"


def listing(concretes: Sequence[Any], verbose: bool) -> str:
    """The signatures of several traces: blocks separated by empty lines, or one a line."""
    return ("\n\n" if verbose else "\n").join(
        [concrete.pretty_printed_signature(verbose) for concrete in concretes]
    )


def counted(number: int, what: str) -> str:
    """`1 trace`, `2 traces`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def head(signature: Signature) -> str:
    """The parameters with their defaults, `(x, n=3)`; a long default is `...`."""
    shown = []
    for parameter in signature.signature.parameters.values():
        default = parameter.default
        if default is not parameter.empty and type(default) not in (bool, int, float, str, type(None)):
            parameter = parameter.replace(default=_Short())
        shown.append(parameter.replace(annotation=parameter.empty))
    from graphad.core.tree import plain

    return plain(str(signature.signature.replace(parameters=shown)))


class _Short:
    def __repr__(self) -> str:
        return "..."


def page(title: str, concretes: Sequence[Any]) -> str:
    """Traces as HTML, each with its graph folded below its signature."""
    from graphad.core.html import box, folded, pre  # in notebooks alone
    from graphad.graph.text import print_graph

    return box(
        title,
        *[
            folded(c.pretty_printed_signature(False), pre(print_graph(c.graph, lines=True)))
            for c in concretes
        ],
    )
