"""The commands `python -m serialization show|verify|run|diff PATH`. No input is ever evaluated as Python."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from serialization.errors import LoadError, shown


class _UsageError(Exception):
    """The command line is wrong; the message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, or 1 with a message on stderr (2 for a wrong command line)."""
    return execute(parser().parse_args(arguments))


def execute(parsed: argparse.Namespace) -> int:
    """Run the command that was parsed; see `main`."""
    command: Callable[[Any], int] = parsed.command
    try:
        return command(parsed)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stderr.close()
        return 0
    except _told() as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _told() -> tuple[type[Exception], ...]:
    """What a command line or a file may be the cause of; anything else is a mistake of ours, of which the traceback is shown."""
    from graphad.core.errors import GraphadError

    return LoadError, _UsageError, OSError, GraphadError


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        "python -m serialization", description="Look into saved models. Loading executes nothing."
    )
    add_commands(made.add_subparsers(required=True))
    return made


def add_commands(commands: Any) -> None:
    """Add the commands on models to those of a parser."""
    show = commands.add_parser(
        "show", help="objects, variables, functions, signatures, custom gradients, sizes and digests"
    )
    show.add_argument("path")
    show.add_argument("--graphs", action="store_true", help="also every node of every graph")
    show.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(command=_show)
    verify = commands.add_parser(
        "verify", help="check every byte, record and graph; exit status 1 if anything is wrong"
    )
    verify.add_argument("path")
    verify.set_defaults(command=_verify)
    run = commands.add_parser("run", help="call a signature and print its outputs as JSON")
    run.add_argument("path")
    run.add_argument("--signature", default="serving_default", metavar="KEY")
    run.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="VALUE: a .npy file, a .json file, or JSON itself",
    )
    run.add_argument("--output", metavar="FILE.npz", help="write the outputs there instead of printing them")
    run.set_defaults(command=_run)
    diff = commands.add_parser(
        "diff", help="objects, functions, graphs and values that differ; exit status 1 if any does"
    )
    diff.add_argument("path")
    diff.add_argument("other")
    diff.set_defaults(command=_diff)
    for command in (show, verify, run, diff):
        command.add_argument(
            "--links", choices=("refuse", "follow"), default="refuse", help="whether files may be links"
        )


def _show(parsed: argparse.Namespace) -> int:
    from serialization.inspect.describe import describe
    from serialization.inspect.text import lines_of

    found = describe(parsed.path, parsed.graphs, parsed.links)
    if parsed.json:
        print(json.dumps(found, indent=2, ensure_ascii=True))
    else:
        for line in lines_of(found):
            print(line)
    return 0


def _verify(parsed: argparse.Namespace) -> int:
    from serialization.convert.objects import ObjectReader
    from serialization.storage.read import read_model

    model, arrays = read_model(parsed.path, verify=True, links=parsed.links)
    arrays.verify()
    reader = ObjectReader(model, arrays)
    reader.check()
    tensors = sum(len(payload.tensors) for payload in model.payloads)
    nodes = sum(len(graph.nodes) for graph in model.graphs)
    print(
        f"ok: {len(model.objects)} objects, {tensors} tensors, {len(model.graphs)} graphs of {nodes} nodes, "
        f"{len(model.assets)} assets"
    )
    if reader.graphs.unsaved:
        print(
            f"note: custom gradients that were not saved: {', '.join(map(shown, sorted(reader.graphs.unsaved)))}"
        )
    return 0


def _run(parsed: argparse.Namespace) -> int:
    from serialization.saved_model import LoadOptions, load

    loaded = load(parsed.path, options=LoadOptions(links=parsed.links))
    signatures = getattr(loaded, "signatures", {})
    if parsed.signature not in signatures:
        known = ", ".join(map(shown, signatures)) or "none"
        raise _UsageError(f"run: there is no signature {parsed.signature!r}; the model has {known}.")
    given = {}
    for item in parsed.input:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise _UsageError(f"run: --input {item!r} is not of the form NAME=VALUE.")
        given[name] = _array(value)
    outputs = {name: np.asarray(y) for name, y in signatures[parsed.signature](**given).items()}
    if parsed.output:
        np.savez(parsed.output, **outputs)  # type: ignore[arg-type]
    else:
        print(json.dumps({name: _listed(y) for name, y in outputs.items()}))
    return 0


def _diff(parsed: argparse.Namespace) -> int:
    from serialization.inspect.diff import differences

    found = False
    for line in differences(parsed.path, parsed.other, parsed.links):
        found = True
        print(line)
    return int(found)


def _array(text: str) -> Any:
    """An array from a file, or nested lists from JSON, which take the dtype that the signature wants."""
    try:
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        if text.endswith(".json"):
            with open(text, encoding="utf-8") as file:
                return json.load(file)
    except (ValueError, EOFError) as cause:
        raise _UsageError(f"run: {text!r} does not hold what its name says: {cause}") from cause
    try:
        return json.loads(text)
    except ValueError as cause:
        raise _UsageError(f"run: {text!r} is not JSON and not a .npy or .json file.") from cause


def _listed(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind == "c":
        return [array.real.tolist(), array.imag.tolist()]
    return array.astype(np.float64).tolist() if array.dtype.kind == "V" else array.tolist()
