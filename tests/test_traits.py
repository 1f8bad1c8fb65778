"""Generic code asks what an op is like, never what it is called: names of ops stand in their classes alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphad as gd  # noqa: F401  (it registers the ops)
import graphad.devices.transfer
import graphad.gradient.host  # noqa: F401
from graphad.core.op import Op
from graphad.core.registry import all_ops

ROOT = Path(__file__).parents[1]
# All rooms but those of the ops and of what is made of them.
ROOMS = (
    "graphad/core",
    "graphad/graph",
    "graphad/devices",
    "graphad/kernels",
    "graphad/eager",
    "graphad/autograph",
    "graphad/trace",
    "graphad/vectorize",
    "graphad/gradient",
    "graphad/compiler",
    "graphad/function",
    "graphad/functional",
    "graphad/optimize",
    "graphad/tools",
    "serialization",
)
# What holds names of functions, many of which are those of ops too, but has no more reason to ask which op there is.
MADE_OF_OPS = (
    "graphad/ops",
    "graphad/data",
    "graphad/experimental",
    "graphad/layers",
    "graphad/losses",
    "graphad/metrics",
    "graphad/optimizers",
)


def own_ops() -> frozenset[str]:
    """The names of graphad's ops; tests may have defined others."""
    return frozenset(name for name, kind in all_ops().items() if kind.__module__.startswith("graphad."))


def names_compared(text: str, ops: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, name) wherever the name of an op is compared with literals, or looked up in a table of them."""
    tree = ast.parse(text)
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    aliases = {name for name, value in tables.items() if _is_name(value, frozenset())}
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_name(side, aliases) for side in sides):
                asked = [side for side in sides if not _is_name(side, aliases)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            if node.args and _is_name(node.args[0], aliases):
                asked = [node.func.value]
        elif isinstance(node, ast.Subscript) and _is_name(node.slice, aliases):
            asked = [node.value]
        for side in asked:
            found = tables.get(side.id, side) if isinstance(side, ast.Name) else side
            for name in sorted(_literals(found) & ops):
                yield node.lineno, name


def _is_name(node: ast.expr, aliases: frozenset[str] | set[str]) -> bool:
    """Whether an expression is what an op is called: `op.name`, `kind.name`, or a variable that was given it."""
    if isinstance(node, ast.Tuple):
        return any(_is_name(item, aliases) for item in node.elts)
    if isinstance(node, ast.Name):
        return node.id in aliases
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    owner = node.value
    return not (isinstance(owner, ast.Attribute) and owner.attr.endswith("dtype"))


def _literals(node: ast.expr) -> set[str]:
    texts = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return {word for text in texts for word in (text, *text.split())}


# Modules that tell classes of ops apart, and why no trait can say it.
ABOUT_CLASSES = {
    "graphad/compiler/passes/algebra.py": "identities of arithmetic, each about the ops that it names",
    "graphad/compiler/passes/assume.py": "differences of integers, through the ops of arithmetic that it names",
    "graphad/compiler/passes/counters.py": "which ops only reshape",
    "graphad/compiler/passes/lengths.py": "reshapes to the shape of another value",
    "graphad/gradient/closing.py": "gives the ops of custom gradients another class",
    "graphad/gradient/explain_none.py": "words about custom gradients",
    "graphad/gradient/independence.py": "looks into the rules of closed custom gradients",
    "graphad/vectorize/vectorize_graph.py": "an op itself, with rules for the outputs of branches and loops",
    "graphad/trace/specialiser.py": "reads the numbers of the op that holds sizes",
    "serialization/convert/graphs.py": "custom gradients are written and read by rule and not by attributes",
}


def classes_compared(text: str, classes: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, class) wherever an op is asked whether it is of a class."""
    for node in ast.walk(ast.parse(text)):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked = node.args[1:]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_class(side) for side in sides):
                asked = [side for side in sides if not _is_class(side)]
        for side in asked:
            for name in sorted({x.id for x in ast.walk(side) if isinstance(x, ast.Name)} & classes):
                yield node.lineno, name


def _is_class(node: ast.expr) -> bool:
    """Whether an expression is the class of something: `type(op)`, `op.op_class`, `op_class`, or `kind`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return getattr(node, "attr", getattr(node, "id", None)) in ("op_class", "kind")


def op_classes() -> frozenset[str]:
    """The names of the classes of ops, and of those that they are made from."""
    return frozenset(
        base.__name__ for kind in all_ops().values() for base in kind.__mro__ if issubclass(base, Op) and base is not Op
    )  # fmt: skip


@pytest.mark.parametrize("room", (*ROOMS, *MADE_OF_OPS))
def test_no_generic_module_asks_for_an_op_by_its_class(room):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in ABOUT_CLASSES
        for line, name in classes_compared(path.read_text(encoding="utf-8"), op_classes())
    ]
    assert not found, "give Op a class attribute that says what is asked here"


@pytest.mark.parametrize(
    "text",
    [
        "if isinstance(node.op, Reshape): pass",
        "if isinstance(op, Cond | Loop): pass",
        "if isinstance(op, (Cond, Loop)): pass",
        "if type(node.op) is not Reshape: pass",
        "if op.op_class is Reshape: pass",
        "if op_class in (Reshape, Cond): pass",
        "if kind is Reshape: pass",
    ],
)
def test_the_search_finds_classes(text):
    assert list(classes_compared(text, op_classes()))


@pytest.mark.parametrize("path", sorted(ABOUT_CLASSES))
def test_exceptions_for_classes_are_needed(path):
    assert list(classes_compared((ROOT / path).read_text(encoding="utf-8"), op_classes()))


@pytest.mark.parametrize("room", (*ROOMS, *MADE_OF_OPS))
def test_no_generic_module_asks_for_an_op_by_its_name(room):
    ops = own_ops()
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, name in names_compared(path.read_text(encoding="utf-8"), ops)
    ]
    assert not found, "give Op a class attribute that says what is asked here"


@pytest.mark.parametrize(
    "text",
    [
        'if op.name == "cond": pass',
        'if node.op.name in ("loop", "cond"): pass',
        'NAMES = frozenset("reshape cast".split())\nif op.name not in NAMES: pass',
        'ROWS = {"add": 1}\nrow = ROWS.get(node.op.name)',
        'ROWS = {"add": 1}\nrow = ROWS[op.name]',
        'name = node.op.name\nif name == "read": pass',
        'TABLE = {("draw", "kind"): 1}\nrow = TABLE.get((op_class.name, field))',
    ],
)
def test_the_search_finds_names(text):
    assert list(names_compared(text, frozenset(all_ops())))


# Strings that are names of ops too, and what they are where they stand: a module or a room of its own vocabulary.
SCALARS = "the scalar functions that kernels are made of (`kernels/scalars.py`), which ops refer to"
VOCABULARIES = {
    "graphad/kernels": SCALARS,
    "graphad/compiler/cpu": SCALARS,
    "graphad/compiler/cuda": SCALARS,
    "graphad/compiler/endings.py": SCALARS,
    "graphad/compiler/lowering.py": SCALARS,
    "graphad/compiler/oracle.py": SCALARS,
    "graphad/compiler/plain.py": SCALARS,
    "graphad/compiler/raising.py": "kinds of views (`kernels/forms.py`)",
    "graphad/compiler/units.py": "kinds of units, and of views (`kernels/forms.py`)",
    "graphad/compiler/passes/compared.py": "kinds of entries of an index",
    "graphad/compiler/plan/schedule.py": "kinds of units",
    "graphad/core/absent.py": "public names",
    "graphad/core/convert.py": "a public name, for a message",
    "graphad/core/dimension.py": "functions of Python's module operator",
    "graphad/devices/array.py": "functions of NumPy",
    "graphad/devices/functions.py": "functions of NumPy",
    "graphad/devices/operators.py": "functions of NumPy",
    "graphad/devices/substitutes.py": "functions of NumPy",
    "graphad/eager/assigned.py": "methods of variables",
    "graphad/eager/scattered.py": "methods of variables",
    "graphad/eager/variable.py": "methods of variables",
    "graphad/functional/arrays.py": "a public name, for a message",
    "graphad/tools/check_gradients.py": "a mode of derivatives",
    "graphad/tools/plots.py": "words of matplotlib and of SVG",
    "serialization/checkpoint/checkpoint.py": "modes of files",
}
# Attributes, keys and kinds of dtypes, wherever they stand.
WORDS = frozenset({"call", "complex", "either", "rank", "shape", "size", "sizes", "steps"})


def strings(text: str) -> Iterator[tuple[int, str]]:
    """(line, string) of every string in a source but docstrings, and names that classes give themselves."""
    tree = ast.parse(text)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for kind in ast.walk(tree):
        if isinstance(kind, ast.ClassDef):
            own = [line for line in kind.body if isinstance(line, ast.Assign)]
            told |= {
                id(node)
                for line in own
                if "name" in {x.id for x in ast.walk(line.targets[0]) if isinstance(x, ast.Name)}
                for node in ast.walk(line.value)
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value


def vocabulary_of(path: Path) -> str | None:
    """The entry of `VOCABULARIES` for a module."""
    place = str(path.relative_to(ROOT))
    return next((known for known in VOCABULARIES if place == known or place.startswith(f"{known}/")), None)


def ops_named(room: str) -> Iterator[tuple[Path, int, str]]:
    """(path, line, name) of every string in a room that is the name of an op."""
    ops = own_ops() - WORDS
    for path in sorted((ROOT / room).rglob("*.py")):
        for line, word in strings(path.read_text(encoding="utf-8")):
            if word in ops:
                yield path, line, word


@pytest.mark.parametrize("room", ROOMS)
def test_no_generic_module_holds_the_name_of_an_op(room):
    found = [f"{path}:{line}: {word}" for path, line, word in ops_named(room) if vocabulary_of(path) is None]
    assert not found, "give Op a class attribute that says what is asked here, or import the op's class"


def test_every_vocabulary_is_needed():
    used = {vocabulary_of(path) for room in ROOMS for path, _, _ in ops_named(room)}
    assert set(VOCABULARIES) == used - {None}


def test_every_word_is_needed_and_the_name_of_an_op():
    found = {
        word
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if vocabulary_of(path) is None
        for _, word in strings(path.read_text(encoding="utf-8"))
    }
    assert found & set(all_ops()) >= WORDS


def test_no_generic_module_looks_an_op_up_by_its_name():
    """But for names that come from outside: those of files and of users."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", None) in ("lookup", "find")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    assert not found, "import the op's class, or let `ops/operators.py` give tensors a method"
