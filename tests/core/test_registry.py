"""The registry finds an op by its name, whether or not anything has imported its module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_FOUND = """
import importlib, pkgutil
import graphad
from graphad.core.registry import all_ops
found = set(all_ops())
for module in pkgutil.walk_packages(graphad.__path__, "graphad."):
    if not (module.name.endswith("__main__") or module.name.startswith("graphad.compiler.cuda.")):  # which need an extra
        importlib.import_module(module.name)
print(len(found), *[name for name, kind in all_ops().items() if name not in found and not kind.live])
"""


def test_every_op_that_a_file_may_hold_is_found_by_its_name() -> None:
    """Its module is imported with graphad or stands under `register_later`; only ops with live objects need not."""
    done = subprocess.run(
        [sys.executable, "-c", NOT_FOUND], capture_output=True, text=True, check=True, cwd=ROOT
    )
    count, *missing = done.stdout.split()
    assert int(count) > 250
    assert missing == []
