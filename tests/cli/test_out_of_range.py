"""`fit` and `tune` bound numbers and dates at the training range, and `predict` says how many rows are outside."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from nearlabel.cli import _model
from nearlabel.datasets import Dataset, load_dataset
from nearlabel.persistence import load_model, save_model
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.selection.candidates import Candidate
from nearlabel.selection.later import fit_for_later

KINDS = "--labels-column tags --ignore id --date day --categorical place"
OUTSIDE = "have values outside the training range.\n"


def write(path, n_rows, first_day, *, scale=1.0, names=("size", "weight")):
    """Write tickets of some days, two numbers and a place; the tags depend on the numbers."""
    rng = np.random.default_rng(first_day)
    days = np.datetime64("2026-01-01") + (first_day + np.arange(n_rows) // 2).astype("timedelta64[D]")
    numbers = scale * rng.normal(size=(n_rows, 2)).round(3)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "day", *names, "place", "tags"])
        for row, (day, (a, b)) in enumerate(zip(days, numbers.tolist(), strict=True)):
            tags = ";".join(tag for tag, on in (("big", a > 0), ("heavy", b > 0.3)) if on)
            writer.writerow([row, day, a, b, "north" if row % 3 else "south", tags])
    return numbers


@pytest.fixture
def tickets(tmp_path, monkeypatch):
    """A folder with tickets, and those of a later month, in a wider range."""
    monkeypatch.chdir(tmp_path)
    training = write(tmp_path / "now.csv", 80, 0)
    later = write(tmp_path / "later.csv", 30, 90, scale=3.0)
    return training, later


def fitted(nearlabel, options, *, command="fit", out="m.skops"):
    """Fit a model, and return it."""
    given = f"{command} now.csv {options} --out {out} --force"
    answer = nearlabel(*given.split())
    assert answer.code == 0, answer.err
    return load_model(out)


def far(training, later):
    """Whether numbers of later rows are outside."""
    return (later < training.min(axis=0)) | (later > training.max(axis=0))


@pytest.mark.parametrize("command", ["fit", "tune"])
@pytest.mark.parametrize("way", ["clip", "keep"])
def test_mixed_columns(nearlabel, tickets, command, way):
    """Dates and numbers; the tags of the rows are those of rows that are moved by hand, or not."""
    methods = {"fit": "--method mlknn --k 3", "tune": "--methods mlknn --k 3 --scales minmax"}
    model = fitted(nearlabel, f"{KINDS} {methods[command]} --out-of-range {way}", command=command)
    assert model[0].out_of_range == way
    outside = far(*tickets).sum(axis=0)
    answer = nearlabel("predict", "m.skops", "later.csv")
    columns = ", ".join(["day (30)", *(f"{name} ({n})" for n, name in sorted_counts(outside))])
    lines = answer.err.splitlines()
    assert lines[0] == f"nearlabel: 30 of 30 rows {OUTSIDE.strip()}"
    assert lines[1] == f"nearlabel: {'Moved to its end' if way == 'clip' else 'Kept unchanged'}: {columns}."
    assert [line for line in lines[2:] if "Such rows may be far" not in line] == []
    assert (len(lines) == 3) == (way == "keep")
    assert max(map(len, lines)) <= 80
    bounded = np.clip(tickets[1], tickets[0].min(axis=0), tickets[0].max(axis=0)).tolist()
    rows = [f"2026-02-09,{a},{b},{'north' if row % 3 else 'south'}" for row, (a, b) in enumerate(bounded)]
    Path("moved.csv").write_text("\n".join(["day,size,weight,place", *rows]) + "\n")
    moved = nearlabel("predict", "m.skops", "moved.csv")
    assert (moved.code, moved.err) == (0, "")
    assert (moved.out == answer.out) == (way == "clip")


def sorted_counts(counts):
    """Counts above 0 and their columns, most first."""
    pairs = [(int(n), name) for n, name in zip(counts, ("size", "weight"), strict=True) if n]
    return sorted(pairs, key=lambda pair: -pair[0])


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
@pytest.mark.parametrize("method", ["--method mlknn --k 3", "--k 3", "--method br --validate none"])
def test_numbers_alone(nearlabel, tickets, scale, method):
    """Also if they are not scaled, and for methods without neighbours; the choice does not depend on the option."""
    options = f"--labels-column tags --ignore id,day,place --scale {scale} {method}"
    models = [fitted(nearlabel, f"{options} --out-of-range {way}", out=f"{way}.skops") for way in ("clip", "keep")]
    training, later = tickets
    bounded = np.clip(later, training.min(axis=0), training.max(axis=0))
    np.testing.assert_array_equal(models[0].predict_proba(later), models[1].predict_proba(bounded))
    np.testing.assert_array_equal(models[0].predict_proba(training), models[1].predict_proba(training))
    outside = far(training, later)
    for way, words in (("clip", "Moved to its end"), ("keep", "Kept unchanged")):
        told = nearlabel("predict", f"{way}.skops", "later.csv").err
        assert f"nearlabel: {outside.any(axis=1).sum()} of 30 rows {OUTSIDE}" in told
        for count, name in sorted_counts(outside.sum(axis=0)):
            assert f"{name} ({count})" in told
        assert words in told
    assert nearlabel("predict", "clip.skops", "now.csv").err == ""


def test_blocks_and_quiet(nearlabel, tickets, monkeypatch):
    """The counts are of all blocks of rows; --quiet hides them, as all advice."""
    fitted(nearlabel, f"{KINDS} --method brknn --k 3 --validate none")
    whole = nearlabel("predict", "m.skops", "later.csv")
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 28)
    assert nearlabel("predict", "m.skops", "later.csv") == whole
    assert nearlabel("--quiet", "predict", "m.skops", "later.csv").err == ""


def test_few_rows_and_many_columns(nearlabel, tmp_path, monkeypatch):
    """At most five columns are named, in lines that fit a terminal."""
    monkeypatch.chdir(tmp_path)
    names = [f"column number {place}" for place in range(12)]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)).round(3)
    lines = [",".join([*map(str, row), "ab"[row[0] > 0]]) for row in X.tolist()]
    (tmp_path / "now.csv").write_text("\n".join([",".join([*names, "tags"]), *lines]) + "\n")
    fitted(nearlabel, "--labels-column tags --method mlknn --k 3")
    X[:2] = 0
    lines = [",".join(map(str, row)) for row in [[99] * 12, [99] * 9 + [0] * 3, [0] * 12]]
    (tmp_path / "new.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    told = nearlabel("predict", "m.skops", "new.csv").err
    assert "2 of 3 rows have values" in told
    named = ", ".join(f"column number {place} (2)" for place in range(5))
    assert f"Moved to its end: {named} and 7 more." in " ".join(told.replace("nearlabel: ", "").split())
    assert max(map(len, told.splitlines())) <= 80
    (tmp_path / "new.csv").write_text("\n".join([",".join(names), lines[0].replace("99", "0", 11)]) + "\n")
    told = nearlabel("predict", "m.skops", "new.csv").err
    assert told.startswith("nearlabel: 1 of 1 rows has a value outside the training range.\n")
    assert told.endswith("Moved to its end: column number 11 (1).\n")


def test_imputed_numbers_and_a_chooser(nearlabel, tickets):
    """An imputer before the scaler; a model that Python chose and saved."""
    training, later = tickets
    Path("holes.csv").write_text("size,weight\n,99\n0,\n")
    for options in ("--method mlknn --k 3 --impute median", "--k 3 --impute mean"):
        fitted(nearlabel, f"--labels-column tags --ignore id,day,place {options}")
        told = nearlabel("predict", "m.skops", "holes.csv").err
        assert "1 of 2 rows has a value" in told
        assert "Moved to its end: weight (1).\n" in told
    Y = np.column_stack([training[:, 0] > 0, training[:, 1] > 0.3]).astype(np.int64)
    for X in (training, np.where(training > 1.5, np.nan, training)):
        data = Dataset(X, Y, ("size", "weight"), ("big", "heavy"), "now")
        save_model(NeighborsClassifierCV(n_neighbors=(3,)).fit(X, Y), "chosen.skops", data=data)
        told = nearlabel("predict", "chosen.skops", "later.csv", "--ignore", "id,day,place").err
        (size, name), *_ = sorted_counts(((later < np.nanmin(X, axis=0)) | (later > np.nanmax(X, axis=0))).sum(axis=0))
        assert f"Moved to its end: {name} ({size})" in told


def test_words_are_not_moved(nearlabel, tmp_path, monkeypatch):
    """Counts of words, most of which are 0: no step, no note."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2, size=(40, 6))
    for name, rows in (("now", X), ("new", 9 * X)):
        lines = [",".join([*map(str, row), "ab"[row[0] > 0]]) for row in rows.tolist()]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,d,e,f,tags", *lines]) + "\n")
    model = fitted(nearlabel, "--labels-column tags --method mlknn --k 3 --validate none")
    assert type(model).__name__ == "MLkNN"
    assert nearlabel("predict", "m.skops", "new.csv").err == ""
    fitted(nearlabel, "--labels-column tags --method mlknn --k 3 --scale minmax --validate none")
    assert nearlabel("predict", "m.skops", "new.csv").err == ""


def test_an_unknown_way(nearlabel, tickets):
    """The two are named."""
    answer = nearlabel(*f"fit now.csv {KINDS} --method mlknn --k 3 --out m.skops --out-of-range cut".split())
    assert answer.code == 2
    assert "--out-of-range" in answer.err


def test_update_counts_in_the_same_way(nearlabel, tickets):
    """By column, for an encoder, which stays; a range without a scaling grows, so there is nothing to tell."""
    for scale in ("none", "minmax"):
        fitted(nearlabel, f"{KINDS} --method mlknn --k 3 --validate none --scale {scale}")
        answer = nearlabel("update", "m.skops", "later.csv")
        assert answer.code == 0, answer.err
        assert "Steps before the method are not fitted again: MixedFeaturesEncoder.\n" in answer.err
        assert f"30 of 30 added samples {OUTSIDE}" in answer.err
        assert "Moved to its end: day (30)" in answer.err
    fitted(nearlabel, "--labels-column tags --ignore id,day,place --method mlknn --k 3 --validate none")
    assert far(*tickets).any()
    assert "outside" not in nearlabel("update", "m.skops", "later.csv").err
    assert nearlabel("predict", "m.skops", "later.csv").err == ""


# The later rows of a table: a second estimate, and --split-by.

QUICK = "--method mlknn@micro-f --k 3"
OF_LATER = (
    r"micro F1: among rows like these 0\.\d{4}, on later rows 0\.\d{4} \(three fits, each to the rows before, by day"
)


@pytest.mark.parametrize("options", [QUICK, f"{QUICK} --split-by day", "", "--split-by day"])
def test_two_estimates_where_there_is_a_date(nearlabel, tickets, options):
    """The second is that of fits to the rows before, whatever the method; the model answers and can be updated."""
    answer = nearlabel("fit", "now.csv", *KINDS.split(), *options.split(), "--out", "m.skops")
    assert answer.code == 0, answer.err
    assert re.search(OF_LATER, answer.out)
    assert re.search(r"can be updated +yes", answer.out)
    harm = "Columns of kind 'category' make later rows worse: the metric gains "
    assert harm in answer.out
    assert ("They are left out." in answer.out) == ("--split-by" in options)
    assert nearlabel("predict", "m.skops", "later.csv").code == 0
    assert nearlabel("update", "m.skops", "later.csv").code == 0


def test_thresholds_of_a_split_are_of_the_later_fifth(nearlabel, tickets):
    """By a column of dates or numbers, a feature or not. Places mean nothing here, and are left out."""
    thresholds = {}
    for column in ("day", "id", "size"):
        model = fitted(nearlabel, f"{KINDS} {QUICK} --split-by {column}")
        thresholds[column] = model[-1].thresholds_.tolist()
    assert thresholds["day"] == thresholds["id"], "ids ascend with the days"
    assert thresholds["size"] != thresholds["day"]
    data = load_dataset("now.csv", labels_column="tags", ignore=("id", "place"), dates=("day",))
    expected = fit_for_later(Candidate("mlknn@micro-f", 3, "minmax", "exact"), data, np.arange(80) // 2)
    assert thresholds["day"] == expected[-1].thresholds_.tolist()


@pytest.mark.parametrize("n_rows", [4, 8, 12, 40])
@pytest.mark.parametrize("options", ["", "--split-by day", "--method brknn --k 2"])
def test_small_tables_have_no_second_estimate(nearlabel, tickets, n_rows, options):
    """Of so few rows it would be chance; the fit goes on."""
    write(Path("now.csv"), n_rows, 0)
    answer = nearlabel("fit", "now.csv", *KINDS.split(), *options.split(), "--out", "m.skops")
    assert answer.code == 0, answer.err
    assert "No estimate for later rows: DATA must have more rows, or more distinct values of day." in answer.out


def test_what_is_missing_for_the_second_estimate(nearlabel, tickets):
    """A line says it; with --split-by it is an error."""
    lines = Path("now.csv").read_text().splitlines()
    cells = lines[5].split(",")
    Path("now.csv").write_text("\n".join([*lines[:5], ",".join([cells[0], "", *cells[2:]]), *lines[6:]]) + "\n")
    fit = ("fit", "now.csv", *KINDS.split(), *QUICK.split(), "--impute", "median", "--out", "m.skops")
    missing = "must have a value in each row, got 1 without, the first row 4."
    assert f"No estimate for later rows: day {missing}" in nearlabel(*fit).out
    for option, message in (
        ("--split-by day", f"--split-by {missing}"),
        ("--split-by place", "--split-by must name a column of numbers, or of dates such as 2026-01-31, got 'place'"),
        ("--split-by none", "'none'"),
        ("--split-by id --groups place", "--split-by must go without --groups."),
        ("--split-by id --guarantee recall=0.9", "must go without"),
    ):
        answer = nearlabel(*fit, "--force", *option.split())
        assert answer.code == 2
        assert message in answer.err


def test_several_dates_need_a_name(nearlabel, tickets):
    """Else no estimate is possible."""
    rows = list(csv.reader(Path("now.csv").read_text().splitlines()))
    with Path("now.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*row, "due" if row[0] == "id" else row[1]] for row in rows])
    kinds = KINDS.replace("--date day", "--date day,due").split()
    answer = nearlabel("fit", "now.csv", *kinds, *QUICK.split(), "--out", "m.skops")
    assert "No estimate for later rows: --split-by must name one of the dates day, due." in answer.out
