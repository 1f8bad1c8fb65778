"""The documents say what is true: their programs print what the pages show, and the site has no broken link."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.pages import ROOT, blocks, differences, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_a_page_shows_what_its_program_prints(page, tmp_path):
    if "matplotlib" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib")
    assert differences(page, tmp_path) == []


def test_a_page_that_is_not_true_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```python\nx = 1\n```\n", encoding="utf-8"
    )
    assert [block.said for block in blocks(page)] == ["3\n", None]
    [said] = differences(page, tmp_path)
    assert said.endswith("page.md:2: the page shows\n3\nbut the code prints\n2\n")


class _Links(HTMLParser):
    """What a page refers to, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.places.add(value)
            if name in ("href", "src") and value:
                self.links.append((tag, value))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of the site by their paths, built as continuous integration does, a warning being an error."""
    missing = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        str(out / "trees"),
    ]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(out / "html")],
        env={**os.environ, "GRAPHAD_VERIFY": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    root = out / "html"
    return root, {path: _Links(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}


@pytest.mark.slow
def test_no_link_of_the_site_is_broken(site):
    root, found = site
    broken = []
    for path, page in found.items():
        for _, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path.relative_to(root)}: {link}")
            elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].places:
                broken.append(f"{path.relative_to(root)}: no such place: {link}")
    assert broken == []
    assert len(found) > 50


@pytest.mark.slow
def test_the_site_asks_for_nothing_from_elsewhere(site):
    root, found = site
    foreign = [
        f"{path.relative_to(root)}: {link}"
        for path, page in found.items()
        for tag, link in page.links
        if tag in ("script", "link", "img", "iframe") and urlsplit(link).netloc
    ]
    assert foreign == []
    for sheet in root.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8", errors="replace")
        assert "url(http" not in text and "@import" not in text.replace("@import url(basic.css)", ""), sheet
    assert (root / "searchindex.js").stat().st_size > 10_000  # the search works from a folder


def test_every_page_of_the_documents_is_reached_from_the_first():
    listed = {
        line.strip()
        for page in (ROOT / "docs").rglob("*.md")
        for line in page.read_text(encoding="utf-8").splitlines()
    }
    for page in [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "guide").glob("*.md"),
        *(ROOT / "docs" / "coming-from").glob("*.md"),
    ]:
        name = page.relative_to(ROOT / "docs").with_suffix("")
        assert name.name == "index" or {str(name), name.name} & listed or name == Path("index"), page


def test_the_licence_of_every_dependency_is_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *[item for extra in project["optional-dependencies"].values() for item in extra],
    ]
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8").replace("-", "_")
    names = {re.match(r"[A-Za-z0-9._-]+", item)[0].replace("-", "_") for item in asked}
    assert sorted(name for name in names if name.removesuffix("_cuda13x") not in page) == []


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "graphad/core/version.py"


def test_decisions_are_listed_in_order_with_their_titles():
    pages = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    text = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(\d+)\]\((.+)\) (.+)$", text, re.MULTILINE)
    assert listed == [
        (
            page.name[:4],
            page.name,
            page.read_text(encoding="utf-8").split("\n")[0].removeprefix(f"# {int(page.name[:4])}. "),
        )
        for page in pages
    ]
