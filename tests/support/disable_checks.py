"""Does every check of the loader have a test? Takes one after the other away and sees which tests fail.

    python -m tests.support.disable_checks                       # all of serialization/convert
    python -m tests.support.disable_checks soundness graphs      # some of its modules

Every `raise` of an error and every `_require` is a check. One run of the tests writes down which of them meet each check that
fails; then each check is switched off in turn, in a process of its own, and those tests run again. A check whose tests all pass
without it is printed: it is dead, or wants a test.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
from collections.abc import Sequence
from typing import Any

PACKAGE = "serialization.convert"
MODULES = ("soundness", "graphs", "functions", "objects", "values")
TESTS = [
    "tests/serialization/convert/test_hostile_graphs.py",
    "tests/serialization/convert/test_hostile_objects.py",
    "tests/serialization/convert/test_claims.py",
    "tests/serialization/saved_model/test_objects.py",
    "tests/serialization/saved_model/test_custom_gradients.py",
]
MOST_TESTS = 6  # of those that meet a check
SECONDS = 60
MEMORY = 6 << 30


class Checks:
    """What the changed modules ask: whether check number k holds, and whether it is switched off."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.met: dict[int, dict[str, None]] = {}
        self.off = -1

    def raises(self, k: int) -> bool:
        """Asked where an error would be raised."""
        if self.off != k:
            self.met.setdefault(k, {})[os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]] = None
        return self.off != k

    def holds(self, k: int, condition: Any) -> Any:
        """Asked for the condition of a `_require`."""
        return condition or not self.raises(k)


class _Change(ast.NodeTransformer):
    def __init__(self, checks: Checks, module: str, source: str) -> None:
        self._checks, self._module, self._lines = checks, module, source.splitlines()

    def _number(self, node: ast.AST) -> ast.Constant:
        line = getattr(node, "lineno", 0)
        self._checks.places.append(f"{self._module}.py:{line}: {self._lines[line - 1].strip()}")
        return ast.Constant(len(self._checks.places) - 1)

    def _ask(self, name: str, *arguments: ast.expr) -> ast.Call:
        asked = ast.Attribute(ast.Name("_checks", ast.Load()), name, ast.Load())
        return ast.Call(asked, list(arguments), [])

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None or isinstance(node.exc, ast.Name):
            return node  # handed on
        return ast.If(self._ask("raises", self._number(node)), [node], [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "_require":
            node.args[0] = self._ask("holds", self._number(node), node.args[0])
        return node


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the modules with every check asked for."""

    def __init__(self, checks: Checks, modules: Sequence[str]) -> None:
        self._checks = checks
        self._names = {f"{PACKAGE}.{name}": name for name in modules}

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
        changed = _Change(self._checks, self._names[module.__name__], source).visit(ast.parse(source))
        module.__file__ = origin
        module._checks = self._checks
        exec(compile(ast.fix_missing_locations(changed), origin, "exec"), module.__dict__)


def survivors(modules: Sequence[str] = MODULES) -> list[str]:
    """The checks that no test misses."""
    import pytest

    checks = Checks()
    sys.meta_path.insert(0, _Finder(checks, modules))
    plain = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "-x"]
    if pytest.main([*plain, *TESTS]) != 0:
        raise SystemExit("the tests fail as they are")
    found = []
    for k, place in enumerate(checks.places):
        tests = [test for test in checks.met.get(k, ()) if test][:MOST_TESTS]
        print(f"{k + 1} of {len(checks.places)}: {place}: {len(checks.met.get(k, ()))} tests", flush=True)
        if not tests or _passes(checks, k, [*plain, *tests]):
            found.append(f"{place}{'' if tests else '  (no test meets it)'}")
    return found


def _passes(checks: Checks, k: int, arguments: Sequence[str]) -> bool:
    """Whether tests pass without a check, tried in a process that has everything imported."""
    import pytest

    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        checks.off = k
        signal.alarm(SECONDS)  # what a check keeps out may well take for ever, or all memory
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os._exit(int(pytest.main(list(arguments))))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


if __name__ == "__main__":
    left = survivors(sys.argv[1:] or MODULES)
    print(f"{len(left)} checks without a test:")
    print("\n".join(left))
    sys.exit(1 if left else 0)
