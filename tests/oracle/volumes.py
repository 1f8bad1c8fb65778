"""The oracle's data, in volumes that are written separately: `data/<volume>.json` and its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle import cases, further, images, mathematics, networks, older, sparse
from tests.oracle.programs import PROGRAMS

Volume = tuple[Callable[[], list[cases.Case]], dict[str, Callable[[Any], dict[str, Any]]]]

VOLUMES: dict[str, Volume] = {
    "index": (cases.all_cases, PROGRAMS),
    "networks": (networks.all_cases, {}),
    "images": (images.all_cases, {}),
    "sparse": (sparse.all_cases, {}),
    "mathematics": (mathematics.all_cases, {}),
    "further": (further.all_cases, {}),
    "older": (older.all_cases, {}),
}
