"""Saving 200 MB of variables beside a raw write of the same bytes, PyTorch and safetensors: flushed to the disk and not.

`first` saves where nothing was, `again` replaces a model of other values; before each, outside of the clock, the disk comes to
rest. Peers flush nothing themselves: in the flushed table the file they wrote is flushed after them. Arguments: how often, and
a directory on the disk to measure.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from formulas import torch
from timing import peer

import graphad as gd

BYTES = 200_000_000
COUNTS = (1, 10, 1000)
safetensors = peer("safetensors")

Save = Callable[[Path, int], None]  # to a path, the values of that generation


def contestants(count: int, durable: bool) -> dict[str, Save]:
    generator = np.random.default_rng(0)
    arrays = [
        {f"w{i}": generator.random(BYTES // count // 4, np.float32) for i in range(count)} for _ in range(2)
    ]
    models = [module(each) for each in arrays]
    options = gd.saved_model.SaveOptions(durable=durable)

    def graphad(path: Path, generation: int) -> None:
        gd.saved_model.save(models[generation], path, options=options)

    def raw(path: Path, generation: int) -> None:
        with open(path, "wb", buffering=0) as file:
            for array in arrays[generation].values():
                left = memoryview(array).cast("B")
                while left:
                    left = left[file.write(left) :]

    found: dict[str, Save] = {"graphad": graphad, "raw": raw}
    if torch is not None:
        tensors = [{name: torch.from_numpy(array) for name, array in each.items()} for each in arrays]
        found["torch"] = lambda path, generation: torch.save(tensors[generation], path)
    if safetensors is not None:
        from safetensors.numpy import save_file

        found["safetensors"] = lambda path, generation: save_file(arrays[generation], path)
    return {name: flushed(save) if durable and name != "graphad" else save for name, save in found.items()}


def module(arrays: dict[str, Any]) -> gd.Module:
    made = gd.Module()
    made.weights = {name: gd.Variable(array) for name, array in arrays.items()}
    return made


def flushed(save: Save) -> Save:
    def save_and_flush(path: Path, generation: int) -> None:
        save(path, generation)
        with open(path, "rb") as file:
            os.fsync(file.fileno())

    return save_and_flush


def seconds(save: Save, path: Path, generation: int) -> float:
    os.sync()
    start = time.perf_counter()
    save(path, generation)
    return time.perf_counter() - start


def main(repeats: int) -> None:
    for durable in (False, True):
        print("flushed" if durable else "not flushed")
        for count in COUNTS:
            samples: dict[tuple[str, str], list[float]] = {}
            with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
                saves = contestants(count, durable)
                for repeat in range(repeats + 1):  # the first time round warms up
                    for name, save in saves.items():
                        path = Path(folder) / name
                        times = seconds(save, path, 0), seconds(save, path, 1)
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                        if repeat:
                            for row, value in zip(("first", "again"), times, strict=True):
                                samples.setdefault((row, name), []).append(value)
            for row in ("first", "again"):
                least, middle = min(samples[row, "raw"]), statistics.median(samples[row, "raw"])
                cells = [
                    f"{name} {min(found) * 1e3:.0f}/{statistics.median(found) * 1e3:.0f} ms "
                    f"({min(found) / least:.2f}x/{statistics.median(found) / middle:.2f}x)"
                    for (each, name), found in samples.items()
                    if each == row
                ]
                print(f"  {count:>4} variables, {row}, least/median: " + " | ".join(cells), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
