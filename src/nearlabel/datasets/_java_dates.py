"""Dates in the formats of Java's SimpleDateFormat, which ARFF files declare."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import zip_longest

DEFAULT_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"
_LONGEST = 60  # letters of a format
_PART = re.compile(r"'((?:[^']|'')*+)'|([A-Za-z])\2*+|[^A-Za-z']", re.DOTALL)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ZONES = {  # by the letters of the format, as Java takes them
    "X": r"Z|[-+]\d\d",
    "XX": r"Z|[-+]\d{4}",
    "XXX": r"Z|[-+]\d\d:\d\d",
    "Z": r"[-+]\d{4}",
    **dict.fromkeys(("z", "zzz"), r"UTC|GMT(?:[-+]\d\d:\d\d)?+|[-+]\d{4}"),
}
_NUMBERS = "yMdHkKhmsS"


def date_reader(format_: str) -> Callable[[str], datetime]:
    """Return the function that reads a date in a format; it raises ValueError for any other text.

    A year has four digits, since two have no century. Parts that the format lacks are those of 1970-01-01, 00:00. A
    time with a zone is moved to UTC, as everywhere in this package.

    Raises
    ------
    ValueError
        If the format has a letter that means nothing here; the message is a clause on the format.

    Examples
    --------
    >>> date_reader("d MMM yyyy")("3 Feb 2024")
    datetime.datetime(2024, 2, 3, 0, 0)
    """
    if len(format_) > _LONGEST:
        raise ValueError(f"which has more than {_LONGEST} characters")
    parts = list(_PART.finditer(format_))
    if sum(len(part[0]) for part in parts) < len(format_):
        raise ValueError("in which a quote is not closed")
    pattern = "".join(_pattern(part, after) for part, after in zip_longest(parts, parts[1:]))
    letters = "".join(part[2] or "" for part in parts)
    once = ["z" if letter in "zZX" else "h" if letter in "hHkK" else letter for letter in letters]
    if not once or len(set(once)) < len(once) or ("a" in letters) != ("h" in letters or "K" in letters):
        raise ValueError("where no part may occur twice, and AM or PM goes with hours up to 12")
    written = re.compile(pattern, re.ASCII)

    def read(text: str) -> datetime:
        match = written.fullmatch(text.strip())
        if match is None:
            raise ValueError("another format")
        return _date({letter: value for letter, value in match.groupdict().items() if value is not None})

    return read


def _pattern(part: re.Match[str], after: re.Match[str] | None) -> str:
    """Return the pattern of one part: a number before another number has as many digits as letters."""
    letter, width = part[2], len(part[0])
    if letter is None:
        return re.escape("'" if part[0] == "''" else (part[1] or part[0]).replace("''", "'"))
    if letter == "a":
        return r"(?P<a>[AaPp][Mm])"
    if part[0] in _ZONES:
        return rf"(?P<{letter}>{_ZONES[part[0]]})"
    if letter == "E" or (letter == "M" and width > 2):
        names = _DAYS if letter == "E" else _MONTHS
        return rf"(?P<{letter}>(?i:{'|'.join(name if width > 3 else name[:3] for name in names)}))"
    if letter not in _NUMBERS or (letter == "S" and width != 3) or (letter not in "yS" and width > 2):
        raise ValueError(f"in which {part[0]!r} is not known")
    if letter in "yS":
        return rf"(?P<{letter}>\d{{{4 if letter == 'y' else 3}}})"
    is_fixed = after is not None and after[2] is not None and after[2] in _NUMBERS
    return rf"(?P<{letter}>\d{{{width}}})" if is_fixed else rf"(?P<{letter}>\d{{1,2}}+)"


def _date(parts: dict[str, str]) -> datetime:
    """Return the date of the written parts, by letter; raise ValueError if there is none."""
    numbers = {letter: int(value) for letter, value in parts.items() if value.isdecimal()}
    month = parts.get("M", "1")
    date = datetime(
        numbers.get("y", 1970),
        int(month) if month.isdecimal() else [name[:3].lower() for name in _MONTHS].index(month[:3].lower()) + 1,
        numbers.get("d", 1),
        _hour(parts, numbers),
        numbers.get("m", 0),
        numbers.get("s", 0),
        1000 * numbers.get("S", 0),
    )
    if "E" in parts and parts["E"][:3].lower() != _DAYS[date.weekday()][:3].lower():
        raise ValueError("another day of the week")
    zone = next((parts[letter] for letter in "zZX" if letter in parts), "UTC")
    try:
        return date - _offset(zone)
    except OverflowError as error:
        raise ValueError("a time that is not in the years 1 to 9999") from error


def _hour(parts: dict[str, str], numbers: dict[str, int]) -> int:
    """Return the hour from 0 to 23; each letter counts from 0 or 1."""
    for letter, least, most in (("k", 1, 24), ("h", 1, 12), ("K", 0, 11)):
        if letter in numbers:
            if not least <= numbers[letter] <= most:
                raise ValueError("no hour")
            is_later = parts.get("a", "").lower() == "pm"
            return numbers[letter] % (24 if letter == "k" else 12) + 12 * is_later
    return numbers.get("H", 0)


def _offset(zone: str) -> timedelta:
    """Return how much a zone is ahead of UTC."""
    digits = re.sub(r"\D", "", zone)
    hours, minutes = int(digits[:2] or 0), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no zone")
    return timedelta(hours=hours, minutes=minutes) * (-1 if "-" in zone else 1)
