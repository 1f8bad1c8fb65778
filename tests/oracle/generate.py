"""Write `data/` again: run every case and program on TensorFlow. Needs an environment with TensorFlow, and nothing of graphad.

python tests/oracle/generate.py [--volume index] [part of a case's name, to print that case instead of writing]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels round the same everywhere
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tensorflow as tf

from tests.oracle.cases import Case
from tests.oracle.derive import run_case
from tests.oracle.programs import to_plain
from tests.oracle.store import DATA, Writer, arrays_of
from tests.oracle.volumes import VOLUMES


def weights_like(values: list[Any], seed: str) -> list[np.ndarray | None]:
    """Fixed numbers of the size and dtype of each value; None for what cannot be differentiated."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    result: list[np.ndarray | None] = []
    for value in values:
        kind = np.dtype(value.dtype.as_numpy_dtype).kind
        numbers = rng.uniform(-1.0, 1.0, value.shape).astype(np.float32)
        if kind == "c":
            numbers = numbers + 1j * rng.uniform(-1.0, 1.0, value.shape).astype(np.float32)
        result.append(numbers.astype(value.dtype.as_numpy_dtype) if kind in "fc" else None)
    return result


def describe(case: Case, precision: str, writer: Writer) -> dict[str, Any]:
    arrays = case.draw(precision)
    inputs = {name: tf.constant(x) for name, x in arrays.items()}
    sources = [name for name, x in arrays.items() if x.dtype.kind in "fc"] if case.gradient else []
    record: dict[str, Any] = {
        "name": case.name,
        "call": case.call,
        "precision": precision,
        "slack": case.slack,
        "inputs": {name: writer.put(x) for name, x in arrays.items()},
    }
    outputs = run_case(tf, case.call, inputs, [])["outputs"]
    cotangents = weights_like(outputs, case.name + " outputs")
    if sources and any(c is not None for c in cotangents):
        weights = (
            weights_like([inputs[name] for name in sources], case.name + " sources") if case.second else None
        )
        found = run_case(tf, case.call, inputs, sources, cotangents, weights)
        record["sources"] = sources
        record["cotangents"] = [writer.put(c) for c in cotangents]
        record["first"] = [writer.put(to_plain(g)) for g in found["first"]]
        if weights is not None:
            record["weights"] = [writer.put(w) for w in weights]
            record["second"] = [writer.put(to_plain(g)) for g in found["second"]]
    record["outputs"] = [writer.put(y.numpy()) for y in outputs]
    return record


def main(volume: str, wanted: str | None) -> None:
    writer = Writer()
    cases, kept = VOLUMES[volume]
    records, failures = [], []
    for case in cases():
        if wanted is not None and wanted not in case.name:
            continue
        for precision in case.precisions:
            try:
                records.append(describe(case, precision, writer))
            except Exception as error:
                failures.append(f"{case.name} ({precision}): {type(error).__name__}: {str(error)[:300]}")
    programs = {}
    for name, program in kept.items():
        if wanted is None or wanted in name:
            programs[name] = {key: writer.put(to_plain(value)) for key, value in program(tf).items()}
    if failures:
        sys.exit("not written, these cases fail:\n" + "\n".join(failures))
    if wanted is not None:
        print(json.dumps({"cases": records, "programs": programs}, indent=1))
        return
    DATA.mkdir(exist_ok=True)
    writer.write(arrays_of(volume))
    head = json.dumps({"tensorflow": tf.__version__, "programs": programs})[:-1]
    lines = ",\n".join(
        json.dumps(record) for record in records
    )  # one case a line, so that differences can be read
    (DATA / f"{volume}.json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{volume}: {len(records)} cases, {len(programs)} programs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--volume", choices=list(VOLUMES), help="what to write; everything without it")
    parser.add_argument(
        "wanted", nargs="?", help="part of a case's name, to print that case instead of writing"
    )
    given = parser.parse_args()
    for name in [given.volume] if given.volume else VOLUMES:
        main(name, given.wanted)
