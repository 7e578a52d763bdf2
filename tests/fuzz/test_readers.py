"""Every reader keeps the contract on damaged files, and the harness finds readers that break it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.minimise import minimised
from fuzz.readers import BEGIN, PAGE, REGRESSIONS, RESULTS, all_targets, files_in, table_of
from fuzz.target import FAILURES

TESTS = Path(__file__).parents[1]
N_INPUTS = 40  # for each target, fewer of slow ones; make fuzz gives more
TARGETS = [target.name for target in all_targets()]
KEPT = sorted(folder.name for folder in REGRESSIONS.iterdir() if folder.is_dir()) if REGRESSIONS.is_dir() else []
PLANTED = {
    "right": (),
    "crash": ("crash", "the process was ended by SIGSEGV"),
    "exit": ("crash", "the process ended with 0"),
    "hang": ("hang", "it took longer than it may"),
    "wait": ("hang", "it took longer than it may"),
    "memory": ("memory", "it took"),
    "allocation": ("memory", "MemoryError"),
    "raw": ("raw", "KeyError: 'a'"),
    "nameless": ("raw", "ValueError: something is wrong"),
    "wrong": ("wrong", "answer: another"),
}


def fuzz(folder, *arguments, code=None):
    """Run the program in a process of its own; return its figures and what it printed."""
    out = folder / "figures.json"
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "fuzz.readers", *map(str, arguments), "--json", out, "--failures", folder / "kept"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=TESTS.parent, check=False)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stdout + done.stderr
    return json.loads(out.read_text()), done.stdout


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What becomes of the first inputs of every target."""
    return fuzz(tmp_path_factory.mktemp("fuzz"), N_INPUTS, "--no-minimise")[0]["targets"]


def told(failures):
    """Return failures as text, for the message of a test."""
    return "\n\n".join(f"input {one['index']}, {one['kind']} {one['place']}\n{one['detail']}" for one in failures)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_readers_keep_the_contract(figures, target):
    """Damaged files give a right answer, or ValueError or OSError that names the file; nothing crashes or hangs."""
    found = figures[target]
    assert not found["failures"], f"{told(found['failures'])}\n\nHint: make fuzz N={N_INPUTS} TARGETS={target}"
    assert found["inputs"] == found["accepted"] + found["clear"] > 0
    assert found["accepted"] > 0


@pytest.mark.slow
def test_other_inputs(tmp_path):
    """The same for 100 other inputs of each reader, fewer of the slow ones."""
    figures, said = fuzz(tmp_path, 100, "--seed", 1)
    assert not any(found["failures"] for found in figures["targets"].values()), said


@pytest.fixture(scope="module")
def kept_outcomes(tmp_path_factory):
    """What becomes of inputs that once broke the contract."""
    return fuzz(tmp_path_factory.mktemp("again"), "--again", *(REGRESSIONS / name for name in KEPT))[0] if KEPT else {}


@pytest.mark.long
@pytest.mark.parametrize("name", KEPT)
def test_mended_defects_stay_mended(kept_outcomes, name):
    """Inputs that are kept because a reader once broke the contract on them."""
    if name.partition("--")[0] not in TARGETS:
        pytest.skip(f"{name} needs a library that is not installed")
    kind, detail = kept_outcomes[name]
    assert kind not in FAILURES, detail


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """What the harness says of readers with faults, and the folder of the inputs that it kept."""
    folder = tmp_path_factory.mktemp("planted")
    limits = ("--cpu", 1, "--wall", 4, "--seconds", 3, "--memory", 100)
    return *fuzz(folder, 3, "--planted", *limits, code=1), folder / "kept"


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(planted, name):
    """A reader that crashes, hangs, takes all memory, raises KeyError or answers wrongly is found."""
    found = planted[0]["targets"][f"planted-{name}"]
    kinds = [(one["kind"], one["index"]) for one in found["failures"]]
    if not PLANTED[name]:
        assert kinds == []
        assert (found["accepted"], found["clear"]) == (2, 1)
        return
    kind, detail = PLANTED[name]
    assert kinds == [(kind, 2)]
    assert found["failures"][0]["detail"].startswith(detail)
    assert (found["accepted"], found["clear"], found[kind]) == (1, 1, 1)


@pytest.mark.long
@pytest.mark.parametrize(("name", "smallest"), [("raw", {b"=\xff", b"\xff="}), ("hang", {b"a=1\nb=\xff\nc=3\n"})])
def test_failures_are_kept_and_made_smaller(planted, name, smallest):
    """An input of 14 bytes becomes one of two; one that hangs is kept as it is, since each trial would take seconds."""
    (folder,) = planted[2].glob(f"planted-{name}--*")
    assert files_in(folder)["in.txt"] in smallest
    assert "seed 0, input 2" in (folder / "about.txt").read_text()


def test_smaller_inputs_fail_in_the_same_way():
    """Files that do not matter go, and bytes that do not."""
    files = {"a": b"one two three x four", "b": b"what" * 100}
    assert minimised(files, lambda some: b"x" in some.get("a", b""), 5) == {"a": b"x"}
    assert minimised(files, lambda some: some == files, 5) == files


def test_inputs_are_those_of_their_seed():
    """An input is known by its target, a seed and a number; another seed gives another one."""
    (one,) = [target for target in all_targets() if target.name == "csv"]
    (two,) = [target for target in all_targets() if target.name == "csv"]
    assert [one.input(0, number) for number in range(50)] == [two.input(0, number) for number in range(50)]
    assert [one.input(0, number) for number in range(2, 50)] != [two.input(1, number) for number in range(2, 50)]


def test_the_page_has_the_figures():
    """The table on the page is what the figures in the repository say."""
    targets = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert f"{BEGIN}\n\n{table_of(targets)}\n" in PAGE.read_text(encoding="utf-8")
    assert all(found[kind] == 0 for found in targets.values() for kind in FAILURES)
    assert sum(found["inputs"] for found in targets.values()) >= 10**6


@pytest.mark.long
def test_atheris_finds_nothing(tmp_path):
    """Where Google's fuzzer is installed, it guides 1,000 inputs by the lines of the library that they reach."""
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    command = [sys.executable, "-m", "fuzz.with_atheris", "csv", "-atheris_runs=1000", f"-artifact_prefix={tmp_path}/"]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
