"""A process that loads a model does without what saves one, and without regular expressions, which take long to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import graphad as gd

LOAD = """
import sys, warnings
import numpy
import graphad as gd
import re
compiled = []
inner = re._compiler.compile
re._compiler.compile = lambda pattern, flags=0: compiled.append(pattern) or inner(pattern, flags)
loaded = gd.saved_model.load(sys.argv[1])
assert loaded(numpy.float32([1, 2])).numpy().tolist() == [3, 4]
absent = ["serialization.saved_model.save", "serialization.storage.write", "serialization.storage.remove"]
finder = type(sys.path_importer_cache[sys.argv[2]]).__name__
print([name for name in absent if name in sys.modules], compiled, finder)
"""


class Adder(gd.Module):
    def __init__(self) -> None:
        super().__init__()
        self.v = gd.Variable([2.0, 2.0])

    @gd.function(input_signature=[gd.TensorSpec([None], gd.float32)])
    def __call__(self, x: gd.Tensor) -> gd.Tensor:
        return x + self.v


def test_a_load_imports_and_compiles_little(tmp_path: Path) -> None:
    gd.saved_model.save(Adder(), str(tmp_path / "model"))
    root = Path(gd.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "model"), str(root / "serialization")],
        capture_output=True,
        text=True,
        cwd=root,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"},
    )
    assert done.stdout.strip() == "[] [] Directory", done.stdout + done.stderr
