"""Errors of the library in the words of the command line."""

import argparse
import errno

import pytest

from nearlabel.cli import build_parser
from nearlabel.cli._error_message import message_of

FIT = ("fit", "songs.csv", "--out", "m.skops")
PREDICT = ("predict", "m.skops", "songs.csv")


@pytest.mark.parametrize(
    ("command", "message", "told"),
    [
        (FIT, "n_neighbors must be at most 9, got 10.", "--k must be at most 9, got 10."),
        (FIT, "cv must be at most the 9 rows of a, got 10.", "--validate must be at most the 9 rows of a, got 10."),
        (FIT, "path must be in a folder that exists.", "--out must be in a folder that exists."),
        (PREDICT, "path must be the file of a model.", "MODEL must be the file of a model."),
        (PREDICT, "id_column must name columns, got 'labels'.", "--id must name columns, got 'labels'."),
        (FIT, "one of labels, labels_prefix and x must be.", "one of --labels, --labels-prefix and x must be."),
        (FIT, "labels of one class must be left out.", "labels of one class must be left out."),
        (FIT, "column 'labels' must hold numbers.", "column 'labels' must hold numbers."),
        (FIT, "id_column must be None.", "id_column must be None."),  # fit has no --id
        (FIT, "metric must be a name.", "metric must be a name."),  # of a search, which stands in --search
        (PREDICT, "scores must not be NaN.", "scores must not be NaN."),
    ],
)
def test_what_must_be_so(command, message, told):
    """A parameter that is the subject of the sentence is called as the command calls it, and nothing else is."""
    assert message_of(ValueError(message), build_parser().parse_args(command)) == told


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("ignore=['id'] leaves them out.", "--ignore id leaves them out."),
        ("ignore=['my id', 'b'] leaves.", "--ignore 'my id,b' leaves."),
        ("ignore=['a,b]', \"it's\"] leaves.", "--ignore '\"a,b]\",it'\"'\"'s' leaves."),
        ("labels_separator='|' joins.", "--labels-separator '|' joins."),
        ("labels_zero_based='auto' may.", "labels_zero_based='auto' may."),
        ("ignore=DaskNeighbors() may.", "ignore=DaskNeighbors() may."),
    ],
)
def test_hints(hint, told):
    """A setting is an option with its value, to be pasted into a shell."""
    arguments = build_parser().parse_args(FIT)
    assert message_of(ValueError(f"a must be b. Hint: {hint}"), arguments) == f"a must be b. Hint: {told}"


def test_no_memory():
    """An error without words."""
    assert message_of(MemoryError(), argparse.Namespace(names={})) == "not enough memory."


def test_files():
    """A file that cannot be opened is named; what a full disk is of, too, though the system does not say."""
    arguments = build_parser().parse_args(FIT)
    assert message_of(FileNotFoundError(errno.ENOENT, "No such file", "a.csv"), arguments) == "a.csv: No such file."
    assert message_of(OSError(errno.ENOSPC, "No space left"), arguments) == "m.skops: No space left."
    assert (
        message_of(OSError(errno.ENOSPC, "No space"), build_parser().parse_args(PREDICT))
        == "standard output: No space."
    )
    evaluate = build_parser().parse_args(["evaluate", "yeast", "--out", "results"])
    assert message_of(OSError(errno.ENOSPC, "No space left"), evaluate) == "results: No space left."
    assert message_of(OSError(errno.EBADF, "Bad file"), arguments) == f"[Errno {errno.EBADF}] Bad file"
