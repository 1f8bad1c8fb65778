"""How long `import graphad` takes and how much memory it holds, beside `import numpy`, each in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
try:
    import resource
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
except ImportError:
    memory = float("nan")
print(seconds, memory)
"""


def measure(module: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(module=module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def main(repeats: int = 9) -> None:
    modules = ("numpy", "graphad")
    for module in modules:  # the first import compiles bytecode and fills the disk cache
        measure(module)
    samples: dict[str, list[tuple[float, float]]] = {module: [] for module in modules}
    for _ in range(repeats):
        for module in modules:
            samples[module].append(measure(module))
    median = {m: [statistics.median(column) for column in zip(*samples[m])] for m in modules}
    for module, (seconds, memory) in median.items():
        print(
            f"import {module:<8} {seconds * 1e3:6.1f} ms  ({seconds / median['numpy'][0]:.2f}x)  peak memory {memory:.0f} MB"
        )


if __name__ == "__main__":
    main()
