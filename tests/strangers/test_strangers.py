"""The tests of others: the machinery finds what is new, and a thinned part of scikit-learn's runs (the long test)."""

import re
import subprocess

import pytest
import sklearn

from strangers import run, suites
from strangers.run import Difference

THIN = [suite for suite in suites.SUITES if suite.thinned]
PLANTED = """
from strangers.outcomes import answered

def test_equal(): answered()
def test_other_number(): answered(); assert 1 == 2, "another number"
def test_other_message(): answered(); raise ValueError("y must be ours")
def test_of_something_else(): pass
"""
MESSAGE = Difference("planted", "the message is ours", 1, says="*y must be ours*")
NUMBER = Difference("planted", "another convention", 1, tests="*::test_other_number")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Outcomes of tests of which two fail."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "test_planted.py").write_text(PLANTED)
    return run.outcomes_of("strangers.chains", ["test_planted.py"], folder)


@pytest.mark.long
def test_a_new_difference_is_found(planted):
    """With the test and what it says; the other failure is in the ledger."""
    (new,) = run.problems(planted, [MESSAGE])
    assert new.startswith("new: test_planted.py::test_other_number: AssertionError: another number")


@pytest.mark.long
def test_expected_differences_are_no_problem(planted):
    """If as many fail as the ledger says."""
    assert run.problems(planted, [MESSAGE, NUMBER]) == []


@pytest.mark.long
@pytest.mark.parametrize("count", [0, 2])
def test_an_entry_with_another_number_of_failures_is_found(planted, count):
    """So an entry that no longer occurs cannot stay, and nothing new hides behind a wide pattern."""
    wrong = Difference("planted", "the message is ours", count, says="*y must be ours*")
    (problem,) = run.problems(planted, [wrong, NUMBER])
    assert problem.startswith(f"ledger: {count} failures expected, 1 found: the message is ours")


@pytest.mark.long
def test_an_entry_that_no_longer_occurs_is_found(planted):
    """None of its failures is there."""
    gone = Difference("planted", "mended long ago", 1, says="*no such words*")
    assert run.problems(planted, [MESSAGE, NUMBER, gone]) == [
        "ledger: 1 failures expected, 0 found: mended long ago (*no such words*)"
    ]
    assert run.problems(planted, [MESSAGE, NUMBER, gone], thin=True) == []


@pytest.mark.long
def test_tests_that_never_ask_us_are_not_counted(planted):
    """Three ask, one of them passes."""
    assert run.row_of(suites.Suite("planted", "planted", ()), planted) == "| planted | 3 | 1 | 2 |\n"


@pytest.mark.long
def test_a_suite_that_never_asks_us_is_found(planted):
    """Else a shim that stands in for nothing would pass for ever."""
    silent = {test: dict(result, answered=False, outcome="passed") for test, result in planted.items()}
    assert run.problems(silent, []) == ["no test asked us anything"]


@pytest.mark.long
def test_a_file_that_cannot_be_collected_is_found(tmp_path):
    """It asks nothing, and is a failure."""
    (tmp_path / "test_broken.py").write_text("import no_such_module_of_theirs\n")
    found = run.outcomes_of("strangers.outcomes", ["test_broken.py"], tmp_path)
    assert "no_such_module_of_theirs" in run.failures(found)["test_broken.py::collection"]


def test_sources_that_cannot_be_had_are_told(monkeypatch, tmp_path):
    """By the name of the source; the suite is then skipped."""

    def refuse(command, **options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(suites.subprocess, "run", refuse)
    monkeypatch.delenv(suites.SOURCES, raising=False)
    for suite in [suite for suite in suites.SUITES if suite.source]:
        with pytest.raises(suites.MissingTestsError, match=re.escape(f"{suite.source} could not be fetched")):
            suite.arguments(tmp_path, thin=False)


def test_the_page_has_the_reasons_of_the_ledger():
    """And as many differences of each suite."""
    page, ledger = run.PAGE.read_text(encoding="utf-8"), run.read_ledger()
    assert {entry.suite for entry in ledger} <= {suite.name for suite in suites.SUITES}
    for suite in suites.SUITES:
        entries = [entry for entry in ledger if entry.suite == suite.name]
        assert "".join(run.reasons_of(suite, entries)) in page
        assert re.search(rf"^\| {re.escape(suite.title)} \|.*\| {sum(e.count for e in entries)} \|$", page, re.M)


@pytest.mark.long
@pytest.mark.parametrize("suite", THIN, ids=lambda suite: suite.name)
def test_some_tests_of_scikit_learn(suite, tmp_path):
    """Those that need nothing but the installed scikit-learn, thinned; `make strangers` runs all."""
    if not sklearn.__version__.startswith(f"{run.TESTED}."):
        pytest.skip(f"the ledger is of scikit-learn {run.TESTED}, installed is {sklearn.__version__}")
    found = run.outcomes_of(f"strangers.{suite.name}", suite.arguments(tmp_path, thin=True), tmp_path)
    expected = [entry for entry in run.read_ledger() if entry.suite == suite.name]
    assert run.problems(found, expected, thin=True) == []
    assert sum(bool(result["answered"]) for result in found.values()) >= 8
