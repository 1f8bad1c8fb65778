"""Loading runs no code, opens nothing outside the model's directory and changes nothing in the process."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import numpy as np
import pytest

import graphad as gd
from graphad.core.flags import flags
from graphad.core.registry import all_ops
from graphad.gradient import rules_in_process
from serialization.errors import LoadError
from serialization.saved_model import load, save
from serialization.schema.versions import model_to_body
from serialization.storage.places import MANIFEST
from serialization.wire.header import seal
from tests.serialization.convert.in_memory import records_of
from tests.serialization.convert.mutations import model_of, mutated, paths, tree_of
from tests.serialization.rich import Rich, signatures
from tests.serialization.saved_model.generations import ROOT, in_fresh_process

WATCH = """
import json, os, sys, warnings
import graphad as gd
from serialization.saved_model import load
from serialization.errors import LoadError
from serialization import saved_model
import optree  # what nests need, imported by the first of them
warnings.simplefilter("ignore")
watching, events, seen = False, [], {}
known = set(sys.modules)

def hook(event, args):
    if not watching:
        return
    seen[event] = seen.get(event, 0) + 1
    if event in ("exec", "compile", "marshal.loads", "pickle.find_class", "ctypes.dlopen", "os.system", "subprocess.Popen"):
        events.append((event, repr(args)[:200]))
    elif event.startswith(("socket.", "ctypes.", "shutil.", "os.exec", "os.spawn", "os.remove", "os.rename", "os.rmdir")):
        events.append((event, repr(args)[:200]))
    elif event == "import":
        name = args[0].split(".")[0]
        if name not in ("graphad", "numpy", "msgpack", "serialization", "optree", "ml_dtypes", "safetensors"):
            events.append((event, args[0]))
    elif event == "open":
        path = args[0]
        if isinstance(path, int):
            return
        if isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            events.append(("open to write", repr(path)))
        elif os.path.isabs(path) and not os.path.abspath(path).startswith(directory):
            events.append((event, repr(path)))

sys.addaudithook(hook)
outcomes = []
for directory in json.loads(sys.argv[1]):
    # some modules are imported by the first model that needs them: that is the installation's code, not the model's
    for attempt in range(2):
        watching = attempt > 0 or directory != json.loads(sys.argv[1])[0]
        try:
            load(directory)
            outcome = "loaded"
        except LoadError as error:
            outcome = type(error).__name__
        watching = False
    outcomes.append(outcome)
print(json.dumps([outcomes, events, seen]))
"""


def test_loading_good_and_hostile_models_raises_no_audit_event(tmp_path):
    rich = Rich()
    save(rich, tmp_path / "good", signatures(rich))
    records, _ = records_of(rich, signatures(rich))
    tree = tree_of(records)
    every, directories, kinds = paths(tree), [str(tmp_path / "good")], {"loaded": 0, "refused": 0}
    rng = np.random.default_rng(7)
    while min(kinds.values()) < 12:
        changed = mutated(tree, every, lambda n: int(rng.integers(n)))
        try:
            model = model_of(changed)
            kind = "loaded"
        except (LoadError, OverflowError):
            kind = "refused"
        if kinds[kind] >= 12 or (kind == "refused" and not _packs(changed)):
            continue
        kinds[kind] += 1
        path = tmp_path / f"{kind}-{kinds[kind]}"
        save(rich, path, signatures(rich))
        body = model_to_body(model) if kind == "loaded" else _packs(changed)
        (path / MANIFEST).write_bytes(seal(1, body))
        directories.append(str(path))
    out = in_fresh_process(WATCH, json.dumps(directories))
    outcomes, events, seen = json.loads(out)
    assert events == []
    assert seen["open"] >= len(directories)  # the hook has been there
    assert outcomes[0] == "loaded" and "CorruptModelError" in outcomes


def _packs(tree):
    import msgpack

    try:
        return msgpack.packb(tree)
    except OverflowError:
        return None


def test_loading_leaves_the_process_as_it_was(tmp_path):
    rich = Rich()
    save(rich, tmp_path / "m", signatures(rich))
    load(tmp_path / "m")

    def state():
        return (
            {name: getattr(flags, name) for name in dir(flags) if not name.startswith("_")},
            dict(os.environ),
            os.getcwd(),
            sorted(all_ops()),
            sorted(rules_in_process._REMEMBERED),
            np.geterr(),
            np.random.get_state()[1].tolist(),
            np.asarray(gd.random.get_global_generator().state.data).tolist(),
            os.umask(os.umask(0o22)),
        )

    before = state()
    loaded = load(tmp_path / "m")
    after = state()
    assert [str(x) for x in before] == [str(x) for x in after]
    assert loaded is not None


def test_loading_evaluates_no_op(tmp_path, monkeypatch):
    rich = Rich()
    save(rich, tmp_path / "m", signatures(rich))
    for kind in all_ops().values():
        if "eval" in vars(kind):
            monkeypatch.setattr(kind, "eval", lambda self, *xs: pytest.fail(f"{self.name} was evaluated"))
    load(tmp_path / "m")


def test_files_of_the_model_are_read_only_and_unchanged_by_training(tmp_path):
    root = gd.Module()
    root.v = gd.Variable(np.arange(300_000, dtype=np.float32))
    save(root, tmp_path / "m")
    before = {p: p.read_bytes() for p in (tmp_path / "m").rglob("*") if p.is_file()}
    loaded = load(tmp_path / "m")
    loaded.v.assign_add(gd.ones([300_000]))
    np.asarray(loaded.v)
    assert {p: p.read_bytes() for p in (tmp_path / "m").rglob("*") if p.is_file()} == before


FORBIDDEN = {
    "pickle",
    "marshal",
    "shelve",
    "yaml",
    "subprocess",
    "ctypes",
    "socket",
    "importlib",
    "runpy",
    "code",
    "urllib",
}
CALLS = {"eval", "exec", "compile", "__import__", "setattr", "open"}
ALLOWED = {  # where a file is opened on purpose, always by name below the model's directory or from the command line
    "open": {"read.py", "write.py", "files.py", "describe.py", "cli.py", "payloads.py", "keras.py"},
    "setattr": {
        "record.py",
        "checkpoint.py",
    },  # fields of records; the keywords that a program gives a Checkpoint
}


def test_the_code_that_loads_names_nothing_that_executes():
    wrong = []
    for path in sorted(Path(ROOT, "serialization").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").split(".")[0]]
            wrong += [f"{path.name}: imports {name}" for name in names if name in FORBIDDEN]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                if path.name not in ALLOWED.get(node.func.id, ()):
                    wrong.append(f"{path.name}:{node.lineno}: calls {node.func.id}")
    assert wrong == []
