"""Draw a chart of dots as SVG: a line for each name, a dot for each value; for light and dark pages, and small ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, MARGIN, TOP, LINE = 560, 20, 84, 40
# Okabe and Ito's colours, as in nearlabel.plots; the dark ones are those of nearlabel.report.
_STYLE = """<style>
text { fill: #1c1f23; font: 15px system-ui, sans-serif; paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.soft { fill: #5b636d; font-size: 13px }
.title { font-size: 17px; font-weight: 600 }
.paper { fill: #ffffff } .rule { stroke: #d8dce1 } .mark { stroke: #5b636d }
.s0 { fill: #0072b2 } .s1 { fill: #d55e00 } .s2 { fill: #009e73 } .s3 { fill: #b0549b }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ec; stroke: #15181c } .soft { fill: #a0a8b1 } .paper { fill: #15181c } .rule { stroke: #363c44 }
  .mark { stroke: #a0a8b1 } .s0 { fill: #5eb1ff } .s1 { fill: #ff9457 } .s2 { fill: #4bd0a3 } .s3 { fill: #e294cf }
}
</style>"""
# Forms differ, too, for readers who do not see the colours.
_FORMS = ("M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z", "M-5-5h10v10h-10z", "M0-7L6.5 5h-13z", "M0-7L7 0L0 7L-7 0z")


class Chart(NamedTuple):
    """What is drawn: for each name a value of each series, or None; ticks along the bottom, some of them marked."""

    title: str
    series: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    axis: str
    ticks: tuple[float, ...]
    marked: tuple[float, ...] = ()
    logarithmic: bool = False


def svg_of(chart: Chart) -> str:
    """Return the picture."""
    bottom = TOP + LINE * len(chart.rows)
    height = bottom + 48
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    parts = [head, f"<title>{escape(chart.title)}</title>", _STYLE, '<rect class="paper" width="100%" height="100%"/>']
    parts.append(f'<text class="title" x="{MARGIN}" y="30">{escape(chart.title)}</text>')
    place = _scale(chart)
    parts += [*_legend(chart.series), *_axis(chart, place, bottom)]
    for number, (name, values) in enumerate(chart.rows):
        parts += _row(name, values, place, TOP + LINE * number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(chart: Chart) -> Callable[[float], float]:
    """Return the function from a value to its place."""
    form = math.log if chart.logarithmic else float
    low, high = form(chart.ticks[0]), form(chart.ticks[-1])
    return lambda value: MARGIN + (WIDTH - 2 * MARGIN) * (form(value) - low) / (high - low)


def _legend(series: Sequence[str]) -> Iterator[str]:
    x = MARGIN
    for number, name in enumerate(series):
        yield f'<path class="s{number}" transform="translate({x + 7} 53)" d="{_FORMS[number]}"/>'
        yield f'<text x="{x + 20}" y="58">{escape(name)}</text>'
        x += 46 + 8 * len(name)


def _axis(chart: Chart, place: Callable[[float], float], bottom: float) -> Iterator[str]:
    for tick in chart.ticks:
        x, style = place(tick), 'class="mark" stroke-width="2"' if tick in chart.marked else 'class="rule"'
        yield f'<path {style} d="M{x:.1f} {TOP - 12}V{bottom}"/>'
        yield f'<text class="soft" text-anchor="middle" x="{x:.1f}" y="{bottom + 17}">{tick:g}</text>'
    yield f'<text class="soft" text-anchor="middle" x="{WIDTH / 2:g}" y="{bottom + 37}">{escape(chart.axis)}</text>'


def _row(name: str, values: Sequence[float | None], place: Callable[[float], float], y: float) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="{y + 7}" font-size="14">{escape(name)}</text>'
    yield f'<path class="rule" d="M{MARGIN} {y + 21}H{WIDTH - MARGIN}"/>'
    for number, value in reversed(list(enumerate(values))):
        if value is not None:
            yield f'<path class="s{number}" transform="translate({place(value):.1f} {y + 21})" d="{_FORMS[number]}"/>'
