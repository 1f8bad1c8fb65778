"""The pages of the reference: one for each public namespace, from the list of its names and their docstrings.

They are written to `docs/reference` when the site is built. A docstring is a sentence, sections such as `Args:`, and text
between them; names in backticks that are public become links.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import graphad
from graphad.core.late import places_of

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Source|Gradient):[ ]*(.*)$")
_ENTRY = re.compile(r"^  (\S[^:]*?): (.*)$")
# Their names stand in other namespaces too, or are NumPy's, of which there are many.
_LATER = ("graphad.compat",)


def namespaces(package: str = "graphad") -> Iterator[str]:
    """The public namespaces, each before those inside it."""
    yield package
    for name, (place, _) in sorted(places_of(package).items()):
        if place == package and not f"{package}.{name}".startswith(_LATER):
            yield from namespaces(f"{package}.{name}")


def _escaped(text: str) -> str:
    """Text of a docstring as Markdown, in which nothing but backticks means anything."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_\[\]<>$|#])", r"\\\1", part) for part in parts
    )


class _Page:
    def __init__(self, namespace: str, known: dict[int, str]) -> None:
        self.namespace = namespace
        self._known = known  # the first public place of an object, by its identity
        self.lines: list[str] = []

    def write(self) -> str:
        module = importlib.import_module(self.namespace)
        self.lines += [f"# {self.namespace}", ""]
        self.lines += [self._linked(inspect.getdoc(module) or ""), ""] if self.namespace != "graphad" else []
        elsewhere, constants = [], []
        for name in sorted(places_of(self.namespace), key=lambda name: (name.lower(), name)):
            if name.startswith("_"):
                continue
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            place = f"{self.namespace}.{name}"
            if not callable(value):
                constants.append((name, value))
            elif self._known.get(id(value), place) != place:
                elsewhere.append((name, self._known[id(value)]))
            else:
                self._object(place, value)
        if elsewhere:
            self.lines += ["## Names that stand elsewhere too", ""]
            self.lines += [f"- `{name}`: {{py:obj}}`{place}`" for name, place in elsewhere]
            self.lines.append("")
        if constants:
            self.lines += ["## Values", ""]
            self.lines += [f"- `{name}` = `{value!r}`" for name, value in constants]
            self.lines.append("")
        return "\n".join(self.lines)

    def _object(self, place: str, value: Any) -> None:
        kind = "class" if inspect.isclass(value) else "function"
        self.lines += [f":::::{{py:{kind}}} {place}{_signature(value)}"]
        self._docstring(value)
        if inspect.isclass(value):
            for name, member in sorted(vars(value).items()):
                if not name.startswith("_") and (
                    inspect.isfunction(member) or isinstance(member, property | classmethod)
                ):
                    self._member(name, member)
        self.lines += [":::::", ""]

    def _member(self, name: str, member: Any) -> None:
        function = getattr(member, "__func__", member)
        if not inspect.getdoc(function):
            return
        kind = "property" if isinstance(member, property) else "method"
        self.lines += [
            f"::::{{py:{kind}}} {name}{'' if kind == 'property' else _signature(function, is_method=True)}"
        ]
        self._docstring(function)
        self.lines += ["::::", ""]

    def _docstring(self, value: Any) -> None:
        self.lines.append("")
        in_list, code = False, False
        for line in (inspect.getdoc(value) or "").splitlines():
            section = _SECTION.match(line)
            entry = _ENTRY.match(line) if in_list else None
            if section and section[1].startswith("Example"):
                in_list, code = False, True
                self.lines += ["", "```pycon"]
            elif section:
                self._end(code)
                code, in_list = False, section[1] in ("Args", "Attributes", "Raises") and not section[2]
                self.lines += [
                    "",
                    f"**{section[1]}**" + (": " + self._linked(section[2]) if section[2] else ""),
                    "",
                ]
            elif code:
                if line and not line.startswith(" "):
                    self._end(code)
                    code = False
                    self.lines.append(self._linked(line))
                elif line:
                    self.lines.append(line[2:])
            elif entry:
                self.lines.append(f"- `{entry[1]}`: {self._linked(entry[2])}")
            elif in_list and line.startswith("    "):
                self.lines.append(f"  {self._linked(line.strip())}")
            else:
                in_list = in_list and line.startswith("  ")
                self.lines.append(self._linked(line.strip()))
        self._end(code)

    def _end(self, is_code: bool) -> None:
        if is_code:
            self.lines += ["```", ""]

    def _linked(self, text: str) -> str:
        def link(match: re.Match[str]) -> str:
            for start in (self.namespace, "graphad"):
                value = graphad
                for part in f"{start}.{match[1]}".split(".")[1:]:
                    value = getattr(value, part, None)
                if callable(value) and id(value) in self._known:
                    return f"{{py:obj}}`{match[1]} <{self._known[id(value)]}>`"
            return match[0]

        return re.sub(r"(?<!\})`([A-Za-z_][\w.]*)`", link, _escaped(text))


def _signature(value: Any, is_method: bool = False) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    parameters = list(signature.parameters.values())[1 if is_method else 0 :]
    text = str(signature.replace(parameters=parameters))
    if inspect.isclass(value):
        text = re.sub(r" -> .*$", "", text)
    text = re.sub(r"'([^']*)'", lambda quoted: quoted[1] if _is_annotation(quoted, text) else quoted[0], text)
    return re.sub(r"<[^<>]*>", "...", text).replace("\n", " ")


def _is_annotation(quoted: re.Match[str], text: str) -> bool:
    return text[: quoted.start()].endswith((": ", "-> "))


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    known: dict[int, str] = {}
    found = list(namespaces())
    for namespace in sorted(found, key=lambda name: name.count(".")):
        module = importlib.import_module(namespace)
        for name in sorted(places_of(namespace)):
            value = getattr(module, name)
            if callable(value) and not inspect.ismodule(value) and not name.startswith("_"):
                known.setdefault(id(value), f"{namespace}.{name}")
    pages = {"index.md": _index(found)}
    for namespace in found:
        text = _Page(namespace, known).write()
        if len(text.splitlines()) > 4:
            pages[f"{namespace}.md"] = text
    pages["index.md"] = _index([page.removesuffix(".md") for page in pages if page != "index.md"])
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index(names: list[str]) -> str:
    return "\n".join([
        "# Reference", "",
        "Every public name, from its docstring. Shapes stand in brackets: `[batch, features]`; `...` is any number of axes.",
        "Where an argument is a tensor, a NumPy array, a number or a nested list will do. `name`, which most ops take,",
        "labels what they make in traced graphs. Examples are run by the tests; their names are those of `graphad`.",
        "", "```{toctree}", ":maxdepth: 1", "", *names, "```", "",
    ])  # fmt: skip


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
