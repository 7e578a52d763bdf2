"""The list of mistakes that `make mutants` makes fits the sources."""

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
    entry = Mutant("m", "decision.py", "def cut(", "def cat(", ("tests/test_decision.py::test_cut",))
    assert entry.fault() is None
    for change, fault in [
        ({"old": "no such text"}, "it occurs 0 times"),
        ({"old": "np."}, "the old text must occur once"),
        ({"file": "gone.py"}, "there is no gone.py"),
        ({"tests": ("tests/gone.py",)}, "there is no tests/gone.py"),
    ]:
        assert fault in Mutant(**vars(entry) | change).fault()
