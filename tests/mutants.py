"""Break the library on purpose, in one place at a time, and check that a test fails: `make mutants`.

The list is `mutants.toml` beside this file. Each mutant replaces some text of one file in a copy of the sources, and
runs the tests that should notice on that copy; the working tree is never changed. A mutant that no test notices (a
survivor) is a promise that nothing checks: write the test, or give the reason under `survives`.

    python tests/mutants.py                 all mutants, one process for each core
    python tests/mutants.py votes f32       those whose name contains one of the words
    python tests/mutants.py --jobs 1
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
KERNELS = "kernels/"  # files there are compiled anew
MOST_SECONDS = 600  # a mutant may never end: one that takes so long is noticed
TESTS_PASS, A_TEST_FAILED = 0, 1  # exit codes of pytest; others mean that it could not run the tests


@dataclass(frozen=True)
class Mutant:
    """One mistake: in `file` of the package or of the kernels, `old` becomes `new`.

    One of `tests` (paths, or nodes) must notice.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""  # why no test can notice

    def path(self, root: Path) -> Path:
        """Return the file in a copy of the project."""
        return root / self.file if self.file.startswith(KERNELS) else root / "src" / "nearlabel" / self.file

    def fault(self) -> str | None:
        """Return what is wrong with this entry of the list, None if it can be run."""
        path = self.path(ROOT)
        if not path.is_file():
            return f"{self.name}: there is no {self.file}"
        if (times := path.read_text().count(self.old)) != 1:
            return f"{self.name}: the old text must occur once in {self.file}, it occurs {times} times: {self.old!r}"
        missing = [test for test in self.tests if not (ROOT / test.partition("::")[0]).exists()]
        return f"{self.name}: there is no {missing[0]}" if missing else None


def read_mutants() -> list[Mutant]:
    """Return the mutants of the list."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["mutant"]
    return [Mutant(**entry | {"tests": tuple(entry["tests"])}) for entry in listed]


def outcome(mutant: Mutant) -> tuple[str, str]:
    """Run the tests of a mutant; return "killed", "survived" or "broken", and what says so."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(SOURCES, sources)
        if mutant.file.startswith(KERNELS):
            shutil.copytree(ROOT / KERNELS, Path(folder) / KERNELS)
            shutil.copy(ROOT / "build_kernels.py", folder)
        path = mutant.path(Path(folder))
        path.write_text(path.read_text().replace(mutant.old, mutant.new))
        if mutant.file.startswith(KERNELS) and not _builds(Path(folder)):
            return "broken", "the kernels cannot be built"
        try:
            done = run_tests(mutant.tests, sources, MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return "killed", f"no end within {MOST_SECONDS} s"
    if done.returncode == TESTS_PASS:
        return "survived", f"{', '.join(mutant.tests)} pass"
    if done.returncode == A_TEST_FAILED:
        failed = re.search(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
        return "killed", failed[1] if failed else "a test failed"
    return "broken", f"pytest ended with {done.returncode}: {done.stdout[-500:]}"


def _builds(root: Path) -> bool:
    command = [sys.executable, root / "build_kernels.py", root / "src" / "nearlabel" / "neighbors"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run_tests(tests: Iterable[str], sources: Path, seconds: float | None) -> subprocess.CompletedProcess[str]:
    """Run tests on some sources until the first fails."""
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(sources)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=seconds
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run mutants, print what becomes of each, and return 1 unless all end as the list says."""
    parser = argparse.ArgumentParser(description="Check that the tests notice mistakes made on purpose.")
    parser.add_argument("words", nargs="*", help="run only mutants whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time (default: cores)")
    parser.add_argument("--trust", action="store_true", help="do not first run the tests on the sources as they are")
    options = parser.parse_args(arguments)
    mutants = [m for m in read_mutants() if not options.words or any(word in m.name for word in options.words)]
    if faults := [fault for mutant in mutants if (fault := mutant.fault())]:
        print("The list does not fit the sources:", *faults, sep="\n  ")
        return 1
    tests = {test for mutant in mutants for test in mutant.tests}
    if not options.trust and (plain := run_tests(sorted(tests), SOURCES, None)).returncode != TESTS_PASS:
        print("The tests must pass on the sources as they are:", plain.stdout[-2000:], sep="\n")
        return 1
    start, n_unexpected = perf_counter(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (ended, why) in zip(mutants, pool.map(outcome, mutants), strict=True):
            expected = "survived" if mutant.survives else "killed"
            n_unexpected += ended != expected
            print(f"{ended:9s}{'' if ended == expected else 'NOT EXPECTED  '}{mutant.name}: {why}", flush=True)
    print(f"{len(mutants)} mutants, {n_unexpected} not as expected, {perf_counter() - start:.0f} s.")
    return int(n_unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())
