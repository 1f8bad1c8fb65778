"""Write the golden files of a format version: `python -m tests.golden.generate v2`, when it is released, and for new models.

Files are never written again: that they still load is the point; models that are missing are added. Each model has a directory
`model`, `expected.npz`, what was observed of the original object, and `calls.npz`, what its functions compute (`calls.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from serialization.saved_model import SaveOptions, save
from tests.golden.calls import observed_calls
from tests.golden.models import MODELS, WITHOUT_RULES, Golden, observed

HERE = Path(__file__).resolve().parent


def write(directory: Path) -> None:
    """All models that are not below `directory` yet."""
    for name, golden in MODELS.items():
        if not (directory / name / "model").exists():
            _write(directory, name, golden)
        if not (directory / name / "calls.npz").exists():
            np.savez_compressed(directory / name / "calls.npz", **observed_calls(directory / name / "model"))


def _write(directory: Path, name: str, golden: Golden) -> None:
    obj = golden.build()
    signatures = None if golden.signatures is None else golden.signatures(obj)
    options = SaveOptions(experimental_custom_gradients=name not in WITHOUT_RULES)
    (directory / name).mkdir(parents=True, exist_ok=True)
    save(obj, directory / name / "model", signatures, options)
    np.savez_compressed(
        directory / name / "expected.npz", **observed(golden, with_signatures(obj, signatures))
    )


def with_signatures(obj: object, signatures: object) -> object:
    """The original object as a loaded one looks, where what is observed needs its signatures."""
    if signatures is None:
        return obj
    from tests.serialization.saved_model.generations import reloaded

    return reloaded(obj, 1, signatures)


def main() -> None:
    (version,) = sys.argv[1:]
    directory = HERE / version
    write(directory)
    print(f"{directory}: {sum(path.stat().st_size for path in directory.rglob('*') if path.is_file())} bytes")


if __name__ == "__main__":
    main()
