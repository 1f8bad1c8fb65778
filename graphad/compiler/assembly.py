"""A small printer of LLVM IR text with structured loops.

Variables are stack slots (LLVM turns them into registers), values are the names that `emit` returns, and
loops and conditions are `with` blocks, so that the runtime's native functions read like the code they are.
Invariant: every block that is opened ends in exactly one terminator; nothing is printed after a `ret` until a
new block opens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Slot:
    """A local variable of a native function."""

    __slots__ = ("_function", "address", "kind")

    def __init__(self, function: Function, address: str, kind: str) -> None:
        self._function, self.address, self.kind = function, address, kind

    def get(self) -> str:
        return self._function.emit(f"load {self.kind}, ptr {self.address}")

    def set(self, value: str | int) -> None:
        self._function.do(f"store {self.kind} {value}, ptr {self.address}")


class Function:
    """One function under construction; `header` is its signature as in `i32 @name(ptr %ret, i64 %n)`."""

    def __init__(self, header: str, linkage: str = "", attributes: str = "nounwind") -> None:
        self._header = f"define {linkage + ' ' if linkage else ''}{header} {attributes}".rstrip()
        self._result = header.split(None, 1)[0]
        self._slots: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open = True

    def name(self, stem: str = "v") -> str:
        self._count += 1
        return f"%{stem}{self._count}"

    def do(self, text: str) -> None:
        if self._open:
            self._lines.append("  " + text)

    def emit(self, text: str) -> str:
        value = self.name()
        self.do(f"{value} = {text}")
        return value

    def slot(self, kind: str, value: str | int | None = None, align: int | None = None) -> Slot:
        address = self.name("s")
        self._slots.append(f"  {address} = alloca {kind}" + (f", align {align}" if align else ""))
        slot = Slot(self, address, kind)
        if value is not None:
            slot.set(value)
        return slot

    # memory

    def at(self, base: str, index: str | int, kind: str = "i64") -> str:
        """The address of element `index` of an array of `kind`."""
        return self.emit(f"getelementptr inbounds {kind}, ptr {base}, i64 {index}")

    def word(self, base: str, index: str | int) -> str:
        return self.emit(f"load i64, ptr {self.at(base, index)}, align 8")

    def read_integer(self, to: Slot, base: str, index: str | int, is_short: str) -> None:
        """Set a slot of i64 to element `index` of an array of int32 if `is_short`, else of int64."""
        with self.when(is_short):
            short = self.emit(f"load i32, ptr {self.at(base, index, 'i32')}")
            to.set(self.emit(f"sext i32 {short} to i64"))
        with self.when(self.emit(f"xor i1 {is_short}, true")):
            to.set(self.emit(f"load i64, ptr {self.at(base, index)}"))

    def pointer(self, base: str, index: str | int) -> str:
        return self.emit(f"load ptr, ptr {self.at(base, index)}, align 8")

    def set_word(self, base: str, index: str | int, value: str | int) -> None:
        self.do(f"store i64 {value}, ptr {self.at(base, index)}, align 8")

    def field(self, base: str, offset: int, kind: str) -> str:
        """The field of type `kind` at a byte offset."""
        address = self.at(base, offset, "i8")
        return self.emit(f"load {kind}, ptr {address}")

    # control

    def _goto(self, label: str) -> None:
        self.do(f"br label {label}")
        self._open = False

    def _label(self, label: str) -> None:
        self._lines.append(f"{label[1:]}:")
        self._open = True

    def ret(self, value: str | int | None = None) -> None:
        self.do("ret void" if value is None else f"ret {self._result} {value}")
        self._open = False

    def test(self, relation: str, a: str, b: str | int, kind: str = "i64") -> str:
        return self.emit(f"icmp {relation} {kind} {a}, {b}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        then, after = self.name("then"), self.name("after")
        self.do(f"br i1 {condition}, label {then}, label {after}")
        self._label(then)
        yield
        self._goto(after)
        self._label(after)

    def choose(self, condition: str, kind: str, a: str | int, b: str | int) -> str:
        return self.emit(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    @contextmanager
    def loop(self, low: str | int, high: str | int, step: str | int = 1) -> Iterator[str]:
        """Count from `low` while below `high`; yields the counter."""
        counter = self.slot("i64", low)
        head, body, after = self.name("head"), self.name("body"), self.name("after")
        self._goto(head)
        self._label(head)
        value = counter.get()
        self.do(f"br i1 {self.test('slt', value, high)}, label {body}, label {after}")
        self._label(body)
        yield value
        counter.set(self.emit(f"add nsw i64 {value}, {step}"))
        self._goto(head)
        self._label(after)

    @contextmanager
    def forever(self) -> Iterator[str]:
        """Repeat for ever; yields the label to branch to with `leave`."""
        head, after = self.name("head"), self.name("after")
        self._goto(head)
        self._label(head)
        yield after
        self._goto(head)
        self._label(after)

    def leave(self, label: str, condition: str | None = None) -> None:
        """Branch out of a `forever` block, at once or when `condition` holds."""
        if condition is None:
            self._goto(label)
            return
        on = self.name("on")
        self.do(f"br i1 {condition}, label {label}, label {on}")
        self._label(on)

    def text(self) -> str:
        if self._open:  # a path that cannot be reached still needs its terminator
            self.do("unreachable")
        return "\n".join([self._header + " {", "entry:", *self._slots, *self._lines, "}"]) + "\n"
