"""A model whose ops have names that are gone: `python -m tests.golden.older_names` wrote it once, with the release that had them.

That release had two ops for each change of shape, one whose sizes were attributes and one whose sizes were inputs. Each function
of the model is one op on inputs of unknown sizes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent / "older_names"


def real(*shape: int) -> Any:
    return np.sin(1.0 + np.arange(np.prod(shape, dtype=int)) ** 2.0).reshape(shape).astype(np.float32)


def ints(*values: Any) -> Any:
    return np.array(values, np.int32)


AT, BEHIND = ("at", 1), ("at", 2)
KEY = np.array([5, 6], np.int64)
IDS = ints(1, 0, 2)
IMAGE = real(2, 4, 5, 3)
# Name, attributes ("float32" and such stand for dtypes), inputs.
OPS: list[tuple[str, tuple[Any, ...], list[Any]]] = [
    ("reshape", ((3, 2),), [real(2, 3)]),
    ("reshape_to", (None,), [real(2, 3), ints(3, -1)]),
    ("reshape_to", ((None, 2),), [real(2, 3), ints(3, 2)]),
    ("broadcast_to", ((3, 2, 4),), [real(2, 1)]),
    ("broadcast_to_shape", (None,), [real(2, 1), ints(3, 2, 4)]),
    ("broadcast_to_shape", ((None, 3),), [real(2, 1), ints(2, 3)]),
    ("sum_to", ((2, 1),), [real(4, 2, 3)]),
    ("sum_to_shape", (), [real(4, 2, 3), ints(2, 1)]),
    ("sum_to_shape", (), [real(2, 3), np.zeros(0, np.int32)]),
    ("transpose", ((2, 0, 1),), [real(2, 3, 4)]),
    ("transpose_by", (False,), [real(2, 3, 4), ints(2, 0, -2)]),
    ("transpose_by", (True,), [real(2, 3, 4), ints(2, 0, 1)]),
    ("split", ((1, 3), 0), [real(4, 3)]),
    ("split_at", (2, 0), [real(4, 3)]),
    ("split_at", (2, -1), [real(4, 3), ints(1, -1)]),
    ("concat_part", (0, 1), [real(5, 2), ints(2, 2), ints(3, 2)]),
    ("gather_grad", (1, 0, (2, 4)), [real(2, 3), IDS]),
    ("gather_grad_to", (0, 0, None), [real(3, 2), IDS, ints(4, 2)]),
    ("gather_grad_to", (1, 1, (2, None)), [real(2, 3), ints([1, 0, 2], [0, 0, 1]), ints(2, 4)]),
    ("scatter_nd", ((4, 3), 0), [ints([1], [0]), real(2, 3)]),
    ("scatter_nd_to", (None, 0), [ints([1], [0]), real(2, 3), ints(4, 3)]),
    ("scatter_nd_to", ((2, None), 1), [ints([[1]], [[0]]), real(2, 1), ints(2, 3)]),
    ("take_along_axis_grad", (0, (4, 3)), [real(2, 3), ints([1, 0, 2], [0, 0, 1])]),
    ("take_along_axis_grad_to", (-1, None), [real(2, 3), ints([1, 0, 2], [0, 0, 1]), ints(2, 4)]),
    ("unsorted_segment_sum", (4, 0), [real(3, 2), IDS]),
    ("unsorted_segment_sum_to", (0,), [real(3, 2), IDS, np.int32(4)]),
    ("unsorted_segment_sum_to", (1,), [real(2, 3, 2), ints([1, 0, -1], [0, 0, 1]), np.int32(3)]),
    ("getitem", ((1, ("slice", 0, 2, None, None)),), [real(2, 3)]),
    ("getitem_at", ((AT,),), [real(4, 3), np.int32(2)]),
    ("getitem_at", ((("slice", AT, BEHIND, None, 2),),), [real(4, 3), np.int32(1), np.int32(3)]),
    ("getitem_grad", ((1,), (2, 3)), [real(3)]),
    ("getitem_grad", ((AT,), (2, 3)), [real(3), np.int32(1)]),
    ("getitem_grad_to", ((("slice", 1, 3, None, None),),), [real(2, 3), ints(4, 3)]),
    ("getitem_grad_to", ((AT,),), [real(3), ints(2, 3), np.int32(1)]),
    ("slice_update", ((AT,),), [real(2, 3), real(3), np.int32(1)]),
    ("pad", (((1, 0), (0, 2)),), [real(2, 3), np.float32(0.5)]),
    ("pad_to", (), [real(2, 3), np.float32(0.5), ints([1, 0], [0, 2])]),
    ("pad_inner", (), [real(4, 3), ints([1, 0], [0, 2])]),
    ("tile", ((2, 3),), [real(2, 3)]),
    ("tile_to", (), [real(2, 3), ints(2, 3)]),
    ("one_hot", (3, -1), [ints(1, 0, 2), real(), np.float32(0.25)]),
    ("one_hot_to", (0,), [ints(1, 0, 2), real(), np.float32(0.25), np.int32(3)]),
    ("eye_of", (2, 3, "float32"), []),
    ("eye", ("float32",), [np.int32(2), np.int32(3)]),
    ("sizes", ((4, 5), "int32", False), []),
    ("steps", (2, 4, 3, "float32"), []),
    ("unit_steps_of", (4, "float32"), []),
    ("unit_steps", ("float32",), [np.int32(3)]),
    ("split_key", (2,), [KEY]),
    ("draw", ("uniform", (2, 3), "float32"), [KEY]),
    ("draw", ("integers", (2, 3), "int32"), [KEY, np.int32(3), np.int32(9)]),
    ("draw_to", ("normal", None, "float32"), [KEY, ints(2, 3)]),
    ("draw_to", ("integers", (None, 3), "int32"), [KEY, np.int32(3), np.int32(9), ints(2, 3)]),
    ("top_indices", (2, "int32"), [real(2, 3)]),
    ("patches", ((2, 3), (1, 2), "SAME", (1, 1)), [IMAGE]),
    ("patches_grad", ((2, 2), (1, 1), "VALID", (1, 1), None), [real(2, 3, 4, 2, 2, 3), IMAGE]),
    ("patches_grad", ((2, 2), (1, 1), "VALID", (1, 1), (2, 4, 5, 3)), [real(2, 3, 4, 2, 2, 3), np.float32(0)]),
    ("conv2d_input_grad", ((1, 1), "SAME", (1, 1), None), [real(2, 4, 5, 2), real(2, 2, 3, 2), IMAGE]),
    ("conv2d_input_grad", ((1, 1), "SAME", (1, 1), (2, 4, 5, 3)), [real(2, 4, 5, 2), real(2, 2, 3, 2), np.float32(0)]),
    ("conv2d_filter_grad", ((1, 1), "SAME", (1, 1), None), [IMAGE, real(2, 4, 5, 2), real(2, 2, 3, 2)]),
    ("conv2d_filter_grad", ((1, 1), "SAME", (1, 1), (2, 2, 3, 2)), [IMAGE, real(2, 4, 5, 2), np.float32(0)]),
    ("avg_pool2d_grad", ((2, 2), (2, 2), "SAME", None), [real(2, 2, 3, 3), IMAGE]),
    ("avg_pool2d_grad", ((2, 2), (2, 2), "SAME", (2, 4, 5, 3)), [real(2, 2, 3, 3), np.float32(0)]),
    ("max_pool2d_grad", ((2, 2), (2, 2), "SAME"), [IMAGE, real(2, 2, 3, 3)]),
    ("max_pool2d_pick", ((2, 2), (2, 2), "SAME"), [IMAGE, IMAGE]),
]  # fmt: skip


def functions() -> list[tuple[str, list[Any]]]:
    """The name of each function and what it is called with."""
    return [(f"{name}_{k}", inputs) for k, (name, _, inputs) in enumerate(OPS)]


def observed(model: Any) -> dict[str, np.ndarray]:
    """The results of all functions, and the gradients of their sums of squares."""
    import graphad as gd

    found = {}
    for name, inputs in functions():
        given = [gd.constant(x) for x in inputs]
        sources = [x for x in given if x.dtype.is_floating]
        with gd.GradientTape() as tape:
            tape.watch(sources)
            outputs = list(getattr(model, name)(*given))
            squares = [gd.reduce_sum(y * y) for y in outputs if y.dtype.is_floating]
            loss = gd.add_n(squares) if squares else gd.constant(0.0)
        found |= {f"{name}.out.{k}": np.asarray(y) for k, y in enumerate(outputs)}
        for k, g in enumerate(tape.gradient(loss, sources)):
            if g is not None:
                found[f"{name}.gradient.{k}"] = np.asarray(gd.convert_to_tensor(g))
    return found


def write() -> None:
    """The model as the older release wrote it."""
    import graphad as gd
    from graphad.core.bind import bind_all
    from graphad.core.registry import lookup
    from serialization.saved_model import save

    module = gd.Module()
    for (name, attributes, inputs), (function, _) in zip(OPS, functions(), strict=True):
        op = lookup(name)(*[gd.as_dtype(a) if a in ("float32", "int32") else a for a in attributes])
        specs = [gd.TensorSpec([None] * np.ndim(x), gd.constant(x).dtype) for x in inputs]
        made = gd.function(lambda *xs, op=op: list(bind_all(op, xs)), input_signature=specs)
        setattr(module, function, made)
    save(module, HERE / "model")
    np.savez_compressed(HERE / "expected.npz", **observed(module))


if __name__ == "__main__":
    if HERE.exists():
        raise SystemExit(f"{HERE} is there; it is never written again.")
    write()
