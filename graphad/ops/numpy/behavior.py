"""Whether operators on tensors convert dtypes as NumPy does."""

from __future__ import annotations

from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import flags

_MODES = {"off": False, "legacy": True, "all": True}


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let operators on tensors of different dtypes convert them as NumPy does; without it they are refused, as in TensorFlow.

    The functions of this namespace always convert. It holds for the whole process; what was traced before keeps its dtypes.

    Args:
      prefer_float32: Not there: what makes tensors here makes float64; name another dtype.
      dtype_conversion_mode: "legacy" or "all", which convert as NumPy does, or "off".
    Raises: InvalidArgumentError (a ValueError): another mode, or `prefer_float32`.
    """
    if prefer_float32 or dtype_conversion_mode not in _MODES:
        raise InvalidArgumentError(
            f"experimental_enable_numpy_behavior: prefer_float32={prefer_float32} and dtype_conversion_mode="
            f"{dtype_conversion_mode!r}; False and one of {', '.join(map(repr, _MODES))} are taken."
        )
    flags.numpy_promotion = _MODES[dtype_conversion_mode]
