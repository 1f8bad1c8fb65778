"""`python -m graphad`: models in files, the cache of compiled code, and a page about this machine for reports.

python -m graphad show PATH            what is in a saved model; verify, run and diff as well
python -m graphad cache [--clear]      the compiled code that is kept on disk
python -m graphad doctor               versions, processor, BLAS, threads, cache, GPU, and whether compiling works
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from graphad import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, or 1 with a message on stderr (2 for a wrong command line)."""
    # Imported by name: the rooms of files stand beside graphad, not below it.
    cli = importlib.import_module("serialization.inspect.cli")
    parser = argparse.ArgumentParser("python -m graphad", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"graphad {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    parser.set_defaults(command=None)
    cli.add_commands(commands)
    cache = commands.add_parser(
        "cache", help="where compiled code is kept, how much of it there is; --clear removes it"
    )
    cache.add_argument(
        "--clear", action="store_true", help="remove all of it; it is compiled again when it is needed"
    )
    cache.set_defaults(command=_cache)
    doctor = commands.add_parser(
        "doctor", help="a page about this machine and installation, to paste into a report"
    )
    doctor.add_argument("--quick", action="store_true", help="do not compile anything")
    doctor.set_defaults(command=_doctor)
    wanted = parser.parse_args(arguments)
    if wanted.command is None:
        parser.print_help(sys.stderr)
        return 2
    status: int = cli.execute(wanted)
    return status


def _cache(parsed: Any) -> int:
    from graphad.tools.doctor import cache_lines, clear_cache

    for line in clear_cache() if parsed.clear else cache_lines():
        print(line)
    return 0


def _doctor(parsed: Any) -> int:
    from graphad.tools.doctor import report

    lines, well = report(not parsed.quick)
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
