"""Where a kernel's text waits for all threads of a block, or of a warp, though some may not come there: a device would hang.

A number is a thread's own if it comes from the thread's place, from memory, or from what a branch of some threads assigned. What
only depends on these must not decide about a barrier. An exchange within a warp may stand in a branch of whole warps.
"""

from __future__ import annotations

import ast

WARP = 32
_FLAG = "f"  # the shared number that one thread writes and all read behind a barrier


def wrong_waits(text: str) -> list[str]:
    """The lines at which not all threads may wait."""
    (kernel,) = ast.parse(text).body
    assert isinstance(kernel, ast.FunctionDef)
    found = _Walk()
    found.block(kernel.body, False, False)
    return [f"line {line}: {ast.unparse(node)}" for line, node in sorted(found.wrong.items())]


class _Walk:
    """Attributes: own: The names of numbers that are a thread's own. wrong: The calls that are not for all threads, by line."""

    def __init__(self) -> None:
        self.own: set[str] = set()
        self.wrong: dict[int, ast.AST] = {}

    def block(self, body: list[ast.stmt], apart: bool, in_warp: bool) -> set[str]:
        """Statements; `apart` where not all threads of the block come, `in_warp` where not all of a warp do. Returns: what they
        assign.
        """
        assigned: set[str] = set()
        for statement in body:
            if isinstance(statement, ast.If):
                assigned |= self.branch(statement, apart, in_warp)
            elif isinstance(statement, ast.While | ast.For):
                assigned |= self.loop(statement, apart, in_warp)
            elif isinstance(statement, ast.Assign):
                self.calls(statement.value, apart, in_warp)
                names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
                assigned |= names
                self.own = self.own | names if self.is_own(statement.value) else self.own - names
            else:
                assert isinstance(statement, ast.Expr | ast.Pass), ast.unparse(statement)
                self.calls(statement, apart, in_warp)
        return assigned

    def branch(self, branch: ast.If, apart: bool, in_warp: bool) -> set[str]:
        self.calls(branch.test, apart, in_warp)
        splits, before = self.is_own(branch.test), self.own
        parts = splits and not _is_of_warps(branch.test)
        assigned = self.block(branch.body, apart or splits, in_warp or parts)
        after, self.own = self.own, before
        assigned |= self.block(branch.orelse, apart or splits, in_warp or parts)
        # Those that were there have another number from now on than the others.
        self.own = self.own | after | (assigned if splits else set())
        return assigned

    def loop(self, loop: ast.While | ast.For, apart: bool, in_warp: bool) -> set[str]:
        assigned: set[str] = set()
        before: set[str] | None = None
        splits = False
        while before != self.own:  # the end of a round is the beginning of the next
            before = set(self.own)
            if isinstance(loop, ast.For):
                assert isinstance(loop.target, ast.Name)
                splits = self.is_own(loop.iter)
                assigned.add(loop.target.id)
                self.own = self.own | {loop.target.id} if splits else self.own - {loop.target.id}
            else:
                self.calls(loop.test, apart, in_warp)
                splits = self.is_own(loop.test)
            assigned |= self.block(loop.body, apart or splits, in_warp or splits)
            self.own |= before
        if splits:
            self.own |= assigned
        return assigned

    def is_own(self, value: ast.AST) -> bool:
        for node in ast.walk(value):
            if isinstance(node, ast.Attribute) and node.attr == "threadIdx":
                return True
            if isinstance(node, ast.Name) and node.id in self.own:
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id.split("_")[0] in ("ld", "ld2", "ld4", "further", "arrive"):
                    return True
            if isinstance(node, ast.Subscript) and not (
                isinstance(node.value, ast.Name) and node.value.id == _FLAG
            ):
                return True
        return False

    def calls(self, value: ast.AST, apart: bool, in_warp: bool) -> None:
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                is_wrong = (
                    apart if called == "cuda.syncthreads" else in_warp and called.startswith("further_")
                )
                if is_wrong:
                    self.wrong[node.lineno] = node


def _is_of_warps(test: ast.expr) -> bool:
    """Whether a test is whether a thread's number is less than a number of whole warps."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "tid"
        and isinstance(test.ops[0], ast.Lt)
        and isinstance(test.comparators[0], ast.Constant)
        and int(str(test.comparators[0].value)) % WARP == 0
    )
