"""The list of mistakes that `make mutants` makes fits the sources."""

import json

import pytest

from generated_mutants import CORE, PACKAGE, ROOT, WIDER, explained, known_rows, mutants_of, share_killed
from mutants import Mutant, read_mutants


def test_every_mutant_can_be_made():
    """The text that it replaces occurs once, in a file that there is; so do its tests."""
    assert [fault for mutant in read_mutants() if (fault := mutant.fault())] == []


def test_names_are_told_apart():
    """Each name occurs once."""
    names = [mutant.name for mutant in read_mutants()]
    assert len(names) == len(set(names)) >= 20


def test_an_entry_that_does_not_fit_is_found():
    """A text that no longer occurs, one that occurs twice, and files that are gone."""
    entry = Mutant("m", "models/decision.py", "def cut(", "def cat(", ("tests/models/test_decision.py::test_cut",))
    assert entry.fault() is None
    for change, fault in [
        ({"old": "no such text"}, "it occurs 0 times"),
        ({"old": "np."}, "the old text must occur once"),
        ({"file": "gone.py"}, "there is no gone.py"),
        ({"tests": ("tests/gone.py",)}, "there is no tests/gone.py"),
    ]:
        assert fault in Mutant(**vars(entry) | change).fault()


def test_survivors_are_explained_by_lines_that_there_are():
    """Each line stands in its file as it was, and the reason says something."""
    for (file, old, new), why in explained().items():
        lines = (ROOT / PACKAGE / file).read_text(encoding="utf-8").splitlines()
        assert old in [line.strip() for line in lines], (file, old)
        assert new != old
        assert len(why) > 20, (file, old)


def test_figures_and_tests_are_of_files_that_there_are():
    """Those on the page too, and each file has tests of its package."""
    kept = known_rows(ROOT / "tests" / "mutants.json")
    assert kept == json.loads((ROOT / "tests" / "mutants.json").read_text(encoding="utf-8"))
    assert [file for file in CORE if not (ROOT / PACKAGE / file).is_file() or file.partition("/")[0] not in WIDER] == []
    tests = {name for names in (*CORE.values(), *WIDER.values()) for name in names}
    assert [name for name in tests if not (ROOT / "tests" / name).exists()] == []


def test_figures_of_files_that_have_gone_are_left_out(tmp_path):
    """A run for some files keeps those of others, but not of one that was renamed."""
    assert known_rows(tmp_path / "none.json") == {}
    row = {"killed": 1, "explained": 0, "survived": 0}
    (tmp_path / "rows.json").write_text(json.dumps({"gone.py": row, "neighbors/votes.py": row}), encoding="utf-8")
    assert known_rows(tmp_path / "rows.json") == {"neighbors/votes.py": row}


def test_mutants_are_drawn_from_all_places():
    """One a place, not in annotations, and the same for the same seed."""
    pytest.importorskip("cosmic_ray")
    source = "def f(a: int | None, b: int = 2) -> int | None:\n    return a + b if a == 1 else b\n"
    mutants = mutants_of("f.py", source, 0, seed=0)
    assert mutants == mutants_of("f.py", source, 0, seed=0)
    assert {mutant.line for mutant in mutants} == {1, 2}
    assert all(" | None" in mutant.text.splitlines()[0] for mutant in mutants)
    assert len(mutants_of("f.py", source, 2, seed=0)) == 2


def test_the_share_leaves_out_what_changes_no_answer():
    """Of 19 killed and 1 not noticed, it is 95 %."""
    rows = [{"killed": 10, "explained": 5, "survived": 1}, {"killed": 9, "explained": 0, "survived": 0}]
    assert share_killed(rows) == 0.95
