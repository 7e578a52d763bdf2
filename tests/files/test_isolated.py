import time
from pathlib import Path

import pytest

from nearlabel.files.untrusted import FAILED, output_of

FILE = Path("a.parquet")


@pytest.fixture
def run(tmp_path):
    """Run Python code as a script, and return what it writes."""

    def _run(code, *arguments):
        script = tmp_path / "script.py"
        script.write_text(code)
        with output_of(script, arguments, path=FILE, expected="whole") as output:
            return output.read()

    return _run


def test_what_it_writes(run):
    """Is handed on, with arguments of any kind; the modules of this process are found."""
    code = "import sys, numpy, nearlabel; sys.stdout.write(repr(sys.argv[1:]))"
    assert run(code, "a b", "ü") == b"['a b', '\xc3\xbc']"


def test_a_crash(run):
    """Ends the script, not this process, also after a part of the output."""
    match = r"^a\.parquet must be whole, got one at which its reader crashed \(exit code -6\)\.$"
    for code in ("import os; os.abort()", "import os; os.write(1, b'half'); os.abort()"):
        with pytest.raises(ValueError, match=match):
            run(code)


@pytest.mark.parametrize(("reason", "message"), [
    ("OSError:\n bad.", r"^a\.parquet must be whole, got a damaged one \(OSError: bad\)\.$"),
    ("a.parquet: row 3 is bad.", r"^a\.parquet: row 3 is bad\.$"),
])  # fmt: skip
def test_a_failure(run, reason, message):
    """Its reason is told, once with the name of the file."""
    with pytest.raises(ValueError, match=message):
        run(f"import sys; sys.stderr.write({reason!r}); sys.exit({FAILED})")


def test_an_error_of_what_reads(tmp_path):
    """Is one of the script if that has failed, else its own."""
    script = tmp_path / "script.py"

    def read():
        with output_of(script, (), path=FILE, expected="whole") as output:
            output.read()
            raise ValueError("no beginning")

    for code, message in (("import os; os.abort()", "its reader crashed"), ("", "no beginning")):
        script.write_text(code)
        with pytest.raises(ValueError, match=message):
            read()


def test_who_stops_early(tmp_path):
    """Ends the script: nobody waits for it."""
    script = tmp_path / "script.py"
    script.write_text("import time; print(1, flush=True); time.sleep(60)")

    def lines():
        with output_of(script, (), path=FILE, expected="whole") as output:
            yield output.readline()
            yield output.readline()

    start = time.monotonic()
    reading = lines()
    assert next(reading).strip() == b"1"
    reading.close()
    assert time.monotonic() - start < 30


def test_a_python_without_a_program(run, monkeypatch):
    """One that is a part of another program says what to do."""
    monkeypatch.setattr("nearlabel.files.untrusted.sys.executable", "")
    with pytest.raises(OSError, match=r"isolate must be False for a\.parquet in a Python without the path of its"):
        run("")
