"""Frozen applications: PyInstaller asks by an entry point, which pyproject.toml declares, where the hook for graphad is."""

from __future__ import annotations

import os


def directories() -> list[str]:
    """Where `hook-graphad.py` is, a file of PyInstaller's that is no module of graphad's."""
    return [os.path.join(os.path.dirname(__file__), "pyinstaller")]
