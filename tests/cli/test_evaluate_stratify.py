import json

import pytest

from nearlabel.cli import build_parser

QUICK = ("--k", "3", "--cv", "3", "--methods", "brknn", "--metrics", "hamming_loss")


@pytest.mark.parametrize(("options", "order"), [((), None), (("--stratify",), 1), (("--stratify", "2"), 2)])
def test_the_order_is_part_of_the_plan(nearlabel, meka, tmp_path, options, order):
    """What is asked for stands in the plan on file, the run resumes, and another order is refused."""
    command = ("evaluate", meka, *QUICK, "--out", tmp_path / "out")
    first = nearlabel(*command, *options)
    assert (first.code, first.err) == (0, "")
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["stratify"] == order
    assert nearlabel(*command, *options) == first
    other = nearlabel(*command, "--stratify", "1" if order == 2 else "2")
    assert other.code == 2
    assert f"got stratify={1 if order == 2 else 2} (there: {order}). Hint: choose another folder." in other.err


def test_folds_differ(nearlabel, meka):
    """Plain and stratified folds give other figures."""
    assert len({nearlabel("evaluate", meka, *QUICK, *o).out for o in ((), ("--stratify",))}) == 2


def test_at_the_end_or_between(meka):
    """Without a number it may stand last or before another option."""
    parse = build_parser().parse_args
    assert parse(["evaluate", str(meka), "--stratify"]).stratify == 1
    assert parse(["evaluate", str(meka), "--stratify", "--cv", "3"]).stratify == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("emotions", "--stratify", "3"), "argument --stratify: must be 1 or 2 if a word follows it, got '3'"),
        (("--stratify", "emotions"), "must be 1 or 2 if a word follows it, got 'emotions'; put DATA before it"),
        (("emotions", "--stratify", "--cv", "given"), "--stratify must go with a number of folds, got --cv given."),
    ],
)
def test_bad_options(nearlabel, arguments, message):
    """One line says what is wrong, and the code is 2."""
    answer = nearlabel("evaluate", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
