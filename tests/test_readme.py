"""README's opening program runs as it stands there, says nothing but its result, and is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_RIGHT = """
rows = model.slopes(x).numpy()
for i in range(4):  # each row by itself, element by element, through the library's own softplus
    one = tf.constant(x.numpy()[i : i + 1])
    for k in range(3):
        with tf.GradientTape() as tape:
            tape.watch(one)
            y = tf.nn.softplus(model.layer(one))[0, k]
        assert abs(tape.gradient(y, one).numpy()[0] - rows[i, k]).max() < 1e-6
with tf.GradientTape(persistent=True) as tape:
    again = tf.reduce_sum(model.slopes(x) ** 2)
    energy = tf.reduce_sum(loaded.slopes(x) ** 2)
for mine, theirs in ((model.layer.kernel, loaded.layer.kernel), (model.layer.bias, loaded.layer.bias)):
    a, b = tape.gradient(again, mine).numpy(), tape.gradient(energy, theirs).numpy()
    assert abs(a).max() > 0 and abs(a - b).max() < 1e-5
print("right")
"""


def _program() -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert found is not None
    return found[1]


def _run(text: str, where: Path) -> subprocess.CompletedProcess[str]:
    script = where / "program.py"
    script.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_opening_program_runs_and_prints_its_result_alone(tmp_path: Path) -> None:
    ran = _run(_program(), tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "(5, 3)\n", "")


def test_what_the_opening_program_computes_is_right(tmp_path: Path) -> None:
    ran = _run(_program() + _RIGHT, tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "(5, 3)\nright\n", "")
