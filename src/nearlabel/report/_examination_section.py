"""The section with findings in the data, on pages of runs and models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.report._markup import Markup, element, join
from nearlabel.report._numbers import shown
from nearlabel.report._tables import Column, notes, table

_COUNTED = {"severe": ("severe", "severe"), "warning": ("warning", "warnings"), "note": ("note", "notes")}
_SEVERE = " Severe ones certainly affect predictions or their measured quality."
_TITLES = ("finding", "severity", "description", "remedy", "evidence")
_OPTION = re.compile(r"(--[a-z-]+)")


def examination_section(examination: Mapping[str, Any]) -> Markup:
    """Return the findings with remedies, as a table or a sentence, and notes on parts that were not examined."""
    findings = examination["findings"]
    words = [f"{_examined(examination)}: {_counts(findings)}", *examination["notes"]]
    if not findings:
        return notes(words)
    rows = [
        (
            one["kind"].replace("_", " "),
            element("span", one["severity"], class_=one["severity"]),
            one["sentence"].replace(" %", "\N{NO-BREAK SPACE}%"),
            _remedy(one["remedy"]),
            _evidence(one["evidence"]),
        )
        for one in findings
    ]
    columns = [Column(title, numeric=False) for title in _TITLES]
    told = table(columns, rows, f"Findings in {examination['name']}, the most severe first", filtered="findings")
    return join(notes(words), element("div", told, class_="prose"))


def _examined(examination: Mapping[str, Any]) -> str:
    part = "training samples" if examination["training"] else "samples"
    return f"In the {examination['n_rows']:,} {part} of {examination['name']}"


def _counts(findings: Sequence[Mapping[str, Any]]) -> str:
    if not findings:
        return "nothing was found that keeps neighbours from being good ones."
    counts = Counter(one["severity"] for one in findings)
    each = [f"{counts[key]} {words[counts[key] > 1]}" for key, words in _COUNTED.items() if counts[key]]
    return f"{', '.join(each)}.{_SEVERE if counts['severe'] else ''}"


def _remedy(text: str) -> Markup:
    """Return text with command-line options marked up, so that they are not broken at line ends."""
    return join(*(element("code", part) if _OPTION.fullmatch(part) else part for part in _OPTION.split(text)))


def _evidence(evidence: Mapping[str, int | float | str]) -> str:
    return "; ".join(f"{name.replace('_', ' ')}: {shown(value)}" for name, value in evidence.items())
