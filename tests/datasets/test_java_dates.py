"""Dates in the formats of Java's SimpleDateFormat; the expected values are those of Java with setLenient(false)."""

from datetime import datetime

import pytest

from nearlabel.datasets._java_dates import DEFAULT_FORMAT, date_reader


@pytest.mark.parametrize(
    ("format_", "text", "expected"),
    [
        (DEFAULT_FORMAT, "2024-02-03T04:05:06", datetime(2024, 2, 3, 4, 5, 6)),
        ("yyyy-MM-dd HH:mm:ss", " 2024-02-29 23:59:59 ", datetime(2024, 2, 29, 23, 59, 59)),
        ("yyyyMMdd", "20240203", datetime(2024, 2, 3)),
        ("yyyyMMddHHmmssSSS", "20240203040506007", datetime(2024, 2, 3, 4, 5, 6, 7000)),
        ("d/M/yyyy", "3/2/2024", datetime(2024, 2, 3)),
        ("dd.MM.yyyy", "03.02.2024", datetime(2024, 2, 3)),
        ("d MMM yyyy", "3 feb 2024", datetime(2024, 2, 3)),
        ("MMMM d, yyyy", "September 30, 1999", datetime(1999, 9, 30)),
        ("dd 'of' MMMM yyyy", "03 of May 2024", datetime(2024, 5, 3)),
        ("h:mm a", "12:30 AM", datetime(1970, 1, 1, 0, 30)),
        ("hh:mm a", "12:30 pm", datetime(1970, 1, 1, 12, 30)),
        ("K:mm a", "0:30 PM", datetime(1970, 1, 1, 12, 30)),
        ("k:mm", "24:30", datetime(1970, 1, 1, 0, 30)),
        ("yyyy", "2024", datetime(2024, 1, 1)),
        ("yyyy-MM", "2024-12", datetime(2024, 12, 1)),
        ("EEE MMM dd HH:mm:ss Z yyyy", "Sat Feb 03 04:05:06 +0200 2024", datetime(2024, 2, 3, 2, 5, 6)),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-02-03T04:05:06-05:30", datetime(2024, 2, 3, 9, 35, 6)),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2024-02-03T04:05:06Z", datetime(2024, 2, 3, 4, 5, 6)),
        ("EEE MMM dd HH:mm:ss zzz yyyy", "Sat Feb 03 04:05:06 GMT 2024", datetime(2024, 2, 3, 4, 5, 6)),
        ("HH 'o''clock' z", "04 o'clock GMT", datetime(1970, 1, 1, 4)),
    ],
)
def test_formats(format_, text, expected):
    """The usual letters."""
    assert date_reader(format_)(text) == expected


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("yyyy-MM-dd", "2023-02-29"),
        ("yyyy-MM-dd", "2024-02-03 04:05"),
        ("yyyy-MM-dd", "24-02-03"),
        ("yy-MM-dd", "24-02-03"),
        ("yyyy-MM-dd", "\u0662024-02-03"),
        ("yyyy-MM-dd", ""),
        ("HH:mm", "24:00"),
        ("h:mm a", "0:30 AM"),
        ("EEE dd.MM.yyyy", "Mon 03.02.2024"),
        ("HH Z", "04 "),
        ("HH Z", "04 +01:00"),
        ("HH X", "04 +0530"),
        ("HH Z", "04 +9900"),
        ("yyyy HH Z", "0001 04 +0900"),
        ("d MMM yyyy", "3 Mai 2024"),
    ],
)
def test_no_dates(format_, text):
    """Whatever is written in another way, is on no calendar, or has a year without its century."""
    with pytest.raises(ValueError, match=r"^.+"):
        date_reader(format_)(text)


@pytest.mark.parametrize(
    ("format_", "problem"),
    [
        ("YYYY-MM-dd", "in which 'YYYY' is not known"),
        ("yyyy-DDD", "in which 'DDD' is not known"),
        ("yyyy-ww", "'ww'"),
        ("HH:mm:ss.SSSSSS", "'SSSSSS'"),
        ("HH:mm:ss.S", "'S'"),
        ("yyyy-MM-dd'T", "a quote is not closed"),
        ("yyyy yyyy", "no part may occur twice"),
        ("HH z Z", "no part may occur twice"),
        ("h:mm a kk", "no part may occur twice"),
        ("HH zz", "in which 'zz' is not known"),
        ("hh:mm", "AM or PM goes with hours up to 12"),
        ("HH:mm a", "AM or PM goes with hours up to 12"),
        ("'T'", "no part"),
        ("-" * 61, "more than 60 characters"),
    ],
)
def test_unknown_formats(format_, problem):
    """Letters that mean nothing here, or something else than most believe, are refused."""
    with pytest.raises(ValueError, match=problem):
        date_reader(format_)
