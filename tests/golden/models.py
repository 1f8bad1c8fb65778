"""Small models, and for each what it shows of itself: outputs, derivatives, structure, as named arrays.

`build` makes the model, for `generate.py`; `observe` looks at a loaded one. What a released version has written must be
observed the same by every later release.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import graphad as gd
from graphad import optimizers
from tests.golden import wide
from tests.serialization import rich

Observed = dict[str, Any]
X = np.array([0.25, -1.5, 2.0], np.float32)
DTYPES = "float16 float32 float64 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


class Golden(NamedTuple):
    """One model."""

    build: Callable[[], Any]
    observe: Callable[[Any], Observed]
    signatures: Callable[[Any], Any] | None = None


def module(**attributes: Any) -> gd.Module:
    made = gd.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def described(function: Any, *specs: Any) -> Any:
    return gd.function(function, input_signature=list(specs))


def derivatives(f: Callable[[Any], Any], x: Any, order: int = 2) -> Observed:
    """The value and the first derivatives of the sum of f."""
    x = gd.convert_to_tensor(x)
    if order == 1:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return {"value": y, "first": tape.gradient(y, x)}
    with gd.GradientTape() as outer:
        outer.watch(x)
        with gd.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return {"value": y, "first": first, "second": outer.gradient(first, x)}


def _empty() -> Golden:
    return Golden(gd.Module, lambda m: {"names": np.array(len(vars(m)))})


def _scalars() -> Golden:
    def build() -> Any:
        return module(
            a=gd.Variable(1.5),
            b=gd.Variable(7),
            c=gd.Variable(True),
            f=described(lambda x: x + 1.0, gd.TensorSpec([])),
        )

    return Golden(build, lambda m: {"a": m.a, "b": m.b, "c": m.c, "f": m.f(2.0)})


def _dtypes() -> Golden:
    def build() -> Any:
        values = {}
        for name in DTYPES:
            numbers = np.arange(6).reshape(2, 3) % (2 if name == "bool" else 7)
            values[name] = gd.Variable(numbers.astype(name))
        return module(**values, get=described(lambda: {name: gd.identity(v) for name, v in values.items()}))

    def observe(m: Any) -> Observed:
        return {f"variable {n}": getattr(m, n) for n in DTYPES} | {f"read {n}": y for n, y in m.get().items()}

    return Golden(build, observe)


def _zero_size() -> Golden:
    def build() -> Any:
        v = gd.Variable(np.zeros((2, 0, 3), np.float32))
        return module(
            v=v, f=described(lambda x: gd.reduce_sum(v, axis=1) + gd.reduce_sum(x), gd.TensorSpec([None]))
        )

    return Golden(build, lambda m: {"v": m.v, "f": m.f(np.zeros(0, np.float32)), "g": m.f(X)})


def _shared() -> Golden:
    def build() -> Any:
        v = gd.Variable([1.0, 2.0])
        root = module(a=v, b=[v, {"c": v}], keyed={1: v, ("k", None): v})
        root.me = root
        root.child = module(parent=root, v=v)
        Pair = collections.namedtuple("Pair", "left right")
        root.pair = Pair(v, (root.child,))
        return root

    def observe(m: Any) -> Observed:
        same = [m.a is m.b[0], m.b[1]["c"] is m.a, m.keyed["k", None] is m.keyed[1], m.me is m, m.child.parent is m,
                m.pair.left is m.a, m.pair.right[0] is m.child]  # fmt: skip
        return {"same": np.array(same), "a": m.a}

    return Golden(build, observe)


def _control_flow() -> Golden:
    def loop(x: Any) -> Any:
        return gd.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, gd.sin(y) * x), [0, x])[1]

    def branch(x: Any) -> Any:
        return gd.cond(gd.reduce_sum(x) > 0.0, lambda: x * x, lambda: gd.exp(x))

    def scan(x: Any) -> Any:
        return gd.scan(lambda a, b: a * 0.5 + b * b, x, initializer=gd.constant(1.0))

    def build() -> Any:
        spec = gd.TensorSpec([None])
        return module(loop=described(loop, spec), branch=described(branch, spec), scan=described(scan, spec))

    def observe(m: Any) -> Observed:
        found = {}
        for name in ("loop", "branch", "scan"):
            for sign in (1, -1):
                found |= {f"{name} {sign} {k}": y for k, y in derivatives(getattr(m, name), sign * X).items()}
        return found

    return Golden(build, observe)


def _nested_functions() -> Golden:
    def build() -> Any:
        v = gd.Variable(2.0)
        inner = gd.function(lambda x: gd.sin(x) * v)
        middle = gd.function(lambda x: inner(x) + inner(inner(x)))

        def outer(x: Any) -> Any:
            with gd.GradientTape() as tape:
                tape.watch(x)
                y = middle(x)
            return tape.gradient(y, x)

        return module(
            v=v, outer=described(outer, gd.TensorSpec([None])), middle=described(middle, gd.TensorSpec(None))
        )

    def observe(m: Any) -> Observed:
        found = {f"outer {k}": y for k, y in derivatives(m.outer, X, 1).items()}
        for rank in range(3):
            x = np.broadcast_to(X, (2, 2, 3)[-1 - rank :] if rank else (3,)).astype(np.float32)
            found |= {f"middle {rank} {k}": y for k, y in derivatives(m.middle, x).items()}
        return found

    return Golden(build, observe)


def _random() -> Golden:
    def build() -> Any:
        rng = gd.random.Generator.from_seed(42)
        own = described(lambda: rng.normal([3]))
        shared = described(lambda: gd.random.uniform([2]) + gd.random.normal([2], seed=5))
        stateless = described(lambda s: gd.random.stateless_uniform([3], s), gd.TensorSpec([2], gd.int32))
        return module(rng=rng, own=own, shared=shared, stateless=stateless)

    def observe(m: Any) -> Observed:
        gd.random.set_seed(8)
        return {"own": m.own(), "again": m.own(), "shared": m.shared(), "stateless": m.stateless([1, 2])}

    return Golden(build, observe)


def _custom_gradients() -> Golden:
    def build() -> Any:
        spec = gd.TensorSpec([None])
        return module(once=described(rich.slanted, spec), twice=described(lambda x: rich.scaled(x) * x, spec))

    def observe(m: Any) -> Observed:
        found = {f"once {k}": y for k, y in derivatives(m.once, X).items()}
        return found | {f"twice {k}": y for k, y in derivatives(m.twice, X).items()}

    return Golden(build, observe)


def _unsaved_rule() -> Golden:
    return Golden(lambda: module(f=described(rich.slanted, gd.TensorSpec([None]))), lambda m: {"f": m.f(X)})


def _signatures() -> Golden:
    def build() -> Any:
        spec = gd.TensorSpec([None], name="größe")
        return module(
            f=described(lambda x: {"b": x * 2.0, "a": -x}, spec),
            g=described(lambda x, y: (x + y, x * y), spec, gd.TensorSpec([])),
        )

    def observe(m: Any) -> Observed:
        found = {"keys": np.array([len(key) for key in sorted(m.signatures)])}
        found |= {f"f {k}": y for k, y in m.signatures["f"](größe=X).items()}
        return found | {f"g {k}": y for k, y in m.signatures["zweite"](größe=X, y=2.0).items()}

    return Golden(build, observe, lambda m: {"f": m.f, "zweite": m.g})


def _names() -> Golden:
    def build() -> Any:
        v = gd.Variable([1.0], name="größe/重み")
        return module(größe=v, 重み=module(v=v), _private=v, named={"a.b": v, "": v, "__class__": [v]})

    def observe(m: Any) -> Observed:
        same = [m.重み.v is m.größe, m.named["a.b"] is m._private, m.named["__class__"][0] is m.named[""]]
        return {"same": np.array(same), "name": np.frombuffer(m._private.name.encode(), np.uint8)}

    return Golden(build, observe)


def _arguments() -> Golden:
    Pair = collections.namedtuple("Pair", "left right")

    def build() -> Any:
        def f(pair: Any, *rest: Any, scale: Any = 2.0, mode: str = "plain") -> Any:
            y = (pair.left + pair.right["x"] + sum(rest)) * scale
            return Pair(-y if mode == "negative" else y, [pair.left])

        one = gd.constant(1.0)
        function = gd.function(f)
        function(Pair(one, {"x": one}))
        function(Pair(one, {"x": one}), one, scale=one, mode="negative")
        return module(f=function)

    def observe(m: Any) -> Observed:
        two, three = gd.constant(2.0), gd.constant(3.0)
        plain = m.f(Pair(two, {"x": three}))
        other = m.f(Pair(two, {"x": three}), two, scale=three, mode="negative")
        return {"plain": plain.left, "listed": plain.right[0], "negative": other.left}

    return Golden(build, observe)


def _training() -> Golden:
    def build() -> Any:
        root = module(
            w=gd.Variable(np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)),
            optimizer=optimizers.Adam(0.1),
        )
        root.optimizer.build([root.w])

        def train(x: Any) -> Any:
            with gd.GradientTape() as tape:
                loss = gd.reduce_mean(gd.square(gd.tanh(gd.matmul(x, root.w)) - 0.5))
            root.optimizer.apply_gradients([(tape.gradient(loss, root.w), root.w)])
            return loss

        root.train = described(train, gd.TensorSpec([None, 3]))
        root.train(np.ones((2, 3), np.float32))
        return root

    def observe(m: Any) -> Observed:
        losses = [m.train(np.ones((2, 3), np.float32)).numpy() for _ in range(3)]
        return {"losses": np.array(losses), "w": m.w, "iterations": m.optimizer.iterations}

    return Golden(build, observe)


def _variables() -> Golden:
    def build() -> Any:
        free = gd.Variable([[1.0, 2.0]], shape=gd.TensorShape(None), name="free")
        rows = gd.Variable([1.0, 2.0], shape=gd.TensorShape([None]), trainable=False)
        total = described(lambda: gd.reduce_sum(free) + gd.reduce_sum(rows))
        big = gd.Variable(np.arange(500, dtype=np.float32) / 7)
        return module(free=free, rows=rows, total=total, big=big)

    def observe(m: Any) -> Observed:
        found = {
            "total": m.total(),
            "big": m.big,
            "trainable": np.array([m.free.trainable, m.rows.trainable]),
        }
        m.free.assign([5.0])
        m.rows.assign([1.0, 2.0, 3.0])
        with gd.GradientTape() as tape:
            y = m.total()
        return found | {"after": y, "gradient": tape.gradient(y, m.free)}

    return Golden(build, observe)


def _rich() -> Golden:
    def observe(m: Any) -> Observed:
        x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
        found = {f"call {k}": y for k, y in derivatives(m, x).items()}
        found |= {f"loop {k}": y for k, y in derivatives(m.loop, X).items()}
        found |= {f"parts {k}": y for k, y in m.parts(np.arange(8, dtype=np.float32).reshape(2, 4)).items()}
        y, more = m.branch(X)
        gd.random.set_seed(2)
        found |= {"branch": y, "gradient": more["gradient"], "steps": m.step(), "draw": m.draw(3)}
        return found | {
            "described": m.described(gd.constant([3.0]), mode="twice"),
            "concrete": m.concrete(gd.constant(X))[0],
        }

    return Golden(rich.Rich, observe, rich.signatures)


MODELS: dict[str, Golden] = {
    "empty": _empty(),
    "scalars": _scalars(),
    "dtypes": _dtypes(),
    "zero_size": _zero_size(),
    "shared": _shared(),
    "control_flow": _control_flow(),
    "nested_functions": _nested_functions(),
    "random": _random(),
    "custom_gradients": _custom_gradients(),
    "unsaved_rule": _unsaved_rule(),
    "signatures": _signatures(),
    "names": _names(),
    "arguments": _arguments(),
    "training": _training(),
    "variables": _variables(),
    "rich": _rich(),
}
# What these compute is in their `calls.npz`, as for all others; nothing more is observed of them.
MODELS |= {name: Golden(build, lambda m: {}) for name, build in wide.FAMILIES.items()}
WITHOUT_RULES = frozenset({"unsaved_rule"})


def observed(golden: Golden, loaded: Any) -> dict[str, np.ndarray]:
    """What is seen of a loaded model, as arrays."""
    return {name: np.asarray(value) for name, value in golden.observe(loaded).items()}
