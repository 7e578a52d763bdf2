"""The process that the command is: how it ends when it is told to."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def process(folder, *arguments):
    """Run Python on our sources, after those of a folder, and return what it leaves.

    Whoever runs the tests in the background of a shell ignores interruptions; the process does not inherit that.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, *arguments]
    start = {"env": environment, "cwd": folder, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    return subprocess.run(command, **start, capture_output=True, text=True, check=False)


def test_the_installed_command():
    """It is what is tested here."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"nearlabel": "nearlabel.__main__:main"}


def test_interrupted_while_it_is_imported(tmp_path):
    """No traceback: the process ends as others do."""
    (tmp_path / "numpy.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    done = process(tmp_path, "-m", "nearlabel", "describe", "multidigits")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.long
def test_an_interruption_that_is_ignored_stays_so(tmp_path):
    """As in the background, of a shell without job control."""
    (tmp_path / "signal_then_numpy.py").write_text(
        "import os, signal, runpy\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "runpy.run_module('nearlabel', run_name='__main__')\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    code = "import sys; sys.argv = ['nearlabel', '--version']; import signal_then_numpy"
    done = process(tmp_path, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("sign", "code", "said"), [("SIGTERM", 143, ""), ("SIGINT", 130, "nearlabel: interrupted.\n")])
def test_ended_while_it_writes(tmp_path, sign, code, said):
    """What was begun is deleted."""
    (tmp_path / "ended.py").write_text(
        "import os, signal, sys, time, types\n"
        "from pathlib import Path\n"
        "from nearlabel import __main__\n"
        "from nearlabel.files.atomic_file import whole_file\n"
        "def write():\n"
        "    with whole_file(Path('m.csv')) as partial:\n"
        "        assert partial.exists()\n"
        f"        os.kill(os.getpid(), signal.{sign})\n"
        "        time.sleep(60)\n"
        "sys.modules['nearlabel.cli'] = types.SimpleNamespace(main=write)\n"  # the command line takes a second to load
        "sys.exit(__main__.main())\n"
    )
    done = process(tmp_path, "-B", "ended.py")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)
    assert [file.name for file in tmp_path.iterdir()] == ["ended.py"]
