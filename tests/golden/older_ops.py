"""A model whose ops are of a version that is gone: `python -m tests.golden.older_ops` wrote it once, with version 1 of them.

No op of graphad has a second version yet, so two ops are declared here as an older and as a newer release would have them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import graphad as gd
from graphad.core.bind import bind
from graphad.core.op import Op, define
from graphad.core.registry import lookup
from serialization.saved_model import save

HERE = Path(__file__).resolve().parent / "older_ops"


class _PerElement(Op):
    def infer(self, x: Any) -> Any:
        return x


def older() -> None:
    """Declare the ops as the older release has them."""

    class Percent(_PerElement):
        name, version = "golden_percent", 1
        percent: int

        def eval(self, x: Any) -> Any:
            return x * x.dtype.type(self.percent / 100)

    class Gone(_PerElement):
        name, version = "golden_gone", 1

        def eval(self, x: Any) -> Any:
            return x + x.dtype.type(1)

    _declare(Percent, Gone)


def newer() -> None:
    """Declare the ops as a newer release has them: a factor instead of percent, and another meaning without attributes."""

    class Percent(_PerElement):
        name, version = "golden_percent", 3
        factor: float
        offset: float = 0.0

        @classmethod
        def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any] | None:
            if version == 1:  # version 2 had no offset
                attributes = {"factor": attributes.pop("percent") / 100, **attributes}
            return {**attributes, "offset": 0.0}

        def eval(self, x: Any) -> Any:
            return x * x.dtype.type(self.factor) + x.dtype.type(self.offset)

    class Gone(_PerElement):
        name, version = "golden_gone", 2

        def eval(self, x: Any) -> Any:
            return x + x.dtype.type(2)

    _declare(Percent, Gone)


def _declare(*classes: Any) -> None:
    for kind in classes:
        kind.__qualname__ = kind.__name__
        define(kind)


def write() -> None:
    """The model as the older release wrote it."""
    older()
    for name, attributes in (("golden_percent", (150,)), ("golden_gone", ())):
        op = lookup(name)(*attributes)
        module = gd.Module()
        module.f = gd.function(lambda x, op=op: bind(op, x) + 1.0, input_signature=[gd.TensorSpec([None])])
        save(module, HERE / name)
    np.savez(HERE / "expected.npz", golden_percent=np.array([2.5, 4.0], np.float32))


if __name__ == "__main__":
    if any(HERE.iterdir()):
        raise SystemExit(f"{HERE} is there; it is never written again.")
    write()
