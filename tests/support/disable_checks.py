"""Does every check have a test? Disables one check after another and finds the tests that fail.

    python -m tests.support.disable_checks                                    # what loads models
    python -m tests.support.disable_checks core gradient plan                 # other parts, each with its tests
    python -m tests.support.disable_checks serialization.convert.claims       # one module or package
    python -m tests.support.disable_checks graphad.ops.array.padding --tests tests/ops/array

Every `raise` of an error and every `require` is a check. All tests of the part run once, and each check that raises is noted
with the tests that trigger it: no other test can detect its absence. Then each check is disabled in a forked process, and its
tests run again, the fastest first, until one fails. If none does, the checks that replaced it (those that now raise in its
tests) are disabled as well. If a test fails then, these checks cover the same case, and the tests do not distinguish them.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Part(NamedTuple):
    """Modules or packages, and the tests that must detect missing checks."""

    modules: list[str]
    tests: list[str]


_MODELS = [
    "tests/serialization", "--ignore=tests/serialization/fuzz", "--ignore=tests/serialization/inspect",
    "tests/function/test_pickling.py",
]  # fmt: skip
PARTS = {
    "loader": Part(["serialization.convert", "serialization.schema.verify"], _MODELS),
    "core": Part(
        ["graphad.core"],
        [
            "tests/core", "tests/eager", "tests/trace", "tests/oracle", "tests/test_nest.py", "tests/test_settings.py",
            "tests/test_small_names.py", "tests/ops/array", "tests/ops/test_attributes.py", "tests/ops/test_operators.py",
            "tests/ops/test_dtype_checks.py", "tests/ops/test_run_time_values.py", "tests/gradient/test_custom_gradient.py",
        ],
    ),
    "gradient": Part(["graphad.gradient"], ["tests/gradient"]),
    "control": Part(
        ["graphad.ops.control"],
        [
            "tests/ops/control", "tests/vectorize", "tests/gradient/test_control_flow.py", "tests/gradient/test_effects.py",
            "tests/serialization/convert/test_hostile_graphs.py", "tests/serialization/convert/test_claims.py",
        ],
    ),
    "plan": Part(["graphad.compiler.plan", "graphad.compiler.cache"], ["tests/compiler"]),
}  # fmt: skip
MOST_TESTS = 40  # the most that are run for a check
SECONDS = 60  # input that a check would refuse may run for ever
MEMORY = 6 << 30  # or all memory
MOST_TOGETHER = 4  # checks that replace one another


class Checks:
    """Called by the instrumented modules: records that check k fails, and tells whether it is disabled."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.met: dict[int, dict[str, None]] = {}
        self.off: Collection[int] = ()
        self.test = ""

    def raises(self, k: int) -> bool:
        """Called where an error would be raised."""
        if k in self.off:
            return False
        self.met.setdefault(k, {})[self.test] = None
        return True

    def holds(self, k: int, condition: Any) -> Any:
        """Called with the condition of a `require`."""
        return condition or not self.raises(k)


class _Change(ast.NodeTransformer):
    def __init__(self, checks: Checks, file: str, source: str) -> None:
        self._checks, self._file, self._lines = checks, file, source.splitlines()
        self._caught: list[str | None] = []

    def _number(self, node: ast.AST) -> ast.Constant:
        line = getattr(node, "lineno", 0)
        text = " ".join(part.strip() for part in self._lines[line - 1 : getattr(node, "end_lineno", line)])
        self._checks.places.append(f"{self._file}:{line}: {text[:150]}")
        return ast.Constant(len(self._checks.places) - 1)

    def _ask(self, name: str, *arguments: ast.expr) -> ast.Call:
        asked = ast.Attribute(ast.Name("_checks", ast.Load()), name, ast.Load())
        return ast.Call(asked, list(arguments), [])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self._caught.append(node.name)
        self.generic_visit(node)
        self._caught.pop()
        return node

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None or (isinstance(node.exc, ast.Name) and node.exc.id in self._caught):
            return node  # handed on
        if isinstance(node.exc, ast.Name) and node.exc.id == "NotImplementedError":
            return node  # an abstract method, which every subclass overrides
        return ast.If(self._ask("raises", self._number(node)), [node], [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("_require", "require"):
            node.args[0] = self._ask("holds", self._number(node), node.args[0])
        return node


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules with every check instrumented."""

    def __init__(self, checks: Checks, modules: Sequence[str]) -> None:
        self._checks = checks
        self._names = {name for module in modules for name in modules_of(module)}

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self._names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.origin is not None
        return importlib.machinery.ModuleSpec(name, self, origin=spec.origin)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        origin = module.__spec__.origin
        with open(origin) as file:
            source = file.read()
        place = str(Path(origin).relative_to(ROOT))
        changed = _Change(self._checks, place, source).visit(ast.parse(source))
        module.__file__ = origin
        module._checks = self._checks
        exec(compile(ast.fix_missing_locations(changed), origin, "exec"), module.__dict__)


class _Runner:
    """A pytest plugin: collects once, then runs tests on request."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        for name in self.items:
            start = time.perf_counter()
            self.run(name)
            self.seconds[name] = time.perf_counter() - start
        for name in set(self.failed):
            _say(f"{name} fails as it is, and says nothing of any check")
            self.items.pop(name)
        self.failed.clear()
        for k in range(len(self.checks.places)):
            self.try_without(k)
        return True

    def run(self, name: str) -> None:
        self.checks.test = name
        item = self.items[name]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def try_without(self, k: int) -> None:
        place, met = self.checks.places[k], self.checks.met.get(k, {})
        tests = sorted([name for name in met if name in self.items], key=self.seconds.__getitem__)[
            :MOST_TESTS
        ]
        words, off = "no test meets it" if not tests else "", [k]
        while tests and len(off) <= MOST_TOGETHER:
            noticed, others = self._without(off, tests)
            if noticed:
                if len(off) > 1:
                    words = "so does " + ", ".join(
                        self.checks.places[other].split(": ")[0] for other in off[1:]
                    )
                break
            words = f"{len(tests)} tests pass without it"
            new = [other for other in others if other not in off]
            if not new:
                break
            off.append(new[0])
        if words:
            self.found.append(f"{place}\n    {words}")
            _say(self.found[-1])

    def _without(self, off: list[int], tests: list[str]) -> tuple[bool, list[int]]:
        """Whether a test fails without these checks, and the checks that raise in the tests instead; in a forked process."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            self.checks.off, self.checks.met = off, {}
            for name in tests:
                self.run(name)
                if self.failed:
                    break
            os.write(write, json.dumps([bool(self.failed), list(self.checks.met)]).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        if not text:
            return True, []  # the input crashed it
        noticed, others = json.loads(text)
        return noticed, others


def _say(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


def survivors(modules: Sequence[str], tests: Sequence[str]) -> tuple[list[str], int]:
    """The checks whose absence no test detects, each with an explanation, and the number of checks."""
    import pytest

    checks = Checks()
    sys.meta_path.insert(0, _Finder(checks, modules))
    runner = _Runner(checks)
    # Resources that an aborted test leaves open do not matter here.
    quiet = ["-p", "no:cacheprovider", "-p", "no:unraisableexception", "--no-header", "--capture=sys"]
    plain = ["-q", "-n", "0", *quiet, "-m", "not slow"]
    pytest.main([*plain, *tests], plugins=[runner])
    return runner.found, len(checks.places)


def modules_of(name: str) -> list[str]:
    """The full names of the modules that a name stands for: itself, or what is in the package."""
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir():
        files = sorted(path.rglob("*.py"))
        return [
            ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for file in files
            if file.name != "__init__.py"
        ]
    if not path.with_suffix(".py").is_file():
        raise SystemExit(f"there is no part, package or module {name}; parts are {', '.join(PARTS)}")
    return [name]


def tests_of(name: str) -> list[str]:
    """The tests of the part to which a module belongs."""
    for part in PARTS.values():
        if any(name == module or name.startswith(module + ".") for module in part.modules):
            return part.tests
    raise SystemExit(f"{name} is in no part: say with --tests what is to test it")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", default=["loader"], help=f"{', '.join(PARTS)}, packages or modules"
    )
    parser.add_argument("--tests", nargs="+", help="what pytest is to collect")
    given = parser.parse_args()
    if len(given.what) > 1:  # each in a process of its own: what is imported once is not changed again
        chosen = [] if given.tests is None else ["--tests", *given.tests]
        return max(
            subprocess.run([sys.executable, "-m", "tests.support.disable_checks", name, *chosen]).returncode
            for name in given.what
        )
    (name,) = given.what
    part = PARTS.get(name) or Part([name], given.tests or tests_of(name))
    found, count = survivors(part.modules, given.tests or part.tests)
    print(f"{len(found)} of {count} checks without a test of their own:")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
