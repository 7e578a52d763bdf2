"""Severe problems of a data set, reported before a command works with it."""

from __future__ import annotations

from collections.abc import Iterable

from nearlabel.cli import _console
from nearlabel.datasets import Dataset, examine

_REFUSED = ("missing_values", "infinite_values")  # by the command itself, which names the place
_LEAST_ROWS = 50  # shares of fewer rows are too noisy
_OF_DISTANCES = ("ranges_far_apart", "empty_rows")


def print_severe(data: Dataset, *, scales: Iterable[str], searches: Iterable[str], by_neighbors: bool) -> None:
    """Print a line on standard error for each severe finding that needs no search, unless the command is quiet.

    Findings that `scales` and `searches` (the texts of the command's options) already fix are left out. So are
    findings about distances if no method is `by_neighbors`.
    """
    if _console.is_quiet() or data.X.shape[0] < _LEAST_ROWS:
        return
    hidden = {*_REFUSED, *mended(scales, searches), *(() if by_neighbors else _OF_DISTANCES)}
    if data.groups is not None:
        hidden.add("duplicates")  # or the user has better groups
    severe = [finding for finding in examine(data, search=False).severe if finding.kind not in hidden]
    _console.print_notes(f"{data.name}: {finding.sentence} Remedy: {finding.remedy}" for finding in severe)


def mended(scales: Iterable[str], searches: Iterable[str]) -> set[str]:
    """Return the kinds of findings that some scaling of features or some search fixes."""
    by_scales = {"ranges_far_apart"} if any(scale != "none" for scale in scales) else set()
    by_searches = {"empty_rows"} if any("metric=cosine" in search for search in searches) else set()
    return by_scales | by_searches
