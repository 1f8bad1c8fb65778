"""The version of graphad, which the package's metadata repeat."""

VERSION = "0.1.0"
