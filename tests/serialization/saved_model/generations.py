"""Saving and loading again and again, and the same in a process that knows nothing of the model's code."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import graphad as gd
from serialization.saved_model import load, save

ROOT = Path(__file__).resolve().parents[3]


def reloaded(obj: Any, generations: int = 1, signatures: Any = None, options: Any = None) -> Any:
    """The object after so many times of saving and loading; the directories are gone when it comes back."""
    for _ in range(generations):
        with tempfile.TemporaryDirectory() as directory:
            save(obj, os.path.join(directory, "model"), signatures, options)
            obj = load(os.path.join(directory, "model"))
        signatures = None
    return obj


def gradients(function: Any, *xs: Any, order: int = 1) -> list[Any]:
    """The derivatives of the sum of a function's result by its first argument, up to `order`."""
    if order == 0:
        return [np.asarray(function(*xs))]
    x = gd.convert_to_tensor(xs[0])
    with gd.GradientTape() as tape:
        tape.watch(x)
        if order == 1:
            below: list[Any] = []
            y = function(x, *xs[1:])
        else:
            below, y = _inner(function, x, xs[1:], order - 1)
    return [*below, _plain(tape.gradient(y, x))]


def _inner(function: Any, x: Any, rest: Any, order: int) -> tuple[list[Any], Any]:
    with gd.GradientTape() as tape:
        tape.watch(x)
        if order == 1:
            below: list[Any] = []
            y = function(x, *rest)
        else:
            below, y = _inner(function, x, rest, order - 1)
    g = tape.gradient(y, x)
    return [*below, _plain(g)], g


def _plain(x: Any) -> Any:
    return None if x is None else np.asarray(gd.convert_to_tensor(x))


def assert_same(a: Any, b: Any, **how: Any) -> None:
    """Nests of arrays are equal: None where None is."""
    if a is None or b is None:
        assert a is None and b is None
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other, **how)
    elif isinstance(a, dict):
        assert sorted(a) == sorted(b)
        for key in a:
            assert_same(a[key], b[key], **how)
    else:
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), **({"rtol": 1e-6} | how))


def in_fresh_process(code: str, *arguments: str) -> str:
    """What a new Python prints; it has graphad, but not the code of the model."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),
        env=environment,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def quietly_loaded(path: Any) -> Any:
    """The loaded model, without the warning about gradients that were not saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(path)
