"""Work that several threads share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(act: Callable[[T], R], items: Sequence[T], at_least: int = 1) -> list[R]:
    """Run `act` on all items, in up to four threads: the caller's, and others as far as the system allows any.

    The first failure stops the rest and is raised. `at_least` is the number of threads whatever the machine has.
    """
    workers = min(4, max(at_least, os.cpu_count() or 1), len(items))
    results: dict[int, R] = {}
    failures: list[BaseException] = []
    waiting = iter(range(len(items)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(waiting, None)
            if number is None or failures:
                return
            try:
                results[number] = act(items[number])
            except BaseException as error:  # raised again below, in the caller's thread
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(workers - 1)]
    try:
        for thread in threads:
            try:
                thread.start()
            except RuntimeError:  # none is allowed: a limit of the system, or the interpreter ends
                break
        work()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except BaseException as error:  # an interrupt: stop the others at their next item, then raise it
        failures.append(error)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(items))]
