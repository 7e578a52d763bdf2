"""Mistakes that nobody thought of: mutants of the core that cosmic-ray's operators make, drawn at random, and tested.

`mutants.py` runs a list of mistakes that matter; this draws from all that a tool can make, so that the share of those
that the tests notice means something. A survivor that changes no answer is explained in survivors.toml.

    python tests/generated_mutants.py --each 40              40 mutants of each file of the core
    python tests/generated_mutants.py votes --each 0         all of the files whose name contains a word
    python tests/generated_mutants.py --page docs/mutants.md write the figures onto the page
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src") / "nearlabel"
SURVIVORS = Path(__file__).with_name("survivors.toml")
NEVER = (  # mutants of these are no mistakes that anybody makes, or are seen by the compiler of types
    *("core/ExceptionReplacer", "core/VariableReplacer", "core/VariableInserter", "core/RemoveDecorator"),
    *("_Is", "_IsNot", "ReplaceComparisonOperator_Is_", "ReplaceComparisonOperator_IsNot_"),
)
PASSED, FAILED = 0, 1  # exit codes of pytest
WITHOUT_KERNELS = ("neighbors/exact/_candidates.py", "neighbors/exact/_panels.py", "neighbors/exact/_distances.py")
MOST_SECONDS = 900  # a mutant may never end: one that takes so long is noticed
_OF_COUNTS = tuple(
    f"lazy/test_{name}.py"
    for name in ("leave_one_out", "leave_one_out_of_rare_labels", "leave_one_group_out", "left_out", "unknown_labels")
)
_OF_VOTES = ("neighbors/test_votes.py", "lazy/test_labels_in_bytes.py", "lazy/test_weighted_posteriors.py")
_OF_RULES = ("lazy/test_lazy.py", "lazy/test_halves.py", "lazy/test_explanation.py", "lazy/test_unknown_labels.py")
CORE = {  # what decides an answer, and the tests that are meant to notice a mistake there
    "neighbors/votes.py": (
        "neighbors/test_votes.py",
        "lazy/test_labels_in_bytes.py",
        "lazy/test_weighted_posteriors.py",
    ),
    "neighbors/exact/_distances.py": ("neighbors/test_exact_distances.py", "neighbors/test_exact_bits.py"),
    "neighbors/exact/_panels.py": ("neighbors/test_float32_candidates.py", "neighbors/test_exact.py"),
    "neighbors/exact/_candidates.py": ("neighbors/test_float32_candidates.py", "neighbors/test_exact.py"),
    "lazy/_counts.py": _OF_COUNTS,
    "lazy/_mlknn.py": (*_OF_RULES, "lazy/test_leave_one_out.py", "lazy/test_weighted_posteriors.py"),
    "lazy/_brknn.py": (*_OF_RULES, "lazy/test_large_label_spaces.py"),
    "lazy/_lpknn.py": (*_OF_RULES, "lazy/test_leave_one_out.py"),
    "models/decision.py": ("models/test_decision.py", "lazy/test_lazy.py"),
    "thresholds/_frontier.py": ("thresholds/test_frontier.py", "thresholds/test_micro_f.py"),
    "thresholds/_global.py": ("thresholds/test_global_cut.py", "thresholds/test_micro_f.py"),
    "thresholds/_cyclic.py": ("thresholds/test_cyclic.py", "thresholds/test_theorem.py"),
    "metrics/counts.py": ("metrics/test_by_hand.py", "metrics/test_definitions.py", "metrics/test_unknown_cells.py"),
    "metrics/ranking.py": ("metrics/test_by_hand.py", "metrics/test_definitions.py"),
    "datasets/_arff_parts.py": ("datasets/test_arff_cells.py", "datasets/test_arff.py", "datasets/test_nominal.py"),
    "datasets/_svmlight.py": ("datasets/test_svmlight.py", "datasets/test_row_blocks.py"),
    "datasets/_csv_file.py": ("datasets/test_csv_file.py", "datasets/test_csv_rows.py"),
}


# What else must pass before a mutant counts as not noticed: the tests of its package, which take longer.
WIDER = {
    "neighbors": ("neighbors", "lazy"),
    "lazy": ("lazy",),
    "models": ("lazy", "models/test_decision.py"),
    "thresholds": ("thresholds",),
    "metrics": ("metrics",),
    "datasets": ("datasets",),
}


@dataclass(frozen=True)
class Generated:
    """One mutant: the file with one place changed."""

    file: str
    line: int
    old: str
    new: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it in the list of survivors: line numbers move."""
        return self.file, self.old, self.new


def mutants_of(file: str, source: str, each: int, seed: int) -> list[Generated]:
    """Return `each` mutants of a file, at most one a place, drawn at random; all places if it is 0."""
    draw = random.Random(f"{seed} {file}")
    by_place: dict[tuple[object, ...], list[str]] = {}
    for place, text in _all_mutants(source):
        by_place.setdefault(place, []).append(text)
    found = []
    for place in sorted(by_place, key=str):
        text = draw.choice(by_place[place])
        line, old, new = _change(source, text)
        found.append(Generated(file, line, old, new, text))
    kept = sorted(draw.sample(found, each), key=lambda mutant: mutant.line) if 0 < each < len(found) else found
    return sorted(kept, key=lambda mutant: mutant.line)


def _all_mutants(source: str) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield (place and kind, mutated source) of what cosmic-ray can make, but in annotations."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    annotated = _annotation_places(source)
    tree = get_ast(source)
    for name in operator_names():
        if name.startswith(NEVER[:4]) or name.endswith(NEVER[4:6]) or any(part in name for part in NEVER[6:]):
            continue
        operator = get_operator(name)()
        positions = [position for node in ast_nodes(tree) for position in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(positions):
            if start in annotated:
                continue
            text = mutate_code(source, operator, occurrence)
            if text is not None and text != source and _compiles(text):
                yield (start, name.partition("_")[0]), text


def _annotation_places(source: str) -> set[tuple[int, int]]:
    """Return all (line, column) within annotations, in which an operator is no arithmetic."""
    places: set[tuple[int, int]] = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                for line in range(part.lineno, part.end_lineno + 1):
                    first = part.col_offset if line == part.lineno else 0
                    last = part.end_col_offset if line == part.end_lineno else len(lines[line - 1])
                    places.update((line, column) for column in range(first, last + 1))
    return places


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _change(source: str, text: str) -> tuple[int, str, str]:
    """Return the first line that differs, as it was and as it is."""
    old, new = source.splitlines(), text.splitlines()
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            return i1 + 1, " ".join(old[i1:i2]).strip(), " ".join(new[j1:j2]).strip()
    raise ValueError("text must differ from the source")


def explained() -> dict[tuple[str, str, str], str]:
    """Return why each survivor that is known changes no answer."""
    listed = tomllib.loads(SURVIVORS.read_text(encoding="utf-8")).get("survivor", [])
    return {(entry["file"], entry["old"], entry["new"]): entry["why"] for entry in listed}


class Runner:
    """Runs tests on mutants in children of a process that has imported all libraries but nearlabel."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._seconds: dict[str, float] = {}
        for name in ("numpy", "scipy.sparse", "sklearn.neighbors", "sklearn.pipeline", "pandas", "pyarrow", "pytest"):
            __import__(name)

    def time_plain(self, file: str) -> None:
        """Run the tests of a file on the sources as they are, which must pass, and note how long they take."""
        source = (ROOT / PACKAGE / file).read_text(encoding="utf-8")
        [(_, ended, seconds)] = self.outcomes([Generated(file, 0, "", "", source)])
        if ended != "survived":
            raise SystemExit(f"The tests of {file} must pass on the sources as they are, got: {ended}.")
        self._seconds[file] = seconds

    def noticed(
        self, mutants: Sequence[Generated], known: Collection[tuple[str, str, str]]
    ) -> Iterator[tuple[Generated, str]]:
        """Yield (mutant, "killed" or "survived"): by the tests meant to notice, else by those of its package.

        Those of its package take minutes, so survivors that are `known` are not given to them.
        """
        left = []
        for mutant, ended, _ in self.outcomes(mutants):
            if ended == "survived" and mutant.key not in known:
                left.append(mutant)
            else:
                yield mutant, ended
        for mutant, ended, _ in self.outcomes(left, wider=True):
            yield mutant, ended

    def outcomes(self, mutants: Sequence[Generated], *, wider: bool = False) -> Iterator[tuple[Generated, str, float]]:
        """Yield (mutant, "killed" or "survived", seconds) as they end."""
        waiting, running = list(reversed(mutants)), {}
        while waiting or running:
            while waiting and len(running) < self._jobs:
                mutant = waiting.pop()
                folder = tempfile.mkdtemp(prefix="mutant-")
                tests = WIDER[mutant.file.partition("/")[0]] if wider else CORE[mutant.file]
                running[_start(mutant, folder, tests)] = mutant, folder, time.monotonic()
            for pid, (mutant, folder, start) in list(running.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                seconds = time.monotonic() - start
                late = seconds > (MOST_SECONDS if wider else max(60, 10 * self._seconds.get(mutant.file, 60)))
                if not ended and not late:
                    continue
                if not ended:
                    os.killpg(pid, signal.SIGKILL)
                    _, status = os.waitpid(pid, 0)
                del running[pid]
                shutil.rmtree(folder, ignore_errors=True)
                yield mutant, _meaning(status), seconds
            time.sleep(0.02)


def _start(mutant: Generated, folder: str, names: Sequence[str]) -> int:
    """Run the tests of a mutant in a child; return its process id."""
    sources = Path(folder) / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    (sources / "nearlabel" / mutant.file).write_text(mutant.text, encoding="utf-8")
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    os.environ |= {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": folder}
    if mutant.file in WITHOUT_KERNELS:  # they are numpy's engine, which kernels replace
        os.environ["NEARLABEL_KERNELS"] = "off"
    tempfile.tempdir = folder
    sys.path.insert(0, str(sources))
    sys.dont_write_bytecode = True
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import pytest

    os.chdir(ROOT)
    tests = [f"tests/{name}" for name in names]
    code = FAILED
    try:
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--each-value", *tests])
    finally:
        os._exit(int(code))


def _meaning(status: int) -> str:
    """Return what the exit of a child means: tests that cannot even be imported have noticed the mutant."""
    return "survived" if status == PASSED else "killed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run mutants, print the survivors that nobody has explained; return 1 if less than 95 % of the rest are killed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only files whose name contains one of these")
    parser.add_argument("--each", type=int, default=40, help="mutants of each file, 0: all places (default: 40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="write the figures, and add those of files that were not run, to it")
    parser.add_argument("--page", type=Path, help="write the table onto this page")
    options = parser.parse_args(arguments)
    files = [file for file in CORE if not options.words or any(word in file for word in options.words)]
    runner, known, rows = Runner(options.jobs), explained(), known_rows(options.json)
    for file in files:
        source = (ROOT / PACKAGE / file).read_text(encoding="utf-8")
        runner.time_plain(file)
        counts = {"killed": 0, "explained": 0, "survived": 0}
        for mutant, ended in runner.noticed(mutants_of(file, source, options.each, options.seed), known):
            kind = "explained" if ended == "survived" and mutant.key in known else ended
            counts[kind] += 1
            if kind == "survived":
                print(f"{file}:{mutant.line}\n  - {mutant.old}\n  + {mutant.new}", flush=True)
        rows[file] = counts
        print(file, counts, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.page:
        write_page(options.page, rows)
    return int(share_killed([rows[file] for file in files]) < 0.95)


def known_rows(file: Path | None) -> dict[str, dict[str, int]]:
    """Return the figures of earlier runs, of files that are still of the core."""
    rows = json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else {}
    return {name: row for name, row in rows.items() if name in CORE}


def share_killed(rows: Collection[dict[str, int]]) -> float:
    """Return the share of mutants killed, of those not explained."""
    killed, survived = (sum(row[kind] for row in rows) for kind in ("killed", "survived"))
    return killed / (killed + survived)


def write_page(page: Path, rows: dict[str, dict[str, int]]) -> None:
    """Put the table between the marks of the page."""
    lines = ["| file | mutants | killed | change no result | not noticed |", "|---|---|---|---|---|"]
    for file in [file for file in CORE if file in rows]:
        row = rows[file]
        lines.append(f"| {file} | {sum(row.values())} | {row['killed']} | {row['explained']} | {row['survived']} |")
    total = {kind: sum(row[kind] for row in rows.values()) for kind in ("killed", "explained", "survived")}
    lines.append(f"| all | {sum(total.values())} | {total['killed']} | {total['explained']} | {total['survived']} |")
    lines += ["", f"Killed, of the mutants that change a result: {100 * share_killed(rows.values()):.1f} %."]
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition("<!-- table -->\n")
    tail = rest.partition("<!-- end of table -->")[2]
    page.write_text(f"{head}<!-- table -->\n" + "\n".join(lines) + f"\n<!-- end of table -->{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
