"""The parameters of TensorFlow's public functions, classes and methods, for those names that graphad has too.

Written by `python tests/oracle/signatures.py` in an environment with TensorFlow and graphad's own dependencies: which names there
are is read off graphad. The test reads the data and imports no TensorFlow.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "signatures.json"
OWN = (
    "functional",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "numpy.random",
    "optimize",
    "plot",
)  # TensorFlow has no such paths
CLASSES = (
    "DType", "GradientTape", "IndexedSlices", "Module", "Tensor", "TensorShape", "TensorSpec", "Variable",
    "autodiff.ForwardAccumulator", "random.Generator", "keras.layers.Layer",
    "keras.optimizers.Optimizer", "keras.metrics.Mean", "keras.losses.Loss",
    "SparseTensor", "TensorArray", "linalg.LinearOperator", "linalg.LinearOperatorBlockDiag", "linalg.LinearOperatorCirculant",
    "linalg.LinearOperatorDiag", "linalg.LinearOperatorIdentity", "linalg.LinearOperatorScaledIdentity",
    "linalg.LinearOperatorToeplitz", "linalg.LinearOperatorZeros",
)  # fmt: skip
Parameters = (
    list[list[Any]] | None
)  # [name, kind, whether it has a default, the default]; None where Python cannot say


def namespaces(package: str = "graphad") -> list[str]:
    """The public namespaces by their paths behind the package, the package itself first."""
    from graphad.core.late import places_of

    inside = [f"{package}.{name}" for name, (place, _) in places_of(package).items() if place == package]
    found = [
        package.removeprefix("graphad").lstrip("."),
        *(deeper for space in inside for deeper in namespaces(space)),
    ]
    return [space for space in found if space not in OWN]


def found(root: Any, path: str) -> Any:
    """The object at a dotted path."""
    for part in path.split("."):
        root = getattr(root, part) if part else root
    return root


def parameters(x: Any) -> Parameters:
    """What may be passed to a function or a class."""
    try:
        if inspect.isclass(x) and type(x) is not type:
            signature = inspect.signature(x.__init__)  # a metaclass may take anything
            values = list(signature.parameters.values())[1:]
        else:
            values = list(inspect.signature(x).parameters.values())
    except (TypeError, ValueError):
        return None
    return [
        [p.name, p.kind.name, p.default is not inspect.Parameter.empty, _shown(p.default)] for p in values
    ]


def _shown(default: Any) -> Any:
    """A default that is a plain value, by Python's text for it; of others, None."""
    return repr(default) if default is None or type(default) in (bool, int, float, str) else None


def names(root: Any) -> list[str]:
    """Public functions, classes and methods by dotted path."""
    paths = []
    for space in namespaces():
        module = found(root, space)
        listed = [n for n in module.__all__ if not n.startswith("_")]
        paths += [f"{space}.{n}".lstrip(".") for n in listed]
    for name in CLASSES:
        own = found(root, name)
        paths += [
            f"{name}.{n}" for n in dir(own) if not n.startswith("_") and callable(getattr(own, n, None))
        ]
    return sorted(
        {path for path in paths if callable(found(root, path)) and not inspect.ismodule(found(root, path))}
    )


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import tensorflow as tf

    import graphad

    data: dict[str, Parameters] = {}
    for path in names(graphad):
        try:
            theirs = found(tf, path)
        except (AttributeError, ImportError):
            continue  # graphad's own
        if callable(theirs):
            data[path] = parameters(theirs)
    lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(data[path])}" for path in data)
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(data)} signatures of TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
