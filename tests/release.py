"""Build what a release consists of, twice, check it, and test it as users get it: ``make release``.

dist/ then has the source distribution, the wheels and their check sums. Nothing is uploaded (docs/releasing.md). Each
file is installed into a new environment of its own, first without extras, where the command line and a classifier must
work, then, of the wheels, with what the tests need.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from wheels import DIST, ROOT, Built, build, check_kernels, environment, install, run, test

# The example of the documentation's first page; the commands run without any extra.
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
OF_PYTHON = re.compile(rb"\0(_?Py[A-Z_]\w*)(?=\0)")


def main() -> int:
    """Return 0 if all was built, checked and tested."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="of each test's cases run one in N")
    parser.add_argument(
        "--pythons", type=str.split, default=[sys.executable], metavar="COMMANDS", help="which try and test the files"
    )
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders of tests; default: all")
    options = parser.parse_args()
    check_tree()
    with tempfile.TemporaryDirectory() as temporary:
        built, again = (build(Path(temporary) / each) for each in ("first", "second"))
        check_equal([built.sources, *built.wheels], [again.sources, *again.wheels])
        check(built)
        files = {built.sources: "built", **built.wheels}
        for made_by, (file, state) in itertools.product(options.pythons, files.items()):
            python = try_out(file, state, built.unpacked, made_by)
            if file in built.wheels:
                install(python, f"nearlabel[test] @ {file.as_uri()}")
                test(python, built.unpacked, "--one-in", str(options.one_in), *options.tests)
        hand_over(built.sources, *built.wheels)
    return 0


def check_tree() -> None:
    """Raise SystemExit if files are not committed: the source distribution would have them."""
    command = ["git", "status", "--porcelain"]
    changed = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    if changed:
        raise SystemExit(f"The working tree must be clean, got {len(changed)} changes: {changed[0][3:]} ...")


def check_equal(files: Sequence[Path], again: Sequence[Path]) -> None:
    """Raise SystemExit unless files that were built twice are equal: else nobody could verify them by a build."""
    for file, other in zip(files, again, strict=True):
        if (file.name, file.read_bytes()) != (other.name, other.read_bytes()):
            raise SystemExit(f"Two builds must give equal files, got others: {file} and {other}.")
        print(f"{file.name}: built twice, equal.")


def check(built: Built) -> None:
    """Compare the names on offer with their file, and run the tools that read files; each fails on what it finds."""
    run(sys.executable, str(ROOT / "tests" / "api.py"), "--check")
    wheels = [str(file) for file in built.wheels]
    run(sys.executable, "-m", "twine", "check", "--strict", str(built.sources), *wheels)
    run(sys.executable, "-m", "check_wheel_contents", *wheels)
    run("cffconvert", "--validate", "--infile", str(built.unpacked / "CITATION.cff"))
    for file in built.wheels:
        with zipfile.ZipFile(file) as wheel:
            libraries = [name for name in wheel.namelist() if name.endswith((".so", ".dylib", ".pyd"))]
            found = sorted({symbol for name in libraries for symbol in python_symbols(wheel.read(name))})
        if found:
            raise SystemExit(f"A library of a wheel for every Python must ask nothing of Python, got {found[0]}.")
        print(f"{file.name}: {len(libraries)} compiled libraries, which ask nothing of Python.")


def python_symbols(library: bytes) -> list[str]:
    """Return the names of Python's C interface in a compiled library: an extension has some, a plain library none."""
    return [symbol.decode() for symbol in OF_PYTHON.findall(library)]


def try_out(file: Path, state: str, unpacked: Path, made_by: str) -> str:
    """Install a file without extras into a new environment of a Python, try it, and return the environment's Python."""
    python = environment(Path(tempfile.mkdtemp(dir=file.parent)), made_by)
    install(python, str(file), NEARLABEL_BUILD_KERNELS="required")  # of no effect on wheels, which are built
    with tempfile.TemporaryDirectory() as elsewhere:
        check_kernels(python, state, Path(elsewhere))
        run(str(Path(python).with_name("nearlabel")), "versions", cwd=Path(elsewhere))
        example = EXAMPLE.search((unpacked / "docs" / "index.md").read_text(encoding="utf-8"))[1]
        run(python, "-c", example, cwd=Path(elsewhere))
    return python


def hand_over(*files: Path) -> None:
    """Copy the files into dist/, alone there, with their check sums as sha256sum writes them."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for file in files:
        print("Built, checked and tested:", shutil.copy(file, DIST))
    (DIST / "SHA256SUMS").write_text(check_sums(files), encoding="utf-8", newline="\n")


def check_sums(files: Iterable[Path]) -> str:
    """Return a line for each file."""
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


if __name__ == "__main__":
    sys.exit(main())
