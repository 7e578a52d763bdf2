import csv
import io
import json

import numpy as np
import pytest

from nearlabel.datasets import Dataset
from nearlabel.experiments import METHODS
from nearlabel.papers import Paper, paper_names
from nearlabel.selection import specs


def small(name, subset="all"):
    """A small data set of any name; a paper gives names to the five labels of "image"."""
    rng = np.random.default_rng(sum(map(ord, name + subset)))
    X = rng.normal(size=(30, 2))
    labels = tuple("vwxyz" if name == "image" else "xyz")
    return Dataset(X, (X @ rng.normal(size=(2, len(labels))) > 0.5).astype(np.int64), ("a", "b"), labels, name)


SLOW = ("cbm", "ranksvm", "adaboostmh", "adtboostmh", "rfpct", "rakelo", "homer")


class SmallPaper(Paper):
    """A paper whose experiments run on small data: two folds and one shuffle, or three runs."""

    def __init__(self, name, **options):
        super().__init__(name, load=small, **options)
        for experiment in self._facts["experiments"].values():
            if experiment.get("protocol") == "thresholds":
                experiment |= {"cv": 2, "n_parts": 3, "n_parts_used": 2}
                continue
            experiment |= {"cv": 2, "seeds": [0]}
            if name == "gweon2019":
                experiment["datasets"] = experiment["datasets"][:3]
            if "with_labels" in experiment:
                experiment["with_labels"] = {name: [whole, 0] for name, (whole, _) in experiment["with_labels"].items()}
            if len(experiment["n_neighbors"]) > 5:
                experiment["n_neighbors"] = [1, 2, 5]


@pytest.fixture(autouse=True)
def small_papers(monkeypatch, tmp_path):
    """No real data, and nothing written outside the test's folder."""
    monkeypatch.setattr("nearlabel.papers.Paper", SmallPaper)
    # What is tested is what is printed of records: slow methods, whose tests are elsewhere, are stood in for.
    standing_in = dict.fromkeys(SLOW, METHODS["br"])
    monkeypatch.setattr(specs, "METHODS", {**METHODS, **standing_in})
    monkeypatch.chdir(tmp_path)


def test_table(nearlabel):
    """Printed, ours and the difference side by side, then the largest differences and the notes."""
    answer = nearlabel("reproduce", "zhang2007", "--table", "1")
    cell = SmallPaper("zhang2007").reproduce_table("1").cells[0]
    assert (answer.code, answer.err) == (0, "")
    title, header, _, first, *_ = [line for line in answer.out.splitlines() if line.strip()]
    assert title.startswith("zhang2007, table 1: ML-kNN on yeast")
    assert header.split() == ["data", "set", "method", "k", "metric", "printed", "ours", "difference"]
    assert first.split()[:4] == ["yeast", "mlknn", "8", "hamming_loss"]
    figures = f"0.195 ± 0.010 {cell.ours:.3f} ± {cell.std:.3f} {cell.difference:+.3f}"
    assert " ".join(first.split()).endswith(figures)
    assert "\nLargest differences: hamming_loss " in answer.out
    assert "\nNote: The paper's folds are not known" in answer.out


@pytest.mark.long
def test_other_readings_are_shown(nearlabel):
    """A column of its own for what a cell may mean otherwise."""
    out = nearlabel("reproduce", "spyromitros2008", "--table", "2").out
    assert "ours, other reading" in out
    assert "recall_examples 0." in out


def test_statistics_are_shown_as_numbers(nearlabel):
    """Counts without decimals, their differences with a sign."""
    lines = nearlabel("reproduce", "spyromitros2008", "--table", "1").out.splitlines()
    assert next(line.split() for line in lines if "instances" in line) == ["scene", "instances", "2712", "30", "-2682"]


def test_label_sets_have_a_column(nearlabel):
    """Beside the data set, joined as the paper does; lists in JSON, and in the cells of CSV."""
    command = ("reproduce", "zhang2007", "--table", "4")
    out = nearlabel(*command).out
    header, two = (next(line for line in out.splitlines() if word in line) for word in ("label set  ", "sea + trees"))
    assert header.split() == ["data", "set", "label", "set", "metric", "printed", "ours", "difference"]
    assert two.split()[:6] == ["image", "sea", "+", "trees", "instances", "14"]
    (table,) = json.loads(nearlabel(*command, "--format", "json").out)
    assert table["cells"][5]["label_set"] == ["desert", "mountains"]
    rows = list(csv.DictReader(io.StringIO(nearlabel(*command, "--format", "csv").out)))
    assert (rows[5]["label_set"], rows[-1]["label_set"]) == ('["desert", "mountains"]', "")


def test_small_statistics_are_shown_with_all_their_digits(nearlabel):
    """Shares as the paper prints them, the smallest too; the largest difference of counts is a count."""
    out = nearlabel("reproduce", "pillai2012", "--table", "1").out
    rarest = next(line.split() for line in out.splitlines() if "lowest_frequency" in line)
    assert rarest[:3] == ["reuters21578-terms", "lowest_frequency", "0.00013"]
    assert "\nLargest differences: training_instances 7739, test_instances 2989, " in out


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_ranking(nearlabel):
    """A table for each measure with its claim, methods in the order of their mean ranks, then the tests and notes."""
    answer = nearlabel("reproduce", "gweon2019", "--ranking", "1")
    ranking = SmallPaper("gweon2019").reproduce_ranking("1")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("gweon2019, ranking 1: NLDD and its rivals")
    assert "\nsubset_accuracy (the paper: 0/1 loss, its complement: NLDD first)\n" in answer.out
    ranks = ranking.metrics[0].mean_ranks
    methods = next(line.split()[2:] for line in answer.out.splitlines() if line.split()[:2] == ["data", "set"])
    assert methods == sorted(ranks, key=ranks.get)
    last = next(line.split()[2:] for line in answer.out.splitlines() if line.split()[:2] == ["mean", "rank"])
    assert last == [f"{ranks[method]:.2f}" for method in methods]
    assert sum("nldd - br" in line for line in answer.out.splitlines()) == 3 * 3
    assert "corrected for their overlap" in answer.out
    assert "\nNote: The paper's own tables could not be had" in answer.out


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_ranking_in_files(nearlabel):
    """JSON holds what the ranking holds; CSV has a row for each value, mean rank and test."""
    ranking = SmallPaper("gweon2019").reproduce_ranking("1")
    command = ("reproduce", "gweon2019", "--ranking", "1", "--format")
    (found,) = json.loads(nearlabel(*command, "json").out)
    assert found["metrics"] == json.loads(json.dumps(ranking.as_dict()["metrics"]))
    rows = list(csv.DictReader(io.StringIO(nearlabel(*command, "csv").out)))
    n_methods = len(ranking.metrics[0].mean_ranks)
    assert n_methods == 15
    assert len(rows) == 4 * n_methods * 3 + 4 * n_methods + len(ranking.tests)
    (rank,) = (
        r for r in rows if r["mean_rank"] and (r["method"], r["metric"]) == ("smbr:probability=False", "f1_examples")
    )
    assert float(rank["mean_rank"]) == ranking.metrics[2].mean_ranks["smbr:probability=False"]
    row = next(r for r in rows if r["n_pairs"] and (r["dataset"], r["metric"]) == ("yeast", "hamming_loss"))
    test = next(t for t in ranking.tests if (t.dataset, t.metric) == ("yeast", "hamming_loss"))
    assert (row["method"], float(row["difference"])) == ("nldd - br:probability=False", test.difference)


@pytest.mark.long
def test_results_without_a_number_of_neighbours(nearlabel):
    """Nothing stands in the column k, on the screen and in a file."""
    table = nearlabel("reproduce", "pillai2012", "--table", "2").out
    first = next(line.split() for line in table.splitlines() if "svm-rbf" in line)
    assert first[:6] == ["yeast", "svm-rbf", "validation_micro_f1", "0.682", "±", "0.002"]
    answer = nearlabel("reproduce", "pillai2012", "--table", "2", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(answer), strict=True))
    assert {row["n_neighbors"] for row in rows} == {""}
    assert "None" not in table


@pytest.mark.long
def test_json(nearlabel):
    """Tables and figures in one list, in the order asked for, without NaN."""
    answer = nearlabel(
        "reproduce", "spyromitros2008", "--table", "3", "--table", "1", "--figure", "1", "--format", "json"
    )
    results = json.loads(answer.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (answer.code, answer.err) == (0, "")
    assert [r.get("table", r.get("figure")) for r in results] == ["3", "1", "1"]
    cell = results[0]["cells"][0]
    assert cell["difference"] == pytest.approx(cell["ours"] - cell["printed"])
    assert set(results[2]["series"]) == {"scene", "emotions", "yeast"}
    assert list(results[2]["series"]["yeast"]) == ["1", "2", "5"]


@pytest.mark.long
def test_csv_of_tables_and_figures_is_one_table(nearlabel):
    """One header for all: a row is a cell of a table or a point of a figure."""
    command = ("reproduce", "spyromitros2008", "--table", "1", "--table", "2", "--figure", "1", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(nearlabel(*command).out), strict=True))
    cells = [row for row in table if row["table"] == "2"]
    points = [row for row in table if row["figure"] == "1"]
    assert len(table) == 18 + len(cells) + len(points)
    assert len(points) == 9
    assert all(0 <= float(row["ours"]) <= 1 and row["printed"] == "" for row in points)
    assert all(float(row["difference"]) == float(row["ours"]) - float(row["printed"]) for row in cells)
    f_measure = next(row for row in cells if row["metric"] == "f1_of_means")
    assert set(json.loads(f_measure["beside"])) == {"recall_examples", "f1_examples"}


@pytest.mark.long
def test_figure_is_drawn(nearlabel, tmp_path):
    """A table of the curves on screen, the picture in the folder asked for."""
    answer = nearlabel("reproduce", "spyromitros2008", "--figure", "1", "--out", "results")
    assert (answer.code, answer.err) == (0, "")
    header = [line for line in answer.out.splitlines() if line.strip()][1]
    assert header.split() == ["k", "scene", "emotions", "yeast"]
    assert answer.out.endswith("Figure: results/spyromitros2008-figure1.png\n")
    assert (tmp_path / "results" / "spyromitros2008-figure1.png").is_file()
    assert (tmp_path / "results" / "spyromitros2008-lazy" / "records.jsonl").is_file()


@pytest.mark.long
def test_figures_of_distances(nearlabel, tmp_path):
    """The cube and the pairs of gweon2019: distances in tables, pictures in files, plain rows as CSV."""
    command = ("reproduce", "gweon2019", "--figure", "1", "--figure", "2", "--out", "results")
    answer = nearlabel(*command)
    assert (answer.code, answer.err) == (0, "")
    cube, pairs = (SmallPaper("gweon2019").reproduce_figure(number) for number in "12")
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["y2", "(1,", "0,", "1)", "0.6225"] in lines
    m2 = pairs.marks["m2, nearest in the labels"]
    cells = [str(pairs.row[m2]), f"{pairs.dx[m2]:.4f}", f"{pairs.dy[m2]:.4f}", str(pairs.loss[m2])]
    assert [line[-4:] for line in lines if "m2," in line and "labels" in line[-5:]] == [cells]
    assert sorted(file.name for file in (tmp_path / "results").iterdir()) == [
        "gweon2019-figure1.png",
        "gweon2019-figure2.png",
    ]
    rows = list(csv.DictReader(io.StringIO(nearlabel(*command, "--format", "csv").out), strict=True))
    assert [float(row["ours"]) for row in rows if row["figure"] == "1"] == list(cube.distances)
    assert [float(row["ours"]) for row in rows if row["metric"] == "dx"] == list(pairs.dx)
    assert {row["remark"] for row in rows if row["row"] == str(pairs.row[pairs.marks["m1, nearest in the features"]])}


@pytest.mark.long
def test_everything(nearlabel):
    """Without --table and --figure, all of them."""
    results = json.loads(nearlabel("reproduce", "zhang2007", "--format", "json").out)
    assert [r["table"] for r in results] == [*map(str, range(1, 16))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zhang"], f"paper must be one of {paper_names()}, got 'zhang'. Hint: the path of a file ends in .toml."),
        (["zhang2007", "--table", "16"], f"table must be one of {', '.join(map(str, range(1, 16)))}, got 16."),
        (["zhang2007", "--figure", "1"], "figure must be one of none, got 1."),
    ],
)
def test_unknown(nearlabel, arguments, message):
    """The known ones are listed, in one line."""
    assert nearlabel("reproduce", *arguments) == (2, "", f"nearlabel: {message}\n")


def test_an_unknown_table_is_found_before_another_is_run(nearlabel, monkeypatch):
    """A slip in the second option does not cost the time of the first."""
    monkeypatch.setattr(SmallPaper, "reproduce_table", lambda *_: pytest.fail("a table was run"))
    assert nearlabel("reproduce", "zhang2007", "--table", "1", "--table", "99").code == 2


def test_interrupted(nearlabel, monkeypatch):
    """Ctrl-C says that the same command resumes where there is a folder."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SmallPaper, "reproduce_table", interrupt)
    assert nearlabel("reproduce", "zhang2007") == (130, "", "nearlabel: interrupted.\n")
    resumes = "nearlabel: interrupted. The same command resumes.\n"
    assert nearlabel("reproduce", "zhang2007", "--out", "results") == (130, "", resumes)


def test_markdown(nearlabel, monkeypatch):
    """A page: where the figures come from, then the tables with the rows that the screen shows, and the notes."""
    command = ("reproduce", "zhang2007", "--table", "1", "--format", "markdown")
    monkeypatch.setattr("sys.argv", ["nearlabel", *command])
    page = nearlabel(*command).out
    title, reference, origin, heading, *_ = page.split("\n\n")
    assert title == "# zhang2007: ML-KNN: A lazy learning approach to multi-label learning"
    assert reference.startswith("M.-L. Zhang, Z.-H. Zhou.")
    assert origin.startswith("Made by `nearlabel reproduce zhang2007 --table 1 --format markdown` on 20")
    for part in ("with nearlabel ", "numpy ", "scikit-learn ", "the seeds 0 (yeast); 0 (yeast-rivals); 0 (image)"):
        assert part in origin
    assert heading.startswith("**zhang2007, table 1: ")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| yeast")
    ]
    screen = nearlabel("reproduce", "zhang2007", "--table", "1").out
    assert [" ".join(row) for row in rows] == [
        " ".join(line.split()) for line in screen.splitlines() if line.split()[:1] == ["yeast"]
    ]
    assert "\n\nNote: The paper's folds are not known" in page


LEFT_OUT = "yahoo-arts, yahoo-computers, yahoo-education, yahoo-entertainment, yahoo-health, yahoo-recreation"
LOOK = (
    f"A preview only (--quick). Experiments: web leaves out 8 of 11 data sets ({LEFT_OUT}, yahoo-social,"
    " yahoo-society); in full: yeast."
)


@pytest.mark.long
@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "json"])
def test_a_quick_look_says_first_what_it_leaves_out(nearlabel, format_):
    """Tables and pages begin with it; of formats for programs it is on standard error."""
    answer = nearlabel("reproduce", "zhang2007", "--table", "1", "--table", "10", "--quick", "--format", format_)
    assert answer.code == 0
    if format_ in ("csv", "json"):
        assert answer.err == f"nearlabel: {LOOK}\n"
    else:
        assert 0 <= answer.out.index(LOOK) < answer.out.index("zhang2007, table 1:")
        assert answer.err == ""


def test_a_quick_look_that_leaves_out_nothing_says_so(nearlabel):
    """A short paper runs in full, and statistics of data have no folds to leave out."""
    out = nearlabel("reproduce", "zhang2007", "--table", "1", "--quick").out
    assert out.startswith("--quick leaves out nothing here: yeast ran in full.")
    assert "--quick" not in nearlabel("reproduce", "zhang2007", "--table", "4", "--quick").out
    assert "--quick" not in nearlabel("reproduce", "zhang2007", "--table", "1").out
