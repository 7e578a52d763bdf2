"""Critical difference diagrams: methods on a line of mean ranks, those that do not differ under one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.report._axes import CHARACTER, LEFT, RIGHT, WIDTH, picture
from nearlabel.report._markup import Markup, element, join
from nearlabel.utils.truncate import shortened

_STEP, _TOP = 17, 40
_FIRST_BAR, _NEXT_BAR, _MOST_BARS = 8, 6, 5


def draw_mean_ranks(test: Mapping[str, Any]) -> Markup:
    """Return the diagram of J. Demšar, one line a method, best first: as readable on a phone as with many methods.

    Parameters
    ----------
    test : mapping
        ``mean_ranks`` of at least two methods, ``alike``, the groups that do not differ, ``critical_difference`` and
        ``title``, as `nearlabel.report.run_facts` gives them.

    Returns
    -------
    Markup
        The picture.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning Research 7,
    2006.
    """
    ranks: Mapping[str, float] = test["mean_ranks"]
    methods = sorted(ranks, key=lambda method: ranks[method])
    height = _TOP + _STEP * len(methods) + 6
    bars = [_bar(group, ranks, methods, number) for number, group in enumerate(test["alike"])]
    each = ", ".join(f"{method} {ranks[method]:.2f}" for method in methods)
    parts = [_scale(len(methods), test["critical_difference"], height), *bars]
    parts += [_method(method, ranks[method], line, len(methods), len(bars)) for line, method in enumerate(methods)]
    return picture(f"Mean ranks, {test['title']}", f"Mean ranks: {each}.", *parts, height=height)


def _x(rank: float, n_methods: int) -> float:
    return LEFT + (rank - 1) / (n_methods - 1) * (WIDTH - LEFT - RIGHT - 20)


def _y(line: int) -> float:
    return _TOP + _STEP * (line + 0.5)


def _scale(n_methods: int, difference: float | None, height: int) -> Markup:
    every = -(-n_methods // 12)
    marks = [
        join(
            element("line", x1=_x(rank, n_methods), x2=_x(rank, n_methods), y1=_TOP, y2=height - 6, class_="grid"),
            element("text", rank, x=_x(rank, n_methods), y=_TOP - 5, class_="tx"),
        )
        for rank in range(1, n_methods + 1, every)
    ]
    if difference is None:
        return join(*marks)
    end = min(_x(1 + difference, n_methods), float(WIDTH - RIGHT))
    width = element("line", x1=_x(1, n_methods), x2=end, y1=16, y2=16, class_="line s1")
    return join(*marks, width, element("text", f"critical difference {difference:.2f}", x=LEFT, y=11))


def _bar(group: Sequence[str], ranks: Mapping[str, float], methods: Sequence[str], number: int) -> Markup:
    """Return a bar from the first to the last method of a group, each group a little to the right of the one before."""
    lines = sorted(methods.index(method) for method in group)
    x = _FIRST_BAR + _NEXT_BAR * (number % _MOST_BARS)
    return element("line", x1=x, x2=x, y1=_y(lines[0]) - 5, y2=_y(lines[-1]) + 5, class_="group")


def _method(method: str, rank: float, line: int, n_methods: int, n_bars: int) -> Markup:
    """Return a dot and the name beside it, towards the middle, as much of it as there is room for."""
    x, right = _x(rank, n_methods), rank > (1 + n_methods) / 2
    room = x - _FIRST_BAR - _NEXT_BAR * min(n_bars, _MOST_BARS) if right else WIDTH - x
    words = f"  {rank:.2f}"
    name = shortened(method, int((room - 8) / CHARACTER) - len(words))
    text = element("text", name + words, x=x - 8 if right else x + 8, y=_y(line) + 4, class_="ty" if right else None)
    return element("g", element("title", method), element("circle", cx=x, cy=_y(line), r=4.0, class_="dot s0"), text)
