"""Kernels that are no loop nests: slices at positions that are data, running results, sorts. Their texts are in `written_texts`.

Each is written once for all types, with plain arithmetic of positions, which becomes functions of the source text. Threads of
the grid take the `n` positions of a kernel in turn. None waits for another or adds atomically, and which elements a thread has
depends on sizes alone, so the same sizes give the same bits.

A position outside of its axis is not used: the thread writes 1 to the word at `z`, which the plan's run reads at its end.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from graphad.compiler.cuda.written_texts import BODIES, CHECKING, EACH, ONTO, PLACES, POINTERS, SIZES, TARGET
from graphad.compiler.source import NAMES, Source
from graphad.core.dtypes import as_dtype
from graphad.kernels.record import Record, digest_of

SCHEMA = 1  # part of every digest; raise it when a text changes its meaning
JOINS = {
    "add": "add",
    "mul": "mul",
    "max": "maximum",
    "min": "minimum",
    "put_max": "maximum",
    "put_min": "minimum",
}
ADDED = frozenset(
    ("add", "put_max", "put_min")
)  # ways that combine the written slice with the present elements of the result


class Written(Record):
    """A kernel that is written out.

    Attributes:
      way: Which text.
      kinds: The codes of its types: X of values, I of positions, S of what values are combined in.
      depth: Coordinates of a position, bounds, or axes.
      negative: What a negative coordinate is, as in `forms.Indexed`.
      join: What combines two values: a key of `JOINS`, or "put": the second one counts.
      falls: Whether the largest comes first.
    """

    way: str
    kinds: tuple[tuple[str, str], ...] = ()
    depth: int = 0
    negative: str = ""
    join: str = ""
    falls: bool = False

    @property
    def checks(self) -> bool:
        """Whether it takes the address of the word that says that there is no answer."""
        return self.way in CHECKING

    @property
    def sizes(self) -> tuple[str, ...]:
        each = [f"{name}{k}" for k in range(self.depth) for name in EACH.get(self.way, ("s",))]
        return (*SIZES[self.way], *each)

    @property
    def words(self) -> tuple[str, ...]:
        """The names of its words: its positions, the elements that its largest operand has, pointers, sizes."""
        return ("n", "most", *POINTERS[self.way], *[f"n_{size}" for size in self.sizes])

    def text(self) -> str:
        kinds = " ".join([f"{letter} {code}" for letter, code in self.kinds])
        return f"written {SCHEMA} {self.way} {kinds} {self.depth} {self.negative} {self.join} {self.falls}\n"

    def digest(self) -> str:
        return digest_of(self)


@lru_cache(maxsize=1024)
def emit_written(kernel: Written, is_narrow: bool = True) -> Source:
    """The source, a function `kernel` of its words and, if it checks, the address of a word."""
    head = f"def kernel({', '.join([*kernel.words, *(['z'] if kernel.checks else [])])}):"
    lines = ["narrow()"] if is_narrow else []
    lines += [f"{size} = ix(n_{size})" for size in kernel.sizes]
    lines.append("at = ix(cuda.blockIdx.x) * ix(cuda.blockDim.x) + ix(cuda.threadIdx.x)")
    lines.append("step = ix(cuda.gridDim.x) * ix(cuda.blockDim.x)")
    lines.append("for t in range(at, ix(n), step):")
    text = "\n".join([head, *["    " + line for line in lines], _indented(_body(kernel), 8)])
    tree = ast.fix_missing_locations(_Plain(kernel).visit(ast.parse(text)))
    return Source(ast.unparse(tree) + "\n", kernel.digest(), "cuda")


class _Plain(ast.NodeTransformer):
    """The functions of the source text in the place of plain arithmetic and of letters for types."""

    FUNCTIONS = {ast.Add: "ixadd", ast.Sub: "ixsub", ast.Mult: "ixmul", ast.FloorDiv: "ixdiv"}

    def __init__(self, kernel: Written) -> None:
        self.join, self.codes = kernel.join, dict(kernel.kinds)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call(self.FUNCTIONS[type(node.op)], node.left, node.right)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return _call("ix", node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "JOIN" and self.join not in JOINS:
            return node.args[1]
        name = name.replace("JOIN", JOINS[self.join] if name == "JOIN" else self.join)
        head, *kinds = name.split("_")
        kinds = [self.codes.get(kind, kind) for kind in kinds]
        if name == JOINS.get(self.join):
            kinds = [self.codes["S"]]
        if head == "cast" and kinds[0] == kinds[1]:
            return node.args[0]
        return _call("_".join([head, *kinds]), *node.args)


def _call(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(given), [])


def _indented(text: str, by: int) -> str:
    return "\n".join([" " * by + line for line in text.splitlines() if line.strip()])


def _body(kernel: Written) -> str:
    pieces = {
        "POSITION": _position(kernel),
        "KEY": _key(kernel),
        "PLACES": PLACES,
        "BOUNDS": _bounds(kernel),
        "AXES": _axes(kernel),
    }
    to, place = ("part", "whole") if kernel.join == "take" else ("whole", "part")
    pieces["COPIED"] = f"st_X(py, {to}, ld_X(px, {place}))"
    pieces["NONE"] = "st_X(py, t, identity_add_X())" if kernel.join == "take" else "pass"
    onto = ONTO if kernel.join in ADDED else ""
    for key in ("now", "key"):
        pieces[f"TARGET {key}"] = TARGET.replace("PLACE", key).replace("ONTO", onto)
    lines = []
    for line in BODIES[kernel.way].splitlines():
        piece = pieces.get(line.strip())
        lines.append(line if piece is None else _indented(piece, len(line) - len(line.lstrip())))
    return "\n".join(lines)


def sum_kind(code: str, join: str) -> str:
    """The code of the type in which values are combined: float64 for sums and products of floats."""
    if code not in ("f16", "bf16", "f32") or join == "put":
        return code
    return "f64" if join in ("add", "mul") else "f32"


def _position(kernel: Written) -> str:
    """`p`, the position of slice `row`, counted over all axes of positions; `fits` is 0 where it has none."""
    lines = ["p = 0", "fits = 1"]
    outside = ["st_i32(z, 0, identity_mul_i32())", "fits = 0"]
    for d in range(kernel.depth):
        place = f"row * {kernel.depth} + {d}" if kernel.depth > 1 else "row"
        inner = [f"v = cast_I_i64(ld_I(pi, {place}))", f"e = bits_i64(n_s{d})"]
        if kernel.negative == "wrap":
            inner.append("v = select_i64(lt_i64(v, identity_add_i64()), add_i64(v, e), v)")
        inner += ["if v < identity_add_i64():"]
        inner += _more(["fits = 0"] if kernel.negative == "none" else outside)
        inner += [
            "else:",
            "    if v < e:",
            f"        p = p * s{d} + ix(v)",
            "    else:",
            *_more(_more(outside)),
        ]
        lines += ["if fits == 1:", *_more(inner)]
    return "\n".join(lines)


def _more(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _key(kernel: Written) -> str:
    """`v`, a number of 64 bits in whose order elements come: of floats -0.0 and 0.0 have one, and all NaN the largest, but of
    extremes NaN counts as the other end.
    """
    if kernel.way not in ("ordered", "extreme"):
        return ""
    code, nan = dict(kernel.kinds)["X"], "n_low"
    if kernel.way == "extreme":
        nan = "sub_i64(identity_add_i64(), n_infinity)" if kernel.falls else "n_infinity"
    lines = [f"v = cast_{bits_code(code)}_i64(ld_{bits_code(code)}(px, place))"]
    if as_dtype(NAMES[code]).is_floating:
        lines += [
            "size = and_i64(v, n_low)",
            "v = select_i64(lt_i64(v, identity_add_i64()), sub_i64(identity_add_i64(), size), size)",
            f"v = select_i64(gt_i64(size, n_infinity), {nan}, v)",
        ]
    return "\n".join([*lines, *(["v = not_i64(v)"] if kernel.falls else [])])


def bits_code(code: str) -> str:
    """The code of integers that have the bits of an element."""
    dtype = as_dtype(NAMES[code])
    return f"i{8 * dtype.itemsize}" if dtype.is_floating else "u8" if code == "b1" else code


def _bounds(kernel: Written) -> str:
    """Where a part begins, from bounds as Python's: adds to `offset`, and sets `fits` to 0 where it is not inside."""
    if kernel.way != "spot":
        return ""
    lines = []
    for k in range(kernel.depth):
        for name in ("low", "high"):
            place = f"n_{name}{k}"
            lines += [
                f"{name} = {place}",
                f"if n_{name}_bytes{k} == 4:",
                f"    {name} = cast_i32_i64(ld_i32({place}, 0))",
            ]
            lines += [f"if n_{name}_bytes{k} == 8:", f"    {name} = ld_i64({place}, 0)"]
            lines += [f"if lt_i64({name}, identity_add_i64()):", f"    {name} = add_i64({name}, n_extent{k})"]
        lines += [
            f"if n_many{k} < identity_add_i64():",
            f"    if low < identity_add_i64() or low >= n_extent{k}:",
            "        fits = 0",
            "else:",
            f"    low = minimum_i64(maximum_i64(low, identity_add_i64()), n_extent{k})",
            f"    high = minimum_i64(maximum_i64(high, identity_add_i64()), n_extent{k})",
            "    span = maximum_i64(sub_i64(high, low), identity_add_i64())",
            f"    span = add_i64(span, sub_i64(n_stride{k}, identity_mul_i64()))",
            f"    if floordiv_i64(span, n_stride{k}) != n_many{k}:",
            "        fits = 0",
            f"offset = add_i64(offset, mul_i64(low, n_apart{k}))",
        ]
    return "\n".join(lines)


def _axes(kernel: Written) -> str:
    """From element `t` of a part `whole` and `part`, where it is in the array and in the part."""
    if kernel.way != "part":
        return ""
    lines = ["rest = t"]
    for d in range(kernel.depth - 1, -1, -1):
        lines += [f"above = rest // extent{d}", f"i = rest - above * extent{d}", "rest = above"]
        lines += [f"whole = whole + i * whole_step{d}", f"part = part + i * part_step{d}"]
    return "\n".join(lines)
