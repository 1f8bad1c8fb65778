"""The switch for dtype promotion by NumPy's rules in operators on tensors."""

from __future__ import annotations

from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import flags

_MODES = {"off": False, "legacy": True, "all": True}


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let operators on tensors of different dtypes promote them as NumPy does; otherwise such operands are refused, as in
    TensorFlow. The functions of this namespace always promote.

    It holds for the whole process; functions that are already traced keep their dtypes.

    Args:
      prefer_float32: Not supported: functions that create tensors here make float64; give another dtype.
      dtype_conversion_mode: "legacy" or "all", which promote as NumPy does, or "off".
    Raises: InvalidArgumentError (a ValueError): the mode is unknown, or `prefer_float32` is given.
    """
    if prefer_float32 or dtype_conversion_mode not in _MODES:
        raise InvalidArgumentError(
            f"experimental_enable_numpy_behavior: prefer_float32={prefer_float32} and dtype_conversion_mode="
            f"{dtype_conversion_mode!r}; False and one of {', '.join(map(repr, _MODES))} are taken."
        )
    flags.numpy_promotion = _MODES[dtype_conversion_mode]
