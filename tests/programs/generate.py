"""Writes what TensorFlow computes for the programs of `fields/` to data.json. Run it where TensorFlow is installed.

Names of programs as arguments write only their numbers anew.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def programs():
    """All programs, (field, name, function), in the order of their files and lines."""
    for path in sorted((HERE / "fields").glob("[!_]*.py")):
        spec = importlib.util.spec_from_file_location(f"programs_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        for name, made in vars(module).items():
            if callable(made) and getattr(made, "__module__", "") == spec.name:
                code = getattr(made, "__code__", None)
                if code is not None and code.co_varnames[:2] == ("tf", "function") and code.co_argcount == 2:
                    yield path.stem, name, made


def numbers(results):
    """The results of a program as arrays: tensors, variables, NumPy arrays, or lists of them."""
    return {
        key: np.stack([np.asarray(part) for part in value])
        if isinstance(value, list | tuple)
        else np.asarray(value)
        for key, value in results.items()
    }


def plainly(function):
    """What stands in the place of `tf.function` for an eager run."""
    return function


def main():
    import tensorflow as tf

    path, only = HERE / "data.json", sys.argv[1:]
    before = json.loads(path.read_text(encoding="utf-8")) if only else {}
    stored, failed = {}, []
    for field, name, program in programs():
        if only and name not in only and f"{field}.{name}" in before:
            stored[f"{field}.{name}"] = before[f"{field}.{name}"]
            continue
        try:
            eager, traced = numbers(program(tf, plainly)), numbers(program(tf, tf.function))
        except Exception as error:
            failed.append(f"{field}.{name}: {type(error).__name__}: {error}"[:400])
            continue
        for key in eager:
            np.testing.assert_allclose(
                eager[key], traced[key], rtol=1e-3, atol=1e-6, err_msg=f"{field}.{name}.{key}"
            )
        stored[f"{field}.{name}"] = {
            key: [str(x.dtype), list(x.shape), [float(f"{n:.9g}") for n in x.ravel().tolist()]]
            for key, x in eager.items()
        }
    lines = [f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in stored]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(len(stored), "programs", *failed, sep="\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
