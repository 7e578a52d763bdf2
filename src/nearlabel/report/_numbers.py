"""Numbers on a page: three significant digits, thousands separated, a dash for undefined values."""

from __future__ import annotations

UNDEFINED = "–"


def shown(value: float | str | None) -> str:
    """Return a number as text.

    Examples
    --------
    >>> shown(0.5), shown(1234567), shown(1234.5), shown(0.00001234), shown(None)
    ('0.500', '1,234,567', '1,234', '1.23e-05', '–')
    """
    if value is None or isinstance(value, str):
        return UNDEFINED if value is None else value
    if isinstance(value, int) or abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if value else "0"


def shown_threshold(value: float | str | None) -> str:
    """Return a threshold; an infinite one as words."""
    return {"inf": "never", "-inf": "always"}.get(str(value)) or shown(value)


def shown_range(numbers: list[int]) -> str:
    """Return ``1 to 30`` for consecutive numbers, otherwise the numbers.

    Examples
    --------
    >>> shown_range([1, 2, 3]), shown_range([5, 10]), shown_range([10])
    ('1 to 3', '5, 10', '10')
    """
    whole = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))
