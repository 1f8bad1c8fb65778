"""Generators of random numbers among the objects of a program, without the import of their module while no program has one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from graphad.ops.random.generator import Generator


def is_generator(x: object) -> TypeGuard[Generator]:
    """Whether an object is a generator: none is before its module is there."""
    return isinstance(x, getattr(sys.modules.get("graphad.ops.random.generator"), "Generator", ()))
