"""Derivative and batching rules are written with other ops: they compute nothing with NumPy, and read no tensor's array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = {"batch", "batch_given", "expand", "expanded", "jvp", "rows", "vjp"}
# Methods that compute for NumPy, which a rule does not call with tensors.
APART = {"eval", "infer", "quick", "quick_vjp"}
# Functions in the reach of a rule that read arrays or ask NumPy, and why.
ALLOWED = {
    "graphad/ops/math/arithmetic.py: _add_vjp": "the shape alone, where nothing follows the tensor",
    "graphad/ops/math/reduce.py: ReduceProd.vjp": "the number of elements alone: it chooses the formula",
}


def is_rule(name: str) -> bool:
    own = name.rpartition(".")[2]
    return own in RULES or (own.endswith(("_vjp", "_jvp", "_batch")) and not own.startswith("_quick"))


def rules_of(text: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The rules of the ops of a module, with the functions and methods of the module that they call, by name."""
    tree = ast.parse(text)
    named = {f.name: (f.name, f) for f in tree.body if isinstance(f, ast.FunctionDef)}
    todo = [pair for name, pair in named.items() if is_rule(name)]
    seen: set[int] = set()
    for kind in [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        methods = {f.name: (f"{kind.name}.{f.name}", f) for f in kind.body if isinstance(f, ast.FunctionDef)}
        todo += [methods[name] for name in RULES & methods.keys()]
        while todo:
            name, f = todo.pop()
            if id(f) in seen:
                continue
            seen.add(id(f))
            yield name, f
            for call in [node for node in ast.walk(f) if isinstance(node, ast.Call)]:
                if isinstance(call.func, ast.Name) and call.func.id in named:
                    todo.append(named[call.func.id])
                elif isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self":
                    if call.func.attr in methods and call.func.attr not in APART:
                        todo.append(methods[call.func.attr])
    yield from todo


def computes(f: ast.FunctionDef) -> Iterator[int]:
    """The lines that read an array of a tensor, or in a rule itself compute with NumPy what it was given."""
    constants = {
        id(part)
        for call in ast.walk(f)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "lift"
        for part in ast.walk(call)
    }
    for node in ast.walk(f):
        if not isinstance(node, ast.Attribute) or id(node) in constants:
            continue
        if node.attr == "data" and ast.unparse(node.value) != "self":
            yield node.lineno
    for node in ast.walk(f) if is_rule(f.name) else ():
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).startswith("np.")
            and id(node) not in constants
        ):
            given = {getattr(x, "id", None) for x in ast.walk(node) if isinstance(x, ast.Name)} - {"np"}
            if given & {a.arg for a in (*f.args.args, *([f.args.vararg] if f.args.vararg else []))} - {
                "self"
            }:
                yield node.lineno


def _found() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path in sorted((ROOT / "graphad/ops").rglob("*.py")):
        for name, f in rules_of(path.read_text(encoding="utf-8")):
            lines = list(computes(f))
            if lines:
                found.setdefault(f"{path.relative_to(ROOT)}: {name}", []).extend(lines)
    return found


def test_no_rule_computes_with_numpy() -> None:
    found = _found()
    assert not found.keys() - ALLOWED.keys(), "bind ops; a short way is `quick_vjp` of the op"


def test_such_rules_are_found() -> None:
    text = """
class A(Op):
    def vjp(self, ctx, g):
        return helper(g), self.other(g)
    def other(self, g):
        return EagerTensor(g.data * 2)
    def eval(self, x):
        return np.sin(x.data)
def helper(g):
    return g.data.T
def _b_vjp(ctx, g):
    return lift(np.int32(len(g.dims)))
def _c_vjp(ctx, g):
    return np.sin(g)
"""
    found = {name: list(computes(f)) for name, f in rules_of(text)}
    assert found == {"A.vjp": [], "A.other": [6], "helper": [10], "_b_vjp": [], "_c_vjp": [14]}


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_exceptions_are_needed(name: str) -> None:
    path, _, function = name.partition(": ")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert any(own == function for own, _ in rules_of(text))
