"""Links, pipes and odd names: nothing outside the model's directory is read, written or removed."""

from __future__ import annotations

import os
import shutil
import signal
import socket

import numpy as np
import pytest

from serialization.errors import CorruptModelError, LoadError, SaveError, SaveFailedError, UnsafeModelError
from serialization.schema.model import AssetNode, ModelRecord, ModuleNode, ObjectRecord
from serialization.storage.places import ASSETS, MANIFEST, VARIABLES
from serialization.storage.read import contains_model, read_model
from serialization.storage.write import write_model
from tests.serialization.sample import read_file, rewrite_body, save_sample, write_file

pytestmark = [
    pytest.mark.filterwarnings("ignore:load. .* ignoring optional features"),
    pytest.mark.skipif(os.name == "nt", reason="links and pipes as POSIX has them"),
]


@pytest.fixture
def saved(tmp_path):
    return save_sample(tmp_path)


@pytest.fixture(autouse=True)
def no_waiting():
    signal.alarm(600)  # a loader that opens a pipe the wrong way waits for ever
    yield
    signal.alarm(0)


def files_of(saved):
    (payload,) = os.listdir(os.path.join(saved, VARIABLES))
    (asset,) = os.listdir(os.path.join(saved, ASSETS))
    return {
        "manifest": os.path.join(saved, MANIFEST),
        "payload": os.path.join(saved, VARIABLES, payload),
        "asset": os.path.join(saved, ASSETS, asset, "vocabulary.txt"),
    }


@pytest.mark.parametrize("which", ["manifest", "payload", "asset"])
@pytest.mark.parametrize(
    "kind", ["inside", "outside", "loop", "dangling", "hard", "pipe", "socket", "directory"]
)
def test_file_that_is_no_plain_file_is_refused(saved, tmp_path, which, kind):
    path = files_of(saved)[which]
    moved = os.path.join(saved if kind == "inside" else tmp_path, "moved")
    os.rename(path, moved)
    if kind in ("inside", "outside"):
        os.symlink(moved, path)
    elif kind == "loop":
        os.symlink(path, path)
    elif kind == "dangling":
        os.symlink(tmp_path / "nowhere", path)
    elif kind == "hard":
        os.link(moved, path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(os.path.dirname(path))  # the name of a socket may not be long
        try:
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(os.path.basename(path))
        finally:
            os.chdir(here)
    else:
        os.mkdir(path)
    with pytest.raises((UnsafeModelError, CorruptModelError), match=os.path.basename(path)) as caught:
        read_model(saved)
    assert isinstance(caught.value, UnsafeModelError)


@pytest.mark.parametrize("which", [VARIABLES, ASSETS])
def test_directory_that_is_a_link_is_refused_by_reader_and_writer(saved, tmp_path, which):
    os.rename(os.path.join(saved, which), tmp_path / "moved")
    os.symlink(tmp_path / "moved", os.path.join(saved, which))
    with pytest.raises(UnsafeModelError, match=which):
        read_model(saved)
    before = sorted(os.listdir(tmp_path / "moved"))
    with pytest.raises(SaveError, match="is a link"):
        save_sample(tmp_path)
    assert sorted(os.listdir(tmp_path / "moved")) == before


def test_path_of_the_model_may_be_a_link(saved, tmp_path):
    os.symlink(saved, tmp_path / "latest")
    assert read_model(tmp_path / "latest")[0] == read_model(saved)[0]
    write_model(
        tmp_path / "latest", ModelRecord("new", objects=(ObjectRecord(ModuleNode("M")),)), {}, durable=False
    )
    assert read_model(saved)[0].producer == "new"


def test_names_of_assets_cannot_lead_anywhere(saved):
    for name in ("../../secret", "/etc/passwd", "..", ".", "a/b", ".hidden", "c:\\x", "a\0b", "nul"):

        def change(tree, name=name):
            tree["assets"][0][0] = name
            return tree

        rewrite_body(saved, change)
        with pytest.raises(UnsafeModelError, match=r"assets\[0\]"):
            read_model(saved)


def test_asset_is_found_checked_and_moves_with_the_model(saved, tmp_path):
    shutil.move(saved, tmp_path / "elsewhere")
    _, arrays = read_model(tmp_path / "elsewhere")
    path = arrays.asset_path(0)
    assert path.startswith(str(tmp_path / "elsewhere")) and os.path.basename(path) == "vocabulary.txt"
    assert read_file(path) == b"one\ntwo\n"
    write_file(b"one\ntwx\n", path)
    with pytest.raises(CorruptModelError, match=r"vocabulary\.txt: the digest"):
        read_model(tmp_path / "elsewhere")
    write_file(b"one", path)
    with pytest.raises(CorruptModelError, match="3 bytes, not 8"):
        read_model(tmp_path / "elsewhere", verify=False)
    os.remove(path)
    with pytest.raises(CorruptModelError, match="missing"):
        read_model(tmp_path / "elsewhere", verify=False)


def test_assets_with_equal_content_and_odd_names_are_stored(tmp_path):
    model = ModelRecord("p", objects=(ObjectRecord(ModuleNode("M"), tuple((f"a{k}", k + 1) for k in range(3))),
                                      *(ObjectRecord(AssetNode(k)) for k in range(3))))  # fmt: skip
    names = ["größe 1.txt", ".hidden", "x" * 200]
    for name in names:
        (tmp_path / name).write_bytes(b"same")
    write_model(tmp_path / "m", model, {}, [tmp_path / name for name in names], durable=False)
    loaded, arrays = read_model(tmp_path / "m", verify=True)
    assert [asset.name for asset in loaded.assets] == ["gr__e_1.txt", "_hidden", "x" * 100]
    assert all(read_file(arrays.asset_path(k)) == b"same" for k in range(3))
    write_model(tmp_path / "m", model.replace(objects=(ObjectRecord(ModuleNode("M")),)), {}, durable=False)
    assert os.listdir(tmp_path / "m" / ASSETS) == []
    with pytest.raises(SaveFailedError, match="does not exist"):
        write_model(tmp_path / "m", model, {}, [tmp_path / "nothing"])


def test_strangers_files_are_left_alone(saved):
    own = [
        os.path.join(saved, "README.md"),
        os.path.join(saved, VARIABLES, "notes.txt"),
        os.path.join(saved, VARIABLES, "A" * 32 + ".safetensors"),
        os.path.join(saved, VARIABLES, "a" * 31 + ".safetensors"),
        os.path.join(saved, ASSETS, "notes.txt"),
        os.path.join(os.path.dirname(saved), ".graphad-tmp-1-1"),
    ]
    for path in own:
        write_file(b"mine", path)
    write_model(
        saved, ModelRecord("new", objects=(ObjectRecord(ModuleNode("M")),)), {"w": np.ones(2)}, durable=False
    )
    assert all(read_file(path) == b"mine" for path in own)
    assert len(os.listdir(os.path.join(saved, VARIABLES))) == 4


def test_left_over_files_of_a_save_that_died_are_removed(saved):
    for path in (
        os.path.join(saved, ".graphad-tmp-99-1"),
        os.path.join(saved, VARIABLES, ".graphad-tmp-99-2"),
        os.path.join(saved, VARIABLES, "0" * 32 + ".safetensors"),
    ):
        write_file(b"partial", path)
    write_model(
        saved, ModelRecord("new", objects=(ObjectRecord(ModuleNode("M")),)), {"w": np.ones(2)}, durable=False
    )
    assert sorted(os.listdir(saved)) == [ASSETS, MANIFEST, VARIABLES]
    assert len(os.listdir(os.path.join(saved, VARIABLES))) == 1


def test_target_that_cannot_be_a_model_is_refused(tmp_path):
    model = ModelRecord("p", objects=(ObjectRecord(ModuleNode("M")),))
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(SaveFailedError, match="is a file"):
        write_model(tmp_path / "file", model, {})
    with pytest.raises(OSError):
        write_model(tmp_path / "file" / "below", model, {})
    with pytest.raises(OSError):
        write_model(tmp_path / ("n" * 300), model, {})
    assert (tmp_path / "file").read_bytes() == b"mine" and os.listdir(tmp_path) == ["file"]
    write_model(tmp_path / "deep" / "er" / "model", model, {})
    assert contains_model(tmp_path / "deep" / "er" / "model") and not contains_model(tmp_path)


def test_swapping_a_file_for_a_link_while_loading_never_reads_the_target(saved, tmp_path):
    path = files_of(saved)["payload"]
    keep = tmp_path / "keep"
    shutil.copy(path, keep)
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * os.path.getsize(path))
    for turn in range(200):
        os.remove(path)
        if turn % 2:
            os.symlink(secret, path)
            with pytest.raises(LoadError):
                read_model(saved, verify=False)
        else:
            shutil.copy(keep, path)
            _, arrays = read_model(saved, verify=False)
            assert arrays["w"].ravel().tolist() == [0, 1, 2, 3, 4, 5]


def linked_as_in_a_cache(saved, tmp_path):
    """The model as hub caches keep it: every file is a link to one that is named by its content."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    for root, _, names in os.walk(saved):
        place = snapshot / os.path.relpath(root, saved)
        place.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(names):
            blob = blobs / f"{os.path.basename(root)}{number}"
            shutil.copy(os.path.join(root, name), blob)
            os.symlink(os.path.relpath(blob, place), place / name)
    return snapshot


def test_links_are_followed_only_when_asked_for(saved, tmp_path):
    plain, arrays = read_model(saved, verify=True)
    snapshot = linked_as_in_a_cache(saved, tmp_path)
    with pytest.raises(UnsafeModelError, match="links='follow'"):
        read_model(snapshot)
    found, linked = read_model(snapshot, verify=True, links="follow")
    linked.verify()
    assert found == plain and all(np.array_equal(linked[name], arrays[name]) for name in arrays)
    assert linked.asset_path(0).startswith(str(snapshot))
    with pytest.raises(ValueError, match="links='maybe'"):
        read_model(snapshot, links="maybe")
    os.link(files_of(saved)["payload"], tmp_path / "second name")
    with pytest.raises(UnsafeModelError, match="hard link"):
        read_model(saved)
    read_model(saved, links="follow")


@pytest.mark.parametrize("kind", ["dangling", "loop", "pipe", "directory", "damaged"])
def test_what_a_followed_link_leads_to_is_checked_as_ever(saved, tmp_path, kind):
    payload = files_of(saved)["payload"]
    target = tmp_path / "target"
    os.rename(payload, target)
    os.symlink(payload if kind == "loop" else target, payload)
    if kind == "damaged":
        target.write_bytes(b"x" + target.read_bytes()[1:])
    elif kind != "loop":
        os.remove(target)
        if kind == "pipe":
            os.mkfifo(target)
        elif kind == "directory":
            target.mkdir()
    with pytest.raises(LoadError):
        read_model(saved, links="follow")
