"""The table of ops on the page about devices is what the ops do."""

from tests.devices.table import PAGE, written


def test_the_page_says_which_ops_run_on_the_device():
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text, "python -m tests.devices.table writes it anew"
