"""Signatures of elementwise functions, of comparisons and selections, of integers, booleans and complex numbers, of casts."""

from __future__ import annotations

import math

from tests.fuzz.grow import Grower, broadcast, signature
from tests.fuzz.program import Value

# name in the library: (expression of the result's bound, traits); everywhere defined
_EVERYWHERE: dict[str, tuple[float | None, str]] = {
    "tf.sin": (1.0, ""),
    "tf.cos": (1.0, ""),
    "tf.tanh": (1.0, ""),
    "tf.sigmoid": (1.0, ""),
    "tf.math.erf": (1.0, ""),
    "tf.math.erfc": (2.0, ""),
    "tf.atan": (1.6, ""),
    "tf.asinh": (5.0, ""),
    "tf.math.softplus": (None, ""),
    "tf.math.softsign": (1.0, "kinked"),
    "tf.math.log_sigmoid": (None, ""),
    "tf.abs": (None, "kinked"),
    "tf.negative": (None, ""),
    "tf.sign": (1.0, "sharp"),
    "tf.floor": (None, "sharp"),
    "tf.math.ceil": (None, "sharp"),
    "tf.round": (None, "sharp"),
    "tf.math.rint": (None, "sharp"),
    "tf.identity": (None, ""),
    "tf.stop_gradient": (None, "chosen"),
}
_ACTIVATIONS: dict[str, tuple[float | None, str]] = {
    "tf.nn.relu": (None, "kinked"),
    "tf.nn.relu6": (6.0, "kinked"),
    "tf.nn.elu": (None, "kinked"),
    "tf.nn.selu": (None, "kinked"),
    "tf.nn.leaky_relu": (None, "kinked"),
    "tf.nn.gelu": (None, ""),
    "tf.nn.silu": (None, ""),
    "tf.nn.softplus": (None, ""),
    "tf.nn.tanh": (1.0, ""),
    "tf.nn.sigmoid": (1.0, ""),
    "tf.nn.softsign": (1.0, "kinked"),
}
# functions that grow fast, so the operand has a small bound
_STEEP = {"tf.exp": 3.0, "tf.math.expm1": 3.0, "tf.sinh": 3.0, "tf.cosh": 3.0, "tf.square": 8.0}
# a domain: how the operand is brought into it; and where the pole lies, for selections that avoid it
_DOMAINS = {
    "tf.sqrt": ("tf.abs($0) + 0.25", "$0 > 0.0"),
    "tf.math.rsqrt": ("tf.abs($0) + 0.25", "$0 > 0.0"),
    "tf.math.log": ("tf.square($0) + 0.5", "$0 > 0.0"),
    "tf.math.log1p": ("tf.abs($0)", "$0 > -1.0"),
    "tf.math.reciprocal": ("tf.square($0) + 1.0", "tf.not_equal($0, 0.0)"),
    "tf.math.lgamma": ("tf.abs($0) + 0.5", "$0 > 0.0"),
    "tf.math.digamma": ("tf.abs($0) + 1.0", "$0 > 0.0"),
    "tf.asin": ("tf.sin($0) * 0.875", "tf.abs($0) < 1.0"),
    "tf.acos": ("tf.tanh($0) * 0.75", "tf.abs($0) < 1.0"),
    "tf.atanh": ("tf.tanh($0) * 0.75", "tf.abs($0) < 1.0"),
    "tf.math.erfinv": ("tf.tanh($0) * 0.5", "tf.abs($0) < 1.0"),
    "tf.acosh": ("tf.abs($0) + 1.25", "$0 > 1.0"),
    "tf.tan": ("tf.sin($0)", "tf.abs($0) < 1.5"),
}


def _traits(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _unary(name: str, family: str, bound: float | None, traits: str, weight: float = 1.0) -> None:
    def make(g: Grower) -> None:
        x = g.pick()
        g.emit(f"{name}($0)", [x], bound=x.bound + 1.0 if bound is None else bound, traits=_traits(traits))

    signature(family, weight, name)(make)


def _steep(name: str, limit: float) -> None:
    def make(g: Grower) -> None:
        x = g.pick(tame=limit)
        g.emit(f"{name}($0)", [x], bound=x.bound**2 if name == "tf.square" else math.exp(x.bound))

    signature("elementwise", 1.0, name)(make)


def _domain(name: str, inside: str, where: str) -> None:
    def make(g: Grower) -> None:
        x = g.pick()
        if g.chance(0.04):
            g.emit(f"{name}($0)", [x], bound=30.0, traits=("kinked",))
        elif g.chance(0.25):
            # The pole is not selected: an exact zero ends the cotangent there.
            g.emit(f"tf.where({where}, {name}($0), 0.0)", [x], bound=30.0, traits=("kinked", "sharp"))
        else:
            kinked = ("kinked",) if "abs" in inside else ()
            g.emit(f"{name}({inside})", [x], bound=8.0, traits=kinked)

    signature("elementwise", 0.6, name)(make)


for _name, (_bound, _text) in _EVERYWHERE.items():
    _unary(_name, "elementwise", _bound, _text, 0.6)
for _name, (_bound, _text) in _ACTIVATIONS.items():
    _unary(_name, "activation", _bound, _text, 0.6)
for _name, _limit in _STEEP.items():
    _steep(_name, _limit)
for _name, (_inside, _where) in _DOMAINS.items():
    _domain(_name, _inside, _where)


def _pair(g: Grower, kind: str = "f", tame: float | None = None) -> tuple[Value, Value]:
    x = g.pick(kind, tame=tame)
    y = g.partner(x)
    if tame is not None and y.bound > tame and y.kind == "f":
        y = g.squashed(y, tame)
    return (x, y) if g.chance(0.7) else (y, x)


def _emit_pair(
    g: Grower, text: str, x: Value, y: Value, bound: float, *traits: str, dtype: str | None = None
) -> None:
    g.emit(text, [x, y], dims=broadcast(x.dims, y.dims), bound=bound, traits=traits, dtype=dtype)


@signature("elementwise", 4.0)
def sum_and_difference(g: Grower) -> None:
    x, y = _pair(g)
    _emit_pair(
        g, g.choice(["$0 + $1", "$0 - $1", "tf.add($0, $1)", "tf.subtract($0, $1)"]), x, y, x.bound + y.bound
    )


@signature("elementwise", 4.0)
def product(g: Grower) -> None:
    x, y = _pair(g)
    _emit_pair(g, g.choice(["$0 * $1", "tf.multiply($0, $1)"]), x, y, x.bound * y.bound)


@signature("elementwise", 1.5)
def with_number(g: Grower) -> None:
    x = g.pick("fc")
    c = g.number()
    text = g.choice([f"$0 * {c}", f"{c} * $0", f"$0 + {c}", f"{c} - $0", f"$0 / {c}", "-$0", f"$0 - {c}"])
    g.emit(text, [x], bound=x.bound * 2 + 2)


@signature("elementwise", 2.0)
def quotient(g: Grower) -> None:
    x, y = _pair(g)
    if g.chance(0.05):
        _emit_pair(g, g.choice(["$0 / $1", "tf.divide($0, $1)"]), x, y, 30.0, "kinked")
        return
    text = g.choice(["$0 / (tf.square($1) + 1.0)", "tf.truediv($0, tf.exp(-tf.square($1)) + 0.5)"])
    _emit_pair(g, text, x, y, x.bound * 2)


@signature("elementwise", 1.5)
def larger_and_smaller(g: Grower) -> None:
    x, y = _pair(g)
    f = g.choice(["tf.maximum", "tf.minimum"])
    _emit_pair(g, f"{f}($0, $1)", x, y, max(x.bound, y.bound), "kinked")


@signature("elementwise", 1.5)
def power(g: Grower) -> None:
    x = g.pick(tame=3.0)
    if g.chance(0.6):
        text = g.choice(
            [
                "$0 ** 2",
                "$0 ** 3",
                "tf.pow($0, 2.0)",
                "$0 ** 1",
                "(tf.abs($0) + 0.5) ** 0.5",
                "$0 ** 0",
                "2.0 ** $0",
            ]
        )
        g.emit(text, [x], bound=27.0, traits=("kinked",) if "abs" in text else ())
        return
    y = g.partner(x)
    y = g.squashed(y, 2.0) if y.bound > 2.0 else y
    _emit_pair(g, "tf.pow(tf.abs($0) + 0.5, $1)", x, y, 16.0, "kinked")


@signature("elementwise", 2.0)
def other_pairs(g: Grower) -> None:
    x, y = _pair(g, tame=8.0)
    text, bound, traits = g.choice(
        [
            ("tf.math.squared_difference($0, $1)", 64.0, ""),
            ("tf.atan2($0, tf.abs($1) + 0.5)", 3.2, "kinked"),
            ("tf.math.atan2(y=$0, x=$1 + 3.0)", 3.2, "sharp"),
            ("tf.math.divide_no_nan($0, $1)", 30.0, "sharp kinked"),
            ("tf.math.multiply_no_nan($0, $1)", 64.0, "chosen"),
            ("tf.math.xlogy($0, tf.abs($1) + 0.5)", 20.0, "kinked chosen"),
            ("tf.math.xdivy($0, $1)", 30.0, "kinked sharp chosen"),
            ("$0 // (tf.abs($1) + 0.5)", 16.0, "sharp"),
            ("$0 % (tf.abs($1) + 0.5)", 8.0, "sharp chosen"),
            ("tf.add_n([$0, $0 * $1])", 64.0, ""),
        ]
    )
    if "add_n" in text and broadcast(x.dims, y.dims) != x.dims:
        text = "$0 + $0 * $1"
    _emit_pair(g, text, x, y, bound, *traits.split())


@signature("elementwise", 1.0)
def clipped(g: Grower) -> None:
    x = g.pick()
    text = g.choice(
        ["tf.clip_by_value($0, -1.0, 1.0)", "tf.clip_by_value($0, 0.0, 1.5)", "tf.nn.relu6($0 * 2.0)"]
    )
    g.emit(text, [x], bound=6.0, traits=("kinked",))


# comparisons and selections


@signature("select", 1.5)
def comparison(g: Grower) -> None:
    x, y = _pair(g, g.choice("ffi"))
    text = g.choice(
        [
            "$0 < $1",
            "$0 >= $1",
            "tf.greater($0, $1)",
            "tf.less_equal($0, $1)",
            "tf.equal($0, $1)",
            "tf.not_equal($0, $1)",
        ]
    )
    _emit_pair(g, text, x, y, 1.0, "sharp", dtype="bool")


@signature("select", 1.0)
def classified(g: Grower) -> None:
    x = g.pick()
    f = g.choice(["tf.math.is_nan", "tf.math.is_inf", "tf.math.is_finite"])
    g.emit(f"{f}($0)", [x], dtype="bool", bound=1.0, traits=("sharp",))


@signature("select", 1.6)
def logic(g: Grower) -> None:
    x = g.pick("b")
    y = g.partner(x)
    text = g.choice(
        [
            "$0 & $1",
            "$0 | $1",
            "$0 ^ $1",
            "tf.logical_and($0, ~$1)",
            "tf.logical_or($0, $1)",
            "tf.math.logical_xor($0, $1)",
        ]
    )
    _emit_pair(g, text, x, y, 1.0, dtype="bool")


@signature("select", 2.5)
def selection(g: Grower) -> None:
    x = g.pick()
    y = g.partner(x)
    dims = broadcast(x.dims, y.dims)
    bound = max(x.bound, y.bound)
    if g.chance(0.5):
        text = g.choice(
            ["tf.where($0 > 0.25, $0, $1)", "tf.where($1 < $0, $1 * $0, $0)", "tf.where($0 > $1, 1.5, $1)"]
        )
        g.emit(text, [x, y], dims=dims, bound=bound**2, traits=("sharp",))
        return
    c = g.pick("b", fits=lambda c: broadcast(c.dims, dims) == dims)
    g.emit("tf.where($0, $1, $2)", [c, x, y], dims=dims, dtype=x.dtype, bound=bound)


@signature("select", 0.7)
def masked_out(g: Grower) -> None:
    x = g.pick()
    text = g.choice(
        [
            "tf.where($0 > 0.0, 1.0 / $0, 0.0)",
            "tf.where(tf.abs($0) < 1.0, tf.sqrt(1.0 - tf.square($0)), 0.0)",
            "tf.where($0 > 0.0, $0 ** 0.5, 0.0)",
            "tf.where($0 > 0.5, tf.math.log($0), $0)",
            "tf.where(tf.math.is_finite($0), $0, tf.zeros_like($0))",
            "tf.where($0 > 0.0, $0 * tf.math.rsqrt($0), 0.0)",
        ]
    )
    g.emit(text, [x], bound=30.0, traits=("sharp", "kinked"))


# integers and casts


@signature("select", 0.8)
def integers(g: Grower) -> None:
    x = g.pick("i")
    y = g.partner(x)
    text = g.choice(
        [
            "$0 + $1",
            "$0 * 2 - $1",
            "$0 // (tf.abs($1) + 1)",
            "$0 % (tf.abs($1) + 2)",
            "tf.maximum($0, $1)",
            "tf.minimum($0, -$1)",
            "tf.abs($0 - $1)",
            "tf.where($0 > $1, $0, $1)",
            "tf.math.floormod($0, tf.abs($1) + 3)",
            "tf.square($0) - $1",
            "tf.sign($0) * $1",
        ]
    )
    x8 = f"tf.clip_by_value({text}, -9, 9)"
    _emit_pair(g, x8, x, y, 9.0)


@signature("select", 1.0)
def to_integer(g: Grower) -> None:
    x = g.pick()
    dtype = g.choice(["int32", "int64"])
    text = g.choice(
        [
            f"tf.cast(tf.clip_by_value($0, -4.0, 4.0), tf.{dtype})",
            f"tf.cast(tf.clip_by_value(tf.round($0 * 2.0), -4.0, 4.0), tf.{dtype})",
            f"tf.cast($0 > 0.5, tf.{dtype})",
        ]
    )
    g.emit(
        text.replace("$0", "tf.where(tf.math.is_nan($0), tf.zeros_like($0), $0)", 1)
        if "clip" in text
        else text,
        [x],
        dtype=dtype,
        bound=4.0,
        traits=("sharp",),
    )


@signature("select", 1.0)
def to_real(g: Grower) -> None:
    x = g.pick("ib")
    g.emit(f"tf.cast($0, tf.{g.style.real})", [x], dtype=g.style.real, bound=10.0)


@signature("elementwise", 0.5)
def there_and_back(g: Grower) -> None:
    x = g.pick()
    other = g.choice([t for t in ("float32", "float64") if t != x.dtype])
    text = f"tf.cast(tf.sin(tf.cast($0, tf.{other})) * 2.0, tf.{x.dtype})"
    g.emit(text, [x], bound=2.0)


# complex numbers


@signature("complex", 1.2)
def complex_of_parts(g: Grower) -> None:
    x = g.pick(fits=lambda x: x.dtype == ("float64" if g.style.complex == "complex128" else "float32"))
    y = g.partner(x)
    g.emit(
        "tf.complex($0, $1 * tf.ones_like($0))" if y.dims != x.dims else "tf.complex($0, $1)",
        [x, y],
        dims=broadcast(x.dims, y.dims) if broadcast(x.dims, y.dims) == x.dims else None,
        dtype=g.style.complex,
    )


@signature("complex", 1.5)
def complex_unary(g: Grower) -> None:
    x = g.pick("c", tame=3.0)
    text, bound = g.choice(
        [
            ("tf.exp($0)", 20.0),
            ("tf.math.conj($0)", x.bound),
            ("$0 * $0", x.bound**2),
            ("tf.math.conj($0) * $0", x.bound**2),
            ("tf.sin($0)", 20.0),
            ("tf.cos($0)", 20.0),
            ("tf.math.log($0 + 5.0)", 3.0),
            ("tf.sqrt($0 + 5.0)", 4.0),
            ("1.0 / ($0 + 6.0)", 1.0),
            ("tf.square($0)", x.bound**2),
            ("-$0", x.bound),
            ("tf.tanh($0 * 0.25)", 2.0),
        ]
    )
    g.emit(text, [x], bound=bound)


@signature("complex", 1.0)
def complex_pair(g: Grower) -> None:
    x = g.pick("c", tame=8.0)
    y = g.partner(x)
    text = g.choice(["$0 * $1", "$0 + $1", "$0 - $1", "$0 / ($1 + 9.0)", "$0 * tf.math.conj($1)"])
    _emit_pair(g, text, x, y, x.bound * max(y.bound, 2.0))


@signature("complex", 2.0)
def parts_of_complex(g: Grower) -> None:
    x = g.pick("c")
    real = "float64" if x.dtype == "complex128" else "float32"
    f = g.choice(["tf.math.real($0)", "tf.math.imag($0)", "tf.abs($0)", "tf.math.angle($0 + 4.0)"])
    g.emit(f, [x], dtype=real, bound=x.bound)
