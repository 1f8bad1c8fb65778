"""A description of a model as lines of text. Whatever comes from the file is escaped to ASCII and cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from serialization.errors import shown

WIDTH = 200  # of one piece of text that comes from the file
ROWS = 1000  # of one section


def plain(text: int | str, limit: int = WIDTH) -> str:
    """Text from a file without quotes, escaped to printable ASCII and cut."""
    return shown(str(text), limit)[1:-1] if isinstance(text, str) else shown(text, limit)


def lines_of(found: dict[str, Any]) -> Iterator[str]:
    """The lines of `show`."""
    counts, manifest = found["counts"], found["manifest"]
    stored = sum(v["bytes"] for v in found["payloads"])
    yield f"model {plain(found['path'])}"
    yield f"  format version {found['format_version']}, written by {plain(found['producer'])}"
    yield f"  manifest {amount(manifest['bytes'])}, sha256 {manifest['sha256']}"
    yield (
        "  "
        + ", ".join(f"{number} {name}" for name, number in counts.items())
        + f"; {amount(stored)} of values"
    )
    for feature in found["features"]:
        yield f"  feature {plain(feature['name'])} ({'required' if feature['required'] else 'optional'})"
    yield from _section("objects", found["objects"], _object)
    yield from _section("variables", found["variables"], _variable)
    yield from _section("functions", found["functions"], _function)
    yield from _section("signatures", found["signatures"], _signature)
    yield from _section("custom gradients", found["custom_gradients"], _rule)
    yield from _section("files", [*found["payloads"], *found["assets"]], _file)
    for graph in found.get("graphs", ()):
        yield from _graph(graph)


def _section(title: str, entries: list[Any], line: Callable[..., Any]) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield title
    for entry in entries[:ROWS]:
        yield from line(entry)
    if len(entries) > ROWS:
        yield f"  ... and {len(entries) - ROWS} more"


def _object(entry: dict[str, Any]) -> Iterator[str]:
    indent = "  " * (1 + min(entry["depth"], 30))
    name = plain(entry["name"], 80)
    same = f"  (the same as {plain(entry['same_as'])})" if "same_as" in entry else ""
    yield f"{indent}{f'{name}: ' if entry['depth'] else ''}{plain(entry['kind'])}{same}"


def _variable(entry: dict[str, Any]) -> Iterator[str]:
    shape = "unknown rank" if entry["shape"] is None else _sizes(entry["shape"])
    now = "" if entry["shape"] == entry["value_shape"] else f", now {_sizes(entry['value_shape'])}"
    trained = "" if entry["trainable"] else ", not trainable"
    yield (
        f"  {plain(entry['tensor'])}: {plain(entry['name'])} {entry['dtype']} {shape}{now}, {amount(entry['bytes'])}{trained}"
    )


def _sizes(shape: list[Any]) -> str:
    return f"({', '.join('?' if size is None else plain(size) for size in shape)})"


def _function(entry: dict[str, Any]) -> Iterator[str]:
    yield f"  {plain(entry['name'])}({', '.join(plain(p, 80) for p in entry['parameters'])})"
    for trace in entry["traces"]:
        yield f"    {plain(trace['inputs'])} -> {plain(trace['outputs'])}"
        captures = (
            f", captures {', '.join(plain(c, 80) for c in trace['captures'])}" if trace["captures"] else ""
        )
        yield f"      graph {trace['graph']} of {trace['nodes']} nodes{captures}"
    if not entry["traces"]:
        yield "    no traces: it cannot be called"


def _signature(entry: dict[str, Any]) -> Iterator[str]:
    inputs = ", ".join(f"{plain(name, 80)}: {plain(spec)}" for name, spec in entry["inputs"].items())
    yield f"  {plain(entry['key'])}({inputs}) -> {{{', '.join(plain(name, 80) for name in entry['outputs'])}}}"


def _rule(entry: dict[str, Any]) -> Iterator[str]:
    kept = f"graph of {entry['nodes']} nodes" if entry["saved"] else "not saved"
    yield f"  {plain(entry['name'])}: {kept}"


def _file(entry: dict[str, Any]) -> Iterator[str]:
    name = entry.get("file") or entry["name"]
    digest = f", sha256 {entry['sha256']}" if entry["sha256"] else ""
    tensors = f", {entry['tensors']} tensors" if "tensors" in entry else ""
    yield f"  {plain(name)}: {amount(entry['bytes'])}{tensors}{digest}"


def _graph(graph: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"graph {graph['number']} {plain(graph['name'] or '')}({', '.join(plain(x) for x in graph['inputs'])}):"
    for constant in graph["constants"]:
        yield f"  {plain(constant)}"
    for node in graph["nodes"]:
        left = f"{', '.join(plain(x) for x in node['outputs'])} = " if node["outputs"] else ""
        line = f"    # {plain(node['line'], 80)}" if node["line"] else ""
        yield f"  {left}{plain(node['op'])}{line}"
    yield f"  return {', '.join(graph['outputs'])}"


def amount(count: int) -> str:
    """A number of bytes for people."""
    if count < 1024:
        return f"{count} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        count_in_unit = count / 1024 ** (("KiB", "MiB", "GiB").index(unit) + 1)
        if count_in_unit < 1024 or unit == "GiB":
            return f"{count_in_unit:.1f} {unit}"
    return f"{count} bytes"
