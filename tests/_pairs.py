"""Few combinations of parameters in which each value still occurs, or every pair of values meets."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import combinations, product
from typing import Any


def every_pair(*parameters: Collection[Any]) -> list[tuple[Any, ...]]:
    """Return combinations of one value of each parameter such that any two values of two parameters occur together.

    Most mistakes show with one or two values; the full product is for the one or two classes that matter most.
    Greedy, so not the fewest, but the same in every process.

    >>> every_pair("ab", (1, 2), (True, False))
    [('a', 1, True), ('a', 2, False), ('b', 1, False), ('b', 2, True)]
    """
    choices = [list(values) for values in parameters]
    pairs_in = {chosen: _pairs_in(chosen) for chosen in product(*(range(len(values)) for values in choices))}
    missing = set().union(*pairs_in.values())
    covering = []
    while missing:
        best = max(pairs_in, key=lambda chosen: len(missing & pairs_in[chosen]))
        missing -= pairs_in[best]
        covering.append(best)
    return [tuple(values[i] for values, i in zip(choices, chosen, strict=True)) for chosen in sorted(covering)]


def each_value(cases: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the numbers of some cases, in order, in which each value of each parameter occurs.

    >>> each_value(["ax", "ay", "bx", "by"])
    [0, 3]
    """
    values = [set(enumerate(case)) for case in cases]
    missing: set[tuple[int, Hashable]] = set().union(*values)
    kept = []
    while missing:
        best = max(range(len(cases)), key=lambda number: len(missing & values[number]))
        missing -= values[best]
        kept.append(best)
    return sorted(kept)


def _pairs_in(chosen: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(combinations(enumerate(chosen), 2))
