"""Frozen applications: PyInstaller finds the directory of the hook by an entry point, which pyproject.toml declares."""

from __future__ import annotations

import os


def directories() -> list[str]:
    """Where `hook-graphad.py` is."""
    return [os.path.dirname(__file__)]
