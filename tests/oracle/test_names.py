"""Every public name of TensorFlow, in the namespaces that graphad has too, exists or says why not."""

from __future__ import annotations

import importlib
import importlib.util
import json
from types import ModuleType

import pytest

from tests.oracle.names import FILE, PAGE, is_there, left_out, ours, page

NAMES = json.loads(FILE.read_text(encoding="utf-8"))


def test_no_name_is_missing_without_a_reason() -> None:
    assert left_out().get("", {}) == {}


def _is_room(namespace: ModuleType, name: str) -> bool:
    """Whether this is a module of graphad's own, which imports find."""
    return (
        hasattr(namespace, "__path__")
        and importlib.util.find_spec(f"{namespace.__name__}.{name}") is not None
    )


@pytest.mark.parametrize("path", NAMES)
def test_a_name_that_is_left_out_says_so_when_it_is_asked_for(path: str) -> None:
    namespace = importlib.import_module(ours(path))
    for name in NAMES[path]:
        if not is_there(path, name) and not _is_room(namespace, name):
            with pytest.raises(AttributeError, match=f"{name}: not part of graphad"):
                getattr(namespace, name)


def test_the_page_lists_what_is_left_out() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
