"""Errors of the library in the words of the command line."""

import argparse
import errno
import pickle

import pytest

from nearlabel.cli import build_parser
from nearlabel.cli._console import message_of
from nearlabel.utils.messages import ParameterError

FIT = ("fit", "songs.csv", "--out", "m.skops")
PREDICT = ("predict", "m.skops", "songs.csv")


@pytest.mark.parametrize(
    ("command", "message", "told"),
    [
        (FIT, "n_neighbors must be at most 9, got 10.", "--k must be at most 9, got 10."),
        (FIT, "cv must be at most the 9 rows of a, got 10.", "--validate must be at most the 9 rows of a, got 10."),
        (PREDICT, "id_column must name columns, got 'labels'.", "--id must name columns, got 'labels'."),
        (FIT, "labels of one class must be left out.", "labels of one class must be left out."),
        (FIT, "column 'labels' must contain numbers.", "column 'labels' must contain numbers."),
        (FIT, "n_rows must be None.", "n_rows must be None."),  # fit has no --rows
        (FIT, "metric must be a name.", "metric must be a name."),  # of a search, which stands in --search
        (PREDICT, "scores must not be NaN.", "scores must not be NaN."),
    ],
)
def test_what_must_be_so(command, message, told):
    """A parameter that is the subject of the sentence is called as the command calls it, and nothing else is."""
    assert message_of(ValueError(message), build_parser().parse_args(command)) == told


@pytest.mark.parametrize(
    ("parameter", "value", "shown"),
    [
        ("ignore", ["id"], "--ignore id"),
        ("ignore", ["my id", "b"], "--ignore 'my id,b'"),
        ("ignore", ["a,b]", "it's"], "--ignore '\"a,b]\",it'\"'\"'s'"),
        ("labels_prefix", None, "--labels-prefix"),
        ("n_rows", None, "n_rows"),  # fit has no --rows
    ],
)
def test_parameters_elsewhere_in_a_message(parameter, value, shown):
    """A setting is an option with its value, to be pasted into a shell; braces in values stay."""
    error = ParameterError(f"{{got}} is wrong. Hint: {{{parameter}}} helps.", {parameter: value}, {"got": "{x}"})
    assert message_of(error, build_parser().parse_args(FIT)) == f"{{x}} is wrong. Hint: {shown} helps."


def test_an_error_survives_a_process():
    """Workers send errors by pickle; braces in a value are no fields."""
    error = ParameterError("{got}: {ignore}.", {"ignore": ["a"]}, {"got": "{x}"})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (ParameterError, "{x}: ignore=['a'].")


def test_no_memory():
    """An error without words, and one of numpy's."""
    assert message_of(MemoryError(), argparse.Namespace()) == "not enough memory."
    assert message_of(MemoryError("Unable to allocate 1 GiB"), argparse.Namespace()).startswith("not enough memory: Un")
    named = MemoryError("the rows of a.csv must fit into memory, got too little of it. Hint: read blocks.")
    assert message_of(named, argparse.Namespace()) == f"not enough memory: {named}"


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
