"""The version of graphad, which stands here alone: package metadata and saved files take it from here."""

VERSION = "0.1.0"
