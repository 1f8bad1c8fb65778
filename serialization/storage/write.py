"""`write_model`: records and arrays into a directory, with one commit point. It follows FORMAT.md, section 6, step by step."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from serialization.errors import (
    LoadError,
    SaveError,
    SaveFailedError,
    UnsupportedModelError,
    shown,
)
from serialization.schema.model import AssetRecord, ModelRecord, PayloadRecord
from serialization.schema.versions import FORMAT_VERSION, model_from_body, model_to_body, unknown_features
from serialization.storage.places import (
    ASSETS,
    MANIFEST,
    VARIABLES,
    asset_directory,
    asset_path,
    is_asset_directory,
    is_payload_name,
    names_in,
)
from serialization.wire.arrays import (
    CHUNK_BYTES,
    Checker,
    Layout,
    TensorRecord,
    chunk_count,
    dtype_name,
    partition,
    payload_name,
    payload_pieces,
    plan_layout,
)
from serialization.wire.files import (
    STEP_BYTES,
    TEMPORARY,
    FileSystem,
    Lock,
    Temporary,
    remove_quietly,
)
from serialization.wire.header import DIGEST_BYTES, HEADER_BYTES, seal, unseal
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.threads import side_by_side

_ATTEMPTS = 3  # attempts to save while another process removes files


def write_model(
    path: str | os.PathLike[str],
    model: ModelRecord,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    assets: Sequence[str | os.PathLike[str]] = (),
    *,
    durable: bool = True,
    sha256: bool = False,
    limits: Limits | None = None,
    system: FileSystem | None = None,
    written: Callable[[int], None] = lambda size: None,
) -> None:
    """Save a model at `path`, replacing the one there in one step.

    Args:
      path: The model's directory; made if missing.
      model: The records; `payloads` and `assets` are filled in here.
      arrays: The stored tensors by name, in the order in which to store them.
      assets: Files to copy, numbered as the records number them.
      durable: Flush everything to the disk in order, so that a power failure leaves the old model or the new one. Without it,
        that holds only when this process dies.
      sha256: Put the SHA-256 of each payload into the manifest, for those who sign manifests.
      written: Called with the number of bytes that were written, piece by piece and by several threads.
    Raises:
      SaveError: The model cannot be put into a file.
      SaveFailedError: The system refused (also an OSError); the old model is still there.
    """
    limits = limits or DEFAULT_LIMITS
    location = os.fspath(path)
    if not location:
        raise SaveFailedError("the path is empty; '.' is the current directory.", errno.ENOENT)
    groups = partition(_tensor_record(name, array) for name, array in arrays.items())
    draft = model.replace(
        payloads=tuple(_draft_payload(group) for group in groups),
        assets=tuple(AssetRecord(_asset_name(source), 0, bytes(32)) for source in assets),
    )
    try:
        model_from_body(FORMAT_VERSION, model_to_body(draft), limits)
        unknown_features(draft)
    except LoadError as error:
        raise SaveError(f"{location}: {error.field or 'model'}: {error.reason}") from error
    try:
        _Save(location, system or FileSystem(), durable, sha256, limits, written).run(
            model, groups, arrays, assets
        )
    except SaveError:
        raise
    except OSError as error:
        where = error.filename or location
        raise SaveFailedError(f"{where}: {error.strerror or error}.", error.errno) from error


def _tensor_record(name: str, array: np.ndarray[Any, Any]) -> TensorRecord:
    if not isinstance(array, np.ndarray):
        raise SaveError(f"{shown(name)} is a {type(array).__name__}, not an array.")
    return TensorRecord(name, dtype_name(array.dtype), tuple(map(int, array.shape)))


def _draft_payload(group: tuple[TensorRecord, ...]) -> PayloadRecord:
    return PayloadRecord(group, bytes(4 * chunk_count(plan_layout(group).size)))


def _asset_name(source: str | os.PathLike[str]) -> str:
    name = os.path.basename(os.fspath(source).rstrip("/\\"))
    if not os.path.isfile(source):
        raise SaveFailedError(f"asset {os.fspath(source)} does not exist or is not a file.", 2)
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[-100:]
    return re.sub(r"^\.|\.$", "_", plain)


class _Save:
    """One save, with everything created so far, so that a failure can undo it."""

    def __init__(
        self,
        location: str,
        system: FileSystem,
        durable: bool,
        sha256: bool,
        limits: Limits,
        written: Callable[[int], None],
    ) -> None:
        self.written = written
        self.location = location
        self.system = system
        self.durable = durable
        self.sha256 = sha256
        self.limits = limits
        self.made_files: list[str] = []
        self.made_directories: list[str] = []
        self.changed_directories: dict[str, None] = {os.path.abspath(location): None}  # each once
        self.committing = False
        self.alone = False  # whether there is no other writer

    def run(
        self,
        model: ModelRecord,
        groups: list[tuple[TensorRecord, ...]],
        arrays: Mapping[str, np.ndarray[Any, Any]],
        assets: Sequence[str | os.PathLike[str]],
    ) -> None:
        try:
            self._make_directory(self.location)
            with Lock(self.location) as lock:
                self.alone = lock.held
                try:
                    self._save(model, groups, arrays, assets)
                except BaseException:
                    # another writer may rely on these files
                    if self.alone and not self.committing:
                        remove_quietly(self.system, reversed(self.made_files))
                    raise
        except BaseException:
            if not self.committing:
                self._remove_directories()
            raise

    def _save(
        self,
        model: ModelRecord,
        groups: list[tuple[TensorRecord, ...]],
        arrays: Mapping[str, np.ndarray[Any, Any]],
        assets: Sequence[str | os.PathLike[str]],
    ) -> None:
        self._remove_temporaries(self.location)
        for _ in range(_ATTEMPTS):
            payloads = self._write_payloads(groups, arrays)
            copies = self._write_assets(assets)
            file = self._commit(model.replace(payloads=payloads, assets=copies))
            if self.alone and self._manifest() == file:
                self._remove_unnamed(payloads, copies)
            if self._is_whole(file, payloads, copies):
                return
        raise SaveFailedError(
            f"{self.location}: another process removes what this one writes: the file system does not keep two saves apart; "
            "let one process at a time save there."
        )

    def _manifest(self) -> bytes:
        """The bytes of the current manifest, empty if there is none."""
        try:
            with open(os.path.join(self.location, MANIFEST), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _is_whole(
        self, file: bytes, payloads: tuple[PayloadRecord, ...], assets: tuple[AssetRecord, ...]
    ) -> bool:
        """Whether the current model, written by this save or another, has all its files."""
        now = self._manifest()
        if now != file:
            try:
                other = model_from_body(*unseal(now), self.limits)
            except UnsupportedModelError:
                return True  # of a newer release, which has checked it itself
            except LoadError:
                return False
            payloads, assets = other.payloads, other.assets
        expected = []
        for payload in payloads:
            size = plan_layout(payload.tensors).size
            expected.append(
                (os.path.join(self.location, VARIABLES, payload_name(size, payload.checks)), size)
            )
        expected += [(asset_path(self.location, asset), asset.size) for asset in assets]
        try:
            return all(os.path.getsize(path) == size for path, size in expected)
        except FileNotFoundError:
            return False

    def _make_directory(self, path: str) -> None:
        if os.path.lexists(path):
            if not os.path.isdir(path):
                raise SaveFailedError(f"{path} is a file; a model is a directory.", 20)
            if path != self.location and os.path.islink(path):
                raise SaveError(f"{path} is a link; remove it, a model's directories must be real ones.")
            return
        parent = os.path.dirname(os.path.abspath(path))
        if path == self.location and not os.path.isdir(parent):
            self._make_parents(parent)
        try:
            self.system.make_directory(path)
        except FileExistsError:
            self._make_directory(path)  # removed by another writer in the meantime
            return
        self.made_directories.append(path)
        self.changed_directories[parent] = None

    def _make_parents(self, path: str) -> None:
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for directory in reversed(missing):
            self.system.make_directory(directory)
            self.made_directories.append(directory)
            self.changed_directories[os.path.dirname(directory)] = None

    def _write_payloads(
        self, groups: list[tuple[TensorRecord, ...]], arrays: Mapping[str, np.ndarray[Any, Any]]
    ) -> tuple[PayloadRecord, ...]:
        directory = os.path.join(self.location, VARIABLES)
        if not groups:
            return ()
        self._make_directory(directory)
        self._remove_temporaries(directory)

        def write(group: tuple[TensorRecord, ...]) -> PayloadRecord:
            layout = plan_layout(group)
            return self._write_payload(directory, group, layout, [arrays[tensor.name] for tensor in group])

        # zlib, write and fsync release the interpreter's lock, so files are written in parallel
        self.changed_directories[directory] = None
        return tuple(side_by_side(write, groups, at_least=2))

    def _write_payload(
        self,
        directory: str,
        group: tuple[TensorRecord, ...],
        layout: Layout,
        arrays: list[np.ndarray[Any, Any]],
    ) -> PayloadRecord:
        checker = Checker(self.sha256)
        with Temporary(self.system, directory, self.durable) as temporary:

            def check() -> None:
                for piece in payload_pieces(layout, arrays):
                    checker.update(piece)

            def write() -> None:
                for piece in payload_pieces(layout, arrays):
                    temporary.write(piece)
                    self.written(len(piece))

            # Checksums take nearly as long as an unflushed write, so each has a thread. Both read the same bytes, since an
            # assignment binds the variable to another array and does not change the old one.
            if layout.size > CHUNK_BYTES:
                side_by_side(lambda act: act(), (check, write), at_least=2)
            else:
                check()
                write()
            checks, sha256 = checker.finish()
            if not checker.size == temporary.size == layout.size:
                raise SaveError(
                    f"an array changed its size while it was saved ({temporary.size} bytes, not {layout.size})."
                )
            self._name(temporary, directory, payload_name(layout.size, checks))
        return PayloadRecord(group, checks, sha256)

    def _name(self, temporary: Temporary, directory: str, name: str) -> None:
        new = not os.path.lexists(os.path.join(directory, name))
        temporary.flush()
        final = temporary.commit(name)
        if new:
            self.made_files.append(final)

    def _write_assets(self, assets: Sequence[str | os.PathLike[str]]) -> tuple[AssetRecord, ...]:
        if not assets:
            return ()
        directory = os.path.join(self.location, ASSETS)
        self._make_directory(directory)
        records = []
        for source in assets:
            name = _asset_name(source)
            with open(source, "rb", buffering=0) as file:
                digest = hashlib.file_digest(file, "sha256").digest()
                size = file.tell()
                file.seek(0)
                record = AssetRecord(name, size, digest)
                inner = os.path.join(directory, asset_directory(record))
                self._make_directory(inner)
                self._remove_temporaries(inner)
                with Temporary(self.system, inner, self.durable) as temporary:
                    again = hashlib.sha256()
                    while step := file.read(STEP_BYTES):
                        again.update(step)
                        temporary.write(memoryview(step))
                    if again.digest() != digest:
                        raise SaveError(f"asset {os.fspath(source)} changed while it was saved.")
                    self._name(temporary, inner, name)
            self.changed_directories[inner] = None
            records.append(record)
        self.changed_directories[directory] = None
        return tuple(records)

    def _commit(self, model: ModelRecord) -> bytes:
        file = seal(FORMAT_VERSION, model_to_body(model))
        if len(file) > self.limits.manifest_bytes + HEADER_BYTES + DIGEST_BYTES:
            raise SaveError(
                f"the manifest has {len(file)} bytes where the limit 'manifest_bytes' allows {self.limits.manifest_bytes}."
            )
        with Temporary(self.system, self.location, self.durable) as temporary:
            temporary.write(memoryview(file))
            # before the directories: with a journal for all names, as on ext4, these reach the disk with this file
            temporary.flush()
            self._flush_directories(self.changed_directories)
            # from here on the new manifest may be in place even after an interrupt, so its files must stay
            before = self.committing
            try:
                self.committing = True
                temporary.commit(MANIFEST)
            except OSError:
                self.committing = before
                raise
        self._flush_directories([self.location])
        return file

    def _flush_directories(self, paths: Iterable[str]) -> None:
        if self.durable:
            for path in paths:
                self.system.flush_directory(path)

    def _remove_directories(self) -> None:
        for directory in reversed(self.made_directories):
            try:
                self.system.remove_directory(directory)
            except OSError:
                continue

    def _remove_temporaries(self, directory: str) -> None:
        """Remove the remains of aborted saves; only with a lock, since they might belong to a running save."""
        if not self.alone:
            return
        stale = [name for name in os.listdir(directory) if name.startswith(TEMPORARY)]
        remove_quietly(self.system, (os.path.join(directory, name) for name in stale))

    def _remove_unnamed(self, payloads: tuple[PayloadRecord, ...], assets: tuple[AssetRecord, ...]) -> None:
        """Remove the files of the previous model and of aborted saves."""
        named = {payload_name(plan_layout(payload.tensors).size, payload.checks) for payload in payloads}
        directory = os.path.join(self.location, VARIABLES)
        old = [name for name in names_in(directory) if is_payload_name(name) and name not in named]
        remove_quietly(self.system, (os.path.join(directory, name) for name in old))
        kept = {(asset_directory(asset), asset.name) for asset in assets}
        directory = os.path.join(self.location, ASSETS)
        for outer in names_in(directory):
            inner = os.path.join(directory, outer)
            if not is_asset_directory(outer) or os.path.islink(inner):
                continue
            remove_quietly(
                self.system,
                (os.path.join(inner, name) for name in names_in(inner) if (outer, name) not in kept),
            )
            try:
                if not names_in(inner):
                    self.system.remove_directory(inner)
            except OSError:
                continue
