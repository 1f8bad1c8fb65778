"""Loading runs nothing, imports nothing new, opens nothing outside the model's directory, changes no setting."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import serialization
from tests.serialization.sample import save_sample

_AUDIT = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from serialization.storage.read import read_model
path = sys.argv[2]
model, arrays = read_model(path)  # what is imported late is imported by now
[arrays[name] for name in arrays]
events, watching = [], False
FORBIDDEN = ("exec", "compile", "marshal.", "pickle.", "ctypes.", "socket.", "subprocess.", "os.system", "os.exec", "os.fork",
             "os.posix_spawn", "os.rename", "os.remove", "os.unlink", "os.mkdir", "os.rmdir", "os.putenv", "import", "code.",
             "builtins.input", "shutil.", "tempfile.")

def hook(event, arguments):
    if not watching:
        return
    if event.startswith(FORBIDDEN):
        events.append((event, str(arguments)[:200]))
    elif event == "open":
        events.append(("open", str(arguments[0]), arguments[2]))

def settings():
    return (np.geterr(), np.get_printoptions(), dict(os.environ), sys.getrecursionlimit(), sorted(sys.modules),
            np.random.get_state()[1].tobytes(), os.getcwd())

settings()  # NumPy imports its generator on first use
before = settings()
sys.addaudithook(hook)
for verify in ("lazy", True, False):
    watching = True
    model, arrays = read_model(path, verify=verify)
    for name in arrays:
        arrays[name].sum()
    arrays.asset_path(0)
    arrays.verify()
    watching = False
assert settings() == before
opened = {event[1] for event in events if event[0] == "open"}
for event in events:
    if event[0] != "open":
        print("FORBIDDEN", event)
    elif event[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        print("WRITES", event)
# inside the model's directory names are opened relative to it
print("OPENED", sorted(name for name in opened if os.sep in name and not name.startswith(path)), len(opened))
"""


@pytest.mark.filterwarnings("ignore:load. .* ignoring optional features")
def test_loading_executes_nothing_and_opens_only_the_model(tmp_path):
    path = save_sample(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _AUDIT, os.getcwd(), path],
        capture_output=True,
        text=True,
        check=True,
    )
    opened = [line for line in done.stdout.splitlines() if line.startswith("OPENED")]
    assert done.stdout.splitlines() == opened, done.stdout
    # the directory, the manifest, the payload, the asset and the directories of the last two; nothing else
    assert opened[0].startswith("OPENED [] "), opened


def test_layers_below_graphad_import_only_numpy_and_msgpack():
    code = (
        "import sys; import serialization.storage.read, serialization.storage.write; "
        "print([m for m in sys.modules if m.split('.')[0] in ('graphad', 'numba', 'json', 'pickle5', 'ml_dtypes', 'optree')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=os.getcwd()
    )
    assert done.stdout.strip() == "[]"


FORBIDDEN = re.compile(
    r"\b(pickle|marshal|shelve|dill|cloudpickle)\b|\b(eval|exec|compile|__import__)\(|import_module|getattr\(sys\.modules|yaml"
)


def test_source_of_the_load_path_has_no_way_to_execute():
    root = Path(serialization.__file__).parent
    for directory in ("wire", "schema"):
        for path in (root / directory).glob("*.py"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = FORBIDDEN.search(line.split("#")[0])
                # the words appear where a file of that kind is named in a message, and where patterns are compiled
                if found and "re.compile" not in line and not line.strip().startswith('(b"'):
                    raise AssertionError(f"{path.name}:{number}: {line.strip()}")
