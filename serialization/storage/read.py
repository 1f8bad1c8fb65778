"""`read_model`: records and arrays out of a directory. It checks everything and returns arrays that are checked at their first
read."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence

from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    MissingModelError,
    shown,
)
from serialization.schema.model import AssetRecord, ModelRecord
from serialization.schema.versions import model_from_body, unknown_features
from serialization.storage.places import ASSETS, MANIFEST, VARIABLES, asset_directory, asset_path
from serialization.wire.arrays import (
    payload_name,
    plan_layout,
)
from serialization.wire.files import (
    Directory,
    read_exactly,
)
from serialization.wire.header import DIGEST_BYTES, HEADER_BYTES, unseal
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.payloads import CHECKED_AT_LOAD, LazyArrays, Payload, Verify

_RETRIES = 20


def contains_model(path: str | os.PathLike[str]) -> bool:
    """Whether there is a model at `path`."""
    return os.path.isfile(os.path.join(os.fspath(path), MANIFEST))


class LoadedArrays(LazyArrays):
    """The stored tensors of a model by name, and the paths of its assets by number."""

    def __init__(
        self,
        payloads: Sequence[Payload],
        model: ModelRecord,
        directory: Directory,
        verify: Verify,
        limits: Limits,
    ) -> None:
        super().__init__(payloads, [payload.tensors for payload in model.payloads])
        self._assets = model.assets
        self._directory = directory.path
        self._follow = directory.follow
        self._limits = limits
        self._sound = [verify is False] * len(model.assets)

    def asset_path(self, number: int) -> str:
        """Where asset `number` is; its digest is checked the first time."""
        asset = self._assets[number]
        if not self._sound[number]:
            try:
                self._check_asset(asset, digest=True)
            except FileNotFoundError as error:
                raise _missing(error) from None
            self._sound[number] = True
        return asset_path(self._directory, asset)

    def verify(self) -> None:
        """Check every byte of every payload and asset now."""
        super().verify()
        self._sound = [False] * len(self._assets)
        for number in range(len(self._assets)):
            self.asset_path(number)

    def _check_asset(self, asset: AssetRecord, digest: bool) -> None:
        path = asset_path(self._directory, asset)
        try:
            with (
                Directory(self._directory, follow=self._follow) as model,
                model.inner(ASSETS) as assets,
                assets.inner(asset_directory(asset)) as inner,
            ):
                descriptor, size = inner.open(asset.name)
                with open(descriptor, "rb", buffering=0) as file:
                    if size != asset.size:
                        raise CorruptModelError(
                            f"the file has {size} bytes, not {asset.size}; it was cut short or replaced."
                        )
                    if digest:
                        if size > self._limits.payload_bytes:
                            raise LimitExceededError(
                                f"{size} bytes to verify where the limit 'payload_bytes' allows {self._limits.payload_bytes}."
                            )
                        if hashlib.file_digest(file, "sha256").digest() != asset.sha256:
                            raise CorruptModelError("the digest does not match: the file is damaged.")
        except LoadError as error:
            error.file = path
            raise


def read_model(
    path: str | os.PathLike[str],
    limits: Limits | None = None,
    verify: Verify = "lazy",
    links: str = "refuse",
) -> tuple[ModelRecord, LoadedArrays]:
    """The model at `path`.

    Args:
      path: The model's directory.
      limits: Bounds on sizes and counts; the defaults are those of FORMAT.md.
      verify: "lazy" checks large payloads when they are first read, True everything now, False none of their bytes.
      links: "refuse" files that are links, or "follow" them.
    Returns: The records, well formed; and the arrays, mapped copy-on-write.
    Raises:
      MissingModelError: There is no model (an OSError).
      LoadError: One of its subclasses, naming file and field.
    """
    if verify not in (True, False, "lazy"):
        raise ValueError(f"load: verify={verify!r}; allowed are 'lazy', True and False.")
    if links not in ("refuse", "follow"):
        raise ValueError(f"load: links={links!r}; allowed are 'refuse' and 'follow'.")
    limits = limits or DEFAULT_LIMITS
    location = os.fspath(path)
    manifest = os.path.join(location, MANIFEST)
    try:
        directory = Directory(location, follow=links == "follow")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingModelError(
            f"SavedModel file does not exist at: {manifest}{_found_instead(location)}"
        ) from None
    with directory:
        if directory.descriptor < 0 and not os.path.isdir(location):
            raise MissingModelError(
                f"SavedModel file does not exist at: {manifest}{_found_instead(location)}"
            )
        file, identity = _manifest_bytes(directory, limits)
        for _ in range(_RETRIES):
            try:
                model = _parse(file, manifest, limits)
                arrays = _open_payloads(directory, model, verify, limits)
                break
            except FileNotFoundError as error:
                # a writer may have replaced the model since its manifest was read; file identity counts, not content
                file, newer = _manifest_bytes(directory, limits)
                if newer == identity:
                    raise _missing(error) from None
                identity = newer
        else:
            raise CorruptModelError("the model is being replaced faster than it can be read.", file=location)
    unknown = unknown_features(model)
    if unknown:
        names = ", ".join(map(shown, unknown))
        warnings.warn(
            f"load: {location}: ignoring optional features unknown to this release: {names}.", stacklevel=2
        )
    return model, arrays


def _found_instead(location: str) -> str:
    """A hint at what is at the path instead of a model."""
    if os.path.isfile(location):
        return f"; {location} is a file, a model is a directory"
    try:
        names = sorted(os.listdir(location))
    except OSError:
        above = os.path.dirname(os.path.abspath(location))
        return "; there is no such directory" + ("" if os.path.isdir(above) else f", nor {above}")
    models = [name for name in names if os.path.exists(os.path.join(location, name, MANIFEST))]
    if models:
        return f"; the directory holds the models {', '.join(models[:5])}: load one of them"
    more = " and more" if len(names) > 5 else ""
    return f"; the directory holds {', '.join(names[:5])}{more}" if names else "; the directory is empty"


def _manifest_bytes(directory: Directory, limits: Limits) -> tuple[bytes, tuple[int, int]]:
    """The bytes of the manifest, and the identity of the file."""
    manifest = os.path.join(directory.path, MANIFEST)
    try:
        descriptor, size = directory.open(MANIFEST)
    except FileNotFoundError:
        other = "saved_model.pb"
        hint = (
            " (there is a TensorFlow SavedModel, which graphad does not read; tf.train.Checkpoint and tf.train.load_checkpoint "
            "read its variables)"
        )
        found = os.path.exists(os.path.join(directory.path, other))
        raise MissingModelError(
            f"SavedModel file does not exist at: {manifest}{hint if found else _found_instead(directory.path)}"
        ) from None
    except LoadError as error:
        error.file = manifest
        raise
    try:
        if size > limits.manifest_bytes + HEADER_BYTES + DIGEST_BYTES:
            raise LimitExceededError(
                f"the file has {size} bytes where the limit 'manifest_bytes' allows {limits.manifest_bytes}.",
                file=manifest,
            )
        status = os.fstat(descriptor)
        return bytes(read_exactly(descriptor, size)), (status.st_ino, status.st_ctime_ns)
    finally:
        os.close(descriptor)


def _parse(file: bytes, manifest: str, limits: Limits) -> ModelRecord:
    try:
        version, body = unseal(file)
        return model_from_body(version, body, limits)
    except LoadError as error:
        error.file = manifest
        raise


def _open_payloads(directory: Directory, model: ModelRecord, verify: Verify, limits: Limits) -> LoadedArrays:
    payloads: list[Payload] = []
    if model.payloads:
        with _named(os.path.join(directory.path, VARIABLES), directory.inner, VARIABLES) as variables:
            for record in model.payloads:
                name = payload_name(plan_layout(record.tensors).size, record.checks)
                payloads.append(
                    Payload(variables, name, record.tensors, record.checks, record.sha256, verify, limits)
                )
    arrays = LoadedArrays(payloads, model, directory, verify, limits)
    for number, asset in enumerate(model.assets):
        now = verify is True or (verify == "lazy" and asset.size <= CHECKED_AT_LOAD)
        arrays._check_asset(asset, digest=now)
        if now:
            arrays._sound[number] = True
    return arrays


def _named(path: str, opener: Callable[[str], Directory], name: str) -> Directory:
    try:
        return opener(name)
    except LoadError as error:
        error.file = path
        raise


def _missing(error: FileNotFoundError) -> CorruptModelError:
    return CorruptModelError("the file is missing; the model is not complete.", file=error.filename)
