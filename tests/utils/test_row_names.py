import pytest

from nearlabel.utils.tables import row_name


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({}, "row 464"),
        ({"id": "4711", "title": "Abbey Road"}, "Abbey Road (id 4711)"),
        ({"title": "Abbey Road", "url": "http://x", "song_ID": "4711"}, "Abbey Road (song_ID 4711)"),
        ({"title": "Abbey Road"}, "Abbey Road"),
        ({"title": "Abbey Road", "year": "1969", "label": "Apple"}, "Abbey Road (year 1969)"),
        ({"id": "4711"}, "id 4711"),
        ({"id": "4711", "isrc_id": "GB"}, "id 4711"),
        ({"id": "4711", "title": " "}, "id 4711"),
        ({"id": "", "title": None}, "row 464"),
        ({"title": "two\nlines\x1b[31m"}, "two lines\N{REPLACEMENT CHARACTER}[31m"),
    ],
)
def test_names(kept, expected):
    """A title, and the first id or else the next column; blank cells name nothing; all signs can be shown."""
    assert row_name(464, kept) == expected


def test_long_texts_lose_their_middle():
    """Title and id each for itself, so that the id is seen."""
    assert row_name(0, {"id": "x" * 99 + "y", "title": "a" * 50 + "z"}, 10) == "aaaa…aaaaz (id xxxx…xxxxy)"
