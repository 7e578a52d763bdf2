"""Which page do the saved results make? ``docs/benchmarks.md``, with all tables and no number written by hand.

Run: ``python benchmarks/tables.py``; ``--quick`` for the results of ``--quick`` runs, into the same folder as those.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from _harness import GOAL_HEADERS, QUICK_RESULTS, RESULTS, as_text, facts_as_text

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
NAMES = (
    "search",
    "adversarial",
    "real",
    "peers",
    "rivals",
    "choice",
    "shares",
    "growth",
    "scale",
    "large",
    "many_labels",
    "thresholds",
    "risk_control",
    "sweep",
    "updates",
    "reading",
    "encoder",
    "databases",
    "examine",
    "unknown_labels",
    "auditing",
    "calibration",
    "resampling",
    "prototypes",
)
INTRODUCTION = """# Benchmarks

This page is made by `python benchmarks/tables.py` from the files in `benchmarks/results/`; how they are measured is in
[benchmarks/README.md](../benchmarks/README.md). To repeat everything: `make bench`. The quality of predictions is on
other pages: [which method wins where](which_method.md), [the best by default](best_by_default.md), [other
libraries](field.md#quality-and-time)."""
# The pictures of benchmarks/charts.py: the benchmark that has their figures, what they are, and how to read them.
_FASTER = "Right of the marked line nearlabel is faster, left of it the other library."
PICTURES = {
    "search_brute": ("search", "Search: times faster than scikit-learn's brute force, by setting", _FASTER),
    "search_faiss": ("search", "Search: times faster than faiss's flat index, by setting", _FASTER),
    "peers": ("peers", "ML-kNN: CPU seconds of nearlabel and scikit-multilearn-ng", "The same k and data for both."),
    "growth": (
        "growth",
        "CPU time with four times the samples, features, labels or neighbours, over that with one times",
        "Each step with four times as much of one quantity: at 4 its time grows in proportion, at 16 with the square.",
    ),
}


def page_of(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """Return the page."""
    parts = [INTRODUCTION, *_pictures(benchmarks), *_machines(benchmarks), *_goals(benchmarks)]
    for one in benchmarks:
        parts += _section(one)
    return "\n\n".join(parts) + "\n"


def _pictures(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    questions = {_script(one).split(".")[0]: one["question"] for one in benchmarks}
    yield "## At a glance"
    for picture, (source, title, words) in PICTURES.items():
        if source in questions:
            yield f"![{title}](_static/{picture}.svg)"
            yield f"{words} [All figures](#{_anchor(questions[source])})."


def _anchor(heading: str) -> str:
    """Return the address of a heading, as code hosts and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _machines(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    machines: dict[str, list[str]] = {}
    for one in benchmarks:
        machines.setdefault(facts_as_text(one["machine"]), []).append(_script(one))
    for facts, scripts in machines.items():
        yield f"Machine{'' if len(machines) == 1 else ' of ' + ', '.join(scripts)}: {facts}."


def _goals(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    goals = [goal for one in benchmarks for goal in one["goals"]]
    if goals:
        yield "## Goals"
        yield "What was set as a goal before, and what was found; `times faster` is the other's time over nearlabel's."
        yield _markdown(GOAL_HEADERS, goals)


def _section(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {one['question']}"
    yield from one["text"]
    rounds = "one round" if one["rounds"] == 1 else f"{one['rounds']} rounds"
    yield f"Repeat: `{one['command']}` ({rounds})."
    for table in one["tables"]:
        yield f"### {table['title']}"
        yield _markdown(table["headers"], table["rows"])
        if table["notes"]:
            yield "\n".join(f"* {note}" for note in table["notes"])


def _script(one: Mapping[str, Any]) -> str:
    return str(one["command"]).split("/")[-1]


def _markdown(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(headers), ["---", *["---:"] * (len(headers) - 1)]]
    for row in rows:
        first, *others = (as_text(cell) for cell in row)
        filled = others if others else [""] * (len(headers) - 1)
        lines.append([first if others else f"**{first}**", *filled])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> None:
    """Read what there is and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="of the quick results, into their folder")
    quick = parser.parse_args().quick
    folder, page = (QUICK_RESULTS, QUICK_RESULTS / "benchmarks.md") if quick else (RESULTS, PAGE)
    paths = [folder / f"{name}.json" for name in NAMES]
    for path in paths:
        if not path.exists():
            print(f"{path.name} is not there: python benchmarks/{path.stem}.py makes it")
    found = [json.loads(path.read_text()) for path in paths if path.exists()]
    for one, path in zip(found, (path for path in paths if path.exists()), strict=True):
        if "tables" not in one:
            print(f"{path.name} is of an older form and left out: python benchmarks/{path.stem}.py makes it anew")
    page.write_text(page_of([one for one in found if "tables" in one]))
    print(f"wrote {page}")


if __name__ == "__main__":
    main()
