import errno
import struct
import zlib
from pathlib import Path

import pytest

from nearlabel.files.untrusted import damage_named

FILE = Path("a.npz")


@pytest.mark.parametrize(
    "error",
    [zlib.error("bad"), struct.error("bad"), RecursionError("bad"), KeyError("bad"), OSError(errno.EINVAL, "bad")],
)
def test_whatever_a_library_raises(error):
    """One ValueError names the file, and its cause stays to be seen."""
    match = r"^a\.npz must be whole, got a damaged one \(.*bad.*\)\.$"
    with pytest.raises(ValueError, match=match) as caught, damage_named(FILE, "whole"):
        raise error
    assert caught.value.__cause__ is error


def test_memory():
    """A file that asks for all memory is told apart."""
    match = r"a\.npz must be whole, got one that needs more memory than is available"
    with pytest.raises(ValueError, match=match), damage_named(FILE, "whole"):
        raise MemoryError


@pytest.mark.parametrize("error", [ValueError("a.npz, line 3: bad"), FileNotFoundError(errno.ENOENT, "no", "a.npz")])
def test_errors_that_name_the_file_pass(error):
    """Our own messages are better than a wrapped one."""
    with pytest.raises(type(error)) as caught, damage_named(FILE, "whole"):
        raise error
    assert caught.value is error


def test_an_interruption_passes():
    """Ctrl-C is no damage."""
    with pytest.raises(KeyboardInterrupt), damage_named(FILE, "whole"):
        raise KeyboardInterrupt


def test_a_long_reason_is_cut():
    """A library that repeats the bytes that it chokes on does not fill the terminal."""
    with pytest.raises(ValueError, match="damaged one") as caught, damage_named(FILE, "whole"):
        raise ValueError("x" * 100_000)
    assert len(str(caught.value)) < 300
