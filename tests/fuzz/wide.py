"""Signatures that the stored programs do not use: transforms of signals, more factorisations and special functions, indexing by
arrays, `at`, functions of functions. Only programs of wide seeds have them, so the programs of other seeds stay the same.
"""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.algebra import _DEFINITE, _REGULAR, _square
from tests.fuzz.grow import LARGE, Grower, NoFit, broadcast, signature
from tests.fuzz.program import Dims, Value
from tests.fuzz.structures import _param

# signals


def _last_known(x: Value) -> bool:
    return isinstance(x.dims[-1], int) and x.dtype != "float16"


@signature("wide", 2.0)
def spectrum(g: Grower) -> None:
    x = g.pick(low=1, tame=8.0, fits=_last_known)
    n = int(x.dims[-1])
    text, size = g.choice(
        [
            ("tf.signal.rfft($0)", n // 2 + 1),
            ("tf.signal.rfft($0, fft_length=[4])", 3),
            ("tf.signal.rfft($0, fft_length=[3])", 2),
        ]
    )
    traits = ("ranked",) if "length" in text else ()
    dims = (*x.dims[:-1], size)
    g.emit(text, [x], dims=dims, dtype=g.style.complex, bound=x.bound * 4, traits=traits)


@signature("wide", 2.0)
def fourier(g: Grower) -> None:
    x = g.pick("c", low=1, tame=8.0, fits=lambda x: isinstance(x.dims[-1], int))
    n, real = int(x.dims[-1]), "float64" if x.dtype == "complex128" else "float32"
    what = g.choice(["fft", "ifft", "fft2d", "ifft2d", "fftshift", "irfft", "irfft3"])
    if what.endswith("2d"):
        if len(x.dims) < 2 or not isinstance(x.dims[-2], int):
            raise NoFit
        g.emit(f"tf.signal.{what}($0)", [x], bound=x.bound * 8)
    elif what == "irfft" and n > 1:
        g.emit("tf.signal.irfft($0)", [x], dims=(*x.dims[:-1], 2 * n - 2), dtype=real, bound=x.bound * 2)
    elif what.startswith("irfft"):
        g.emit(
            "tf.signal.irfft($0, fft_length=[3])",
            [x],
            dims=(*x.dims[:-1], 3),
            dtype=real,
            bound=x.bound * 2,
            traits=("ranked",),
        )
    else:
        text = "tf.signal.fftshift($0, axes=[-1])" if what == "fftshift" else f"tf.signal.{what}($0)"
        g.emit(text, [x], bound=x.bound * 4)


@signature("wide", 1.0)
def cosines(g: Grower) -> None:
    x = g.pick(low=1, tame=8.0, fits=_last_known)
    options = ["type=2", "type=2, norm='ortho'", "type=3, norm='ortho'"]
    options += ["type=1"] if int(x.dims[-1]) > 1 else []
    g.emit(f"tf.signal.{g.choice(['dct', 'idct'])}($0, {g.choice(options)})", [x], bound=x.bound * 8)


# linear algebra

_FACTORED = {
    "tf.linalg.qr({regular})[1]": 8.0,
    "tf.linalg.qr({regular})[0]": 1.0,
    "tf.linalg.lu({regular})[0]": 8.0,
    "tf.linalg.expm(tf.tanh($0) * 0.5)": 8.0,
    "tf.linalg.sqrtm({definite})": 4.0,
    "tf.linalg.pinv({regular})": 4.0,
    "tf.linalg.lstsq({regular}, tf.sin($0))": 4.0,
    # Signs and phases of singular vectors are arbitrary; the matrices composed of them are not.
    "(lambda w, v: tf.matmul(v * tf.sin(w)[..., tf.newaxis, :], v, adjoint_b=True))(*tf.linalg.eigh({definite}))": 4.0,
    "(lambda s, u, v: tf.matmul(u * tf.sin(s)[..., tf.newaxis, :], v, adjoint_b=True))(*tf.linalg.svd({regular}))": 4.0,
    "tf.linalg.lu_solve(*tf.linalg.lu({regular}), tf.sin($0))": 4.0,
    "tf.linalg.normalize($0 + 0.25, axis=-1)[0]": 1.0,
}


@signature("wide", 3.0)
def factored_further(g: Grower) -> None:
    a = _square(g)
    diagonal = [2.0 + 1.25 * k for k in range(int(a.dims[-1]))]
    text = g.choice(list(_FACTORED))
    regular, definite = (part.format(d=diagonal, t=a.dtype) for part in (_REGULAR, _DEFINITE))
    traits = ("kinked",) if "normalize" in text else ()
    g.emit(
        text.replace("{regular}", regular).replace("{definite}", definite),
        [a],
        bound=_FACTORED[text],
        traits=traits,
    )


# special functions: brought into their domain

_SPECIAL = {
    "tf.math.bessel_i0e($0)": (1.0, ""),
    "tf.math.bessel_i1e($0)": (1.0, ""),
    "tf.math.special.bessel_j0($0)": (1.0, ""),
    "tf.math.special.bessel_j1($0)": (1.0, ""),
    "tf.math.special.bessel_k0e(tf.square($0) + 0.5)": (3.0, ""),
    "tf.math.special.bessel_k1(tf.square($0) + 0.5)": (3.0, ""),
    "tf.math.special.bessel_y0(tf.square($0) + 0.5)": (3.0, ""),
    "tf.math.special.dawsn($0)": (1.0, ""),
    "tf.math.special.expint(tf.tanh($0) + 2.0)": (10.0, ""),
    "tf.math.special.fresnel_cos($0)": (1.0, ""),
    "tf.math.special.fresnel_sin($0)": (1.0, ""),
    "tf.math.special.spence(tf.square($0) + 0.5)": (4.0, ""),
    "tf.math.ndtri(0.5 + 0.4 * tf.sin($0))": (3.0, ""),
    "tf.math.erfcinv(1.0 + 0.8 * tf.sin($0))": (2.0, ""),
    "tf.math.polygamma(tf.ones_like($0), tf.square($0) + 1.0)": (2.0, "chosen"),
    "tf.math.zeta(tf.square($0) + 2.0, tf.ones_like($0) * 1.5)": (2.0, "chosen"),
    "tf.math.sinc($0)": (1.0, ""),
    "tf.math.trunc($0 * 1.5)": (LARGE, "sharp"),
    "tf.math.polyval([0.5, -1.0, 0.25], tf.tanh($0))": (2.0, ""),
    "tf.math.reciprocal_no_nan(tf.round($0) + 0.5)": (2.0, "sharp"),
    "tf.nn.crelu(tf.reshape($0, tf.shape($0)))[..., :1] * 0.0 + tf.reduce_sum(tf.nn.crelu($0), -1, True)": (
        8.0,
        "kinked",
    ),
}


@signature("wide", 4.0)
def special(g: Grower) -> None:
    text = g.choice(list(_SPECIAL))
    x = g.pick(low=1 if "crelu" in text else 0, tame=8.0, fits=lambda x: x.dtype != "float16")
    bound, traits = _SPECIAL[text]
    dims = (*x.dims[:-1], 1) if "crelu" in text else x.dims
    g.emit(text, [x], dims=dims, bound=bound, traits=tuple(traits.split()))


@signature("wide", 2.0)
def special_pairs(g: Grower) -> None:
    x = g.pick(tame=4.0, fits=lambda x: x.dtype != "float16")
    y = g.partner(x)
    text, traits = g.choice(
        [
            ("tf.math.igamma(tf.square($0) + 0.5, tf.square($1) + 0.5)", "chosen"),
            ("tf.math.igammac(tf.square($0) + 0.5, tf.square($1) + 0.5)", "chosen"),
            (
                "tf.math.betainc(tf.square($0) + 0.5, tf.square($0) + 1.0, tf.sigmoid($1) + tf.zeros_like($0))",
                "chosen",
            ),
            ("tf.math.xlog1py($0, tf.abs($1))", "chosen"),
            ("tf.math.logaddexp($0, $1)", ""),
            ("tf.math.add_n([tf.sin($0), tf.cos($1) + tf.zeros_like($0)])", ""),
        ]
    )
    g.emit(text, [x, y], dims=broadcast(x.dims, y.dims) or x.dims, bound=8.0, traits=tuple(traits.split()))


# indexing


@signature("wide", 3.0)
def by_arrays(g: Grower) -> None:
    """Indexing with arrays of integers, masks and tensors."""
    x = g.pick("fc", low=1, fits=lambda x: isinstance(x.dims[-1], int))
    n, rest = int(x.dims[-1]), x.dims[:-1]
    some = [g.whole(-n, n) for _ in range(g.whole(1, 4))]
    options: list[tuple[str, Dims]] = [
        (f"$0[..., {some}]", (*rest, len(some))),
        (f"$0[..., tf.constant({some})]", (*rest, len(some))),
        (f"$0[..., [{some}]]", (*rest, 1, len(some))),
        (f"$0[..., tf.newaxis, {some}]", (*rest, 1, len(some))),
        (f"$0[..., {[k % 2 == 0 for k in range(n)]}]", (*rest, (n + 1) // 2)),
    ]
    if len(x.dims) > 1 and isinstance(x.dims[0], int):
        m = int(x.dims[0])
        rows = [g.whole(0, m) for _ in some]
        options.append((f"$0[{rows}, ..., {some}]", (len(some), *x.dims[1:-1])))
        options.append((f"$0[{rows}]", (len(some), *x.dims[1:])))
        options.append((f"$0[{[True] * m}]", x.dims))
    text, dims = g.choice(options)
    g.emit(text, [x], dims=dims, traits=("ranked",))


@signature("wide", 3.0)
def updated(g: Grower) -> None:
    """`x.at[key]` with its updates."""
    x = g.pick(low=1, fits=lambda x: isinstance(x.dims[-1], int))
    n = int(x.dims[-1])
    some = [g.whole(-n, n) for _ in range(2)]
    key, value = g.choice(
        [
            ("..., 0", "1.5"),
            ("..., -1", "tf.sin($0)[..., 0]"),
            (f"..., {some}", "0.5"),
            (f"..., {some}", f"tf.cos($0)[..., {some}]"),
            ("..., ::2", "tf.sin($0)[..., ::2]"),
            ("$0 > 0.5", "0.25"),
            ("...", "tf.tanh($0)"),
            ("0:1", "2.0"),
        ]
    )
    way = g.choice(["set", "add", "multiply", "subtract", "min", "max"])
    if way not in ("add", "subtract") and str(some) in key and some[0] % n == some[1] % n:
        raise NoFit  # it is not promised which of two equal ones is kept; both have the same derivative
    traits = ("sharp", "kinked") if way in ("min", "max") or ">" in key else ()
    if key == "0:1" and isinstance(x.dims[0], str):
        key = ":"
    traits += ("ranked",) if str(some) in key else ()
    g.emit(f"$0.at[{key}].{way}({value})", [x], bound=x.bound * 2 + 2.0, traits=traits)


@signature("wide", 1.5)
def methods(g: Grower) -> None:
    """NumPy's methods of tensors."""
    x = g.pick(low=1)
    axis = g.axis(x)
    k = axis % len(x.dims)
    less = tuple(d for i, d in enumerate(x.dims) if i != k)
    text, dims = g.choice(
        [
            ("$0.T", tuple(reversed(x.dims))),
            (f"$0.sum({axis})", less),
            (f"$0.mean(axis={axis}, keepdims=True)", tuple(1 if i == k else d for i, d in enumerate(x.dims))),
            ("$0.reshape(tf.shape($0))", x.dims),
            (f"$0.cumsum({axis})", x.dims),
            ("$0.clip(-1.0, 1.0)", x.dims),
        ]
    )
    g.emit(text, [x], dims=dims, bound=x.bound * 3, traits=("kinked",) if "clip" in text else ())


# functions of functions


@signature("wide", 5.0)
def transformed(g: Grower) -> None:
    x = g.pick(tame=4.0)
    u = g.partner(x, same=True)
    p = _param(g, x)
    text = g.choice(
        [
            "tf.grad(lambda a: tf.reduce_sum(@0(a)))($0)",
            "tf.value_and_grad(lambda a: tf.reduce_sum(tf.sin(@0(a))))($0)[1] * $1",
            "tf.jvp(@0, ($0,), ($1,))[1]",
            "tf.vjp(@0, $0)[1]($1)[0]",
            "tf.linearize(@0, $0)[1]($1)",
            "tf.hvp(lambda a: tf.reduce_sum(tf.sin(@0(a))), ($0,), ($1,))",
            "tf.checkpoint(@0)($0) + $1",
            "tf.grad(lambda a: tf.reduce_sum(tf.jvp(@0, (a,), ($1,))[1]))($0)",
        ]
    )
    body = g.block([p], [p])
    g.emit(text, [x, u], dims=x.dims, bound=LARGE, blocks=[body], traits=("derivative",))


@signature("wide", 1.5)
def whole_jacobian(g: Grower) -> None:
    x = g.pick(high=2, tame=4.0)
    p = _param(g, x)
    body = g.block([p], [p])
    how = g.choice(["jacrev", "jacfwd"])
    g.emit(
        f"tf.{how}(@0)($0)",
        [x],
        dims=(*x.dims, *x.dims),
        bound=LARGE,
        blocks=[body],
        traits=("derivative", "jacobian"),
    )


@signature("wide", 2.0)
def mapped(g: Grower) -> None:
    x = g.pick(low=1, tame=4.0)
    axis = g.whole(0, len(x.dims))
    row = replace(x, dims=tuple(d for k, d in enumerate(x.dims) if k != axis))
    p = _param(g, row)
    body = g.block([p], [p])
    what = g.choice(["@0", "tf.grad(lambda a: tf.reduce_sum(@0(a)))"])
    traits = (("derivative",) if "grad" in what else ()) + (("ranked",) if axis else ())
    g.emit(
        f"tf.vmap({what}, in_axes={axis}, out_axes={axis})($0)",
        [x],
        bound=LARGE,
        blocks=[body],
        traits=traits,
    )


# networks


@signature("wide", 1.0)
def in_blocks(g: Grower) -> None:
    x = g.pick(rank=4, fits=lambda x: all(isinstance(d, int) for d in x.dims[1:]))
    h, w, c = (int(d) for d in x.dims[1:])
    options: list[tuple[str, Dims]] = []
    if h % 2 == 0 and w % 2 == 0:
        options.append(("tf.nn.space_to_depth($0, 2)", (x.dims[0], h // 2, w // 2, c * 4)))
    if c % 4 == 0:
        options.append(("tf.nn.depth_to_space($0, 2)", (x.dims[0], h * 2, w * 2, c // 4)))
    if x.dtype == "float32":
        options.append(("tf.nn.local_response_normalization($0, 1)", x.dims))
    text, dims = g.choice(options)
    g.emit(text, [x], dims=dims)


@signature("wide", 1.0)
def more_losses(g: Grower) -> None:
    x = g.pick(low=1)
    y = g.partner(x, same=True)
    text = g.choice(
        [
            "tf.nn.weighted_cross_entropy_with_logits(labels=tf.sigmoid($1), logits=$0, pos_weight=1.5)",
            "tf.nn.log_poisson_loss(tf.square($1) + 0.5, tf.tanh($0))",
            "tf.nn.log_poisson_loss(tf.square($1) + 0.5, tf.tanh($0), compute_full_loss=True)",
        ]
    )
    g.emit(text, [x, y], bound=16.0, traits=("kinked", "sharp", "chosen") if "full" in text else ())


# operators

_OPERATORS = [
    "Diag($0)",
    "Toeplitz($0, $0)",
    "Householder($0 + 3.0)",
    "Kronecker([tf.linalg.LinearOperatorDiag($0), tf.linalg.LinearOperatorDiag($0)])",
    "Tridiag([$0, $0 + 3.0, $0], 'sequence')",
    "LowRankUpdate(tf.linalg.LinearOperatorDiag(tf.square($0) + 1.0), $0[..., tf.newaxis])",
    "Composition([tf.linalg.LinearOperatorDiag($0), tf.linalg.LinearOperatorToeplitz($0, $0)])",
    "Inversion(tf.linalg.LinearOperatorDiag(tf.square($0) + 1.0))",
    "Adjoint(tf.linalg.LinearOperatorToeplitz($0, tf.sin($0)))",
]


@signature("wide", 2.0)
def operators(g: Grower) -> None:
    """Products of operators and matrices, and the operators as matrices."""
    x = g.pick(low=1, tame=2.0, fits=_last_known)
    n = int(x.dims[-1])
    text = g.choice(_OPERATORS)
    size = n * n if text.startswith("Kronecker") else n
    is_open = any(isinstance(d, str) for d in x.dims)
    if n < 2 or size > 9 or (is_open and size > n) or (text.startswith("Toeplitz") and len(x.dims) > 3):
        raise NoFit
    whole = f"tf.linalg.LinearOperator{text}"
    lead = x.dims[:-1]
    ending, dims = g.choice(
        [
            (f".matmul(tf.ones([{size}, 2], $0.dtype))", (*lead, size, 2)),
            (f".matmul(tf.ones([{size}, 2], $0.dtype), adjoint=True)", (*lead, size, 2)),
            (f".matvec(tf.ones([{size}], $0.dtype))", (*lead, size)),
            (".to_dense()", (*lead, size, size)),
            (".diag_part()", (*lead, size)),
            (".trace()", lead),
        ]
    )
    g.emit(whole + ending, [x], dims=dims, bound=64.0, traits=("ranked", "sized"))
