"""The programs of the documents: each page is one program, with the output of a code block below it.

    python tests/support/pages.py              run all pages, and say where one shows something else than its program prints
    python tests/support/pages.py --write      run them and write what they print, and the pictures they draw, into the pages
    python tests/support/pages.py docs/start.md ...      these pages only

A page is Markdown. Its blocks marked `python` run in their order in one process, in an empty directory. A block marked `text`
right below is what the code above it printed; `python raises` ends with an error, whose class and message are printed last.
Code between `<!-- setup` and `-->` runs too but is not shown. Pictures that the program writes as `images/NAME.png` are those
of the page. In the tables of `coming-from` the code in the column "graphad" runs, row by row. Standard library only, apart from
Matplotlib where pictures are compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(
    r"^```python(?P<raises> raises)?\n(?P<code>.*?)^```$(?P<output>\n\n```text\n(?P<said>.*?)^```$)?"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|^(?P<table>(?:\|[^\n]*\n)+)",
    re.M | re.S,
)
_CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")


@dataclass
class Block:
    """A code block of a page: `start` and `end` are its position, `said` is the output shown below it."""

    code: str
    start: int
    end: int
    line: int
    said: str | None = None
    raises: bool = False
    is_shown: bool = True


def pages() -> list[Path]:
    """The pages that hold programs."""
    found = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("*/*.md"))]
    return [page for page in found if page.parent.name in ("docs", "guide", "coming-from") and blocks(page)]


def blocks(page: Path) -> list[Block]:
    """The code of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        if match["table"]:
            if page.parent.name != "coming-from":
                continue
            found += [Block(code, match.start(), match.end(), line + k, None, False, False)
                      for k, code in _cells(match["table"])]  # fmt: skip
        elif match["setup"]:
            found.append(Block(match["setup"], match.start(), match.end(), line, None, False, False))
        else:
            found.append(
                Block(match["code"], match.start(), match.end(), line, match["said"], bool(match["raises"]))
            )
    return found


def _cells(table: str) -> list[tuple[int, str]]:
    """The code in the column "graphad" of a table, by the row."""
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in table.splitlines()]
    names = [cell.strip() for cell in rows[0]]
    if "graphad" not in names:
        return []
    column = names.index("graphad")
    found = []
    for k, row in enumerate(rows[2:], 1):
        code = [span[2].replace("\\|", "|") for span in _CODE.finditer(row[column])]
        if code:
            found.append((k, "\n".join(code)))
    return found


# The program around the blocks of a page: its last line is JSON with the output of each block.
_RUNNER = """
import contextlib, io, json, linecache, sys, traceback, types

def _run(page, blocks):
    said = []
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    for number, (code, line, raises) in enumerate(blocks, 1):
        out = io.StringIO()
        place = f"{page}, block {number}"
        linecache.cache[place] = (len(code), None, code.splitlines(True), place)  # where tracing finds the source
        failed = "it was to raise and did not" if raises else None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                exec(compile(code, place, "exec"), main.__dict__)
            except Exception as error:
                out.write(f"{type(error).__name__}: {error}\\n")
                failed = None if raises else traceback.format_exc()
        said.append(out.getvalue())
        if failed:
            return {"line": line, "failed": failed, "said": said}
    return {"said": said}

answer = _run(sys.argv[1], json.load(sys.stdin))
print(json.dumps(answer))
"""


class PageError(Exception):
    """A page whose program fails."""


def run(page: Path, where: Path) -> list[str]:
    """The output of the blocks of a page, run in the directory `where`."""
    (where / "images").mkdir(exist_ok=True)
    given = json.dumps([(block.code, block.line, block.raises) for block in blocks(page)])
    environment = {
        **os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "default", "COLUMNS": "100",
        "PYTHONPATH": os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(ROOT)])
        if os.environ.get("GRAPHAD_PAGES_INSTALLED") != "1" else "",
    }  # fmt: skip
    for name in ("GRAPHAD_JIT", "GRAPHAD_VERIFY"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", _RUNNER, page.name],
        cwd=where, env=environment, input=given, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise PageError(f"{page}: the program ended without an answer\n{done.stdout}{done.stderr}") from None
    if "failed" in answer:
        raise PageError(f"{page}:{answer['line']}: {answer['failed']}\n{''.join(answer['said'][-1:])}")
    return [_tidy(text) for text in answer["said"]]


def _tidy(text: str) -> str:
    """Without trailing blanks and without memory addresses."""
    text = re.sub(r" at 0x[0-9a-f]+", " at 0x...", text)
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def differences(page: Path, where: Path) -> list[str]:
    """Where a page differs from the output and the pictures of its program; empty if nowhere."""
    found = []
    for block, said in zip(blocks(page), run(page, where), strict=True):
        if block.is_shown and said != (block.said or ""):
            found.append(
                f"{page}:{block.line}: the page shows\n{block.said or ''}but the code prints\n{said}"
            )
        elif not block.is_shown and said:
            found.append(f"{page}:{block.line}: code that is not shown prints\n{said}")
    for picture in sorted((where / "images").glob("*.png")):
        shown = page.parent / "images" / picture.name
        if f"images/{picture.name}" not in page.read_text(encoding="utf-8"):
            found.append(f"{page}: {picture.name} is drawn and not shown")
        elif not shown.exists() or not _alike(picture, shown):
            found.append(f"{page}: {picture.name} is not what the program draws")
    return found


def _alike(one: Path, other: Path) -> bool:
    """Whether two pictures are alike: fonts and renderers differ slightly between versions."""
    from matplotlib import image

    a, b = (image.imread(str(path))[..., :3] for path in (one, other))
    if a.shape != b.shape:
        return False
    return float(abs(a - b).mean()) < 0.02


def write(page: Path, where: Path) -> bool:
    """Write the output of the program into the page, and its pictures beside it. Returns whether the page changed."""
    text = page.read_text(encoding="utf-8")
    new, last = [], 0
    for block, said in zip(blocks(page), run(page, where), strict=True):
        if not block.is_shown:
            if said:
                raise PageError(f"{page}:{block.line}: code that is not shown prints\n{said}")
            continue
        mark = " raises" if block.raises else ""
        output = f"\n\n```text\n{said}```" if said else ""
        new += [text[last : block.start], f"```python{mark}\n{block.code}```{output}"]
        last = block.end
    page.write_text("".join(new) + text[last:], encoding="utf-8")
    for picture in (where / "images").glob("*.png"):
        shown = page.parent / "images" / picture.name
        shown.parent.mkdir(exist_ok=True)
        if not shown.exists() or not _alike(picture, shown):
            shutil.copy(picture, shown)
    return page.read_text(encoding="utf-8") != text


def main(arguments: Sequence[str]) -> int:
    is_writing = "--write" in arguments
    chosen = [Path(argument).resolve() for argument in arguments if argument != "--write"] or pages()
    wrong = 0
    for page in chosen:
        with tempfile.TemporaryDirectory(prefix="graphad-page-") as where:
            try:
                found = (
                    ["written anew"] * write(page, Path(where))
                    if is_writing
                    else differences(page, Path(where))
                )
            except PageError as error:
                found, wrong = [str(error)], wrong + 1
        wrong += bool(found) and not is_writing
        print(
            "\n".join(
                [f"{page.relative_to(ROOT)}: {'see below' if found else 'as its program prints'}", *found]
            )
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
