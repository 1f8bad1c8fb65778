"""Arrays that are made and freed again and again need no fresh pages."""

from __future__ import annotations

import importlib
import os
import platform
import resource
import subprocess
import sys

import pytest

from graphad.core import pages

_PROGRAM = """
import resource
import numpy as np
{line}

def arrays():
    return [np.ones(100_000, np.float32) for _ in range(8)]

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

arrays()
faults()
print(faults())
"""


def _faults(line: str) -> int:
    known = {name: text for name, text in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(line=line)],
        capture_output=True,
        text=True,
        check=True,
        env=known,
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_arrays_that_are_made_again_need_no_fresh_pages():
    pages_of_arrays = 20 * 8 * 400_000 // resource.getpagesize()
    assert _faults("import graphad") < pages_of_arrays / 8
    if _faults("") < pages_of_arrays / 8:
        pytest.skip("this system has pages for arrays that are made again, without help")


def test_a_process_that_may_not_have_the_memory_imports_nevertheless(monkeypatch):
    def refused(*arguments):
        raise MemoryError

    monkeypatch.setattr(pages.np, "empty", refused)
    importlib.reload(pages)
