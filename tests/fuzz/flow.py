"""Signatures of Python's own control flow over tensors: functions with `if`, `while`, `for`, `break`, `continue` and `return`.

Run eagerly they are Python; every traced mode runs them converted. Only programs of wide seeds have them.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.grow import LARGE, Grower, signature
from tests.fuzz.program import Block, Value
from tests.fuzz.structures import _param, _rank_kept

# Tests of a tensor p; some are decided while tracing. Python numbers that a tensor chooses between are cast, since they become
# tensors of the usual dtype.
_TESTS = (
    "tf.reduce_sum(p) > 0.5",
    "tf.reduce_sum(p) <= 0.5",
    "tf.reduce_sum(p) > 0.5",
    "tf.reduce_sum(p) < -1.0",
    "not tf.reduce_any(p > 1.5)",
    "tf.reduce_all(tf.abs(p) < 1.0) or tf.reduce_sum(p) > 2.0",
    "tf.size(p) > 3 and tf.reduce_sum(p) > 0.0",
    "-1.0 < tf.reduce_sum(p) < 3.0",
    "tf.size(p) > 4",
    "tf.constant(True)",
)
_BRANCHES = {
    "either": """
if {test}:
    q = @0(p)
else:
    q = @1(p)
return q""",
    "early return": """
if {test}:
    return @0(p)
p = tf.sin(p) * 0.5
if {other}:
    return p
return @1(p)""",
    "one of three": """
q = p
if {test}:
    q = @0(p)
elif {other}:
    q = q + 0.5
    p = q * 2.0
else:
    q = q * tf.tanh(@1(p))
return q + 0.25 * p""",
    "ternary": """
q = @0(p) if {test} else p * 0.5
return q + tf.cast(1 if {other} else -1, tf.{dtype}) * @1(p)""",
    "within": """
q = p
if {test}:
    q = tf.tanh(q)
    if {other}:
        q = q * @0(p)
    else:
        return @1(q)
return q""",
    "held": """
held = {{"q": p, "n": [p, 1]}}
if {test}:
    held["q"] = @0(p)
    held["n"][1] = 2
a, b = (held["q"], p) if {other} else (p, @1(p))
return a + b * tf.cast(held["n"][1], tf.{dtype})""",
    "in a with": """
try:
    with tf.name_scope("inside"):
        if {test}:
            return @0(p)
        p = @1(p) * 0.5
finally:
    q = p
return p + q""",
    "under a tape": """
with tf.GradientTape() as tape:
    tape.watch(p)
    if {test}:
        y = @0(p) * p
    else:
        y = @1(p) + p
slope = tape.gradient(y, p)
return slope + 0.5 * p if {other} else slope""",
}
_LOOPS = {
    "break": """
i = {start}
while i < {steps}:
    p = tf.tanh(@0(p)) + 0.5 * p
    i += 1
    if {test}:
        break
    p = p * 0.75
return p""",
    "while true": """
i = tf.constant(0)
while True:
    i += 1
    p = tf.sin(@0(p)) + 0.25 * p
    if i >= {steps} or {test}:
        break
return p""",
    "by value": """
i = 0
while tf.reduce_sum(tf.abs(p)) < 6.0 and i < 4:
    p = tf.tanh(@0(p)) + 1.25 * p
    i += 1
return p""",
    "continue": """
total = tf.zeros_like(p)
for k in {numbers}:
    if k == 1:
        continue
    total = total + tf.sin(@0(p)) * tf.cast(k + 1, tf.{dtype})
    if {test}:
        p = p * 0.5
return total""",
    "return inside": """
for k in {numbers}:
    p = tf.tanh(@0(p)) + 0.5 * p
    if {test}:
        return p * 2.0
return p - 1.0""",
    "two loops": """
for k in {numbers}:
    j = 0
    while j < k:
        p = tf.sin(p) + 0.25 * @0(p)
        j += 1
        if {test}:
            break
    else:
        p = p * 0.5
return p""",
    "none": """
n = 0
for k in {numbers}:
    if {test} and k < 2:
        n += 1
        p = tf.tanh(@0(p))
return p * tf.cast(n, tf.{dtype})""",
}
_OVER_ROWS = {
    "sum": """
total = tf.zeros(tf.shape(p)[1:], tf.{dtype})
for row in p:
    if tf.reduce_sum(row) > 1.0:
        continue
    total = tf.tanh(@0(total, row)) + 0.5 * row
return total""",
    "until": """
total = tf.zeros(tf.shape(p)[1:], tf.{dtype})
for row in p:
    total = 0.5 * total + tf.sin(@0(row, total))
    if tf.reduce_sum(total) > 1.0:
        break
return total""",
    "numbered": """
total = tf.zeros(tf.shape(p)[1:], tf.{dtype})
for k, row in enumerate(p):
    total = total + tf.tanh(@0(row, total)) * tf.cast(2 if k % 2 == 0 else 1, tf.{dtype})
return total""",
    "in pairs": """
total = tf.zeros(tf.shape(p)[1:], tf.{dtype})
for row, other in zip(p, p * 2.0):
    total += tf.sin(@0(row, total) + other)
return total""",
}


def _function(g: Grower, text: str, dtype: str) -> str:
    """A template as the text of a statement, with its open places filled at random."""
    text = text.format(
        test=g.choice(_TESTS),
        other=g.choice(_TESTS),
        start=g.choice(["0", "tf.constant(0)"]),
        steps=g.choice(["2", "3", "tf.constant(2)"]),
        numbers=g.choice(["tf.range(3)", "tf.range(2)", "range(3)", "tf.range(0)"]),
        dtype=dtype,
    )
    lines = "\n".join("    " + line for line in text.strip("\n").split("\n"))
    return f"def flow_%0(p):\n{lines}\n%0 = flow_%0($0)"


def _blocks(g: Grower, like: Value, params: int, text: str) -> list[Block]:
    """A function for each `@` of a template."""
    blocks = []
    for k in range(2):
        if f"@{k}" in text:
            own = [_param(g, like) for _ in range(params)]
            blocks.append(g.block(own, own[:1]))
    return blocks


@signature("flow", 9.0)
def python_branch(g: Grower) -> None:
    x = g.pick(tame=8.0)
    text = _BRANCHES[g.choice(list(_BRANCHES))]
    g.emit(
        _function(g, text, x.dtype),
        [x],
        bound=LARGE,
        blocks=_blocks(g, x, 1, text),
        traits=("flow", "sharp", "derivative") if "tape" in text else ("flow", "sharp"),
    )


@signature("flow", 8.0)
def python_loop(g: Grower) -> None:
    x = g.pick(tame=2.0)
    text = _LOOPS[g.choice(list(_LOOPS))]
    blocks = _blocks(g, x, 1, text)
    g.emit(
        _function(g, text, x.dtype),
        [x],
        bound=12.0,
        blocks=blocks,
        traits=("flow", "sharp", *_rank_kept(blocks[0])),
    )


@signature("flow", 5.0)
def python_rows(g: Grower) -> None:
    x = g.pick(low=1, tame=4.0)
    row = replace(x, dims=x.dims[1:])
    text = _OVER_ROWS[g.choice(list(_OVER_ROWS))]
    g.emit(
        _function(g, text, x.dtype),
        [x],
        dims=row.dims,
        bound=12.0,
        blocks=_blocks(g, row, 2, text),
        traits=("flow", "sharp", "ranked"),
    )
