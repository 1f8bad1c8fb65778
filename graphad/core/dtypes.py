"""The dtype table: one `DType` object per element type, equal only to itself.

`as_dtype` accepts a DType, a NumPy dtype or scalar type, a Python type or a name.
bfloat16 needs the package `ml_dtypes`; without it the object exists, and using its data raises an error that names the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import ArgumentTypeError, UnavailableError

if TYPE_CHECKING:
    from graphad.core.annotations import Array


FLOAT, COMPLEX, SIGNED, UNSIGNED, BOOL = "float", "complex", "int", "uint", "bool"


class DType:
    """One element type.

    Args:
      name: Its name, such as "float32".
      kind: One of "float", "complex", "int", "uint", "bool".
      itemsize: Bytes per element.
      numpy: NumPy's dtype; None if its package is not installed.
    Attributes:
      name: Its name, such as "float32".
      kind: One of "float", "complex", "int", "uint", "bool".
      itemsize: Bytes per element.
      is_floating, is_complex, is_integer, is_unsigned, is_bool, is_numeric: Of which kind it is; unsigned integers are integers,
        and all but bools are numeric.
      is_differentiable: Whether values of this dtype can carry a gradient.
    Raises: Nothing; programs use the existing ones, such as `float32`. Such a one, called with a number, an array or a tensor,
      gives a Tensor of its dtype: `tf.float32([1, 2])`.
    """

    __slots__ = (
        "_numpy",
        "is_bool",
        "is_complex",
        "is_differentiable",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_unsigned",
        "itemsize",
        "kind",
        "name",
    )
    _numpy: np.dtype[Any] | None

    def __init__(self, name: str, kind: str, itemsize: int, numpy: np.dtype[Any] | None) -> None:
        self.name = name
        self.kind = kind
        self.itemsize = itemsize
        self._numpy = numpy
        # Attributes and no properties, since every op asks.
        self.is_floating, self.is_complex = kind == FLOAT, kind == COMPLEX
        self.is_integer, self.is_unsigned = kind in (SIGNED, UNSIGNED), kind == UNSIGNED
        self.is_bool, self.is_differentiable = kind == BOOL, kind in (FLOAT, COMPLEX)
        self.is_numeric = not self.is_bool

    if TYPE_CHECKING:

        def __call__(self, x: Any = 0) -> Any: ...  # by ops/operators.py

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the same elements."""
        if self._numpy is None:
            self._numpy = _bfloat16_of_ml_dtypes()
            _BY_NUMPY[self._numpy] = self
        return self._numpy

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same under the name that NumPy looks up, as in `np.dtype(tf.float32)`, `np.zeros(3, t.dtype)` and
        `np.issubdtype`."""
        return self.numpy

    @property
    def char(self) -> str:
        """NumPy's letter for the dtype. SciPy's sparse matrices read it from the dtype of their other operand."""
        return self.numpy.char

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type of the elements."""
        return self.numpy.type

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no reference dtypes."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real and the imaginary part; the dtype itself if it is not complex."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def is_quantized(self) -> bool:
        """False: there are no quantised numbers."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy has arrays of this dtype."""
        return True

    @property
    def size(self) -> int:
        """Bytes per element."""
        return self.itemsize

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities in pictures of this dtype: 0 to 1 for floats, 0 to the largest number for integers."""
        if self.is_complex:
            raise ArgumentTypeError("limits: complex numbers have no order, and so no limits.")
        return (0, 1) if self.is_floating else (0, True if self.is_bool else self.max)

    def is_compatible_with(self, other: object) -> bool:
        """Whether `other` is the same dtype."""
        return as_dtype(other) is self

    @property
    def info(self) -> Any:
        """NumPy's limits of this dtype: `min`, `max`, and `eps` for floats."""
        if self is bfloat16:
            import ml_dtypes

            return ml_dtypes.finfo(self.numpy)
        return (np.finfo if self.is_differentiable else np.iinfo)(self.numpy)

    @property
    def min(self) -> Any:
        """The smallest number. Raises: ArgumentTypeError (a TypeError): the dtype has no order."""
        return self._ordered("min").min

    @property
    def max(self) -> Any:
        """The largest number. Raises: ArgumentTypeError (a TypeError): the dtype has no order."""
        return self._ordered("max").max

    def _ordered(self, word: str) -> Any:
        if self.is_complex or self.is_bool:
            raise ArgumentTypeError(f"{word}: {self.name} has no {word}; integer and float dtypes have one.")
        return self.info

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except (ArgumentTypeError, UnavailableError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)


def _bfloat16_of_ml_dtypes() -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ImportError as cause:
        raise UnavailableError(
            "bfloat16: NumPy has no bfloat16 of its own; install the package ml_dtypes to use it."
        ) from cause
    made: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return made


def _table() -> dict[str, DType]:
    rows = [("bool", BOOL), ("float16", FLOAT), ("float32", FLOAT), ("float64", FLOAT)]
    rows += [("complex64", COMPLEX), ("complex128", COMPLEX)]
    rows += [(f"int{bits}", SIGNED) for bits in (8, 16, 32, 64)]
    rows += [(f"uint{bits}", UNSIGNED) for bits in (8, 16, 32, 64)]
    table = {name: DType(name, kind, np.dtype(name).itemsize, np.dtype(name)) for name, kind in rows}
    table["bfloat16"] = DType("bfloat16", FLOAT, 2, None)
    return table


_BY_NAME = _table()
_BY_NUMPY: dict[Any, DType] = {d._numpy: d for d in _BY_NAME.values() if d._numpy is not None}
_BY_TYPE: dict[Any, DType] = {}

bool_ = _BY_NAME["bool"]
float16 = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float32 = _BY_NAME["float32"]
float64 = _BY_NAME["float64"]
complex64 = _BY_NAME["complex64"]
complex128 = _BY_NAME["complex128"]
int8, int16, int32, int64 = (_BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64))
half, double = float16, float64

ALL = tuple(_BY_NAME.values())
_BY_NAME |= {"half": float16, "float": float32, "double": float64}
_BY_TYPE |= {float: float32, int: int32, bool: bool_, complex: complex128}


def is_known(dtype: np.dtype[Any]) -> bool:
    """Whether graphad has a dtype with the same elements as a NumPy dtype."""
    return dtype in _BY_NUMPY


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The DType for a NumPy dtype; the short way for arrays that graphad made."""
    found = _BY_NUMPY.get(dtype)
    return found if found is not None else as_dtype(dtype)


def as_dtype(type_value: Any) -> DType:
    """The DType that `type_value` names.

    Args:
      type_value: A DType, NumPy dtype, NumPy scalar type, Python type (float is float32, int is int32) or a name.
    Returns: The DType.
    Raises: ArgumentTypeError: `type_value` names no dtype that graphad has.
    Example:
      >>> as_dtype("float64")
      tf.float64
    """
    x = type_value
    if isinstance(x, DType):
        return x
    if x is None:
        raise ArgumentTypeError("as_dtype: None is not a dtype; give one, such as float32, or its name.")
    if isinstance(x, str):
        found = _BY_NAME.get(x)
        if found is not None:
            return found
    elif isinstance(x, type) and x in _BY_TYPE:
        return _BY_TYPE[x]
    try:
        dtype = np.dtype(x)
        # Dtypes of other libraries may lack a byte order.
        found = _BY_NUMPY.get(dtype) or _BY_NUMPY.get(dtype.newbyteorder("="))
    except (TypeError, ValueError) as cause:
        raise ArgumentTypeError(f"as_dtype: cannot convert {x!r} to a dtype{_nearest(x)}.") from cause
    if found is None and dtype.name == "bfloat16":
        return bfloat16
    if found is None:
        raise ArgumentTypeError(
            f"as_dtype: graphad has no dtype for NumPy's {dtype}; it has {', '.join(d.name for d in ALL)}."
        )
    return found


def converted(array: Array, dtype: np.dtype[Any]) -> Any:
    """`array` with the elements converted to `dtype`.

    In NumPy the result for a float outside the range of an unsigned dtype depends on the machine and the length of the array.
    Here it is converted through int64, as in compiled code.
    """
    if dtype.kind != "u" or dtype.itemsize < 4 or array.dtype.kind not in "fV":
        return array.astype(dtype)
    signed = array.astype(np.int64).astype(dtype)
    if dtype.itemsize == 4:
        return signed
    high = (array >= array.dtype.type(2.0**63)) & (array < array.dtype.type(2.0**64))
    return np.where(high, np.where(high, array, array.dtype.type(0)).astype(dtype), signed)[()]


def _nearest(x: object) -> str:
    """A hint at what a wrong name may have meant."""
    if not isinstance(x, str):
        return "; give a name like 'float32', a tf.DType or a NumPy dtype"
    import difflib  # slow to import, and this is rare

    found = difflib.get_close_matches(x.lower(), _BY_NAME, 1, 0.65)
    return f"; the nearest name is {found[0]!r}" if found else f"; names are {', '.join(sorted(_BY_NAME))}"
