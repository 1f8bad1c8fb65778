"""The version of graphad, which stands here alone: package metadata and saved files take it from here."""

VERSION = "0.1.0"
GIT_VERSION = (
    "unknown"  # as TensorFlow says where it was built without Git; an installed package has no commit
)
TENSORFLOW = "2.21.0"  # the release of TensorFlow whose names `compat.v2` has
