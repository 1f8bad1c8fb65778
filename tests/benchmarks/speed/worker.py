"""One library, timed on request: lines of JSON in, lines of JSON out. It needs NumPy and the library, nothing of this project.

    python worker.py graphad|numpy|tensorflow|torch DTYPE

A request is {"expression", "what", "seconds"}: the "value", its "gradient", or the "passes" of NumPy's over memory that a
gradient has to make at least, and how long to repeat it; the answer the least processor time of one call, or why there is none.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GRAPHAD_THREADS"):
    os.environ[variable] = "1"  # one thread each
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from values import values  # noqa: E402

_WORD = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


class Library:
    """What an expression may name, and how a gradient by its float arguments is asked for."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name = name
        arrays = values(dtype)
        if name == "torch":
            import torch

            torch.set_num_threads(1)
            self.version = torch.__version__
            self.names = {"torch": torch, "np": np, **{k: _for_torch(v) for k, v in arrays.items()}}
            self.names["torch_sparse"] = torch.sparse_coo_tensor(
                torch.tensor(arrays["places"].T.copy()), self.names["x"], (1000, 10_000)
            ).coalesce()
        elif name == "numpy":
            import scipy
            import scipy.fft
            import scipy.linalg
            import scipy.sparse
            import scipy.special
            from scipy.stats import qmc

            self.version = f"{np.__version__}, SciPy {scipy.__version__}"
            places = arrays["places"].T
            self.names = {
                "scipy": scipy,
                "sp": scipy.special,
                "la": scipy.linalg,
                "sfft": scipy.fft,
                "np": np,
                "qmc": qmc,
            }
            self.names |= {"rng": np.random.default_rng(1), **_HELPERS, **arrays}
            self.names["LU"] = scipy.linalg.lu_factor(arrays["M"])[0]
            self.names["scipy_sparse"] = scipy.sparse.coo_array((arrays["x"], places), (1000, 10_000)).tocsr()
        else:
            if name == "graphad":
                import graphad as tf
                import graphad.numpy as own
            else:
                import tensorflow as tf

                tf.config.threading.set_intra_op_parallelism_threads(1)
                tf.config.threading.set_inter_op_parallelism_threads(1)
                own = tf.experimental.numpy
            self.tf, self.version = tf, tf.__version__
            kept = ("list1000",)
            self.names = {
                "tf": tf,
                "np": own,
                **{k: v if k in kept else tf.constant(v) for k, v in arrays.items()},
            }
            self.names["LU"], self.names["pivots"] = tf.linalg.lu(self.names["M"])
            self.names["sparse"] = tf.SparseTensor(arrays["places"], self.names["x"], (1000, 10_000))

    def work(self, expression: str, what: str) -> Callable[[], Any]:
        if what == "value":
            return eval(f"lambda: {expression}", self.names)
        sources = [k for k in dict.fromkeys(_WORD.findall(expression)) if self.is_source(k)]
        if what == "passes":
            return self.passes(expression, sources)
        if not sources:
            raise ValueError("no float argument")
        names = self.names
        if self.name == "torch":
            torch = names["torch"]
            leaves = {k: names[k].detach().clone().requires_grad_() for k in sources}
            call = eval(f"lambda {', '.join(sources)}: {expression}", names)

            def by_torch() -> Any:
                y = call(**leaves)
                y = y if isinstance(y, torch.Tensor) else y[0]
                return torch.autograd.grad(y, list(leaves.values()), torch.ones_like(y), allow_unused=True)

            return by_torch
        tf, call = self.tf, eval(f"lambda: {expression}", names)
        values = [names[k].values if k == "sparse" else names[k] for k in sources]
        if all(g is None for g in _by_tape(tf, values, call)):
            raise ValueError("no gradient")
        return lambda: _by_tape(tf, values, call)

    def passes(self, expression: str, sources: list[str]) -> Callable[[], Any]:
        """The result's cotangent filled with ones, and a copy of each operand, as large as its gradient."""
        parts = eval(expression, self.names)
        parts = [
            y.values if hasattr(y, "dense_shape") else y
            for y in (parts if isinstance(parts, list | tuple) else [parts])
        ]
        results = [y for y in (np.asarray(part) for part in parts) if y.dtype.kind in "fc"]
        operands = [np.asarray(self.names[k].values if k == "sparse" else self.names[k]) for k in sources]

        def write() -> None:
            for y in results:
                np.empty(y.shape, y.dtype).fill(1)
            for x in operands:
                x.copy()

        return write

    def is_source(self, k: str) -> bool:
        if k == "sparse":
            return True
        dtype = getattr(self.names.get(k), "dtype", None)
        return dtype is not None and any(kind in str(dtype) for kind in ("float", "complex"))


def _by_tape(tf: Any, sources: Any, call: Callable[[], Any]) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(sources)
        y = call()
        y = y.values if hasattr(y, "indices") and hasattr(y, "dense_shape") else y
    return tape.gradient(y, sources)


def _for_torch(value: Any) -> Any:
    import torch

    return torch.tensor(value) if isinstance(value, np.ndarray) else value


def _at(function: np.ufunc) -> Callable[..., Any]:
    def changed(x: Any, places: Any, y: Any) -> Any:
        function.at(x, places, y)
        return x

    return changed


def _put(x: Any, places: Any, y: Any) -> Any:
    x[places] = y
    return x


def _stitch(i: Any, j: Any, x: Any, y: Any) -> Any:
    found = np.empty(len(i) + len(j), x.dtype)
    found[i], found[j] = x, y
    return found


def _reversed_rows(X: Any, lengths: Any) -> Any:
    k = np.arange(X.shape[1])
    return np.take_along_axis(X, np.where(k < lengths[:, None], lengths[:, None] - 1 - k, k), 1)


def _times_tridiagonal(above: Any, middle: Any, below: Any, x: Any) -> Any:
    y = middle[:, None] * x
    y[:-1] += above[:-1, None] * x[1:]
    y[1:] += below[1:, None] * x[:-1]
    return y


def _top(x: Any, k: int) -> Any:
    """The k largest along the last axis, the largest first, and where they are."""
    places = np.argpartition(x, -k)[..., -k:]
    values = np.take_along_axis(x, places, -1)
    order = np.argsort(values)[..., ::-1]
    return np.take_along_axis(values, order, -1), np.take_along_axis(places, order, -1)


def _put_diagonal(M: Any, x: Any) -> Any:
    M = M.copy()
    np.fill_diagonal(M, x)
    return M


_HELPERS = {
    "add_at": _at(np.add), "max_at": _at(np.maximum), "min_at": _at(np.minimum), "put": _put, "stitch": _stitch,
    "reversed_rows": _reversed_rows, "times_tridiagonal": _times_tridiagonal, "top": _top, "put_diagonal": _put_diagonal,
}  # fmt: skip


def least(work: Callable[[], Any], seconds: float) -> float:
    """The least time of one call within so many seconds; one call at least.

    On some virtual machines the clock now and then passes over a call. So each call counts with the longer time of it and the
    call before it, where there is one.
    """
    best, last, start = float("inf"), 0.0, time.process_time()
    while True:
        before = time.process_time()
        work()
        after = time.process_time()
        taken = after - before
        if last or after - start > seconds:
            best = min(best, max(taken, last))
        last = taken
        if after - start > seconds and best > 0.0:
            return best


def main(name: str, dtype: str) -> None:
    np.seterr(all="ignore")
    library = Library(name, dtype)
    works: dict[tuple[str, str], Any] = {}
    out, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"version": library.version}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        key = request["expression"], request["what"]
        try:
            if key not in works:
                works.clear()  # a row at a time
                works[key] = library.work(*key)
                works[key]()  # what is imported, traced or allocated once
            answer: dict[str, Any] = {"seconds": least(works[key], request["seconds"])}
        except Exception as error:
            answer = {
                "why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
            }
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
