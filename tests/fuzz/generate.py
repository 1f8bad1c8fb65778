"""Write `data/` again: run the programs of the fixed seeds on TensorFlow. Needs an environment with TensorFlow.

python tests/fuzz/generate.py
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tensorflow as tf

from tests.fuzz.campaign import case_of
from tests.fuzz.compare import Failure
from tests.fuzz.grow import grow_program
from tests.fuzz.reference import DATA, Live, digest
from tests.oracle.store import Writer

SEEDS = range(1, 401)
MOST_ENTRIES = 150  # programs with larger results are left to the runs beside TensorFlow


def main() -> None:
    logging.disable(logging.WARNING)
    writer, rows = Writer(), []
    live = Live(tf)
    for seed in SEEDS:
        program = grow_program(seed)
        found: Any = live.beside(case_of(program, tf)).eager()
        if isinstance(found, Failure) or sum(x.size for x in found.values() if x is not None) > MOST_ENTRIES:
            continue
        results = {key: writer.put(x) for key, x in found.items()}
        rows.append({"seed": seed, "digest": digest(program), "results": results})
    DATA.mkdir(exist_ok=True)
    writer.write(DATA / "arrays.npz")
    head = json.dumps({"tensorflow": tf.__version__})[:-1]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    (DATA / "index.json").write_text(f'{head}, "programs": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(rows)} programs")


if __name__ == "__main__":
    main()
