"""Nodes of which generated code is made: calls of helpers, names, functions of no arguments."""

from __future__ import annotations

import ast
import copy

from graphad.autograph.nodes import like, walk


def ag(name: str, *args: ast.expr) -> ast.Call:
    made = ast.Call(
        func=ast.Attribute(value=load("ag__"), attr=name, ctx=ast.Load()), args=list(args), keywords=[]
    )
    made.is_ours = True  # type: ignore[attr-defined]
    return made


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def loaded(node: ast.expr) -> ast.expr:
    """An assigned expression as one that is read, without a position."""
    node = copy.deepcopy(node)
    if hasattr(node, "ctx"):
        node.ctx = ast.Load()
    for part in walk(node):
        if hasattr(part, "lineno"):
            for mark in part._attributes:
                delattr(part, mark)
    return node


def thunk(value: ast.expr) -> ast.Lambda:
    args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=args, body=value)


def alone(value: ast.expr, place: ast.AST) -> ast.Expr:
    return like(ast.Expr(value), place)
