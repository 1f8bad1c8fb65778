"""Sums, products and powers: the ops behind + - * / ** and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.ops.elementwise import binary_function, elementwise, unary_function
from graphad.ops.rules import NUMERIC, unbroadcast


def _neg_vjp(ctx: Any, g: Any) -> Any:
    return (bind(NEG, g),)


def _add_vjp(ctx: Any, g: Any) -> Any:
    return (unbroadcast(ctx, 0, g) if ctx.needs(0) else None, unbroadcast(ctx, 1, g) if ctx.needs(1) else None)


def _sub_vjp(ctx: Any, g: Any) -> Any:
    return (
        unbroadcast(ctx, 0, g) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, g)) if ctx.needs(1) else None,
    )


def _mul_vjp(ctx: Any, g: Any) -> Any:
    x, y = ctx.inputs
    return (
        unbroadcast(ctx, 0, bind(MUL, g, y)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(MUL, g, x)) if ctx.needs(1) else None,
    )


Neg = elementwise("neg", np.negative, vjp=_neg_vjp, scalar="neg", keeps=(False, False), doc="-x.")
Add = elementwise("add", lambda x, y: x + y, vjp=_add_vjp, scalar="add", keeps=(False, False), doc="x + y.")
Sub = elementwise("sub", lambda x, y: x - y, vjp=_sub_vjp, scalar="sub", keeps=(False, False), doc="x - y.")
Mul = elementwise("mul", lambda x, y: x * y, vjp=_mul_vjp, scalar="mul", kinds=NUMERIC, doc="x * y.")
NEG, ADD, SUB, MUL = Neg(), Add(), Sub(), Mul()

negative = unary_function(Neg, "-x, elementwise, any numeric dtype.", "negative")
add = binary_function(Add, "x + y, elementwise, operands of one numeric dtype broadcast together.")
subtract = binary_function(Sub, "x - y, elementwise, operands of one numeric dtype broadcast together.", "subtract")
multiply = binary_function(Mul, "x * y, elementwise, operands of one numeric dtype broadcast together.", "multiply")
