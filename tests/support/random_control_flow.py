"""Random Python functions with nested control flow over tensors, as source text.

All variables are float64 scalars that exist from the start, so every program also runs as plain Python; values stay bounded,
and every loop ends. `a`, `b` and `c` are variables, `x` a vector and `n` an integer tensor among the arguments; `self_` is an
object with one attribute, `d` a dict.
"""

from __future__ import annotations

import linecache
import random
from typing import Any

HEAD = """\
def program(tf, x, y, n, flag, box):
    a = x[0]
    b = y * 0.5
    c = x[1] - y
    d = {'k': y + 0.0}
"""


class Writer:
    """Grows one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._loops = 0
        self._budget = 9
        self._counter = 0

    def source(self) -> str:
        self._block(1, self._random.randint(2, 5), 0)
        self._add(1, f"return {self._returned()}")
        return HEAD + "\n".join(self._lines) + "\n"

    def _add(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _returned(self) -> str:
        return self._random.choice(
            ["a * b + c", "a + b - c * d['k']", "tf.sin(a) + b * c + box.value", "b - d['k'] * a"]
        )

    def _variable(self) -> str:
        return self._random.choice(["a", "b", "c", "a", "b", "c", "d['k']", "box.value"])

    def _expression(self) -> str:
        u, v, w = (self._variable() for _ in range(3))
        return self._random.choice(
            [
                f"tf.tanh({u} + {v})",
                f"tf.sin({u}) * {v}",
                f"0.5 * {u} - 0.3 * {v}",
                f"tf.tanh({u} * {v}) + 0.1 * {w}",
                f"{u} * 0.9",
                f"(tf.sin({u}) if {self._test()} else tf.tanh({v}))",
                f"helper(tf, {u}, {v})",
            ]
        )

    def _test(self) -> str:
        u, v = self._variable(), self._variable()
        simple = [
            f"{u} > {self._random.uniform(-0.6, 0.6):.2f}",
            f"{u} < {v}",
            "flag",
            "n > 2",
            f"-0.5 < {u} < {v}",
            f"not {u} > {v}",
        ]
        first = self._random.choice(simple)
        if self._random.random() < 0.3:
            return f"{first} {self._random.choice(['and', 'or'])} {self._random.choice(simple)}"
        return first

    def _block(self, depth: int, count: int, loops: int) -> None:
        start = len(self._lines)
        for _ in range(count):
            if self._budget <= 0:
                break
            self._statement(depth, loops)
        if len(self._lines) == start:
            self._add(depth, f"{self._variable()} = {self._expression()}")

    def _statement(self, depth: int, loops: int) -> None:
        self._budget -= 1
        kind = self._random.random()
        if kind < 0.35 or depth > 4:
            self._assign(depth)
        elif kind < 0.62:
            self._if(depth, loops)
        elif kind < 0.88 and loops < 2:
            self._loop(depth, loops)
        elif loops and kind < 0.95:
            self._add(depth, f"if {self._test()}:")
            self._add(depth + 1, self._random.choice(["break", "continue", f"return {self._returned()}"]))
        else:
            self._assign(depth)

    def _assign(self, depth: int) -> None:
        target = self._variable()
        if self._random.random() < 0.3:
            self._add(depth, f"{target} += 0.1 * {self._expression()}")
        elif self._random.random() < 0.15:
            self._add(
                depth, f"a, {self._random.choice(['b', 'c'])} = {self._expression()}, {self._expression()}"
            )
        else:
            self._add(depth, f"{target} = {self._expression()}")

    def _if(self, depth: int, loops: int) -> None:
        self._add(depth, f"if {self._test()}:")
        self._block(depth + 1, self._random.randint(1, 2), loops)
        if self._random.random() < 0.25:
            self._add(depth + 1, f"return {self._returned()}")
        if self._random.random() < 0.3:
            self._add(depth, f"elif {self._test()}:")
            self._block(depth + 1, 1, loops)
        if self._random.random() < 0.6:
            self._add(depth, "else:")
            self._block(depth + 1, self._random.randint(1, 2), loops)

    def _loop(self, depth: int, loops: int) -> None:
        self._counter += 1
        k = f"k{self._counter}"
        kind = self._random.choice(["range", "tensor", "python", "while", "enumerate", "sizes"])
        if kind == "range":
            self._add(depth, f"for {k} in tf.range(n):")
        elif kind == "sizes":
            self._add(depth, f"for {k} in range(n - 1):")
        elif kind == "tensor":
            self._add(depth, f"for {k} in x:")
        elif kind == "enumerate":
            self._add(depth, f"for j{k}, {k} in enumerate(x):")
        elif kind == "python":
            self._add(depth, f"for {k} in range({self._random.randint(1, 3)}):")
        else:
            self._add(depth, f"{k} = 0")
            self._add(depth, f"while {k} < {self._random.choice(['n', '3', 'n + 1'])} and ({self._test()}):")
            self._add(depth + 1, f"{k} += 1")
        if kind in ("tensor", "enumerate"):
            self._add(depth + 1, f"{self._variable()} = tf.tanh({k} + {self._variable()})")
        elif kind in ("range", "sizes"):
            self._add(depth + 1, f"{self._variable()} += 0.01 * tf.cast({k}, tf.float64)")
        self._block(depth + 1, self._random.randint(1, 3), loops + 1)
        if self._random.random() < 0.15:
            self._add(depth, "else:")
            self._add(depth + 1, f"{self._variable()} = {self._expression()}")


class Box:
    """An object whose attribute programs change."""

    def __init__(self, value: Any) -> None:
        self.value = value


def helper(tf: Any, u: Any, v: Any) -> Any:
    """A function that programs call."""
    if u > v:
        return tf.sin(u) * 0.7
    while v > 0.8:
        v = v * 0.5
    return v + 0.1 * u


def program(seed: int) -> Any:
    """The function of one seed."""
    source = Writer(seed).source()
    name = f"<random control flow {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict[str, Any] = {"helper": helper, "__name__": "random_control_flow"}
    exec(compile(source, name, "exec"), names)
    return names["program"]
