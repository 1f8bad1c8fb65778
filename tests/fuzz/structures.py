"""Signatures of constructs that take functions: branches, loops, tapes, custom gradients, mapped rows; and of variables."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.grow import LARGE, Grower, NoFit, signature
from tests.fuzz.program import Block, Statement, Value


def _param(g: Grower, like: Value) -> Value:
    return replace(like, name=g.name("p"))


def _rank_kept(body: Block) -> tuple[str, ...]:
    """A carry of known rank must keep it, so a body that returns a value of unknown rank is refused."""
    return ("ranked",) if Statement((), "", blocks=(body,)).names_used() else ()


@signature("control", 1.2)
def branch(g: Grower) -> None:
    x = g.pick()
    test = g.choice(
        [
            "tf.reduce_sum($0) > 0.5",
            "tf.reduce_sum($0) <= 0.5",
            "tf.constant(True)",
            "tf.reduce_any($0 > 1.5)",
            "tf.shape($0)[0] > 1",
        ]
    )
    if "shape" in test and not x.dims:
        test = "$0 > 0.5"
    one, two = g.block([], [x]), g.block([], [x])
    text = f"tf.cond({test}, @0, @1)"
    if g.chance(0.2):
        third = g.block([], [x])
        text = f"tf.switch_case(tf.cast({test}, tf.int32), [@0, @1, @2])"
        g.emit(text, [x], bound=LARGE, blocks=[one, two, third], traits=("sharp",))
        return
    if g.chance(0.15):
        text = f"tf.case([({test}, @0)], default=@1)"
    g.emit(text, [x], bound=LARGE, blocks=[one, two], traits=("sharp",))


@signature("control", 1.0)
def while_loop(g: Grower) -> None:
    x = g.pick(tame=2.0)
    p = _param(g, x)
    body = g.block([p], [p])
    steps = g.choice(["2", "3", "0", "1"])
    # The body's result is bounded, so that the carry does not grow with every step.
    g.emit(
        f"%0 = tf.while_loop(lambda i, p: i < {steps}, lambda i, p: (i + 1, tf.sin(@0(p)) + 0.5 * p), (tf.constant(0), $0))[1]",
        [x],
        bound=4.0,
        blocks=[body],
        traits=_rank_kept(body),
    )


@signature("control", 0.5)
def while_by_value(g: Grower) -> None:
    x = g.pick(tame=2.0)
    p = _param(g, x)
    body = g.block([p], [p])
    g.emit(
        "tf.while_loop(lambda i, p: tf.logical_and(i < 4, tf.reduce_sum(tf.abs(p)) < 6.0), "
        "lambda i, p: (i + 1, tf.tanh(@0(p)) + 1.25 * p), (tf.constant(0), $0))[1]",
        [x],
        bound=8.0,
        blocks=[body],
        traits=("sharp", *_rank_kept(body)),
    )


@signature("control", 2.2)
def with_invariants(g: Grower) -> None:
    """A loop whose steps compute something from what never changes, and may choose between two ways."""
    x = g.pick(tame=2.0)
    u = g.partner(x)
    p, q = _param(g, x), _param(g, u)
    body, fixed = g.block([p], [p]), g.block([q], [q])
    sizes = "tf.shape($0)[0]" if x.dims else "2"
    steps = g.choice(["2", "3", "0", "1", "tf.constant(2)", sizes])
    fresh = g.choice(["@1($1)", "tf.exp(tf.sin(@1($1)))", "tf.sin($1)", "tf.cos(i_real * $1) * @1($1)"])
    fresh = fresh.replace("i_real", f"tf.cast(i, tf.{x.dtype})")
    near, far = f"tf.sin(@0(p)) * {fresh}", f"tf.tanh(@0(p) + {fresh})"
    text = g.choice(
        [
            f"tf.tanh({near}) + 0.5 * p",
            far,
            f"tf.cond({{test}}, lambda: tf.tanh({near}), lambda: 0.5 * p)",
            "tf.cond({test}, lambda: tf.sin(p * $1), lambda: tf.cos(p) + 0.25 * tf.tanh($1))",
            f"tf.where(tf.abs(p) < 1.0, {far}, 0.5 * p)",
        ]
    )
    tests = ["i < 1", "tf.reduce_sum(p) > 0.5", "tf.reduce_sum($1) > 0.5", "tf.equal(i % 2, 0)"]
    text = text.replace("{test}", g.choice(tests))
    blocks = [body, fixed]
    if "@1" not in text:  # without the functions that are not called
        blocks = [body] if "@0" in text else []
    g.emit(
        f"%0 = tf.while_loop(lambda i, p: i < {steps}, lambda i, p: (i + 1, {text}), (tf.constant(0), $0))[1]",
        [x, u],
        dims=x.dims,
        bound=4.0,
        blocks=blocks,
        traits=("sharp", *_rank_kept(body)),
    )


@signature("control", 0.4)
def growing(g: Grower) -> None:
    """A loop whose carry gets longer with every step, brought back to known sizes."""
    x = g.pick(low=1, high=3, tame=2.0)
    sized = g.chance(0.5)
    shape = [None, *[d if sized and isinstance(d, int) else None for d in x.dims[1:]]]
    text = g.choice(
        ["tf.concat([p, tf.sin(p) * 0.5], 0)", "tf.concat([p[:1], tf.tanh(p)], 0)", "p[1:] * 1.25"]
    )
    steps = g.choice(["2", "1", "3", "0"])
    g.emit(
        f"%0 = tf.reduce_sum(tf.while_loop(lambda i, p: i < {steps}, lambda i, p: (i + 1, {text}), (tf.constant(0), $0), "
        f"shape_invariants=(tf.TensorShape([]), tf.TensorShape({shape})))[1], 0)",
        [x],
        dims=x.dims[1:],
        bound=8.0 * x.bound,
        traits=("ranked", "sized") if sized else ("ranked",),
    )


@signature("control", 1.2)
def over_rows(g: Grower) -> None:
    """map_fn, vectorized_map, scan, foldl, foldr."""
    x = g.pick(low=1, tame=4.0)
    row = replace(x, dims=x.dims[1:])
    p = _param(g, row)
    what = g.choice(["map_fn", "vectorized_map", "scan", "foldl", "foldr", "vectorized_map"])
    if what in ("map_fn", "vectorized_map"):
        body = g.block([p], [p])
        # Without rows, an eager map_fn cannot know the shape of a row.
        traits = ("rowful",) if what == "map_fn" else ()
        g.emit(f"tf.{what}(@0, $0)", [x], bound=LARGE, blocks=[body], traits=traits)
        return
    q = _param(g, row)
    body = g.block([p, q], [p])
    start = f"tf.zeros(tf.shape($0)[1:], tf.{x.dtype})"
    reverse = ", reverse=True" if what == "scan" and g.chance(0.3) else ""
    text = f"tf.{what}(lambda a, b: tf.tanh(@0(a, b)) + 0.5 * b, $0, initializer={start}{reverse})"
    g.emit(
        text,
        [x],
        dims=x.dims if what == "scan" else row.dims,
        bound=3.0,
        blocks=[body],
        traits=_rank_kept(body),
    )


@signature("control", 0.8)
def inner_function(g: Grower) -> None:
    x = g.pick()
    p = _param(g, x)
    if g.chance(0.3):
        # Closed, since in TensorFlow captured values get no gradient.
        g.emit("tf.recompute_grad(@0)($0)", [x], bound=LARGE, blocks=[g.block([p], [p], closed=True)])
        return
    call = "tf.function(@0, autograph=False)($0)"
    g.emit(g.choice([call, f"{call} + {call}"]), [x], bound=LARGE, blocks=[g.block([p], [p])])


@signature("control", 0.5)
def custom(g: Grower) -> None:
    x = g.pick()
    text = g.choice(
        [
            "%0 = tf.custom_gradient(lambda a: (tf.sin(a), lambda bar: bar * tf.cos(a) * 2.0))($0)",
            "%0 = tf.custom_gradient(lambda a: (a * a, lambda bar: bar * a))($0)",
            "%0 = tf.custom_gradient(lambda a: (tf.identity(a), lambda bar: tf.clip_by_value(bar, -1.0, 1.0)))($0)",
            "%0 = tf.grad_pass_through(tf.round)($0)",
        ]
    )
    traits = ("chosen", "nonlinear") if "clip" in text else ("chosen",)
    g.emit(text, [x], bound=x.bound**2 + 1, traits=traits)


@signature("tape", 1.6)
def inner_gradient(g: Grower) -> None:
    x = g.pick(tame=4.0)
    p = _param(g, x)
    body = g.block([p], [p])
    text = (
        "with tf.GradientTape() as tape:\n"
        "    tape.watch($0)\n"
        "    inner = @0($0)\n"
        "%0 = tf.convert_to_tensor(tape.gradient(inner, $0, unconnected_gradients='zero'))"
    )
    g.emit(text, [x], bound=LARGE, blocks=[body], traits=("derivative",))


@signature("tape", 0.4)
def inner_jacobian(g: Grower) -> None:
    x = g.pick(high=2, tame=4.0)
    p = _param(g, x)
    body = g.block([p], [p], size=2)
    if len(x.dims) > 0 and isinstance(x.dims[0], str) and len(x.dims) == 2 and g.chance(0.6):
        what, dims = "batch_jacobian", (*x.dims, *x.dims[1:])
    else:
        what, dims = "jacobian", (*x.dims, *x.dims)
    traits = ["derivative", "jacobian", *(["ranked"] if what == "batch_jacobian" else [])]
    text = (
        "with tf.GradientTape() as tape:\n"
        "    tape.watch($0)\n"
        "    inner = @0($0)\n"
        f"%0 = tape.{what}(inner, $0, unconnected_gradients='zero')"
    )
    g.emit(text, [x], dims=dims, bound=LARGE, blocks=[body], traits=traits)


@signature("tape", 0.5)
def paused(g: Grower) -> None:
    """What is computed while a tape does not record is a constant to it."""
    x = g.pick(tame=4.0)
    text = (
        "with tf.GradientTape() as tape:\n"
        "    tape.watch($0)\n"
        "    with tape.stop_recording():\n"
        f"        inner = {g.choice(['tf.reduce_sum($0, axis=[])', 'tf.identity($0)', 'tf.sin($0)', '$0 * 1.0'])}\n"
        "    inner = inner * $0\n"
        "%0 = tape.gradient(inner, $0)"
    )
    g.emit(text, [x], bound=x.bound, traits=("derivative",))


@signature("state", 2.0)
def assignment(g: Grower) -> None:
    names = {x.value.name for x in g.inputs if x.variable}
    if g.depth or not names:
        raise NoFit
    v = g.pick(fits=lambda x: x.name in names)
    x = g.partner(v)
    if x.name in names and x.name != v.name:
        raise NoFit
    bound = {"assign": x.bound, "assign_add": v.bound + x.bound, "assign_sub": v.bound + x.bound}
    what = g.choice(list(bound))
    text = f"$0.{what}(tf.tanh($1) + tf.zeros_like($0))"
    g.emit(text, [v, x], results=[], traits=("effect",))
    g.emit(g.choice(["$0 * 1.5", "$0.read_value()", "tf.sin($0)"]), [v], bound=4.0)
