"""`python -m serialization`: what it shows, verifies and runs, and that nothing in a file or on the command line is executed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

import graphad as gd
from serialization.inspect.cli import main
from serialization.inspect.describe import describe
from serialization.inspect.text import amount, lines_of, plain
from serialization.saved_model import Asset, LoadOptions, SaveOptions, load, save
from serialization.schema.graph import RuleRecord
from serialization.schema.model import FeatureRecord
from serialization.schema.versions import model_to_body
from serialization.storage.places import MANIFEST
from serialization.storage.read import read_model
from serialization.wire.header import seal
from tests.serialization.convert.in_memory import records_of
from tests.serialization.rich import Rich, signatures
from tests.serialization.saved_model.generations import ROOT


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    directory = tmp_path_factory.mktemp("inspected")
    (directory / "words.txt").write_text("one\n")
    rich = Rich()
    rich.words = Asset(directory / "words.txt")
    save(rich, directory / "model", signatures(rich))
    return str(directory / "model")


def printed(capsys, *arguments):
    status = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


# show


def test_show_names_objects_variables_functions_and_files(path, capsys):
    status, out, err = printed(capsys, "show", path)
    assert (status, err) == (0, "")
    for text in (
        "format version 1, written by graphad",
        "object Rich",
        "kernel: variable float32[3, 4]",
        "(the same as kernel)",
        "rng: generator of its own",
        "kernel: kernel:0 float32 (3, 4), 48 bytes",
        "unknown rank, now (2)",
        "not trainable",
        "serving_default(x: float32[?, 3]) -> {output_0}",
        "rich.scaled",
        "words.txt: 4 bytes, sha256 ",
        ".safetensors: 1.2 KiB, 5 tensors",
        "described(x, pair=None, mode='once')",
    ):
        assert text in out, text
    assert "graph 0" not in out.split("functions")[0]


def test_show_graphs_lists_every_node(path, capsys):
    _, out, _ = printed(capsys, "show", path, "--graphs")
    assert (
        "cond[then_graph=graph " in out and "= matmul[" in out and "# rich.py:" in out and "return %" in out
    )
    found = describe(path, graphs=True)
    assert sum(len(graph["nodes"]) for graph in found["graphs"]) == found["counts"]["nodes"]


def test_show_json_is_the_same_as_data(path, capsys):
    status, out, _ = printed(capsys, "show", path, "--json", "--graphs")
    found = json.loads(out)
    assert status == 0 and found == json.loads(json.dumps(describe(path, graphs=True)))
    assert found["format_version"] == 1 and len(found["manifest"]["sha256"]) == 64
    assert {v["tensor"] for v in found["variables"]} == {"kernel", "count", "free"}
    assert sum(v["bytes"] for v in found["variables"]) == 48 + 4 + 8
    assert [s["key"] for s in found["signatures"]] == ["serving_default", "parts", "loop"]
    assert all(rule["saved"] for rule in found["custom_gradients"])


def test_show_needs_no_graphad(path):
    code = "import sys; from serialization.inspect.cli import main; main(sys.argv[1:]); assert 'graphad' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code, "show", path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "object Rich" in done.stdout, done.stderr


def test_text_from_a_file_is_escaped_and_cut(tmp_path, capsys):
    nasty = "\x1b[31m\r\nöwned\u202e\x00" + "x" * 500
    root = gd.Module()
    root.v = gd.Variable(1.0, name=nasty)
    root.d = {nasty: root.v, "": root.v}
    save(root, tmp_path / "m")
    records, _ = records_of(root)
    objects = (
        records.objects[0].replace(node=records.objects[0].node.replace(class_name=nasty)),
        *records.objects[1:],
    )
    changed = records.replace(
        producer=nasty,
        objects=objects,
        features=(FeatureRecord(nasty, False, b""),),
        rules=(RuleRecord(nasty, None),),
    )
    assert len(changed.payloads) == 1
    real, _ = read_model(tmp_path / "m")
    (tmp_path / "m" / MANIFEST).write_bytes(seal(1, model_to_body(changed.replace(payloads=real.payloads))))
    for arguments in (["show"], ["show", "--json"], ["show", "--graphs"], ["verify"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status, out, err = printed(capsys, arguments[0], tmp_path / "m", *arguments[1:])
        assert status == 0, err
        assert out.isascii() and err.isascii()
        assert all(letter.isprintable() or letter == "\n" for letter in out + err)
        if "--json" not in arguments:
            assert "x" * 250 not in out


def test_long_sections_are_cut():
    found = {
        "path": "p", "format_version": 1, "producer": "g", "features": [], "manifest": {"bytes": 10, "sha256": "0"},
        "payloads": [], "assets": [], "counts": {"objects": 3000}, "variables": [], "functions": [], "signatures": [],
        "custom_gradients": [], "objects": [{"name": "v", "depth": 40, "kind": "list"}] * 3000,
    }  # fmt: skip
    lines = list(lines_of(found))
    assert lines[-1] == "  ... and 2000 more" and max(map(len, lines)) < 100


def test_amounts_and_plain_text():
    assert [amount(n) for n in (0, 1023, 1024, 3 << 20, 5 << 30)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 KiB",
        "3.0 MiB",
        "5.0 GiB",
    ]
    assert plain("a'b\n") == "a'b\\n" and plain(3) == "3" and len(plain("x" * 1000, 50)) <= 50


# verify


def test_verify_says_what_it_has_seen(path, capsys):
    status, out, _ = printed(capsys, "verify", path)
    assert status == 0 and out.startswith("ok: ") and "5 tensors" in out and "1 assets" in out


def test_verify_notes_rules_that_were_not_saved(tmp_path, capsys):
    @gd.custom_gradient
    def f(x):
        return x * 1.0, lambda dy: dy.numpy()

    root = gd.Module()
    root.f = gd.function(f, input_signature=[gd.TensorSpec([])])
    save(root, tmp_path / "m", options=SaveOptions(experimental_custom_gradients=False))
    status, out, _ = printed(capsys, "verify", tmp_path / "m")
    assert status == 0 and "not saved" in out


@pytest.mark.parametrize("file", ["manifest", "payload", "asset"])
def test_verify_finds_damage_anywhere(tmp_path, capsys, file):
    (tmp_path / "words.txt").write_text("one\n")
    root = gd.Module()
    root.v, root.words = gd.Variable(np.arange(1000.0)), Asset(tmp_path / "words.txt")
    save(root, tmp_path / "m")
    parts = {"manifest": [tmp_path / "m" / MANIFEST]}
    parts["payload"] = list((tmp_path / "m" / "variables").iterdir())
    parts["asset"] = list((tmp_path / "m" / "assets").glob("*/*"))
    (damaged,) = parts[file]
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 4
    damaged.write_bytes(data)
    status, out, err = printed(capsys, "verify", tmp_path / "m")
    assert (status, out) == (1, "") and err.startswith("CorruptModelError: load: ") and damaged.name in err


def test_commands_follow_links_when_told_to(path, tmp_path, capsys):
    linked = tmp_path / "linked"
    shutil.copytree(path, linked)
    (linked / MANIFEST).rename(tmp_path / "manifest")
    (linked / MANIFEST).symlink_to(tmp_path / "manifest")
    commands = (["show"], ["verify"], ["run", "--signature", "scaled", "--input", "x=[1, 2]"])
    for command, *rest in commands:
        status, _, err = printed(capsys, command, linked, *rest)
        assert status == 1 and "links='follow'" in err
        assert printed(capsys, command, linked, *rest, "--links", "follow")[0] in (0, int(command == "run"))
    assert load(str(linked), options=LoadOptions(links="follow")).kernel.shape == (3, 4)


def test_a_missing_model_is_a_message(tmp_path, capsys):
    for command in ("show", "verify", "run"):
        status, out, err = printed(capsys, command, tmp_path / "nothing")
        assert (status, out) == (1, "") and "does not exist" in err and "Traceback" not in err


# run


def test_run_takes_npy_json_files_and_json(path, capsys, tmp_path):
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.json").write_text(json.dumps(x.tolist()))
    results = []
    for value in (tmp_path / "x.npy", tmp_path / "x.json", json.dumps(x.tolist())):
        status, out, err = printed(capsys, "run", path, "--input", f"x={value}")
        assert (status, err) == (0, "")
        results.append(json.loads(out)["output_0"])
    assert results[0] == results[1] == results[2]
    np.testing.assert_allclose(results[0], Rich()(x), rtol=1e-5)


def test_run_calls_the_signature_that_is_named_and_writes_files(path, capsys, tmp_path):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.save(tmp_path / "x.npy", x)
    status, out, _ = printed(
        capsys,
        "run",
        path,
        "--signature",
        "parts",
        "--input",
        f"x={tmp_path}/x.npy",
        "--output",
        tmp_path / "out.npz",
    )
    assert (status, out) == (0, "")
    with np.load(tmp_path / "out.npz") as found:
        assert sorted(found.files) == ["first", "folded", "picked", "rows"]
        np.testing.assert_array_equal(found["first"], [0, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--signature", "other"], "no signature 'other'; the model has 'serving_default'"),
        ([], "keywords x; got none"),
        (["--input", "x"], "not of the form NAME=VALUE"),
        (["--input", "=3"], "not of the form NAME=VALUE"),
        (["--input", "x=__import__('os').system('echo owned')"], "is not JSON"),
        (["--input", "x=[1, 2"], "is not JSON"),
        (["--input", "x=missing.npy"], "missing.npy"),
        (["--input", "x=missing.json"], "missing.json"),
        (["--input", "x=[[1.0]]"], "shape"),
        (["--input", 'x="text"'], "Error"),
        (["--input", "y=[1.0]"], "keywords x"),
    ],
)
def test_run_explains_what_is_wrong(path, capsys, arguments, message):
    status, out, err = printed(capsys, "run", path, *arguments)
    assert status == 1 and out == "" and message in err and "Traceback" not in err


def test_run_reads_no_pickles(path, capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    status, _, err = printed(capsys, "run", path, "--input", f"x={tmp_path}/x.npy")
    assert status == 1 and "allow_pickle=False" in err


@pytest.mark.parametrize(("name", "content"), [("x.npy", b""), ("x.npy", b"no array"), ("x.json", b"[1, ")])
def test_run_tells_which_file_it_cannot_read(path, capsys, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    status, out, err = printed(capsys, "run", path, "--input", f"x={tmp_path / name}")
    assert (status, out) == (1, "") and f"{name}' does not hold what its name says" in err


@pytest.mark.parametrize("mistake", [TypeError, KeyError, IndexError, ValueError])
def test_a_mistake_in_a_command_is_no_wrong_command_line(path, capsys, monkeypatch, mistake):
    def fails(*_: object) -> None:
        raise mistake("planted")

    monkeypatch.setattr("serialization.inspect.text.lines_of", fails)
    with pytest.raises(mistake, match="planted"):
        printed(capsys, "show", path)


def test_a_wrong_command_line_exits_with_two(capsys):
    for arguments in ([], ["unknown"], ["show"], ["run"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    capsys.readouterr()


def test_the_module_runs_as_a_command(path):
    done = subprocess.run(
        [sys.executable, "-m", "serialization", "show", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "object Rich" in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "serialization", "verify", path + "x"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "does not exist" in done.stderr
