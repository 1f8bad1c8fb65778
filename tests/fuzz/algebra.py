"""Signatures of products, einsum, linear algebra, norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tests.fuzz.grow import Grower, NoFit, broadcast, signature
from tests.fuzz.program import Dims, Value


def _fc(g: Grower) -> str:
    return "c" if g.chance(0.08) else "f"


def _other_factor(g: Grower, x: Value, dims: Dims) -> Value:
    """A value of known or equal sizes, or a constant."""
    try:
        return g.pick(x.kind, fits=lambda y: y.dims == dims and y.dtype == x.dtype, tame=8.0)
    except NoFit:
        if any(isinstance(d, str) for d in dims):
            raise
        return g.constant(dims, x.dtype)


@signature("algebra", 2.5)
def matmul(g: Grower) -> None:
    a = g.pick(_fc(g), low=2, tame=8.0)
    inner, rows = a.dims[-1], a.dims[-2]
    columns = g.choice([2, 3, 1])
    turned = g.chance(0.3)
    batch = a.dims[:-2] if g.chance(0.3) else ()
    b = _other_factor(g, a, (*batch, columns, inner) if turned else (*batch, inner, columns))
    if isinstance(b.dims[-2 if turned else -1], int) and turned:
        columns = int(b.dims[-2])
    bound = a.bound * b.bound * 3
    if turned:
        g.emit("tf.matmul($0, $1, transpose_b=True)", [a, b], dims=(*a.dims[:-2], rows, columns), bound=bound)
    elif len(b.dims) == 2 and len(a.dims) == 2 and g.chance(0.3):
        g.emit("tf.matmul(tf.transpose($0), $1, transpose_a=True)", [a, b], dims=(rows, columns), bound=bound)
    else:
        g.emit(
            g.choice(["$0 @ $1", "tf.matmul($0, $1)", "tf.linalg.matmul($0, $1)"]),
            [a, b],
            dims=(*a.dims[:-2], rows, columns),
            bound=bound,
        )


@signature("algebra", 0.8)
def with_itself(g: Grower) -> None:
    a = g.pick(_fc(g), low=2, high=3, tame=8.0)
    text, dims = g.choice(
        [
            ("tf.matmul($0, $0, transpose_a=True)", (*a.dims[:-2], a.dims[-1], a.dims[-1])),
            ("tf.matmul($0, $0, transpose_b=True)", (*a.dims[:-1], a.dims[-2])),
            ("tf.matmul($0, $0, adjoint_b=True)", (*a.dims[:-1], a.dims[-2])),
        ]
    )
    g.emit(text, [a], dims=dims, bound=a.bound**2 * 3)


@signature("algebra", 0.8)
def matvec(g: Grower) -> None:
    a = g.pick(_fc(g), low=2, high=3, tame=8.0)
    v = _other_factor(g, a, a.dims[-1:])
    text = g.choice(
        ["tf.linalg.matvec($0, $1)", "tf.tensordot($0, $1, axes=1)", "tf.einsum('...ij,j->...i', $0, $1)"]
    )
    g.emit(text, [a, v], dims=a.dims[:-1], bound=a.bound * v.bound * 3)


_EINSUMS = (
    "ij->ji ij-> ij->j ij,ij-> ij,ij->i ij,kj->ik ij,jk->ik i,j->ij bij,bjk->bik bij,bkj->bik bi,bj->bij "
    "ij,j->i bij,j->bi i,i-> ...i,i->... ...ij,jk->...ik ...c,ch->...h ii->i ii-> bii->b ijk->kji"
).split()


def _labelled(term: str, sizes: Mapping[str, int | str], dtype: str | None) -> Callable[[Value], bool]:
    """Whether the sizes of a value agree with those that the letters of a term already stand for."""
    letters = term.replace("...", "")

    def fits(x: Value) -> bool:
        if len(x.dims) < len(letters) or ("..." not in term and len(x.dims) != len(letters)):
            return False
        seen = dict(sizes)
        last = x.dims[len(x.dims) - len(letters) :]
        return dtype in (None, x.dtype) and all(seen.setdefault(a, n) == n for a, n in zip(letters, last))

    return fits


@signature("algebra", 2.0)
def einsum(g: Grower) -> None:
    equation = g.choice(_EINSUMS)
    left, right = equation.split("->")
    kind = _fc(g)
    sizes: dict[str, int | str] = {}
    operands: list[Value] = []
    ellipsis: Dims = ()
    for term in left.split(","):
        letters = term.replace("...", "")
        try:
            x = g.pick(kind, fits=_labelled(term, sizes, operands[0].dtype if operands else None), tame=8.0)
        except NoFit:
            if not operands or any(isinstance(sizes.get(letter), str) for letter in letters):
                raise
            x = g.constant(tuple(sizes.setdefault(letter, 2) for letter in letters), operands[0].dtype)
        if "..." in term:
            ellipsis = x.dims[: len(x.dims) - len(letters)]
        sizes |= dict(zip(letters, x.dims[len(x.dims) - len(letters) :]))
        operands.append(x)
    dims = (*(ellipsis if "..." in right else ()), *(sizes[letter] for letter in right.replace("...", "")))
    places = ", ".join(f"${k}" for k in range(len(operands)))
    bound = 6.0 * math.prod(x.bound for x in operands)
    g.emit(f"tf.einsum('{equation}', {places})", operands, dims=dims, bound=bound)


@signature("algebra", 0.5)
def tensordot(g: Grower) -> None:
    a = g.pick(low=2, high=3, tame=8.0)
    b = _other_factor(g, a, (a.dims[-1], a.dims[-2]))
    g.emit(
        f"tf.tensordot($0, $1, axes=[[{len(a.dims) - 1}, {len(a.dims) - 2}], [0, 1]])",
        [a, b],
        dims=a.dims[:-2],
        bound=a.bound * b.bound * 6,
        traits=("ranked",),
    )


def _square(g: Grower) -> Value:
    def fits(x: Value) -> bool:
        return x.dims[-1] == x.dims[-2] and isinstance(x.dims[-1], int) and x.dtype != "float16"

    return g.pick(low=2, high=3, fits=fits, tame=4.0)


# A regular matrix, and a positive definite one, from any square matrix. Their diagonals make the singular values differ: equal
# ones have no derivatives.
_REGULAR = "tf.tanh($0) * 0.5 + tf.linalg.diag(tf.constant({d}, tf.{t}))"
_DEFINITE = "tf.matmul(tf.tanh($0), tf.tanh($0), transpose_b=True) + tf.linalg.diag(tf.constant({d}, tf.{t}))"


@signature("algebra", 1.2)
def factored(g: Grower) -> None:
    a = _square(g)
    diagonal = [2.0 + 1.25 * k for k in range(int(a.dims[-1]))]
    regular, definite = (text.format(d=diagonal, t=a.dtype) for text in (_REGULAR, _DEFINITE))
    text, dims, bound = g.choice(
        [
            (f"tf.linalg.inv({regular})", a.dims, 2.0),
            (f"tf.linalg.det({regular})", a.dims[:-2], 40.0),
            (f"tf.linalg.logdet({definite})", a.dims[:-2], 5.0),
            (f"tf.linalg.cholesky({definite})", a.dims, 3.0),
            (f"tf.linalg.slogdet({regular})[1]", a.dims[:-2], 5.0),
            (f"tf.linalg.eigvalsh({definite})", a.dims[:-1], 8.0),
            (f"tf.linalg.solve({regular}, tf.sin($0))", a.dims, 3.0),
            (f"tf.linalg.triangular_solve({regular}, $0)", a.dims, 6.0),
            (f"tf.linalg.triangular_solve({regular}, $0, lower=False, adjoint=True)", a.dims, 6.0),
            (f"tf.linalg.cholesky_solve(tf.linalg.cholesky({definite}), $0)", a.dims, 6.0),
            (f"tf.linalg.svd({regular}, compute_uv=False)", a.dims[:-1], 8.0),
        ]
    )
    g.emit(text, [a], dims=dims, bound=bound)


@signature("algebra", 1.2)
def of_diagonals(g: Grower) -> None:
    x = g.pick(_fc(g), low=1)
    if len(x.dims) == 1 or (g.chance(0.3) and len(x.dims) < 3):
        text = "tf.linalg.diag($0)" if g.chance(0.7) else "tf.linalg.diag_part(tf.linalg.diag($0))"
        g.emit(text, [x], dims=(*x.dims, x.dims[-1]) if "part" not in text else x.dims)
        return
    text = g.choice(["band_part", "band_part", "adjoint", "diag_part", "trace", "transpose", "set_diag"])
    square = x.dims[-1] == x.dims[-2]
    if text == "band_part":
        g.emit(f"tf.linalg.band_part($0, {g.choice(['1, 0', '0, -1', '-1, 0', '1, 1', '0, 0'])})", [x])
    elif text in ("adjoint", "transpose"):
        f = "tf.linalg.adjoint" if text == "adjoint" else "tf.linalg.matrix_transpose"
        g.emit(f"{f}($0)", [x], dims=(*x.dims[:-2], x.dims[-1], x.dims[-2]))
    elif not square and any(isinstance(d, str) for d in x.dims[-2:]):
        raise NoFit
    else:
        least = x.dims[-1] if square else min(int(x.dims[-1]), int(x.dims[-2]))
        if text == "diag_part":
            g.emit("tf.linalg.diag_part($0)", [x], dims=(*x.dims[:-2], least))
        elif text == "trace":
            g.emit("tf.linalg.trace($0)", [x], dims=x.dims[:-2], bound=x.bound * 3)
        else:
            g.emit("tf.linalg.set_diag($0, tf.linalg.diag_part($0) * 2.0)", [x], bound=x.bound * 2)


@signature("algebra", 1.0)
def norms(g: Grower) -> None:
    x = g.pick(low=1, high=3)
    axis = g.axis(x)
    dims = tuple(d for k, d in enumerate(x.dims) if k != axis % len(x.dims))
    text, shape = g.choice(
        [
            ("tf.norm($0)", ()),
            (f"tf.norm($0, axis={axis})", dims),
            (f"tf.norm($0, ord=1, axis={axis})", dims),
            (f"tf.norm($0, ord=3, axis={axis})", dims),
            (f"tf.norm($0 + 0.1, ord='euclidean', axis={axis})", dims),
            ("tf.clip_by_norm($0, 1.5)", x.dims),
            (f"tf.clip_by_norm($0, 0.75, axes=[{axis}])", x.dims),
            (f"tf.math.l2_normalize($0, axis={axis})", x.dims),
            ("tf.clip_by_global_norm([$0, $0 * 2.0], 1.25)[0][1]", x.dims),
            ("tf.linalg.global_norm([$0, tf.sin($0)])", ()),
        ]
    )
    g.emit(text, [x], dims=shape, bound=x.bound * 3, traits=("kinked",))


@signature("algebra", 0.3)
def cross(g: Grower) -> None:
    x = g.pick(low=1, fits=lambda x: x.dims[-1] == 3, tame=8.0)
    y = g.partner(x, same=True)
    g.emit("tf.linalg.cross($0, $1)", [x, y], bound=x.bound * y.bound * 2)


@signature("algebra", 0.4)
def outer(g: Grower) -> None:
    x = g.pick(rank=1)
    y = g.partner(x)
    g.emit(
        "$0[:, tf.newaxis] * $1 + $0[:, tf.newaxis]",
        [x, y],
        dims=(x.dims[0], (broadcast(y.dims, (1,)) or (1,))[-1]),
        bound=x.bound * (y.bound + 1),
    )
