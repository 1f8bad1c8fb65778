"""The frame of a manifest: magic, version, length, body, digest.

It is the same in every format version, so that a reader can tell a newer file from a damaged one.
"""

from __future__ import annotations

import hashlib

from serialization.errors import CorruptModelError, UnsupportedModelError

MAGIC = b"\x89GRAD\r\n\x1a"
HEADER_BYTES = 24
DIGEST_BYTES = 32

# beginnings of files that people hand to a loader by mistake
_KNOWN = (
    (b"PK\x03\x04", "a zip archive (a .keras, .npz or torch file?)"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"{", "JSON text"),
    (b"GGUF", "a GGUF file"),
    (b"\x08\x01\x12", "a protocol buffer (a TensorFlow SavedModel or ONNX file?)"),
    (MAGIC[:5], "a graphad model that was changed by a transfer in text mode"),
)


def seal(version: int, body: bytes) -> bytes:
    """The whole manifest file around `body`."""
    frame = MAGIC + version.to_bytes(4, "little") + bytes(4) + len(body).to_bytes(8, "little") + body
    return frame + hashlib.sha256(frame).digest()


def unseal(file: bytes) -> tuple[int, bytes]:
    """The version and body of a manifest file, once its digest has been found right."""
    if len(file) < HEADER_BYTES + DIGEST_BYTES:
        raise CorruptModelError(
            f"the file has {len(file)} bytes, too few for a model{_kind(file)}; copy or save it again."
        )
    if not file.startswith(MAGIC):
        raise CorruptModelError(f"not a graphad model{_kind(file)}; the first bytes are {file[:8]!r}.")
    length = int.from_bytes(file[16:24], "little")
    if len(file) != HEADER_BYTES + length + DIGEST_BYTES:
        raise CorruptModelError(
            f"the header announces {HEADER_BYTES + length + DIGEST_BYTES} bytes, the file has {len(file)}; "
            "it was cut short or added to."
        )
    if hashlib.sha256(memoryview(file)[:-DIGEST_BYTES]).digest() != file[-DIGEST_BYTES:]:
        raise CorruptModelError(
            "the digest does not match: at least one byte is damaged; copy or save it again."
        )
    if file[12:16] != bytes(4):
        raise UnsupportedModelError(f"unknown flags {file[12:16]!r} in the header; upgrade graphad.")
    return int.from_bytes(file[8:12], "little"), file[HEADER_BYTES:-DIGEST_BYTES]


def _kind(file: bytes) -> str:
    if not file:
        return " (it is empty)"
    if not file.strip(b"\0"):
        return " (it is all zeros)"
    for start, name in _KNOWN:
        if file.startswith(start) and not file.startswith(MAGIC):
            return f" but {name}"
    return ""
