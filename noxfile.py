"""The ordinary tests on every supported Python that this machine has, with the newest and the oldest libraries.

`make test-all` runs all; `nox --list` names the sessions. nox finds interpreters on PATH, where those of uv and of the
system are, and those that pyenv has installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
# Some of the oldest supported libraries have no wheels for newer Pythons: there, the oldest that have.
OLDEST = {"3.11": "tests/oldest.txt", "3.12": "tests/oldest.txt", "3.13": "tests/oldest-3.13.txt"}
PYTEST = ["-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile", "--each-value"]

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False  # a session without its Python is reported as skipped


def _show_all_of_pyenv() -> None:
    """Let pyenv run each version that it has; its commands python3.12 and so on fail unless they are selected."""
    if pyenv := shutil.which("pyenv"):
        os.environ.setdefault("PYENV_ROOT", str(Path(pyenv).resolve().parents[1]))  # it looks in the home folder only
        versions = subprocess.run([pyenv, "versions", "--bare"], capture_output=True, text=True, check=True).stdout
        known = [name for name in versions.split() if name.rpartition(".")[0] in PYTHONS]
        os.environ.setdefault("PYENV_VERSION", ":".join(known))


_show_all_of_pyenv()


@nox.session(python=PYTHONS)
@nox.parametrize("libraries", ["newest", "oldest"], ids=["newest", "oldest"])
def tests(session: nox.Session, libraries: str) -> None:
    """Run the ordinary tests; what follows -- is handed to pytest."""
    if libraries == "newest":
        session.install("--editable", ".[test,ann,dask,browser]")
    elif session.python in OLDEST:
        session.install("--constraint", OLDEST[session.python], "--editable", ".[test]")
    else:
        session.skip(f"Python {session.python} has the newest libraries only")
    # One thread of linear algebra in each test process: they fill all cores.
    session.run("python", *PYTEST, *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session(python=PYTHONS[1])
def development(session: nox.Session) -> None:
    """Run the ordinary tests with nightly builds of numpy, scipy and scikit-learn from the index NIGHTLY_INDEX."""
    nightly = os.environ.get("NIGHTLY_INDEX")
    if not nightly:
        session.skip("NIGHTLY_INDEX names no index of nightly builds")
    session.install("--editable", ".[test]")
    session.install("--pre", "--upgrade", "--extra-index-url", nightly, "numpy", "scipy", "scikit-learn")
    session.run("python", *PYTEST, *session.posargs, env={"OMP_NUM_THREADS": "1"})
