"""Results of other programs: what is read, how it meets ours, and what is refused."""

import json

import numpy as np
import pytest

from nearlabel.comparison import compare, paired_values, read_results
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import Plan, run

HEADER = "dataset,fold,method,metric,value"


def theirs(n_folds=3, *, first=0, method="theirs", metric="hamming_loss", dataset="multidigits", **fields):
    """Records of a method of another program, without seed and number of neighbours."""
    return [
        {"dataset": dataset, "fold": f, "method": method, "metric": metric, "value": 0.1 + f / 100, **fields}
        for f in range(first, first + n_folds)
    ]


def as_csv(records, separator=","):
    """The text of a CSV file."""
    lines = [list(records[0]), *(record.values() for record in records)]
    return "".join(separator.join(map(str, line)) + "\n" for line in lines)


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """A folder with our own results: one method on three folds."""
    folder = tmp_path_factory.mktemp("runs") / "ours"
    plan = Plan(("brknn",), (3,), cv=3, metrics=("hamming_loss",))
    run(plan, {"multidigits": load_multidigits()}, out=folder)
    return folder


@pytest.fixture
def file(tmp_path):
    """Write a file and return its path."""

    def write(text, name="theirs.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


FORMS = {
    "csv": lambda records, file: file(as_csv(records)),
    "csv with semicolons": lambda records, file: file("\ufeff" + as_csv(records, ";")),
    "json lines": lambda records, file: file("\n".join(map(json.dumps, records)) + "\n\n", "theirs.jsonl"),
    "frame": lambda records, _: pytest.importorskip("pandas").DataFrame(records),
    "list": lambda records, _: records,
    "generator": lambda records, _: (record for record in records),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_records(form, file):
    """Whatever form results have, they become the same flat records; other columns are dropped."""
    records = theirs(program="MEKA")
    expected = [{k: v for k, v in r.items() if k != "program"} | {"n_neighbors": None, "seed": 0} for r in records]
    results = FORMS[form](records, file)
    assert read_results(results) == expected
    assert [type(record["fold"]) for record in read_results(FORMS[form](records, file))] == [int] * 3


@pytest.mark.parametrize("form", [form for form in FORMS if form != "generator"])
def test_results_of_another_program_meet_ours(form, ours, file):
    """Their method is tested against ours, fold by fold; a note says that nobody can check the rows."""
    comparison = compare([ours, FORMS[form](theirs(), file)])
    (test,) = comparison.tests
    assert test.methods == ("brknn", "theirs")
    assert test.n_pairs == 3
    mine = [record["value"] for record in read_results(ours)]
    assert test.difference == pytest.approx(np.mean(mine) - 0.11)
    (note,) = comparison.notes
    assert "The folds of multidigits in" in note
    assert note.endswith("nearlabel cannot check their samples.")


def test_missing_cells(file):
    """An empty or NaN value is a metric that is undefined on that fold; an empty seed is a given split."""
    rows = ["d,0,a,micro_f1,,,10", "d,0,b,micro_f1,nan,,", "d,0,c,micro_f1,1e-1,,10.0"]
    records = read_results(file(f"{HEADER},seed,n_neighbors\n" + "\n".join(rows)))
    assert [(r["seed"], r["n_neighbors"], r["value"]) for r in records] == [
        (None, 10, None), (None, None, None), (None, 10, 0.1),
    ]  # fmt: skip


def test_a_frame_with_gaps():
    """Missing cells of a frame are missing values, and its floats are numbers of neighbours."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([*theirs(2, n_neighbors=3), *theirs(2, method="other", value=None)])
    records = read_results(frame)
    assert [(r["n_neighbors"], r["value"]) for r in records] == [(3, 0.1), (3, 0.11), (None, None), (None, None)]


@pytest.mark.filterwarnings("ignore:The folds of multidigits")
def test_seeds_are_those_of_the_others():
    """Records without a seed belong to the only shuffle of their data set, or to the given split."""
    for seed in (7, None):
        assert {r["seed"] for r in read_results([theirs(seed=seed), theirs(method="other")])} == {seed}
    two = theirs(seed=1) + theirs(seed=2)
    with pytest.raises(ValueError, match=r"records\[0\]: seed must be given, as multidigits .* the seeds 1, 2\. Hint"):
        read_results([two, theirs(method="other")])


def test_results_of_other_programs_only():
    """Two methods of theirs on two data sets, over which they are compared."""
    records = [r for m in "ab" for d in ("one", "two") for r in theirs(method=m, dataset=d)]
    comparison = compare(records)
    assert (comparison.over, comparison.test) == ("datasets", "wilcoxon")
    assert [note.partition(" are too few")[0] for note in comparison.notes] == ["2 data sets"]
    assert comparison.tests[0].n_pairs == 2


def test_fewer_folds_are_noted():
    """A source that lacks a fold is compared on those it has, and a note says so."""
    comparison = compare([theirs(5), theirs(4, method="other")])
    assert comparison.tests[0].n_pairs == 4
    assert "records has 4 of 5 folds of multidigits." in comparison.notes


def test_directions():
    """An unknown metric is better or worse by its column, or by what the caller says."""
    records = theirs(metric="mine") + [r | {"value": r["value"] / 2} for r in theirs(metric="mine", method="other")]
    for direction in (False, True):
        better = "theirs" if direction else "other"
        told = [r | {"greater_is_better": direction} for r in records]
        (by_column,) = compare(told, test="wilcoxon").tests
        (by_argument,) = compare(records, test="wilcoxon", greater_is_better={"mine": direction}).tests
        assert by_column == by_argument
        assert by_column.better == better
        (values,) = paired_values(records, "folds", greater_is_better={"mine": direction})
        assert values.ranks()[0].tolist() == ([1, 2] if direction else [2, 1])


@pytest.mark.parametrize("text", ["true", "True", "1", "false", "FALSE", "0"])
def test_directions_in_a_file(file, text):
    """The column takes what programs write for true and false; an empty cell says nothing."""
    text_of = as_csv(theirs(metric="mine", greater_is_better=text)) + "multidigits,0,other,mine,0.2,\n"
    (values,) = paired_values(file(text_of), "folds")
    assert values.greater_is_better is (text.lower() in ("true", "1"))


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        (
            theirs(metric="mine"),
            {},
            "greater_is_better must be known of every metric, got none for mine. Hint: --lower",
        ),
        (
            theirs(greater_is_better=True),
            {},
            "hamming_loss: greater_is_better must be False, as in the catalogue, got True in the results",
        ),
        (
            theirs(metric="mine", greater_is_better=True),
            {"greater_is_better": {"mine": False}},
            "mine: greater_is_better must be True, as in the results, got False in greater_is_better",
        ),
    ],
)
def test_directions_that_nobody_can_know(records, options, message):
    """An unknown metric without a direction, and two that contradict each other."""
    with pytest.raises(ValueError, match=message):
        compare(records, **options)


BAD_FILES = [
    ("", "line 1: must name the columns dataset, fold, method, metric, value, got none of dataset, fold"),
    ("dataset,fold,method,value\n", r"line 1: must name the columns .*, got none of metric \(found: dataset, fold"),
    (f"{HEADER}\nd,0,a,m,low\n", "line 2, column value: must be a finite number, or empty .*, got 'low'"),
    (f"{HEADER}\nd,0,a,m,inf\n", "line 2, column value: must be a finite number, .* got 'inf'"),
    (f"{HEADER}\nd,first,a,m,1\n", "line 2, column fold: must be a whole number, .* got 'first'"),
    (f"{HEADER}\nd,0.5,a,m,1\n", "line 2, column fold: must be a whole number, .* got '0.5'"),
    (f"{HEADER}\nd,-1,a,m,1\n", "line 2, column fold: must be a whole number, .* got '-1'"),
    (f"{HEADER}\nd,0, ,m,1\n", "line 2, column method: must be a name, got ' '"),
    (f"{HEADER},n_neighbors\nd,0,a,m,1,few\n", "line 2, column n_neighbors: must be a whole number, or empty, got"),
    (f"{HEADER},greater_is_better\nd,0,a,m,1,yes\n", "line 2, column greater_is_better: must be true or false, got"),
    (f"{HEADER}\nd,0,a,m,1\n\nd,0,a,m\n", "line 4: must have 5 cells, as line 1, got 4"),
    (
        f"{HEADER}\nd,0,a,m,1\nd,0,a,m,2\n",
        "line 3: each record must occur once, got dataset d, fold 0, method a, metric m again, which is in .*, line 2",
    ),
    (f'{HEADER}\nd,0,"a,m,1\n', "must be text in UTF-8, got unexpected end of data"),
    (f"{HEADER}\nd,1,a,m,1\nd,2,a,m,1\n", "line 2: the folds of d must be numbered from 0, got folds 1 to 2 of seed 0"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_bad_csv(file, text, message):
    """The file, the line and the column, what was expected and what stands there."""
    with pytest.raises(ValueError, match=rf"theirs\.csv,? {message}"):
        read_results(file(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: must be JSON, got '{'"),
        ("[" * 100_000, "line 1: must be JSON"),
        ("3", "line 1: must be an object of JSON, got '3'"),
        (
            '{"dataset": "d"}',
            r"line 1: a record must have .*, got none of fold, method, metric, value \(found: dataset",
        ),
        (json.dumps(theirs(1)[0] | {"value": True}), "line 1, column value: must be a finite number, .* got True"),
        (json.dumps(theirs(1)[0] | {"method": 3}), "line 1, column method: must be a name, got 3"),
        (json.dumps(theirs(1)[0] | {"fold": None}), "line 1, column fold: must be a whole number, .* got None"),
    ],
)
def test_bad_json_lines(file, text, message):
    """As of CSV."""
    with pytest.raises(ValueError, match=rf"theirs\.jsonl, {message}"):
        read_results(file(text, "theirs.jsonl"))


def test_files_that_are_no_results(file, tmp_path):
    """Another suffix, bytes that are no text, no file, no record."""
    with pytest.raises(ValueError, match=r"theirs\.xlsx must be a \.csv or \.jsonl file, .* got suffix '\.xlsx'"):
        read_results(file("", "theirs.xlsx"))
    path = tmp_path / "bytes.csv"
    path.write_bytes(f"{HEADER}\n".encode() + b"\xff\n")
    with pytest.raises(ValueError, match=r"bytes\.csv must be text in UTF-8"):
        read_results(path)
    with pytest.raises(ValueError, match=r"nowhere\.csv must be a folder of records"):
        read_results(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="results must contain at least one record, got none"):
        read_results(file(f"{HEADER}\n"))


def test_folds_that_do_not_pair(ours, file):
    """Other folds of the same data set, and another value for the same record."""
    other = theirs(seed=5)
    with pytest.raises(
        ValueError,
        match=r"theirs\.csv, line 2: the folds of multidigits must be those of .*ours, folds 0 to 2 of seed 0, got"
        r" fold 0 of seed 5\. Hint: a column seed",
    ):
        read_results([ours, file(as_csv(other))])
    with pytest.raises(
        ValueError, match=r"records\[1\] must agree with records\[1\] .*, got 7.0 in place of 0.11 \(dataset"
    ):
        read_results([theirs(), [r | {"value": 7} if r["fold"] == 1 else r for r in theirs()]])


def test_records_in_memory_are_checked(file):
    """A dict that occurs twice, and one with a wrong field, are named by their numbers."""
    with pytest.raises(ValueError, match=r"records\[3\]: each record must occur once, .* which is in records\[0\]"):
        compare(theirs() + theirs(1))
    with pytest.raises(ValueError, match=r"records\[0\], column value: must be a finite number, .* got 'x'"):
        compare([theirs(1)[0] | {"value": "x"}])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"frame, row 1, column fold: must be a whole number, .* got 'x'"):
        compare(pandas.DataFrame([theirs(1)[0], theirs(1)[0] | {"fold": "x"}]))
