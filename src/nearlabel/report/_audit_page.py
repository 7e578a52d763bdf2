"""The page of an audit: suspicious cells with check boxes, samples, near copies, pairs of labels, hubs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nearlabel.report._sections import facts_list, shown_environments
from nearlabel.report._tables import Column, Facts, Markup, Value, element, join, notes, shown, table, texts

_N_OPEN = 10  # cells whose neighbours are shown unfolded
_WORDS = {1: "yes", 0: "no", None: "unknown"}
_HOW = (
    "Probabilities are leave-one-out: each sample is predicted from all others. A cell is flagged if confident learning"
    " classifies it as wrong. It may still be correct: rare correct labels look the same. Check a cell before you tick"
    " it."
)
_WITH_OPTIONS = ", with the options for reading the table, such as that of its labels."
_NO_NUMBERS = (
    "Row numbers are those of the model, whose samples have changed since the fit, and there are no ids: corrections"
    " cannot be saved here."
)
_WITHOUT_SCRIPT = (
    "Saving corrections needs JavaScript. nearlabel audit --csv writes the same list to a file for corrections."
)


def title(facts: Facts) -> str:
    """Return the title of the page."""
    return f"Labels of {facts['name']}"


def verdict(facts: Facts) -> Markup:
    """Return the sentence below the title."""
    return element("p", _in_one_sentence(facts), class_="verdict")


def sections(facts: Facts) -> list[tuple[str, Markup]]:
    """Return the headings and contents of the page, without empty sections."""
    parts = [
        ("Summary", _summary(facts)),
        ("Suspicious labels", _ticked(facts)),
        ("Suspicious rows", _rows(facts["rows"])),
        ("Near copies that differ", _conflicts(facts)),
        ("Labels confused or missing together", _pairs(facts["label_pairs"])),
        ("Hubs", _hubs(facts)),
    ]
    return [(title, content) for title, content in parts if content]


def _in_one_sentence(facts: Facts) -> str:
    """Return the audit in one sentence."""
    n_issues, n_known = facts["n_issues"], facts["n_known"]
    if not n_issues:
        return f"None of the {n_known:,} cells (a sample and a label) is flagged."
    share = f"{100 * n_issues / n_known:.2g}\N{NO-BREAK SPACE}%"
    are = "is" if n_issues == 1 else "are"
    return f"{n_issues:,} of {n_known:,} cells (a sample and a label), {share}, {are} flagged and should be checked."


def suspects(cells: Sequence[Facts], *, tick: Callable[[Facts], Markup] | None = None, n_open: int = _N_OPEN) -> Markup:
    """Return suspicious cells as a list, each with its neighbours; those of the first cells are unfolded."""
    items = [_suspect(cell, tick, is_open=at < n_open) for at, cell in enumerate(cells)]
    return element("ol", *items, class_="suspects")


def _summary(facts: Facts) -> Markup:
    pairs: list[tuple[str, Value]] = [
        ("Rows", facts["n_rows"]),
        ("Labels", facts["n_labels"]),
        ("Known cells", facts["n_known"]),
        ("Flagged cells", facts["n_issues"]),
        ("Listed below", len(facts["cells"])),
        ("Samples that are neighbours of no other sample", facts["n_antihubs"]),
        ("Method", facts["by"] or None),
        ("Made with", shown_environments(facts["made_with"])),
    ]
    return join(facts_list(pairs), notes([_HOW]))


def _ticked(facts: Facts) -> Markup:
    if not facts["cells"]:
        return notes(["No label is contradicted by its neighbours."])
    if facts["id_column"] is None and not facts["by_number"]:
        return join(notes([_NO_NUMBERS]), suspects(facts["cells"]))
    by_id = "" if facts["id_column"] is None else f" --id {shlex.quote(facts['id_column'])}"
    command = element("code", f"nearlabel audit DATA{by_id} --apply corrections.csv --out FILE")
    words = join("Tick where the suggestion is right, save the corrections, and apply them: ", command, _WITH_OPTIONS)
    place = element("div", element("p", _WITHOUT_SCRIPT, class_="note"), class_="choice", id="corrections")
    listed = suspects(facts["cells"], tick=partial(_tick, by_number=facts["by_number"]))
    view = element("div", place, listed, id="suspects-view", data_id_column=facts["id_column"])
    return join(element("p", words, class_="note"), view)


def _suspect(cell: Facts, tick: Callable[[Facts], Markup] | None, *, is_open: bool) -> Markup:
    name = cell["name"] or f"row {cell['row']}"
    number = element("span", f"row {cell['row']}", class_="other") if cell["name"] else None
    change = element("span", f"{_WORDS[cell['given']]} → {_WORDS[cell['suggested']]}", class_="change")
    label, who = element("span", cell["label"], class_="chip"), element("span", name, class_="who")
    near = element("details", element("summary", _told_by_neighbors(cell)), _neighbors(cell), open=is_open)
    parts = element("h3", label, change, who, number), None if tick is None else tick(cell), _evidence(cell), near
    return element("li", *parts, class_="flagged" if cell["is_issue"] else None)


def _tick(cell: Facts, *, by_number: bool) -> Markup:
    box = element(
        "input",
        type="checkbox",
        autocomplete="off",
        data_row=cell["row"] if by_number else "",
        data_id=cell["id"],
        data_label=cell["label"],
        data_given=cell["given"],
        data_correct=cell["suggested"],
    )
    applies = "applies" if cell["suggested"] else "does not apply"
    return element("label", box, f" the suggestion is right: {cell['label']} {applies}", class_="tick")


def _told_by_neighbors(cell: Facts) -> str:
    share = f"{cell['disagreement']:.0%}".replace("%", "\N{NO-BREAK SPACE}%")
    told = f"{cell['n_against']} of {cell['n_known']} neighbours, with {share} of the weight by inverse distance"
    return f"{_WORDS[cell['suggested']]} is the value of {told}"


def _evidence(cell: Facts) -> Markup:
    rows = "row" if cell["n_lists"] == 1 else "rows"
    told = [f"Probability of the label {cell['probability']:.2f}", f"a neighbour of {cell['n_lists']:,} {rows}"]
    if cell["n_righted"] is not None:
        become = "prediction of other rows becomes" if cell["n_righted"] == 1 else "predictions of other rows become"
        told.append(f"corrected, {cell['n_righted']:,} {become} right and {cell['n_wronged']:,} wrong")
    return element("p", "; ".join(told) + "." + (" Flagged." if cell["is_issue"] else ""))


def _neighbors(cell: Facts) -> Markup:
    items = []
    for one in cell["neighbors"]:
        value, name = _WORDS[one["value"]], one["name"] or f"row {one['row']}"
        distance = element("span", f" at {shown(one['distance'])}", class_="other")
        items.append(element("li", element("b", value, class_=value), " ", name, distance))
    return element("ul", *items, class_="near")


def _rows(rows: Sequence[Facts]) -> Markup:
    if not rows:
        return Markup("")
    columns = [*texts("row", "has", "predicted without it", "flagged"), Column("neighbour of")]
    body = [
        (_called(one), _chips(one["given"]), _chips(one["predicted"]), _chips(one["issues"]), one["n_lists"])
        for one in rows
    ]
    told = "Samples are ranked by all of their cells, with the largest weight on the worst."
    return join(notes([told]), table(columns, body, "Suspicious rows, the most suspicious first", filtered="rows"))


def _conflicts(facts: Facts) -> Markup:
    if not facts["conflicts"]:
        return Markup("")
    columns = [*texts("rows", "differ in", "most have"), Column("distance"), Column("cells to correct")]
    body = [
        (_group(one), _chips(one["labels"]), _chips(one["majority"]), one["distance"], one["n_cells"])
        for one in facts["conflicts"]
    ]
    near = f"Rows at a distance of at most {shown(facts['radius'])} from each other"
    told = f"{near if facts['radius'] else 'Equal rows'} that do not have the same labels."
    return join(notes([told]), table(columns, body, "Near copies with different label sets", filtered="rows"))


def _group(conflict: Facts) -> str:
    names = conflict.get("names") or [f"row {row}" for row in conflict["rows"]]
    some = names[: len(conflict["rows"])]
    others = conflict["n_rows"] - len(some)
    return ", ".join(some) + (f" and {others} more" if others else "")


def _pairs(pairs: Sequence[Facts]) -> Markup:
    if not pairs:
        return Markup("")
    columns = [*texts("trouble"), Column("rows"), Column("expected by chance"), *texts("such as rows")]
    body = [(_trouble(one), one["n_rows"], one["expected"], ", ".join(map(str, one["rows"]))) for one in pairs]
    return table(columns, body, "Labels that are confused, or missing together", filtered="labels")


def _trouble(pair: Facts) -> str:
    first, second = pair["labels"]
    if pair["kind"] == "confused":
        return f"{second} is predicted where {first} was given"
    return f"{first} and {second} are both predicted where neither was given"


def _hubs(facts: Facts) -> Markup:
    if not facts["hubs"]:
        return Markup("")
    columns = [*texts("row"), Column("neighbour of"), Column("disagreement"), *texts("has")]
    body = [(_called(one), one["n_lists"], one["disagreement"], _chips(one["labels"])) for one in facts["hubs"]]
    told = (
        "Hubs are neighbours of many other samples, so their labels count most. Disagreement is the share of labels"
        " that either the hub or a sample near it has, but not both. Skewness of the numbers of neighbours:"
        f" {shown(facts['skewness'])}."
    )
    return join(notes([told]), table(columns, body, "Hubs, the largest first"))


def _called(finding: Facts) -> str:
    return f"{finding['name']}, row {finding['row']}" if finding["name"] else f"row {finding['row']}"


def _chips(names: Sequence[Any]) -> Markup:
    return join(*(element("span", str(name), class_="chip") for name in names)) if names else Markup("none")
