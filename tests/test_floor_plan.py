"""The floor plan, compared with the imports that are really there.

Imports are read from the source, not from running it: those at module level (also inside `if` and `try`, but not under
`TYPE_CHECKING`) decide what stands on what, those inside functions are where heavy packages may be loaded. A module whose public
names are listed in a stub imports what the stub says, at once or when a name is first used.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. A room imports from lower lines only, never from a neighbour on its own line.
FLOORS = (
    ("core",),
    ("graph",),
    ("devices",),
    ("kernels",),
    ("ops",),
    ("eager",),
    ("autograph",),
    ("trace",),
    ("vectorize",),  # unrolls a batched sub-graph by tracing it, so it stands on `trace`
    ("gradient",),
    ("compiler",),
    ("function",),
    ("functional",),
    ("optimize",),
    ("module",),  # what a layer is an instance of, so half a floor below the rooms that it is grouped with
    ("layers", "losses", "optimizers", "data"),
    ("metrics",),  # means of losses, in variables that initializers make
    ("tools",),
)
# `serialization` stands on graphad; inside it, wire and schema know files only, and graphad enters at `convert`.
SERIALIZATION_FLOORS = (
    ("errors",),
    ("wire",),
    ("schema",),
    ("storage", "tensorflow", "hdf5"),  # records and arrays as a directory; the files of others
    ("convert",),
    ("saved_model",),
    ("checkpoint",),  # a saved model without functions, restored by structure
    ("inspect",),
    ("__main__",),
)
# Rooms of the compiler that hold a device each, behind `compiler/backend.py`.
BACKENDS = ("cpu", "cuda")
# Packages that only give public names a second place; single files directly in `graphad` are the same.
ROOF = (
    "compat",
    "config",
    "experimental",
    "keras",
    "linalg",
    "math",
    "nn",
    "numpy",
    "random",
    "summary",
    "types",
)
WITHOUT_GRAPHAD = (
    "serialization.wire",
    "serialization.schema",
    "serialization.storage",
    "serialization.tensorflow",
    "serialization.hdf5",
)

# Packages that are slow to import or optional, and the only places that may import them, inside functions.
LAZY = {
    "numba": ("graphad.compiler.cpu", "graphad.compiler.cuda"),
    "llvmlite": ("graphad.compiler",),
    "cupy": ("graphad.compiler.cuda", "graphad.devices.library"),
    "scipy": ("graphad.compiler.cpu", "graphad.compiler.cuda", "graphad.ops.library", "graphad.optimize"),
    "matplotlib": ("graphad.tools.plots",),
    "tqdm": ("graphad.core.progress",),
    "ml_dtypes": ("graphad.core.dtypes", "serialization.wire"),
    "optree": ("graphad.core.nest", "graphad.function.signature"),
    "safetensors": (),
}
# Modules that may import them at their top, because they are themselves imported inside functions only.
LATE_MODULES = (
    "graphad.compiler.cpu.intrinsics",
    "graphad.compiler.cpu.pipeline",
    "graphad.compiler.cuda.intrinsics",
    "graphad.compiler.lowering",
)

LONG_FILE = 600
LONG_FILES: dict[str, str] = {}  # path from the root: why it is one idea all the same

# Modules that name one above them, to import it when it is first needed, and why.
UPWARDS = {
    "graphad.core.bind": "a tensor's device decides who computes",
    "graphad.core.device": "`with device(...)` puts a level of the devices on top",
    "graphad.core.leaving": "the message for a function of SciPy's names graphad's own of that name",
    "graphad.core.tensor": "a tensor copies itself to a device",
    "graphad.ops.methods": "methods of tensors are NumPy's functions, which a program may do without",
    "graphad.ops.linalg.direct": "products of arrays are the compiler's, and LAPACK has its limit on threads",
    "graphad.ops.math.native_loops": "special functions of many numbers are loops of the compiler's",
    "graphad.ops.nn.direct": "convolutions of arrays have the compiler's products and threads",
    "graphad.ops.native_steps": "large arrays of eager code are computed by steps of compiled code",
    "graphad.layers.base": "a layer writes its weights to files",
    "graphad.tools.profile": "restored functions are watched if there are any",
}

NO_LOCAL_IMPORTS = ("graphad.core", "graphad.graph", "graphad.kernels", "graphad.ops")


@dataclass(frozen=True)
class Import:
    """One imported module as seen from one line."""

    target: str
    path: str
    line: int
    local: bool  # inside a function
    typing: bool  # under TYPE_CHECKING
    late: bool = False  # by a stub, when the name is first used

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@cache
def sources() -> dict[str, tuple[Path, ast.Module]]:
    """Every module of both packages by dotted name."""
    found = {}
    for package in ("graphad", "serialization"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = path, ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    path, tree = sources()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    shown = str(path.relative_to(ROOT))
    stub, listed = path.with_suffix(".pyi"), []
    if stub.exists():
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (target := _absolute(node, package)) != module:
                where = str(stub.relative_to(ROOT)), node.lineno
                listed.append(Import(target, *where, local=False, typing=False, late=True))

    def visit(node: ast.AST, local: bool, typing: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, shown, node.lineno, local, typing)
            return
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in sources():
                    yield Import(full, shown, node.lineno, local, typing)
                if full not in sources() or base.count(
                    "."
                ):  # Python looks a module up in its package, which is run first
                    yield Import(base, shown, node.lineno, local, typing)
            return
        if isinstance(node, ast.If):
            name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", None)
            guard = name == "TYPE_CHECKING"
            for child in node.body:
                yield from visit(child, local, typing or guard)
            for child in node.orelse:
                yield from visit(child, local, typing)
            return
        local = local or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, local, typing)

    return (*visit(tree, False, False), *listed)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join(base + ([node.module] if node.module else []))


def _heights(floors: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    return {room: height for height, rooms in enumerate(floors) for room in rooms}


def _inside(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(place + ".") for place in places)


def _room(module: str) -> str | None:
    """`graphad.ops.math.reduce` is in the room `ops`; the package itself is the roof, which is not a room."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def _breaks(package: str, floors: tuple[tuple[str, ...], ...]) -> list[str]:
    heights, broken = _heights(floors), []
    for module in sources():
        room = _room(module)
        if not module.startswith(package + ".") or room not in heights:
            continue
        for found in imports_of(module):
            if found.local or found.typing or found.target.split(".")[0] != package:
                continue
            other = _room(found.target)
            if other is None or other not in heights:
                broken.append(f"{found.place}: {room} imports {found.target}, which is on the roof")
            elif other != room and heights[other] >= heights[room]:
                broken.append(f"{found.place}: {room} imports {found.target}, which is not below it")
    return broken


def _on_roof(module: str) -> bool:
    """Whether a module of graphad only gathers what lies below, such as `graphad.keras` or the file `graphad/errors.py`."""
    room = _room(module)
    if not module.startswith("graphad.") or room is None or room in _heights(FLOORS):
        return False
    return room in ROOF or (module.count(".") == 1 and sources()[module][0].stem != "__init__")


def none(wrong: list[str]) -> None:
    """Fails with one line for each thing that is wrong."""
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_package_has_a_floor():
    homeless = [
        m
        for m in sources()
        if m.startswith("graphad.") and _room(m) not in _heights(FLOORS) and not _on_roof(m)
    ]
    none(homeless)
    none(
        [
            m
            for m in sources()
            if m.startswith("serialization.") and _room(m) not in _heights(SERIALIZATION_FLOORS)
        ]
    )


def test_packages_import_from_lower_floors_only():
    none(_breaks("graphad", FLOORS))


def test_serialization_imports_from_lower_floors_only():
    none(_breaks("serialization", SERIALIZATION_FLOORS))


def test_roof_modules_are_imported_by_nothing_below():
    below = [m for m in sources() if m.startswith("graphad.") and not _on_roof(m)]
    found = [
        f
        for m in below
        for f in imports_of(m)
        if not f.typing and f.target in sources() and _on_roof(f.target)
    ]
    none([f"{f.place}: {f.target}" for f in found])


def test_planning_imports_no_backend():
    """A device is found by its name, so that the next one needs no line of partition or plan; nor does one know another."""
    rooms = {name: f"graphad.compiler.{name}" for name in BACKENDS}
    wrong = []
    for module in sources():
        if not _inside(module, ("graphad.compiler",)):
            continue
        mine = next((name for name, room in rooms.items() if _inside(module, (room,))), None)
        for found in imports_of(module):
            other = next((name for name, room in rooms.items() if _inside(found.target, (room,))), None)
            if other not in (None, mine) and not found.typing:
                wrong.append(f"{found.place}: {module} imports {found.target}")
    none(wrong)


def test_graphad_knows_serialization_only_on_the_roof():
    below = [m for m in sources() if m.startswith("graphad.") and not _on_roof(m)]
    none([f.place for m in below for f in imports_of(m) if f.target.split(".")[0] == "serialization"])


def test_files_are_read_without_graphad():
    files = [m for m in sources() if _inside(m, WITHOUT_GRAPHAD)]
    none([f.place for m in files for f in imports_of(m) if f.target.split(".")[0] == "graphad"])


def test_modules_have_no_import_cycle():
    edges = {
        module: {
            f.target
            for f in imports_of(module)
            if not (f.local or f.typing or f.late) and f.target in sources()
        }
        - {module}
        for module in sources()
    }
    none([" -> ".join(group) for group in _cycles(edges)])


def test_packages_that_gather_names_of_their_modules_have_no_code_of_their_own():
    """Python runs a package before any of its modules: code in it that needs them makes a cycle that no import line shows."""
    wrong = []
    for module, (path, tree) in sources().items():
        if path.name != "__init__.py" or not any(
            found.target.startswith(module + ".")
            for found in imports_of(module)
            if not (found.local or found.typing or found.late)
        ):
            continue
        wrong += [
            f"{path.relative_to(ROOT)}:{node.lineno}: code beside imports of the package's own modules; put it into a module"
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("__")
        ]
    none(wrong)


def _cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups of two or more (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    if len(group) > 1:
                        groups.append(sorted(group))
    return groups


def test_heavy_packages_are_imported_late_and_in_few_places():
    wrong = []
    for module in sources():
        for found in imports_of(module):
            package = found.target.split(".")[0]
            if package not in LAZY or found.typing:
                continue
            if not _inside(module, LAZY[package]):
                wrong.append(f"{found.place}: {package} may be imported only in {', '.join(LAZY[package])}")
            elif not found.local and module not in LATE_MODULES:
                wrong.append(f"{found.place}: {package} must be imported inside a function")
        wrong += [
            f"{found.place}: {found.target} imports slow packages, so it must be imported inside a function"
            for found in imports_of(module)
            if found.target in LATE_MODULES and not (found.local or found.typing or module in LATE_MODULES)
        ]
    none(wrong)


def test_lower_floors_hide_no_import_inside_functions():
    modules = [m for m in sources() if _inside(m, NO_LOCAL_IMPORTS)]
    hidden = [
        f
        for m in modules
        for f in imports_of(m)
        if f.local and f.target.split(".")[0] in ("graphad", "serialization")
    ]
    none([f"{f.place}: {f.target}" for f in hidden])


def _upwards(module: str) -> Iterator[str]:
    """Where a module reaches above its floor by the name of a module or by an import inside a function."""
    path, tree = sources()[module]
    heights = _heights(FLOORS)
    room = _room(module)
    named = [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in sources()
    ]
    local = [(f.line, f.target) for f in imports_of(module) if f.local and not f.typing]
    for line, target in named + local:
        other = _room(target)
        if target.split(".")[0] not in ("graphad", "serialization") or other in (room, None):
            continue
        if not target.startswith("graphad.") or heights.get(other, len(heights)) >= heights[room]:
            yield f"{path.relative_to(ROOT)}:{line}: {target}"


def test_few_modules_name_a_module_above_them():
    found = {
        module: places
        for module in sources()
        if module.startswith("graphad.") and _room(module) in _heights(FLOORS)
        if (places := list(_upwards(module)))
    }
    none([place for module, places in found.items() for place in places if module not in UPWARDS])
    none([f"{module}: listed, but names nothing above" for module in UPWARDS if module not in found])


def _slots() -> set[str]:
    """The functions of a module that set one of its variables, `graphad.graph.evaluate.set_runner`."""
    return {
        f"{name}.{node.name}"
        for name, (_, tree) in sources().items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(isinstance(x, ast.Global) for x in ast.walk(node))
    }


def test_upper_floors_fill_slots_of_lower_ones_in_four_places():
    """While they are imported: by calling a function that sets a variable there, or by giving a class there an attribute."""
    slots, filling = _slots(), set()
    for name, (_, tree) in sources().items():
        imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if str(node.module).startswith("graphad.") and _room(str(node.module)) != _room(name)
        }
        for node in tree.body:
            if isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
                is_slot = isinstance(call.func, ast.Name) and imported.get(call.func.id) in slots
            elif isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Attribute):
                is_slot = isinstance(target.value, ast.Name) and target.value.id in imported
            else:
                continue
            filling |= {name} if is_slot else set()
    places = {
        "graphad.ops.operators": "operators",
        "graphad.compiler": "the runner",
        "graphad.compiler.plan.executable": "the runner once there are executables",
        "graphad.devices.run": "the device of values",
        "graphad.gradient.closing": "the closing of custom gradients",
    }
    assert filling == set(places)


def test_importing_graphad_loads_no_heavy_package():
    assert (ROOT / "graphad" / "__init__.py").exists()
    code = "import json, sys, graphad; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert (
        sorted(loaded & {"numba", "llvmlite", "cupy", "scipy", "matplotlib", "tqdm", "mpi4py", "sklearn"})
        == []
    )


def test_files_stay_readable():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path, _ in sources().values()
    }
    long = {path for path, lines in lengths.items() if lines > LONG_FILE}
    none([f"{path}: {lengths[path]} lines" for path in sorted(long - set(LONG_FILES))])
    none([f"{path}: listed as long, but no longer is" for path in LONG_FILES if path not in long])


def test_every_module_says_its_idea():
    silent = [path for path, tree in sources().values() if tree.body and not ast.get_docstring(tree)]
    none([str(path.relative_to(ROOT)) for path in silent])


def _subjects(package: Path) -> list[str]:
    """The modules that the docstring of a package lists: each line a subject, and names with commas between."""
    text = (
        ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")), clean=False) or ""
    )
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    return [name for line in lines for name in line[26:].strip(" ,").split(", ")]


def test_a_package_of_many_modules_lists_them_by_subject():
    many = []
    for place in sorted((ROOT / "graphad").rglob("__init__.py")):
        modules = {module.stem for module in place.parent.glob("*.py")} - {"__init__"}
        if len(modules) > 20:
            many.append(place.parent)
            listed = _subjects(place.parent)
            where = place.relative_to(ROOT)
            assert sorted(listed) == sorted(modules), f"{where}: each module once, under its subject"
    assert len(many) >= 8
