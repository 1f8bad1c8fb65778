"""The format versions, and the upgrade of their records to the newest one.

A released version's schema never changes. The next version adds an entry with its own schema, and the entry
before it a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serialization.errors import UnsupportedModelError, shown
from serialization.schema.model import MODEL, ModelRecord
from serialization.schema.verify import verify
from serialization.wire.codec import Codec, decode, encode
from serialization.wire.limits import DEFAULT_LIMITS, Limits

FORMAT_VERSION = 1

# version: its schema, and the step to the records of the next version (None for the newest)
SCHEMAS: dict[int, tuple[Codec[Any], Callable[[Any], Any] | None]] = {1: (MODEL, None)}

CHECKPOINT = (
    "checkpoint"  # written by a checkpoint: lists with gaps are dicts, so that items keep their positions
)

# features that this release knows, required or not
FEATURES: frozenset[str] = frozenset({CHECKPOINT})


def model_to_body(model: ModelRecord) -> bytes:
    """The body of a manifest of the newest version."""
    return encode(MODEL, model)


def model_from_body(version: int, body: bytes, limits: Limits = DEFAULT_LIMITS) -> ModelRecord:
    """The well-formed model that a manifest's body describes, whatever version it was written in."""
    if version not in SCHEMAS:
        raise UnsupportedModelError(
            f"is format version {version}, this release reads {min(SCHEMAS)} to {max(SCHEMAS)}; "
            "upgrade graphad or save again with an older release."
        )
    codec, step = SCHEMAS[version]
    model = decode(codec, body, limits)
    while step is not None:
        model = step(model)
        version += 1
        step = SCHEMAS[version][1]
    assert isinstance(model, ModelRecord)
    verify(model, limits)
    return model


def unknown_features(model: ModelRecord) -> tuple[str, ...]:
    """Optional features this release ignores; raises on required ones."""
    unknown = [feature for feature in model.features if feature.name not in FEATURES]
    required = [shown(feature.name) for feature in unknown if feature.required]
    if required:
        raise UnsupportedModelError(
            f"needs the features {', '.join(required)}, which this release does not have."
        )
    return tuple(feature.name for feature in unknown)
