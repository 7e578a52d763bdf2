"""The table of other words for options, and what is said of an unknown option."""

import argparse
from collections import Counter

import pytest

from nearlabel.cli import _option_names, build_parser


@pytest.fixture(scope="module")
def options():
    """The options of each command."""
    (commands,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {
        name: [option for option in parser._option_string_actions if option[:2] == "--"]
        for name, parser in commands.choices.items()
    }


def test_the_table_names_options(options):
    """What is proposed is an option of some command; no word is in two rows, nor an option of the commands of its row.

    A word that is an option of a command, such as `scores` of predict, has its own meaning there.
    """
    known = {option for of_command in options.values() for option in of_command}
    targets = [target for row in _option_names.SYNONYMS for target in row]
    assert {f"--{target}" for target in targets} <= known
    counts = Counter([*targets, *(word for words in _option_names.SYNONYMS.values() for word in words)])
    assert [word for word, count in counts.items() if count > 1] == []
    assert [
        (command, word)
        for command, of_command in options.items()
        for row, words in _option_names.SYNONYMS.items()
        if any(f"--{target}" in of_command for target in row)
        for word in words
        if f"--{word}" in of_command
    ] == OWN_MEANING


# Words for options of a command that are options of it themselves, with a meaning of their own.
OWN_MEANING = [("audit", "csv"), ("predict", "score"), ("predict", "scores")]


def test_every_word_is_answered(options):
    """By an option of the command if it has one of the row, else by the commands that have one."""
    for command, of_command in options.items():
        for row, words in _option_names.SYNONYMS.items():
            for word in words:
                remark = _option_names.meant(f"--{word}", of_command, options)
                there = [f"--{target}" for target in row if f"--{target}" in of_command]
                assert all(target in remark for target in there), (command, word)
                assert remark.startswith(" (did you mean --" if there else (" (", " (did you mean --")), (command, word)


@pytest.mark.parametrize(
    ("word", "remark"),
    [
        ("--n_splits=3", " (did you mean --cv?)"),
        ("--Random-State", " (did you mean --seed?)"),
        ("-o", " (did you mean --out?)"),
        ("--n_jobs", " (did you mean --jobs?)"),
        ("--metrik", ""),
        ("--guarantee", " (--guarantee is an option of fit)"),
        ("--impute", " (--impute is an option of examine, audit, evaluate and others)"),
        ("--folds-", " (did you mean --folds?)"),
    ],
)
def test_remarks(options, word, remark):
    """Spelled with a line below, in capitals, by a letter; an option of other commands; a slip of the pen."""
    of_command = ["--cv", "--seed", "--out", "--jobs", "--folds"]
    assert _option_names.meant(word, of_command, options) == remark


@pytest.mark.parametrize("word", ["--features", "--usecols"])
def test_features_are_not_named(options, word):
    """An option that names the columns to use is not confused with the one for those to leave out."""
    assert "It names the columns that are not features" in _option_names.meant(word, options["fit"], options)
    assert _option_names.meant(word, options["card"], options) == ""
