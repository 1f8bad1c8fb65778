"""The user's line: the innermost frame of the call stack that is not graphad's own."""

from __future__ import annotations

import functools
import os
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Collection
from types import CodeType, FrameType, FunctionType

from graphad.core import late

_OWN = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), name) + os.sep
    for name in ("graphad", "serialization")
)
_OWN_FILES: dict[str, bool] = {}
# Libraries that hand on tensors: a line of theirs tells a user nothing.
_BETWEEN = tuple(
    os.sep + os.path.join(site, name, "")
    for site in ("site-packages", "dist-packages")
    for name in ("numpy", "scipy")
)
_PASSED_FILES: dict[str, bool] = {}
_STANDARD_LIBRARY = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_LIBRARIES: dict[str, str | None] = {}
_NOTES = 5


def is_own(filename: str) -> bool:
    """Whether a source file belongs to graphad."""
    known = _OWN_FILES.get(filename)
    if known is None:
        known = _OWN_FILES[filename] = filename.startswith(_OWN) or filename.startswith("<graphad")
    return known


def is_passed(filename: str) -> bool:
    """Whether a source file belongs to graphad, NumPy or SciPy."""
    passed = _PASSED_FILES[filename] = is_own(filename) or any(part in filename for part in _BETWEEN)
    return passed


def is_pythons(filename: str) -> bool:
    """Whether a source file belongs to Python's standard library."""
    return filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename


def library_of(filename: str) -> str | None:
    """ "numpy" or "scipy" for a source file of theirs."""
    if filename not in _LIBRARIES:
        part = next((part for part in _BETWEEN if part in filename), None)
        _LIBRARIES[filename] = None if part is None else part.split(os.sep)[-2]
    return _LIBRARIES[filename]


def user_line() -> str | None:
    """Where the user's code called graphad, or NumPy or SciPy on its tensors, as "file:line in function"."""
    frame: FrameType | None = sys._getframe(1)
    known = _PASSED_FILES
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        # Called for every frame of every traced op.
        if not (known[file] if file in known else is_passed(file)):
            return f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None


def called_function() -> str | None:
    """The public name of graphad's function, method or class that the user's line called; None for an operator.

    It is for messages of errors: the frames from the user's inward are searched for the first that has a public name.
    """
    own: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        own.append(frame)
        frame = frame.f_back
    if frame is not None:
        _find_public_names()
        written = frame.f_code.co_names
        for inner in reversed(own):
            name = _name_of_function(inner, written) or _name_of_method(inner)
            if name is not None:
                return name
    return None


# What the public namespaces hold that are imported: functions by code and name, and classes.
_functions: dict[CodeType, dict[str, FunctionType]] = {}
_classes: set[type] = set()
_counted = 0


def _find_public_names() -> None:
    global _counted
    spaces = [vars(sys.modules[name]) for name in late.namespaces]
    count = sum(map(len, spaces))
    if count == _counted:  # a name is added when it is first used
        return
    _counted = count
    _functions.clear()
    for space in spaces:
        for name, value in list(space.items()):
            if name.startswith("_"):
                continue
            if isinstance(value, FunctionType):
                _functions.setdefault(value.__code__, {})[name] = value
            elif isinstance(value, type):
                _classes.add(value)


def _name_of_function(frame: FrameType, written: Collection[str]) -> str | None:
    """The public name of a frame's function; of several the one that is written in the user's code."""
    names = [name for name, f in _functions.get(frame.f_code, {}).items() if _closes_over(f, frame)]
    return next((name for name in names if name in written), names[0] if names else None)


def _closes_over(f: FunctionType, frame: FrameType) -> bool:
    """Whether a frame with the code of `f` also has its outer variables: functions of one table share their code."""
    values = frame.f_locals
    return all(
        name in values and values[name] is cell.cell_contents
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    )


def _name_of_method(frame: FrameType) -> str | None:
    """The name of a frame's method of a public class; that of the class itself, if an object of it is made or called."""
    code = frame.f_code
    if "." not in code.co_qualname or "<" in code.co_qualname:
        return None
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    outer = frame.f_globals.get(code.co_qualname.partition(".")[0])  # has the static methods
    for kind in (owner if isinstance(owner, type) else type(owner), outer):
        bases: tuple[type, ...] = getattr(kind, "__mro__", ())
        if not _classes.isdisjoint(bases) and any(
            _code_of(vars(base).get(code.co_name)) is code for base in bases
        ):
            name = bases[0].__name__ if code.co_name in ("__init__", "__new__", "__call__") else code.co_name
            return None if name.startswith("_") else name
    return None


def _code_of(member: object) -> CodeType | None:
    found: CodeType | None = getattr(getattr(member, "__func__", member), "__code__", None)
    return found


def warn_user(message: str) -> None:
    """Warn, with the user's line as the place."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)


def lines_of(error: BaseException) -> list[str]:
    """The user's lines in the traceback of an error, outermost first; lines of Python, NumPy and SciPy if it has no others."""
    lines: list[str] = []
    of_libraries: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_own(code.co_filename):
            is_librarys = is_pythons(code.co_filename) or library_of(code.co_filename) is not None
            (of_libraries if is_librarys else lines).append(
                f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}"
            )
        trace = trace.tb_next
    return lines or of_libraries


def note_user_line(error: Exception, name: str, otherwise: str = "an unknown place") -> None:
    """Add a note to an error with the user's line that raised it in a traced function; each outer function adds its line of the
    call.

    Args:
      error: The error, while it is handled.
      name: What was being traced.
      otherwise: The text to use if no line of the user's code is in the traceback.
    """
    notes = [note for note in getattr(error, "__notes__", ()) if "while tracing" in note]
    if len(notes) >= _NOTES:
        return
    lines = lines_of(error)
    where = (lines[0] if notes else lines[-1]) if lines else otherwise
    error.add_note(f"{'called from' if notes else 'in user code:'} {where}, while tracing {name}")


def repeated_call(error: BaseException) -> tuple[str, int] | None:
    """The user's function with most frames in the traceback of an error, and their number; None for 8 or fewer."""
    return _most_frames(error, False)


def deepest_own(error: BaseException) -> int | None:
    """The most frames that a function of graphad's has in the traceback of an error; None for 8 or fewer."""
    found = _most_frames(error, True)
    return None if found is None else found[1]


def _most_frames(error: BaseException, own: bool) -> tuple[str, int] | None:
    counts: Counter[CodeType] = Counter()
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_own(file) is own and not is_pythons(file):  # `ast` visits branches within branches
            counts[trace.tb_frame.f_code] += 1
        trace = trace.tb_next
    code, count = max(counts.items(), key=lambda each: each[1], default=(None, 0))
    return (code.co_name, count) if code is not None and count > 8 else None


_TRACED = "in the traced line "


def note_traced_line(error: Exception, line: str | None) -> None:
    """Add a note to a node's error with the user's line that it was traced from; only the innermost node is named."""
    if line is not None and not any(note.startswith(_TRACED) for note in getattr(error, "__notes__", ())):
        error.add_note(_TRACED + line)


# Functions that run unconverted although they may have control flow: code -> reason.
unconverted: weakref.WeakKeyDictionary[CodeType, str] = weakref.WeakKeyDictionary()


# The builtins that ask a tensor for its truth value, how the message calls them, and the cure.
_ASKING = {
    "max": ("`max()`", "use tf.maximum of two tensors, or tf.reduce_max of one"),
    "min": ("`min()`", "use tf.minimum of two tensors, or tf.reduce_min of one"),
    "any": ("`any()`", "use tf.reduce_any"),
    "all": ("`all()`", "use tf.reduce_all"),
    "bool": ("`bool()`", "use tf.cast(x, tf.bool), or the tensor itself as a condition"),
    "sorted": ("`sorted()`", "use tf.sort"),
    "filter": ("`filter()`", "use tf.boolean_mask"),
}
_ASSERT = "`assert`", "use tf.debugging.assert_equal, assert_less and their like"
_IN = "`in`", "use tf.reduce_any(x == y)"
_ASKED = (
    "; use `cond`, `while_loop` or `where`, `tf.reduce_any` and `tf.reduce_all` in place of `any` and `all`, and "
    "`tf.debugging.assert_*` in place of `assert`. Functions traced with autograph=True have their `if`, `while`, `and`, `or` "
    "and `not` converted."
)


def truth_asked() -> str:
    """The rest of the message that a symbolic tensor has no truth value: what the user's code did, if that can be seen, and the
    cure."""
    import ast  # for errors alone
    import re

    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    before, text = ("", "") if frame is None else _running(frame)
    found = _ASSERT if re.search(r"\bassert[\s(]*$", before) else None
    try:
        tree = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        tree = None
    if found is None and isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        found = _ASKING.get(tree.func.id)
    elif found is None and isinstance(tree, ast.Compare) and isinstance(tree.ops[-1], ast.In | ast.NotIn):
        found = _IN
    return _ASKED if found is None else f", as {found[0]} asks for here; {found[1]}."


def _running(frame: FrameType) -> tuple[str, str]:
    """The text of the line in front of the expression that a frame evaluates, and the expression; empty if Python keeps no
    positions of code.
    """
    import itertools
    import linecache

    code = frame.f_code
    first, last, start, end = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    if first is None or last is None or start is None or end is None:
        return "", ""
    lines = [linecache.getline(code.co_filename, i).encode() for i in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    return lines[0][:start].decode(), b"".join(lines)[start:].decode()


def why_unconverted() -> str:
    """A further sentence for a message: why the control flow of the running user's function was not converted."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    name = frame.f_code.co_name
    reason = unconverted.get(frame.f_code)
    if reason is not None:
        return f" AutoGraph could not transform {name} and ran it as it is: {reason}."
    if not _is_called_by_python(frame):
        return ""
    return (
        f" {name} is called by Python itself, where an object is made or an attribute, item or operator asked for, and is not "
        "converted: make it a method with a name of its own, or decorate it with tf.function."
    )


def _is_called_by_python(frame: FrameType) -> bool:
    """Whether a frame is that of a property or of a special method, which no line of the user's calls by name."""
    code = frame.f_code
    if code.co_name.startswith("__") and code.co_name.endswith("__"):
        owner = code.co_qualname.rpartition(".")[0]
        return code.co_name != "__call__" and owner != "" and not owner.endswith("<locals>")
    if code.co_argcount != 1:
        return False
    import inspect  # slow to import

    found = inspect.getattr_static(type(frame.f_locals.get(code.co_varnames[0])), code.co_name, None)
    return isinstance(found, property | functools.cached_property)
