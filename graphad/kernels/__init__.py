"""Kernel forms: descriptions of loops without backend, sizes or addresses.

op -> form (forms) -> fused form (fuse) -> Kernel and its numbers (collapse) -> source of a backend (in compiler)

Ops name their forms as `kernels.forms.Map`. The modules are imported at the first use, since eager code needs none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from graphad.kernels import forms as forms
    from graphad.kernels import scalars as scalars
    from graphad.kernels import sites as sites


def __getattr__(name: str) -> ModuleType:
    if name not in ("forms", "scalars", "sites"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
