"""A profile as text, as a page, and as a time line for chrome://tracing and ui.perfetto.dev."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from graphad.core.html import box, folded, note, table
from graphad.core.tree import plain

if TYPE_CHECKING:
    from graphad.tools.profile import Ran


MOST_ROWS = 30
_LANES = {0: "compiling"}


def text_of(found: Any) -> str:
    """The tables as text."""
    parts = [
        f"profile: {duration(found.seconds)}, {sum(r.total.count for r in found.ran.values())} runs of compiled functions"
    ]
    for title, head, rows in _tables(found):
        parts.append(f"{title}\n{_columns(head, rows)}")
    return "\n\n".join(parts)


def html_of(found: Any) -> str:
    """The tables as a page; steps are folded. Names are escaped."""
    parts = []
    for title, head, rows in _tables(found):
        shown = table(head, rows)
        parts.append(folded(title, shown, not title.startswith(("kernels", "NumPy"))))
    return box(
        f"profile: {duration(found.seconds)}",
        *parts,
        note("times of a graph without those it ran inside: own"),
    )


def trace_of(found: Any) -> dict[str, Any]:
    """The time line in the format of Chrome's traces: complete events, in microseconds from the start of the block."""
    process = os.getpid()
    threads = {thread: k for k, thread in enumerate(dict.fromkeys([0, *[e.thread for e in found.events]]))}
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": k,
            "args": {"name": _LANES.get(thread, f"thread {thread}")},
        }
        for thread, k in threads.items()
    ]
    for event in found.events:
        events.append(
            {
                "ph": "X",
                "name": plain(event.name),
                "cat": event.kind,
                "ts": (event.start - found.start) * 1e6,
                "dur": event.seconds * 1e6,
                "pid": process,
                "tid": threads[event.thread],
                "args": {"note": plain(event.note)} if event.note else {},
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def save(found: object, path: Any) -> None:
    """See `profile.save`."""
    name = os.fspath(path)
    if name.endswith(".json"):
        text = json.dumps(trace_of(found))
    elif name.endswith((".html", ".htm")):
        head = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>profile</title></head>'
        text = f"{head}<body>{html_of(found)}</body></html>"
    else:
        text = text_of(found) + "\n"
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(text)


def duration(seconds: float) -> str:
    """`1.23 ms`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _tables(found: Any) -> list[tuple[str, list[str], list[list[str]]]]:
    tables = []
    calls = [
        [plain(name), str(t.count), duration(t.seconds), duration(t.mean)]
        for name, t in _by_time(found.functions)
    ]
    if calls:
        tables.append(("functions, as they were called", ["function", "calls", "time", "a call"], calls))
    ran = sorted(found.ran.values(), key=lambda r: -r.total.seconds)
    rows = [
        [
            plain(r.name),
            str(r.total.count),
            duration(r.total.seconds),
            duration(r.total.seconds - r.inner),
            _tiers(r),
            _why(r),
        ]
        for r in ran[:MOST_ROWS]
    ]
    if rows:
        tables.append(("graphs that ran", ["graph", "runs", "time", "own", "tier", "why not native"], rows))
    traces = [
        [plain(name), str(t.count), duration(t.seconds), plain(found.retraced.get(name, ""))]
        for name, t in _by_time(found.traces)
    ]
    if traces:
        tables.append(("tracing", ["function", "traces", "time", "why again"], traces))
    made = [[plain(name), str(n), duration(s)] for name, (n, s) in found.compiled.items()]
    if made:
        tables.append(("compiling", ["graph", "kernels made", "until ready"], made))
    for r in ran[:MOST_ROWS]:
        for title, steps in (
            (f"kernels of {plain(r.name)}, in its first native runs", r.kernels),
            (f"NumPy steps of {plain(r.name)}", r.ops),
        ):
            whole = sum(t.seconds for t in steps.values())
            listed = [
                [
                    plain(name),
                    str(t.count),
                    duration(t.mean),
                    f"{100 * t.seconds / whole if whole else 0:.0f} %",
                ]
                for name, t in _by_time(steps)
            ]
            if listed:
                tables.append((title, ["step", "times", "each", "share"], listed))
    return tables


def _by_time(totals: Any) -> list[tuple[str, Any]]:
    return sorted(totals.items(), key=lambda pair: -pair[1].seconds)[:MOST_ROWS]


def _tiers(ran: Ran) -> str:
    return ", ".join(f"{t.count} {tier}" for tier, t in sorted(ran.tiers.items()))


def _why(ran: Ran) -> str:
    return "; ".join(f"{plain(reason)} ({count})" for reason, count in ran.reasons.items())


def _columns(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)
