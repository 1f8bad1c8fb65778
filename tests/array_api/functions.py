"""Write docs/numpy-functions.md: what becomes of each of NumPy's functions when it is called on a tensor that a tape follows, and
when on one that nothing follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphad.ops import numpy_protocols
from graphad.ops.numpy import scipy_special

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy-functions.md"
SPACES = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}


def dispatched(space: Any) -> dict[str, Any]:
    """NumPy's functions that ask their arguments for an implementation of their own: ufuncs and those with a dispatcher."""
    return {
        name: found
        for name in sorted(dir(space))
        if not name.startswith("_")
        and callable(found := getattr(space, name))
        and (isinstance(found, np.ufunc) or hasattr(found, "_implementation"))
        and found.__name__ == name
    }


def kinds() -> dict[str, list[str]]:
    """The names of functions by what becomes of them where a derivative is recorded: recorded, only looking, or refused."""
    found: dict[str, list[str]] = {"recorded": [], "looking": [], "refused": []}
    for place, space in SPACES.items():
        for name in dispatched(space):
            shown = f"{place}.{name}".removeprefix("numpy.")
            if name in numpy_protocols._LOOKING:
                found["looking"].append(shown)
            elif name in numpy_protocols._NAMES[place]:
                found["recorded"].append(shown)
            else:
                found["refused"].append(shown)
    return found


def page() -> str:
    found = kinds()
    recorded, looking, refused = map(len, found.values())
    operators = sorted(ufunc.__name__ for ufunc in numpy_protocols._OPERATORS)
    parts = [
        "# NumPy's functions on tensors",
        f"Written by `python -m tests.array_api.functions` with NumPy {np.__version__}. "
        "Where no tape, accumulator or transform follows any of the tensors in a call, and their values are known, on the CPU, "
        "NumPy's own function computes, and its result is an array (a tuple of arrays, a number), which may be written to: "
        "that changes no tensor. Where one is followed, in a traced function or in a vectorized one, of "
        f"{recorded + looking + refused} functions {recorded} are recorded and give tensors, {looking} only look at values, and "
        f"{refused} are refused, since a derivative would be lost. What is listed here holds for such calls.",
        "By the ufuncs of operators Python computes `array + t`, so that these give tensors wherever their first operand is an "
        "array, and there are no options: " + " ".join(f"`{name}`" for name in operators) + ".",
    ]
    for kind, title in (
        ("recorded", "Recorded: differentiated and traced"),
        ("looking", "Only looking at values"),
        ("refused", "Refused: on plain arrays only"),
    ):
        parts += [f"## {title}", " ".join(f"`{name}`" for name in found[kind])]
    parts += [
        "## Recorded of `scipy.special`",
        " ".join(f"`{name}`" for name in sorted(scipy_special._ROWS)),
        "Any other function of SciPy takes the plain array. Where a derivative is recorded and would end there, its "
        "ufuncs, what maps numbers to numbers in its other modules (`fft`, `integrate`, `interpolate`, `linalg`, "
        "`ndimage`, `signal`, `special`, densities of `stats`, ...), `np.polynomial` and `np.vectorize` refuse the "
        "tensor, with their name. Others look at values, like `linear_sum_assignment` and `pearsonr`: a tape whose "
        "gradient is None for such an array warns with the line, `grad` and its kin refuse the result, and warn where it "
        "depends on the argument in another way too. Inside of a function with a gradient of its own (`custom_gradient`) "
        "all of them take tensors.",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
