"""The texts of `written`, by name: what each thread does with its position `t`, in plain arithmetic of positions.

X stands for the type of values, I for that of positions, S for what values are combined in, JOIN for what combines them. Names in
capital letters on a line of their own are pieces that `written` prints.
"""

from __future__ import annotations

# Where slice `j` is, and where its target is, for a lane of outer axes and elements.
PLACES = """
b = j // count
o = lane // inner
source = ((b * outer + o) * count + (j - b * count)) * inner + (lane - o * inner)
"""
TARGET = """
place = ix(PLACE)
b = place // table
o = lane // inner
target = ((b * outer + o) * table + (place - b * table)) * inner + (lane - o * inner)
ONTO
st_X(py, target, cast_S_X(value))
"""
ONTO = "value = JOIN(cast_X_S(ld_X(py, target)), value)"

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
    "extreme": ("px", "pk", "po"),
    "best": ("pk", "po", "py"),
    "searched": ("pk", "pv", "py"),
    "rolled": ("px", "ps", "py"),
    "spot": ("pw",),
    "part": ("pw", "px", "py"),
    "block": ("psizes", "pfirst", "pmany", "plow", "phigh"),
    "recurrence": ("pa", "pb", "py"),
    "banded": ("pa", "pw", "py"),
    "bisected": ("pa", "pb", "py"),
}
SIZES = {
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
    "extreme": ("lines", "count", "inner", "piece", "low", "infinity"),
    "best": ("lines", "cuts"),
    "searched": ("length", "many", "right"),
    "rolled": ("count", "inner"),
    "spot": (),
    "part": (),
    "block": (),
    "recurrence": ("count", "inner", "backwards", "shifted"),
    "banded": ("systems", "count", "columns", "below", "above"),
    "bisected": ("count", "one", "huge"),
}
# for each of the coordinates, bounds or axes; else its size
EACH = {
    "spot": ("low", "low_bytes", "high", "high_bytes", "extent", "many", "stride", "apart"),
    "part": ("extent", "whole_step", "part_step"),
}
CHECKING = frozenset("take keys rising holds never spot block banded bisected".split())

BODIES = {
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
    # The first smallest number of each piece of each line, and where it is; NaN counts as the other end.
    "extreme": """
q = t // lines
line = t - q * lines
o = line // inner
base = o * count * inner + (line - o * inner)
best = n_low
where = 0
for s in range(q * piece, ixmin((q + 1) * piece, count)):
    place = base + s * inner
    KEY
    if s == q * piece:
        best = v
        where = s
    elif v < best:
        best = v
        where = s
st_i64(pk, t, best)
st_i64(po, t, where)
""",
    # The first smallest one of all pieces.
    "best": """
best = ld_i64(pk, t)
where = ld_i64(po, t)
for q in range(1, cuts):
    v = ld_i64(pk, q * lines + t)
    if v < best:
        best = v
        where = ld_i64(po, q * lines + t)
st_I(py, t, cast_i64_I(where))
""",
    # How many elements of a sorted row come before each value, or are equal to it.
    "searched": """
base = (t // many) * length
x = ld_i64(pv, t)
low = 0
high = length
while low < high:
    middle = (low + high) // 2
    other = ld_i64(pk, base + middle)
    goes = 0
    if other < x:
        goes = 1
    if other == x:
        goes = right
    if goes == 1:
        low = middle + 1
    else:
        high = middle
st_I(py, t, cast_i64_I(add_i64(low, identity_add_i64())))
""",
    # Elements moved along an axis by a number on the device, round and round.
    "rolled": """
g = t // inner
o = g // count
j = (g - o * count) - ix(mod_i64(cast_I_i64(ld_I(ps, 0)), n_count))
if j < 0:
    j = j + count
st_X(py, t, ld_X(px, (o * count + j) * inner + (t - g * inner)))
""",
    # Where a part of an array begins, and whether it is inside.
    "spot": """
offset = identity_add_i64()
fits = 1
BOUNDS
if fits == 0:
    st_i32(z, 0, identity_mul_i32())
st_i64(pw, 0, offset)
st_i64(pw, 1, fits)
""",
    # Elements of a part, from the array or into it; there are zeros where the part is not inside.
    "part": """
if ld_i64(pw, 1) == 1:
    whole = ix(ld_i64(pw, 0))
    part = 0
    AXES
    COPIED
else:
    NONE
""",
    # The first index of a block and the one behind its last, for each axis.
    "block": """
total = cast_A_i64(ld_A(psizes, t))
first = cast_B_i64(ld_B(pfirst, t))
many = cast_C_i64(ld_C(pmany, t))
rest = sub_i64(total, first)
all = not_i64(identity_add_i64())
if first < identity_add_i64() or rest < identity_add_i64() or many < all or many > rest:
    st_i32(z, 0, identity_mul_i32())
st_B(plow, t, cast_i64_B(first))
st_B(phigh, t, cast_i64_B(select_i64(eq_i64(many, all), total, add_i64(first, many))))
""",
    # Each line by one thread, one element after the other.
    "recurrence": """
o = t // inner
base = o * count * inner + (t - o * inner)
value = identity_add_S()
before = base
for s in range(0, count):
    place = base + s * inner
    if backwards == 1:
        place = base + (count - 1 - s) * inner
    here = cast_X_S(ld_X(pb, place))
    if s > 0:
        factor = place
        if shifted == 1:
            factor = before
        here = add_S(mul_S(cast_X_S(ld_X(pa, factor)), value), here)
    value = here
    before = place
    st_X(py, place, cast_S_X(value))
""",
    # Each system by one thread, by elimination with the largest element of a column. A row has its columns from `below` to the
    # left of the main diagonal on, those of neighbouring systems beside each other; the right-hand sides become the solution.
    "banded": """
width = below + below + above + 1
for i in range(0, count):
    for c in range(0, width):
        j = i + c
        value = identity_add_X()
        if c < below + above + 1:
            if below - 1 < j:
                if j < count + below:
                    value = ld_X(pa, ((t * (below + above + 1)) + (below + above - c)) * count + i)
        st_X(pw, (i * width + c) * systems + t, value)
for p in range(0, count):
    last = ixmin(p + below + 1, count)
    right = ixmin(p + below + above + 1, count)
    q = p
    most = abs_X(ld_X(pw, (p * width + below) * systems + t))
    for i in range(p + 1, last):
        size = abs_X(ld_X(pw, (i * width + p + below - i) * systems + t))
        if size > most:
            most = size
            q = i
    if most == identity_add_X():
        st_i32(z, 0, identity_mul_i32())
    if q > p:
        for j in range(p, right):
            one = (p * width + j + below - p) * systems + t
            other = (q * width + j + below - q) * systems + t
            value = ld_X(pw, one)
            st_X(pw, one, ld_X(pw, other))
            st_X(pw, other, value)
        for j in range(0, columns):
            one = (t * count + p) * columns + j
            other = (t * count + q) * columns + j
            value = ld_X(py, one)
            st_X(py, one, ld_X(py, other))
            st_X(py, other, value)
    pivot = ld_X(pw, (p * width + below) * systems + t)
    for i in range(p + 1, last):
        factor = div_X(ld_X(pw, (i * width + p + below - i) * systems + t), pivot)
        for j in range(p + 1, right):
            one = (i * width + j + below - i) * systems + t
            value = mul_X(factor, ld_X(pw, (p * width + j + below - p) * systems + t))
            st_X(pw, one, sub_X(ld_X(pw, one), value))
        for j in range(0, columns):
            one = (t * count + i) * columns + j
            value = mul_X(factor, ld_X(py, (t * count + p) * columns + j))
            st_X(py, one, sub_X(ld_X(py, one), value))
for s in range(0, count):
    p = count - 1 - s
    right = ixmin(p + below + above + 1, count)
    pivot = ld_X(pw, (p * width + below) * systems + t)
    for j in range(0, columns):
        value = ld_X(py, (t * count + p) * columns + j)
        for i in range(p + 1, right):
            known = ld_X(py, (t * count + i) * columns + j)
            value = sub_X(value, mul_X(ld_X(pw, (p * width + i + below - p) * systems + t), known))
        st_X(py, (t * count + p) * columns + j, div_X(value, pivot))
""",
    # Each eigenvalue by one thread, which halves the interval in which it is: below a number there are as many eigenvalues as
    # pivots of the matrix less that number are negative (Barth, Martin and Wilkinson, 1967). All in units of the largest bound.
    "bisected": """
line = t // count
k = t - line * count
first = line * count
beside = line * (count - 1)
low = cast_X_f64(ld_X(pa, first))
high = low
for i in range(0, count):
    middle = cast_X_f64(ld_X(pa, first + i))
    reach = identity_add_f64()
    if i > 0:
        reach = abs_f64(cast_X_f64(ld_X(pb, beside + i - 1)))
    if i < count - 1:
        reach = add_f64(reach, abs_f64(cast_X_f64(ld_X(pb, beside + i))))
    low = minimum_f64(low, sub_f64(middle, reach))
    high = maximum_f64(high, add_f64(middle, reach))
unit = maximum_f64(abs_f64(low), abs_f64(high))
if isfinite_f64(unit) == 0:
    st_i32(z, 0, identity_mul_i32())
else:
    if unit > identity_add_f64():
        low = div_f64(low, unit)
        high = div_f64(high, unit)
        two = add_f64(identity_mul_f64(), identity_mul_f64())
        tiny = div_f64(cast_i64_f64(n_one), cast_i64_f64(n_huge))
        for s in range(0, 70):
            x = div_f64(add_f64(low, high), two)
            below = 0
            pivot = identity_mul_f64()
            for i in range(0, count):
                y = sub_f64(div_f64(cast_X_f64(ld_X(pa, first + i)), unit), x)
                if i > 0:
                    off = div_f64(cast_X_f64(ld_X(pb, beside + i - 1)), unit)
                    y = sub_f64(y, div_f64(mul_f64(off, off), pivot))
                if abs_f64(y) < tiny:
                    y = neg_f64(tiny)
                pivot = y
                if y < identity_add_f64():
                    below = below + 1
            if below > k:
                high = x
            else:
                low = x
        low = mul_f64(div_f64(add_f64(low, high), two), unit)
    st_X(py, t, cast_f64_X(low))
""",
}
