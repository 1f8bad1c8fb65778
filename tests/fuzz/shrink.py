"""A smaller program with the same kind of difference: fewer statements, results and inputs, until nothing more can go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.campaign import check
from tests.fuzz.compare import Difference
from tests.fuzz.derive import Wanted
from tests.fuzz.grow import without_dead
from tests.fuzz.program import Block, Input, Program, Statement, Value

TRIES = 150


def smaller(
    program: Program, difference: Difference, tf: Any, tensorflow: Any = None
) -> tuple[Program, Difference]:
    """The smallest program found and its difference."""
    mode = difference.mode.partition("[")[0]
    best, shown, tries = program, difference, 0
    for wanted in _plans(difference):
        progress = True
        while progress and tries < TRIES:
            progress = False
            for candidate in _candidates(best):
                tries += 1
                found = _differs(candidate, mode, difference, tf, tensorflow, wanted)
                if found is not None:
                    best, shown, progress = candidate, found, True
                    break
                if tries >= TRIES:
                    break
        if best is not program:
            break
    return best, shown


def _plans(difference: Difference) -> tuple[Wanted | None, ...]:
    return (None,)


def _differs(
    program: Program, mode: str, difference: Difference, tf: Any, tensorflow: Any, wanted: Wanted | None
) -> Difference | None:
    try:
        found = check(program, tf, [mode], tensorflow, wanted=wanted)
    except Exception:  # the candidate is no valid program
        return None
    kind = difference.sort()[1]
    for other in found:
        if other.mode.partition("[")[0] == mode and other.sort()[1] == kind and _alike(other, difference):
            return other
    return None


def _alike(a: Difference, b: Difference) -> bool:
    if a.key != "error":
        return a.text.split(" ")[0].isdigit() == b.text.split(" ")[0].isdigit()
    return a.text.split(":")[0] == b.text.split(":")[0]


def _candidates(program: Program) -> Iterator[Program]:
    body = program.body
    known = {x.value.name: x.value for x in program.inputs}
    for statement in body.statements:
        known |= {value.name: value for value in statement.results}
    # One result instead of several; an earlier value as the result.
    if len(body.results) > 1:
        for name in body.results:
            yield _with(program, body.statements, (name,))
    for name, value in reversed(known.items()):
        if (
            name not in body.results
            and value.kind in "fc"
            and any(name == v.name for s in body.statements for v in s.results)
        ):
            yield _with(program, body.statements, (name,))
    # A statement's result replaced by another value of its type, or by a fresh input.
    for k, statement in enumerate(body.statements):
        rest = body.statements[:k] + body.statements[k + 1 :]
        if "effect" in statement.traits:
            yield _with(program, rest, body.results)
        if len(statement.results) != 1:
            continue
        old = statement.results[0]
        earlier = [x.value for x in program.inputs] + [v for s in body.statements[:k] for v in s.results]
        for value in earlier:
            if value.same_type(old):
                yield _renamed(program, rest, old.name, value.name)
                break
        else:
            profile = {"f": "plain", "c": "complex", "i": "whole", "b": "logical"}[old.kind]
            fresh = Input(Value("x" + old.name[1:], old.dims, old.dtype), profile, program.seed + k)
            candidate = _renamed(program, rest, old.name, fresh.value.name)
            if statement.operands:
                yield without_dead(replace(candidate, inputs=(*candidate.inputs, fresh)))
        # Blocks: fewer statements inside.
        for b, block in enumerate(statement.blocks):
            for j, inner in enumerate(block.statements):
                if len(inner.results) != 1:
                    continue
                for value in [*block.params, *known.values()]:
                    if (
                        value.same_type(inner.results[0])
                        and value.name != inner.results[0].name
                        and value is not old
                    ):
                        statements = block.statements[:j] + block.statements[j + 1 :]
                        changed = _rename_block(
                            replace(block, statements=statements), inner.results[0].name, value.name
                        )
                        blocks = statement.blocks[:b] + (changed,) + statement.blocks[b + 1 :]
                        yield _with(
                            program,
                            (
                                *body.statements[:k],
                                replace(statement, blocks=blocks),
                                *body.statements[k + 1 :],
                            ),
                            body.results,
                        )
                        break


def _with(program: Program, statements: tuple[Statement, ...], results: tuple[str, ...]) -> Program:
    return without_dead(replace(program, body=Block((), tuple(statements), results)))


def _renamed(program: Program, statements: tuple[Statement, ...], old: str, new: str) -> Program:
    body = _rename_block(Block((), tuple(statements), program.body.results), old, new)
    results = tuple(dict.fromkeys(body.results))
    return without_dead(replace(program, body=replace(body, results=results)))


def _rename_block(block: Block, old: str, new: str) -> Block:
    def one(name: str) -> str:
        return new if name == old else name

    statements = tuple(
        replace(
            s,
            operands=tuple(map(one, s.operands)),
            blocks=tuple(_rename_block(b, old, new) for b in s.blocks),
        )
        for s in block.statements
    )
    return Block(block.params, statements, tuple(map(one, block.results)))
