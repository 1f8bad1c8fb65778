"""Values that Python or NumPy read from a tensor, whose further computations are not recorded.

Code that reads a tensor's array or number may only inspect it. So a tape notes the place, and names it if a gradient is None. A
differentiable function of NumPy or SciPy that takes no tensors would certainly end a derivative: it is refused by name.
"""

from __future__ import annotations

import itertools
from types import FrameType, FunctionType
from typing import Any

from graphad.core import late
from graphad.core.errors import ArgumentTypeError
from graphad.core.frames import library_of
from graphad.core.levels import is_followed, note_exit

# The ways in which Python reads a number. It may only be compared or printed, so this does not prove that a derivative ends.
NUMBERS = ("item()", "tolist()", "float()", "int()", "complex()")
# The ways that a program chooses itself; functions that expect arrays take the other ways without being asked.
ASKED = (*NUMBERS, "numpy()")
DOCUMENTED = "numpy_function"  # whose gradient is None

# Where NumPy's and SciPy's functions are maps with derivatives. Elsewhere they look at values, as tests, searches and plots do.
_MAPS = (
    "np.polynomial.", "np.vectorize.", "scipy.differentiate.", "scipy.fft.", "scipy.fftpack.", "scipy.integrate.",
    "scipy.interpolate.", "scipy.linalg.", "scipy.ndimage.", "scipy.optimize.rosen", "scipy.signal.", "scipy.sparse.",
    "scipy.spatial.distance.", "scipy.spatial.transform.", "scipy.special.",
)  # fmt: skip
# Methods of distributions that are maps; others draw samples or fit.
_OF_DISTRIBUTIONS = frozenset(
    (
        "pdf logpdf pmf logpmf cdf logcdf ccdf logccdf sf logsf ppf isf icdf iccdf entropy mean var std median moment stats "
        "expect"
    ).split()
)
_AS_ARRAYS = "call it on np.asarray(tf.stop_gradient(x)), outside of traced functions"


def leaves(x: Any, way: str, caller: FrameType) -> None:
    """Tell all recorders that a value is read from outside, or refuse the function of NumPy or SciPy that reads it.

    Args:
      way: The way in which the user's program reads it.
      caller: The frame that reads it.
    Raises: ArgumentTypeError (a TypeError): a derivative is being recorded and would end in that function.
    """
    name = name_of_library_function(caller)
    if name is not None:
        way = name
        if _is_map(name) and is_followed(x):
            raise ArgumentTypeError(refusal(name, "graphad does not record it"))
    note_exit(x, way)


def refusal(name: str, lacking: str, why: str = "a derivative is being recorded, and would end here") -> str:
    """The message for a function of NumPy or SciPy that cannot take a tensor."""
    own = _own_name(name)
    cure = "Write it with graphad's functions" + ("" if own is None else f" (there is {own})")
    return (
        f"{name}: {lacking}, and this one cannot take the tensor: {why}. {cure}; or, where no derivative "
        f"is wanted, {_AS_ARRAYS}."
    )


def name_of_library_function(caller: FrameType) -> str | None:
    """The public name of the function of NumPy or SciPy that the user called, None where the user's own line asked."""
    if library_of(caller.f_code.co_filename) is None:
        return None
    frame: FrameType | None = caller
    inner: list[FrameType] = []
    while frame is not None and library_of(frame.f_code.co_filename) is not None:
        inner.append(frame)
        frame = frame.f_back
    # Wrappers by decorators and argument checks have no public name, but the wrapped function has.
    for frame in reversed(inner):
        space, names = _space(frame.f_globals.get("__name__", "")), _names(frame)
        if not any(part.startswith(("_", "<")) for part in names) and space != "scipy":
            return ".".join([space, *names])
        around = _around(frame)
        if around is not None:
            return around
    return _space(caller.f_globals.get("__name__", ""))


def _around(frame: FrameType) -> str | None:
    """The public name of the function of SciPy around which the frame's function was put by a decorator."""
    for free in frame.f_code.co_freevars:
        function = frame.f_locals.get(free)
        if isinstance(function, FunctionType) and function.__module__.startswith("scipy."):
            space, name = _space(function.__module__), function.__qualname__
            if space != "scipy" and not name.startswith("_") and "<" not in name:
                return f"{space}.{name}"
    return None


def _space(module: str) -> str:
    """The public namespace of a module: `scipy.signal` for `scipy.signal._signaltools`."""
    parts = module.split(".")
    public = list(itertools.takewhile(lambda part: not part.startswith("_"), parts))
    if public[0] == "numpy":
        public = ["np", *([] if public[1:] == ["lib"] else public[1:])]
    return ".".join(public)


def _names(frame: FrameType) -> list[str]:
    """The name of a frame's function, preceded by that of its class; for `__init__` and `__call__` the class alone."""
    names = frame.f_code.co_qualname.split(".")
    if len(names) < 2 or not frame.f_code.co_argcount:
        return names
    owner = frame.f_locals.get(frame.f_code.co_varnames[0])
    kind = owner if isinstance(owner, type) else type(owner)
    if any(base.__name__ == names[0] for base in kind.__mro__):  # not of a static method
        names = [kind.__name__, *names[1:]]
    return names[:-1] if names[-1] in ("__call__", "__init__", "__new__") else names


def _is_map(name: str) -> bool:
    space, _, last = name.rpartition(".")
    return f"{name}.".startswith(_MAPS) or (space.startswith("scipy.stats.") and last in _OF_DISTRIBUTIONS)


def _own_name(name: str) -> str | None:
    """graphad's function of the same name, where there is one."""
    last = name.rpartition(".")[2]
    for space in ("graphad.linalg", "graphad.signal", "graphad.math", "graphad.nn", "graphad.numpy"):
        if last in late.places_of(space):
            return f"{space.replace('graphad', 'tf', 1)}.{last}"
    return None
