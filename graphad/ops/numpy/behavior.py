"""The switch for dtype promotion by NumPy's rules in operators on tensors."""

from __future__ import annotations

from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import flags

_MODES = ("off", "legacy", "all", "safe")


@blaming
def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let operators on tensors of different dtypes convert them; otherwise such operands are refused, as in TensorFlow. The
    functions of this namespace always convert.

    It holds for the whole process; functions that are already traced keep their dtypes.

    Args:
      prefer_float32: Python's floats, and lists of them, are float32 to the functions of this namespace instead of float64, and
        complex numbers complex64.
      dtype_conversion_mode: "legacy" promotes as NumPy does. In "all" an integer takes the dtype of the float that it meets
        (int64 and float32 give float32), and Python's numbers are 4 bytes wide where they meet no tensor; "safe" is the same,
        and refuses what may lose digits (int32 and float32). "off" ends all of it.
    Raises: InvalidArgumentError (a ValueError): the mode is unknown.
    """
    if dtype_conversion_mode not in _MODES:
        raise InvalidArgumentError(
            f"experimental_enable_numpy_behavior: dtype_conversion_mode={dtype_conversion_mode!r}; it is one of "
            f"{', '.join(map(repr, _MODES))}."
        )
    flags.numpy_promotion = dtype_conversion_mode != "off"
    flags.numpy_mode = dtype_conversion_mode if flags.numpy_promotion else "legacy"
    flags.prefers_float32 = bool(prefer_float32)
