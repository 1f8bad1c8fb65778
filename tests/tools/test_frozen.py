"""Frozen applications: the hook by which PyInstaller finds what is imported by name when it is first used."""

from __future__ import annotations

import importlib
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import graphad

ROOT = Path(graphad.__file__).parents[1]


def test_the_entry_point_leads_to_a_hook_that_takes_all_lists_of_names(monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["entry-points"]["pyinstaller40"]["hook-dirs"].partition(":")
    (directory,) = getattr(importlib.import_module(module), function)()

    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_data_files = lambda package, includes: [
        path for pattern in includes for path in (ROOT / package).glob(pattern)
    ]
    hooks.collect_submodules = lambda package: [f"{package}.all"]
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "PyInstaller.utils.hooks", hooks)

    found = runpy.run_path(str(Path(directory, "hook-graphad.py")))
    lists = {path for package in ("graphad", "serialization") for path in (ROOT / package).rglob("*.pyi")}
    assert set(found["datas"]) == lists
    assert found["hiddenimports"] == ["graphad.all", "serialization.all"]
