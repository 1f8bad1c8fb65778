"""Texts of kernels that are no loop nests: slices at positions that are data, running results, sorts.

Each is written once for all types, with plain arithmetic of positions, which becomes functions of the source text. Threads of
the grid take the `n` positions of a kernel in turn. None waits for another or adds atomically, and which elements a thread has
depends on sizes alone, so the same sizes give the same bits.

A position outside of its axis is not used: the thread writes 1 to the word at `z`, which the plan's run reads at its end.
"""

from __future__ import annotations

import ast
from functools import lru_cache

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
ONTO = frozenset(("add", "put_max", "put_min"))  # what is combined with what the result has there before


class Written(Record):
    """A kernel that is written out.

    Attributes:
      way: Which text.
      kinds: The codes of its types: X of values, I of positions, S of what values are combined in.
      depth: Coordinates of a position.
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
        return self.way in _CHECKING

    @property
    def sizes(self) -> tuple[str, ...]:
        return (*_SIZES[self.way], *[f"s{k}" for k in range(self.depth)])

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
    pieces = {"POSITION": _position(kernel), "KEY": _key(kernel), "PLACES": _PLACES}
    onto = _ONTO if kernel.join in ONTO else ""
    for key in ("now", "key"):
        pieces[f"TARGET {key}"] = _TARGET.replace("PLACE", key).replace("ONTO", onto)
    lines = []
    for line in _BODIES[kernel.way].splitlines():
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
    """`v`, a number of 64 bits in whose order elements come: of floats -0.0 and 0.0 have one, and all NaN the largest."""
    if kernel.way != "ordered":
        return ""
    code = dict(kernel.kinds)["X"]
    lines = [f"v = cast_{bits_code(code)}_i64(ld_{bits_code(code)}(px, place))"]
    if as_dtype(NAMES[code]).is_floating:
        lines += [
            "size = and_i64(v, n_low)",
            "v = select_i64(lt_i64(v, identity_add_i64()), sub_i64(identity_add_i64(), size), size)",
            "v = select_i64(gt_i64(size, n_infinity), n_low, v)",
        ]
    return "\n".join([*lines, *(["v = not_i64(v)"] if kernel.falls else [])])


def bits_code(code: str) -> str:
    """The code of integers that have the bits of an element."""
    dtype = as_dtype(NAMES[code])
    return f"i{8 * dtype.itemsize}" if dtype.is_floating else "u8" if code == "b1" else code


# Where slice `j` is, and where its target is, for a lane of outer axes and elements.
_PLACES = """
b = j // count
o = lane // inner
source = ((b * outer + o) * count + (j - b * count)) * inner + (lane - o * inner)
"""
_TARGET = """
place = ix(PLACE)
b = place // table
o = lane // inner
target = ((b * outer + o) * table + (place - b * table)) * inner + (lane - o * inner)
ONTO
st_X(py, target, cast_S_X(value))
"""
_ONTO = "value = JOIN(cast_X_S(ld_X(py, target)), value)"

POINTERS = {
    "take": ("px", "pi", "py"),
    "keys": ("pi", "pk"),
    "ordered": ("px", "pk"),
    "rank": ("pk", "pk2", "po2"),
    "merge": ("pk", "po", "pk2", "po2"),
    "segments": ("pk", "po", "px", "py", "heads", "tails"),
    "crossing": ("pk", "py", "heads", "tails"),
    "totals": ("px", "pw"),
    "running": ("px", "pw", "py"),
    "first": ("po", "py"),
    "band": ("px", "py"),
    "rising": ("px", "py"),
    "holds": ("px",),
    "never": (),
}
_SIZES = {
    "take": ("outer", "count", "inner", "table"),
    "keys": ("count", "table", "batch"),
    "ordered": ("count", "inner", "low", "infinity"),
    "rank": ("length", "tile"),
    "merge": ("length", "width"),
    "segments": ("outer", "count", "inner", "table", "total", "all", "piece"),
    "crossing": ("outer", "inner", "table", "total", "all", "piece"),
    "totals": ("lines", "count", "inner", "piece", "reverse"),
    "running": ("lines", "count", "inner", "piece", "reverse", "exclusive"),
    "first": ("count", "inner", "kept"),
    "band": ("rows", "columns", "lower", "upper"),
    "rising": ("count",),
    "holds": (),
    "never": (),
}
_CHECKING = frozenset(("take", "keys", "rising", "holds", "never"))

_BODIES = {
    # Every element of slices from a table [batch, outer, table, inner].
    "take": """
g = t // inner
h = g // count
b = h // outer
row = b * count + (g - h * count)
POSITION
if fits == 1:
    st_X(py, t, ld_X(px, (h * table + p) * inner + (t - g * inner)))
else:
    st_X(py, t, identity_add_X())
""",
    # The number of each slice's place over all batches; behind all others for those that have none.
    "keys": """
row = t
POSITION
b = t // count
key = b * table + p
if fits == 0:
    key = batch * table
st_i64(pk, t, key)
""",
    # Numbers in whose order the elements of [outer, count, inner] come, sequence after sequence.
    "ordered": """
q = t // count
o = q // inner
place = (o * count + (t - q * count)) * inner + (q - o * inner)
KEY
st_i64(pk, t, v)
""",
    # Stable sorts of tiles: an element's place is how many come before it.
    "rank": """
row = t // length
base = row * length
i = t - base
first = (i // tile) * tile
last = ixmin(first + tile, length)
x = ld_i64(pk, t)
r = first
for j in range(first, last):
    other = ld_i64(pk, base + j)
    if other < x:
        r = r + 1
    if other == x:
        if j < i:
            r = r + 1
st_i64(pk2, base + r, x)
st_i64(po2, base + r, i)
""",
    # Two neighbouring sorted runs become one: an element's place is its own plus that in the other run, behind the equal elements
    # of a run in front.
    "merge": """
row = t // length
base = row * length
i = t - base
run = i // width
behind = run - (run // 2) * 2
low = ixmin((run + 1) * width, length)
high = ixmin((run + 2) * width, length)
if behind == 1:
    low = (run - 1) * width
    high = run * width
first = low
x = ld_i64(pk, t)
while low < high:
    middle = (low + high) // 2
    other = ld_i64(pk, base + middle)
    goes = 0
    if other < x:
        goes = 1
    if other == x:
        goes = behind
    if goes == 1:
        low = middle + 1
    else:
        high = middle
d = base + (i - behind * width) + (low - first)
st_i64(pk2, d, x)
st_i64(po2, d, ld_i64(po, t))
""",
    # Sorted slices of a place, combined in their order, a piece of them by a thread for each lane. A result that goes on in the
    # next piece is kept in `tails`, one that came from the piece before in `heads`.
    "segments": """
lanes = outer * inner
q = t // lanes
lane = t - q * lanes
first = q * piece
last = ixmin(first + piece, total)
before = n_all
if first > 0:
    before = ld_i64(pk, first - 1)
after = n_all
if last < total:
    after = ld_i64(pk, last)
key = ld_i64(pk, first)
begun = first
value = identity_add_S()
for s in range(first, last):
    j = ix(ld_i64(po, s))
    PLACES
    here = cast_X_S(ld_X(px, source))
    if s == begun:
        value = here
    else:
        value = JOIN(value, here)
    now = key
    key = after
    if s + 1 < last:
        key = ld_i64(pk, s + 1)
    if s + 1 == last or key != now:
        if begun == first and before == now:
            st_S(heads, t, value)
        elif s + 1 == last and after == now:
            st_S(tails, t, value)
        elif ix(now) < all:
            TARGET now
        begun = s + 1
""",
    # What `segments` kept, combined in the order of pieces by the thread of the one in which it begins.
    "crossing": """
lanes = outer * inner
q = t // lanes
lane = t - q * lanes
last = ixmin((q + 1) * piece, total)
key = ld_i64(pk, last - 1)
going = 0
if last < total:
    if ld_i64(pk, last) == key:
        going = 1
if q > 0:
    if ld_i64(pk, q * piece - 1) == key:
        going = 0
if ix(key) < all and going == 1:
    value = ld_S(tails, t)
    r = q + 1
    while going == 1:
        value = JOIN(value, ld_S(heads, r * lanes + lane))
        last = ixmin((r + 1) * piece, total)
        going = 0
        if last < total:
            if ld_i64(pk, last) == key:
                going = 1
        r = r + 1
    TARGET key
""",
    # The result over each piece of each line, pieces one after the other.
    "totals": """
q = t // lines
line = t - q * lines
o = line // inner
base = o * count * inner + (line - o * inner)
value = identity_JOIN_S()
for s in range(q * piece, ixmin((q + 1) * piece, count)):
    i = s
    if reverse == 1:
        i = count - 1 - s
    here = cast_X_S(ld_X(px, base + i * inner))
    if s == q * piece:
        value = here
    else:
        value = JOIN(value, here)
st_S(pw, t, value)
""",
    # Results up to each element, behind those of the pieces in front.
    "running": """
q = t // lines
line = t - q * lines
o = line // inner
base = o * count * inner + (line - o * inner)
value = identity_JOIN_S()
for r in range(0, q):
    here = ld_S(pw, r * lines + line)
    if r == 0:
        value = here
    else:
        value = JOIN(value, here)
for s in range(q * piece, ixmin((q + 1) * piece, count)):
    i = s
    if reverse == 1:
        i = count - 1 - s
    here = cast_X_S(ld_X(px, base + i * inner))
    earlier = value
    if s == 0:
        value = here
    else:
        value = JOIN(value, here)
    if exclusive == 1:
        st_X(py, base + i * inner, cast_S_X(earlier))
    else:
        st_X(py, base + i * inner, cast_S_X(value))
""",
    # The first places of each sorted sequence, where the op wants them.
    "first": """
g = t // inner
o = g // kept
st_I(py, t, cast_i64_I(ld_i64(po, (o * inner + (t - g * inner)) * count + (g - o * kept))))
""",
    # Elements of a band of matrices, zeros beside it.
    "band": """
g = t // columns
row = g - (g // rows) * rows
column = t - g * columns
if row > column + lower or column > row + upper:
    st_X(py, t, identity_add_X())
else:
    st_X(py, t, ld_X(px, t))
""",
    # Rows of integers as they are: none is negative, none less than the one before it.
    "rising": """
x = cast_X_i64(ld_X(px, t))
before = identity_add_i64()
if t - (t // count) * count > 0:
    before = cast_X_i64(ld_X(px, t - 1))
if x < before or x < identity_add_i64():
    st_i32(z, 0, identity_mul_i32())
st_X(py, t, ld_X(px, t))
""",
    # All are true.
    "holds": """
if ld_u8(px, t) == 0:
    st_i32(z, 0, identity_mul_i32())
""",
    # There are fewer elements than the op wants places.
    "never": """
st_i32(z, 0, identity_mul_i32())
""",
}
