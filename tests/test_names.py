"""What the library declares is written where it is read without loading it; a method is a file and a line."""

import pytest

from names import SOURCE, written


def test_every_list_follows_the_library():
    """What `make names` writes is what is there."""
    stale = [str(file.relative_to(SOURCE)) for file, text in written() if file.read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)} is not what the library declares. Hint: make names."
