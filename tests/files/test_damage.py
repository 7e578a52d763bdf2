import errno
import struct
import zlib
from pathlib import Path

import pytest

from nearlabel.files.untrusted import arrow_errors_named, damage_named
from nearlabel.utils.messages import TooLargeError

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


@pytest.mark.parametrize("named", [arrow_errors_named(FILE), damage_named(FILE, "whole")])
def test_memory(named):
    """Too little memory is no damage: the message says of which file, and what to do."""
    match = r"^the rows of a\.npz must fit into memory, got too little of it\. Hint: leave columns out"
    with pytest.raises(MemoryError, match=match) as caught, arrow_errors_named("another"), named:
        raise MemoryError("malloc of size 64 failed")
    assert str(caught.value.__cause__) == "malloc of size 64 failed"


_OF_ARROW = (
    *("ArrowException", "ArrowInvalid", "ArrowKeyError", "ArrowTypeError", "ArrowIndexError", "ArrowCapacityError"),
    *("ArrowNotImplementedError", "ArrowSerializationError"),
)


@pytest.mark.parametrize("name", _OF_ARROW)
def test_errors_of_pyarrow(name):
    """Whichever of its errors: a ValueError with the name of the file."""
    lib = pytest.importorskip("pyarrow.lib")
    match = rf"^a\.npz must be a table that pyarrow can handle, got {name}: .*bad"
    with pytest.raises(ValueError, match=match) as caught, arrow_errors_named(FILE):
        raise getattr(lib, name)("bad")
    assert type(caught.value) is ValueError
    assert type(caught.value.__cause__).__name__ == name


def test_memory_of_pyarrow():
    """Its own error, or the one for a thread that finds no memory, becomes Python's."""
    lib = pytest.importorskip("pyarrow.lib")
    for error in (lib.ArrowMemoryError("malloc"), lib.ArrowException("Unknown error: Failed to launch worker thread")):
        with pytest.raises(MemoryError, match=r"^the rows of a\.npz must fit") as caught, arrow_errors_named(FILE):
            raise error
        assert type(caught.value) is TooLargeError


@pytest.mark.parametrize(
    "error", [KeyError("x"), ValueError("ours"), OSError(errno.EIO, "disk", "a.npz"), IndexError()]
)
def test_other_errors_pass(error):
    """A mistake of ours must not look like one of the file."""
    with pytest.raises(type(error)) as caught, arrow_errors_named(FILE):
        raise error
    assert caught.value is error


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
