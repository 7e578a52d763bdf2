import csv
import io
import json
import math
import re
import sys
from pathlib import Path

import pytest

from nearlabel.cli._arguments import numbers
from nearlabel.experiments import METHODS, NEIGHBOR_METHODS, SEARCHES, THRESHOLDS, make_method, make_search
from nearlabel.metrics import CATALOGUE

QUICK = ("--k", "3", "--cv", "3", "--methods", "brknn,mlknn", "--metrics", "hamming_loss,one_error")


def values(answer):
    """The cells of a JSON answer without the name of the data set."""
    assert (answer.code, answer.err) == (0, "")
    return [{k: v for k, v in cell.items() if k != "dataset"} for cell in json.loads(answer.out)]


def test_json(nearlabel, meka):
    """A cell for each method, number of neighbours and measure, then the means over the numbers; no NaN."""
    answer = nearlabel("evaluate", meka, *QUICK, "--k", "1,3", "--format", "json")
    cells = json.loads(answer.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert {(c["method"], c["n_neighbors"], c["metric"]) for c in cells} == {
        (method, k, metric)
        for method in ("brknn", "mlknn")
        for k in (1, 3, "mean")
        for metric in ("hamming_loss", "one_error")
    }
    assert {c["dataset"] for c in cells} == {"fruit"}
    assert {c["spread"] for c in cells} == {None}
    assert all(0 < c["mean"] < 1 and c["std"] >= 0 for c in cells)


def test_csv_agrees_with_json(nearlabel, meka):
    """One header, one row a cell, the same numbers to the last digit."""
    answer = nearlabel("evaluate", meka, *QUICK, "--format", "csv")
    table = list(csv.DictReader(io.StringIO(answer.out)))
    cells = json.loads(nearlabel("evaluate", meka, *QUICK, "--format", "json").out)
    assert [(r["method"], r["metric"], float(r["mean"]), float(r["std"])) for r in table] == [
        (c["method"], c["metric"], c["mean"], c["std"]) for c in cells
    ]
    assert math.isnan(float(table[0]["spread"]))


def table_cells(out):
    """The lines of each table of an answer, split where two blanks or more divide the cells."""
    lines = [re.split(r" {2,}", line.strip()) for line in out.splitlines()]
    return [line for line in lines if line != [""] and not line[0].startswith("─")]


@pytest.mark.parametrize(("format_", "ending"), [("markdown", " |"), ("latex", r" \\")])
def test_pages_have_every_metric_in_one_table(nearlabel, meka, monkeypatch, format_, ending):
    """Whatever the width: the same figures as in the table, and the figures of each label and the ranking below."""
    monkeypatch.setenv("COLUMNS", "40")
    answer = nearlabel("evaluate", meka, *QUICK, "--per-label", "--format", format_)
    assert (answer.code, answer.err) == (0, "")
    lines = [line.removesuffix(ending).strip("| ") for line in answer.out.splitlines() if line.endswith(ending)]
    rows = [re.split(r" [|&] ", line) for line in lines]
    cells = json.loads(nearlabel("evaluate", meka, *QUICK, "--format", "json").out)
    means = [f"{cell['mean']:.4f}" for cell in cells if (cell["method"], cell["n_neighbors"]) == ("mlknn", 3)]
    row = next(row for row in rows if row[0] == "mlknn")
    assert [cell[:6] for cell in row[1:]] == means
    assert "Labels, mlknn" in answer.out
    assert "corrected-t over the 3 folds" in answer.out
    assert "more metric" not in answer.out


@pytest.mark.parametrize("name", ["table.tex", "metrics.CSV"])
def test_records_need_a_folder(nearlabel, meka, tmp_path, name):
    """A name that is that of a file is refused before the run; a folder that exists is one whatever its name."""
    answer = nearlabel("evaluate", meka, *QUICK, "--out", tmp_path / name)
    assert (answer.code, answer.out) == (2, "")
    assert f"--out: must be a folder, for the records, got '{tmp_path / name}'; --format and > " in answer.err
    assert not (tmp_path / name).exists()
    (tmp_path / name).mkdir()
    assert nearlabel("evaluate", meka, *QUICK, "--out", tmp_path / name).code == 0


def test_table(nearlabel, meka):
    """A row a method, a column a metric with its direction, mean and deviation, a star at the best."""
    answer = nearlabel("evaluate", meka, *QUICK)
    cells = {
        (c["method"], c["metric"]): c for c in json.loads(nearlabel("evaluate", meka, *QUICK, "--format", "json").out)
    }
    (title,), headers, *lines = table_cells(answer.out)[:4]
    assert title == "fruit: k = 3, mean ± deviation over folds; * is best"
    assert headers == ["method", "Hamming loss ↓", "one-error ↓"]
    assert [line[0] for line in lines] == ["brknn", "mlknn"]
    for column, metric in enumerate(("hamming_loss", "one_error"), start=1):
        best = min(cells[method, metric]["mean"] for method in ("brknn", "mlknn"))
        for line in lines:
            cell = cells[line[0], metric]
            star = "*" if cell["mean"] == best else ""
            assert line[column] == f"{cell['mean']:.4f}±{cell['std']:.4f}{star}"


def test_table_over_k(nearlabel, meka):
    """Over several k: the mean over them, and in a second table each method's best with its k, where it has any k."""
    command = ("evaluate", meka, *QUICK, "--k", "1-4", "--methods", "mlknn,br")
    cells = json.loads(nearlabel(*command, "--format", "json").out)
    of_mlknn = [c for c in cells if (c["method"], c["metric"]) == ("mlknn", "hamming_loss")]
    best = min((c for c in of_mlknn if c["n_neighbors"] != "mean"), key=lambda c: c["mean"])
    means = {
        c["method"]: c["mean"] for c in cells if c["metric"] == "hamming_loss" and c["n_neighbors"] in (None, "mean")
    }
    lines = table_cells(nearlabel(*command, "--test", "none").out)
    assert lines[0] == ["fruit: k = 1..4, mean over k; * is best"]
    assert [[line[0], float(line[1].rstrip("*"))] for line in lines[2:4]] == [
        [method, round(means[method], 4)] for method in ("mlknn", "br")
    ]
    assert lines[4] == ["fruit: each method's best k on these test folds"]
    assert lines[6][:2] == ["mlknn", f"{best['mean']:.4f} (k={best['n_neighbors']})"]
    assert len(lines) == 7


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("k", ["3", "1-4"])
def test_a_table_is_as_wide_as_there_is_room(nearlabel, meka, monkeypatch, width, k):
    """No line is longer; the usual metrics come first, others as there is room; how many are left out is said."""
    monkeypatch.setenv("COLUMNS", str(width))
    answer = nearlabel("evaluate", meka, "--k", k, "--cv", "2", "--methods", "brknn,mlknn", "--test", "none")
    *lines, last = answer.out.splitlines()
    assert max(map(len, lines)) <= width
    assert width - max(map(len, lines)) < 20
    stated = re.fullmatch(r"(\d+) more metrics: use a wider terminal or --format csv\.", last)
    shown = next(line for line in table_cells(answer.out) if line[0] == "brknn")[1:]
    assert len(shown) + int(stated[1]) == len(CATALOGUE) + 1  # and the share of empty predictions
    cells = json.loads(nearlabel("evaluate", meka, "--k", k, "--cv", "2", "--methods", "brknn", "--format", "json").out)
    means = {c["metric"]: f"{c['mean']:.4f}" for c in cells if c["n_neighbors"] == ("mean" if k == "1-4" else 3)}
    usual = ("hamming_loss", "subset_accuracy", "micro_f1", "average_precision", "jaccard_examples", "macro_f1")
    assert [cell[:6] for cell in shown[:6]] == [means[metric] for metric in usual[: len(shown)]]


def test_metrics_asked_for_are_all_printed(nearlabel, meka, monkeypatch):
    """In further tables below, in the order asked for, with the same numbers as beside one another."""
    monkeypatch.setenv("COLUMNS", "60")
    command = ("evaluate", meka, *QUICK[:-1], "recall_examples,coverage,one_error,micro_f1,macro_f1", "--test", "none")
    narrow = nearlabel(*command).out
    monkeypatch.setenv("COLUMNS", "200")
    wide = nearlabel(*command).out
    assert max(map(len, narrow.splitlines())) <= 60
    parts = [line for line in table_cells(narrow) if line[0] in ("brknn", "mlknn")]
    whole = [line for line in table_cells(wide) if line[0] in ("brknn", "mlknn")]
    assert len(parts) > len(whole) == 2
    for method, *cells in whole:
        assert [cell for line in parts if line[0] == method for cell in line[1:]] == cells
    headers = [line for line in table_cells(wide) if line[0] == "method"]
    assert headers == [["method", "recall ↑", "coverage ↓", "one-error ↓", "micro F1 ↑", "macro F1 ↑"]]


TUNED = ("--thresholds", "micro-f:beta=2, 0.3", "--metrics", "micro_f1,one_error")
TUNED_METHODS = ["brknn", "brknn@micro-f:beta=2", "brknn@0.3", "mlknn", "mlknn@micro-f:beta=2", "mlknn@0.3"]


def test_thresholds_add_rows(nearlabel, meka):
    """Each method is followed by itself with each of the thresholds, in every format."""
    table, json_, csv_ = (nearlabel("evaluate", meka, *QUICK, *TUNED, "--format", f) for f in ("table", "json", "csv"))
    cells = [cell for cell in values(json_) if cell["n_neighbors"] == 3]
    assert list(dict.fromkeys(cell["method"] for cell in cells)) == TUNED_METHODS
    assert [line.split()[0] for line in table.out.splitlines()[4:10]] == TUNED_METHODS
    rows = [row for row in csv.DictReader(io.StringIO(csv_.out)) if row["n_neighbors"] == "3"]
    assert [(row["method"], float(row["mean"])) for row in rows] == [(cell["method"], cell["mean"]) for cell in cells]


def test_thresholds_are_those_of_the_specification(nearlabel, meka):
    """The rows are those of --methods with an @; such a method gets no other thresholds behind its own."""
    methods = ("--methods", ",".join(TUNED_METHODS), *TUNED[2:])
    cells = values(nearlabel("evaluate", meka, *QUICK, *TUNED, "--format", "json"))
    assert values(nearlabel("evaluate", meka, *QUICK, *methods, "--format", "json")) == cells
    own = ("--thresholds", "micro-f", "--methods", "mlknn@rcut,brknn", *TUNED[2:])
    cells = values(nearlabel("evaluate", meka, *QUICK, *own, "--format", "json"))
    assert list(dict.fromkeys(cell["method"] for cell in cells)) == ["mlknn@rcut", "brknn", "brknn@micro-f"]


def test_thresholds_leave_rankings_alone(nearlabel, meka):
    """The label sets differ, the scores do not."""
    cells = values(nearlabel("evaluate", meka, *QUICK, *TUNED, "--format", "json"))
    means = {(c["method"], c["metric"]): c["mean"] for c in cells if c["n_neighbors"] == 3}
    assert len({means[method, "micro_f1"] for method in TUNED_METHODS[3:]}) > 1
    assert len({means[method, "one_error"] for method in TUNED_METHODS[3:]}) == 1


@pytest.mark.long
def test_all_thresholds(nearlabel, meka, tmp_path):
    """Every name of the table runs, and the command resumes."""
    command = ("evaluate", meka, *QUICK, "--thresholds", ",".join(THRESHOLDS), "--out", tmp_path / "out")
    answer = nearlabel(*command)
    assert (answer.code, answer.err) == (0, "")
    assert all(f"mlknn@{name}" in answer.out for name in THRESHOLDS)
    assert nearlabel(*command) == answer


def test_thresholds_are_documented():
    """The page has a row for each name, with the options that it takes."""
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    documented = documented_options(page.split("Thresholds are a number", 1)[1])
    assert set(documented) == set(THRESHOLDS)
    for name, options in documented.items():
        assert options_taken(lambda name=name: make_method(f"mlknn@{name}:?", 3)) == options


def test_methods_without_k_are_documented():
    """The page has a row for each name, with the options that it takes."""
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    documented = documented_options(page.split("Thresholds are a number", 1)[0])
    assert set(documented) == set(METHODS) - set(NEIGHBOR_METHODS)
    for name, options in documented.items():
        taken = options_taken(lambda name=name: make_method(f"{name}:?"))
        assert [option for option in taken if option != "n_jobs"] == options


def documented_options(text):
    """The rows of a table: name, and options in alphabetical order."""
    rows = re.findall(r"^\| `([^`]*)` \|.*\| (.*)\|$", text, re.M)
    return {name: sorted(re.findall(r"`(\w+)`", options)) for name, options in rows}


def options_taken(make):
    """The options that a message about an unknown one lists."""
    with pytest.raises(ValueError, match="must be") as caught:
        make()
    return re.findall(r"'(\w+)'", str(caught.value).partition(", of ")[2])


@pytest.mark.long
def test_formats_of_files_agree(nearlabel, meka, mulan, svmlight):
    """The same rows as MEKA's, Mulan's and svmlight files, dense and sparse, give the same figures."""
    # Scaling shifts dense rows only, and CML-kNN looks at what is 0.
    methods = ",".join(name for name in NEIGHBOR_METHODS if name != "cmlknn")
    options = ("--methods", methods, "--k", "1-5", "--cv", "4", "--scale", "minmax", "--format", "json")
    answers = [values(nearlabel("evaluate", file, *options)) for file in (meka, mulan, svmlight)]
    assert answers[0] == answers[1]
    assert [list(c.values())[:3] for c in answers[0]] == [list(c.values())[:3] for c in answers[2]]
    for dense, stored in zip(answers[0], answers[2], strict=True):
        assert dense["mean"] == pytest.approx(stored["mean"], abs=1e-12)


@pytest.mark.long
def test_defaults(nearlabel, meka):
    """All methods by neighbours and all measures, k = 10, ten folds."""
    cells = values(nearlabel("evaluate", meka, "--format", "json"))
    assert {c["method"] for c in cells} == set(NEIGHBOR_METHODS)
    assert {c["n_neighbors"] for c in cells} == {10, "mean"}
    assert {c["metric"] for c in cells} == {*CATALOGUE, "empty_predictions"}


def test_relative_path(nearlabel, meka, monkeypatch):
    """A file is found from the folder the user is in."""
    monkeypatch.chdir(meka.parent)
    assert values(nearlabel("evaluate", "fruit.arff", *QUICK, "--format", "json"))


def test_blanks_in_lists(nearlabel, meka):
    """Blanks around the names and numbers of a list do no harm."""
    spaced = ("--k", " 1 - 2, 4", "--methods", "brknn, mlknn ,", "--metrics", " hamming_loss , one_error")
    plain = ("--k", "1-2,4", "--methods", "brknn,mlknn", "--metrics", "hamming_loss,one_error")
    answers = [nearlabel("evaluate", meka, "--cv", "3", *o, "--format", "json") for o in (spaced, plain)]
    assert values(answers[0]) == values(answers[1])


@pytest.mark.long
def test_workers_change_nothing(nearlabel, meka):
    """Two processes print what one prints."""
    one, two = (nearlabel("evaluate", meka, *QUICK, "--jobs", jobs, "--format", "json") for jobs in (1, 2))
    assert values(one) == values(two)


def test_seed_and_scale_matter(nearlabel, meka):
    """Another shuffle and another scale give other figures."""
    options = [(), ("--seed", "1"), ("--scale", "standard")]
    answers = [nearlabel("evaluate", meka, *QUICK, *o, "--format", "json").out for o in options]
    assert len(set(answers)) == 3


def test_folder_of_records(nearlabel, meka, tmp_path):
    """The folder holds plan, records and what made them; the same command reads them and prints the same."""
    command = ("evaluate", meka, *QUICK, "--out", tmp_path / "out")
    first = nearlabel(*command)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "made_with.jsonl",
        "plan.json",
        "records.jsonl",
    ]
    assert nearlabel(*command) == first == nearlabel("evaluate", meka, *QUICK)


def test_given_split(nearlabel, data_folder):
    """A data set of the catalogue is run on its own parts: one fold, no deviation."""
    answer = nearlabel("evaluate", "emotions", *QUICK, "--cv", "given", "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("emotions: k = 3; * is best\n")
    assert "±" not in answer.out
    assert "nan" not in answer.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "auto"), "argument --k: must be like 10 or 1-30, got 'auto'; fit and tune choose the best number"),
        (("--k", "x"), "argument --k: must be like 10, 1-30 or 5,10,20, got 'x'"),
        (("--k", ""), "argument --k: must be like 10, 1-30 or 5,10,20, got ''"),
        (("--k", "5-"), "argument --k: must be like 10, 1-30 or 5,10,20, got '5-'"),
        (("--k", "-5"), "argument --k: must be like 10, 1-30 or 5,10,20, got '-5'"),
        (("--k", "2.5"), "argument --k: must be like 10, 1-30 or 5,10,20, got '2.5'"),
        (("--k", "0"), "argument --k: must name numbers of at least 1, low to high, got '0'"),
        (("--k", "30-1"), "argument --k: must name numbers of at least 1, low to high, got '30-1'"),
        (("--k", "1,30-20"), "argument --k: must name numbers of at least 1, low to high, got '1,30-20'"),
        (("--k", "1-9999999999"), "argument --k: must name at most 10,000 numbers, got '1-9999999999'"),
        (("--k", "20"), "--k must be smaller than the 20 training samples of a fold of fruit, got 20."),
        (("--cv", "ten"), "--cv must be a number of folds or 'given', got 'ten'."),
        (("--cv", "-3"), "--cv must be a number of folds or 'given', got '-3'."),
        (("--cv", "1"), "cv must be at least 2, got 1."),
        (("--cv", "31"), "cv must be at most the 30 rows of fruit, got 31."),
        (("--cv", "given"), "must be a name of the catalogue to have a given split. Hint: --cv 10."),
        (
            ("--methods", "knn"),
            "'ranksvm', 'rfpct', 'smbr', 'svm'], got 'knn'.",
        ),
        (("--methods", "MLkNN"), "got 'MLkNN'. Did you mean 'mlknn'?"),
        (("--methods", "mlknn,mlknn"), "methods must name at least one, each once, got ('mlknn', 'mlknn')."),
        (("--methods", ","), "methods must name at least one, each once, got ()."),
        (("--methods", "mlknn:smoothing=-1"), "smoothing must be a finite number above 0, got -1."),
        (("--thresholds", "micro-g"), "got 'micro-g'. Did you mean 'micro-f'?"),
        (("--thresholds", "rcut,5"), "thresholds must be a number from 0 to 1 or one of ['cardinality', "),
        (("--thresholds", "macro-f:beta=0"), "beta must be a finite number above 0, got 0."),
        (("--thresholds", "mcut:beta=1"), "thresholds 'mcut' must be without options, got 'beta=1'."),
        (("--thresholds", "rcut,rcut"), "methods must name at least one, each once"),
        (("--thresholds", ","), "argument --thresholds: must name at least one, got ','"),
        (
            ("--thresholds", "rcut", "--k", "19"),
            "samples of a fold of fruit minus the 1 left out to tune brknn@rcut, got 19.",
        ),
        (("--metrics", "f1"), "metric must be a name of the catalogue, a Metric or a function, got 'f1'."),
        (("--metrics", "one_error,one_error"), "metrics must name at least one, each once"),
        (("--seed", "-1"), "seeds must be at least 0, got -1."),
        (("--jobs", "0"), "--jobs must be a number of processes, or negative to leave some cores free, got 0."),
        (("--scale", "log"), "argument --scale: invalid choice: 'log'"),
    ],
)
def test_bad_options(nearlabel, meka, options, message):
    """One line says what is wrong; nothing is printed as a result."""
    answer = nearlabel("evaluate", meka, *QUICK, *options)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nearlabel: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yeats", "got 'yeats'. Did you mean yeast?"),
        ("none.arff", "none.arff: No such file or directory."),
        ("folder", "folder must be a file or a name of the catalogue, got a folder."),
        ("./folder", "./folder must be a file or a name of the catalogue, got a folder."),
        (
            "table.csv",
            "one of --labels, --labels-prefix and --labels-column must name the labels of table.csv, got none",
        ),
        ("torn.arff", "torn.arff, line 5: a row must have 2 cells, got 1."),
        ("torn.arff.gz", "torn.arff.gz must be a whole compressed file, got one that is truncated or damaged"),
        ("nothing.arff", "nothing.arff must contain at least one row behind @data, got none."),
        ("unlabelled.arff", "unlabelled.arff must declare which attributes are labels"),
        ("unlabelled.svm", "unlabelled.svm must contain at least one label, got none."),
        (
            "gap.arff",
            "gap.arff, row 17: column 'x' must contain numbers that are finite, got a missing value. Hint: --impute",
        ),
    ],
)
def test_bad_data(nearlabel, tmp_path, monkeypatch, name, message):
    """One line says what is wrong with the data set, with file and line where there is one; no folder is made."""
    monkeypatch.chdir(tmp_path)
    attributes = "@attribute y {0,1}\n@attribute x real\n@data\n"
    files = {
        "table.csv": "1,2\n",
        "torn.arff": f"@relation 't: -C 1'\n{attributes}1",
        "nothing.arff": f"@relation 'n: -C 1'\n{attributes}",
        "unlabelled.arff": f"@relation u\n{attributes}1,2\n",
        "unlabelled.svm": " 0:1\n 0:2\n",
        "gap.arff": f"@relation 'g: -C 1'\n{attributes}" + "1,2\n0,3\n" * 8 + "1,?\n",
    }
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    (tmp_path / "torn.arff.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    (tmp_path / "folder").mkdir()
    answer = nearlabel("evaluate", name, *QUICK, "--out", "out")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nearlabel: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_folder_of_another_plan(nearlabel, meka, tmp_path):
    """Records of other options are not overwritten; the difference is named."""
    nearlabel("evaluate", meka, *QUICK, "--out", tmp_path / "out")
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    answer = nearlabel("evaluate", meka, *QUICK, "--seed", "1", "--out", tmp_path / "out")
    assert (answer.code, answer.out) == (2, "")
    assert "must contain records of the same plan, got seeds=[1] (there: [0]). Hint: choose another" in answer.err
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before


def test_out_is_a_file(nearlabel, meka):
    """A folder cannot be made where a file is."""
    answer = nearlabel("evaluate", meka, *QUICK, "--out", meka)
    assert (answer.code, answer.out) == (2, "")
    assert f"{meka}: File exists." in answer.err


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_no_measure_is_defined(nearlabel, tmp_path, format_):
    """Where every row has all labels no ranking can be wrong: that is said, not an empty table printed."""
    file = tmp_path / "all.svm"
    file.write_text("".join(f"0,1 0:{i}\n" for i in range(12)))
    answer = nearlabel("evaluate", file, "--k", "3", "--cv", "3", "--metrics", "one_error", "--format", format_)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "nearlabel: --metrics must be defined on some fold of all, got none of one_error.\n"


def test_an_undefined_measure_is_left_out(nearlabel, tmp_path):
    """Beside measures that are defined it has no cell."""
    file = tmp_path / "all.svm"
    file.write_text("".join(f"0,1 0:{i}\n" for i in range(12)))
    cells = values(nearlabel("evaluate", file, *QUICK, "--format", "json"))
    assert {c["metric"] for c in cells} == {"hamming_loss"}


SEARCHED = ("--search", "exact:metric=cosine, exact", "--methods", "brknn,mlknn@micro-f", "--k", "3", "--cv", "3")


def test_searches(nearlabel, meka, monkeypatch):
    """A line for each method and search: the measure by both, the difference and the recall; micro-F unless told."""
    monkeypatch.setenv("COLUMNS", "120")
    table, json_, csv_ = (nearlabel("evaluate", meka, *SEARCHED, "--format", f) for f in ("table", "json", "csv"))
    assert (table.code, table.err) == (0, "")
    (title,), headers, *lines = table_cells(table.out)
    assert title == "fruit, micro F1: k = 3, mean over folds; seconds of search a fold"
    assert headers == ["method, search", "exact", "searched", "difference", "recall@3", "s, exact", "s, searched"]
    cells = {c["method"]: c for c in json.loads(json_.out) if c["n_neighbors"] == 3 and c["search"] == "exact"}
    named = [(m, s) for m in ("brknn", "mlknn@micro-f") for s in ("exact:metric=cosine", "exact")]
    for line, (method, search) in zip(lines, named, strict=True):
        assert (line[0], *line[3:5]) == (f"{method}, {search}", "+0.0000", "1.0000")
        if search == "exact":
            assert line[1:3] == [f"{cells[method]['value']:.4f}"] * 2
    rows = [row for row in csv.DictReader(io.StringIO(csv_.out)) if row["n_neighbors"] == "3"]
    assert [(row["method"], row["search"], row["recall"]) for row in rows] == [(m, s, "1.0") for m, s in named]


@pytest.mark.long
def test_searches_are_the_comparison_otherwise(nearlabel, meka):
    """The values by the exact search are those of the command without --search, for several k and measures too."""
    options = (*SEARCHED, "--k", "2-3", "--metrics", "hamming_loss,micro_f1", "--format", "json")
    costs = values(nearlabel("evaluate", meka, *options))
    cells = values(nearlabel("evaluate", meka, *options[2:]))
    plain = {(c["method"], c["n_neighbors"], c["metric"]): c["mean"] for c in cells}
    found = [c for c in costs if c["search"] == "exact"]
    assert {(c["method"], c["n_neighbors"], c["metric"]): c["exact"] for c in found} == plain
    out = nearlabel("evaluate", meka, *options[:-2], "--jobs", "2").out
    for metric in ("Hamming loss", "micro F1"):
        assert f"fruit, {metric}: k = 2..3, mean over folds and k; seconds of search a fold\n" in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("brknn, exact:metric=cosine") == 4  # for each metric the values, and below them the seconds


def test_searches_resume(nearlabel, meka, tmp_path):
    """The second run reads what the first one wrote, the seconds included."""
    command = ("evaluate", meka, *SEARCHED, "--out", tmp_path / "out")
    assert nearlabel(*command) == nearlabel(*command)


def test_an_approximate_search(nearlabel, meka):
    """Thirty rows are found by any index."""
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    searches = ("--search", "faiss-ivf:n_probe=4,faiss-hnsw,usearch", "--format", "json")
    for cell in values(nearlabel("evaluate", meka, *SEARCHED, *searches)):
        assert cell["recall"] == 1


def test_the_library_of_a_search_is_missing(nearlabel, meka, monkeypatch):
    """One line says what to install, before anything runs."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    answer = nearlabel("evaluate", meka, *SEARCHED, "--search", "faiss-ivf:n_probe=4")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "nearlabel: FaissIVFNeighbors needs faiss: pip install 'nearlabel[ann]'.\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--search", "faiss"), "search must be one of ['exact', 'faiss-hnsw', 'faiss-ivf', 'usearch'], got 'faiss'."),
        (("--search", ","), "argument --search: must name at least one, got ','"),
        (
            ("--methods", "nldd"),
            "methods must have n_neighbors and no search of their own to be compared by searches, got 'nldd'.",
        ),
        (("--metrics", ","), "metrics must name at least one, each once, got ()."),
    ],
)
def test_wrong_searches(nearlabel, meka, options, message):
    """One line on standard error."""
    answer = nearlabel("evaluate", meka, *SEARCHED, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_searches_are_documented():
    """The page names each search with the options that it takes."""
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    section = page.split("Searches are named", 1)[1].split("\n\n", 2)[1]
    documented = dict(re.findall(r"^- `([^`]*)`[^:]*: (.*(?:\n  .*)*)$", section, re.M))
    assert set(documented) == set(SEARCHES)
    for name, text in documented.items():
        with pytest.raises(ValueError, match="must be") as caught:
            make_search(f"{name}:?")
        options = re.findall(r"'(\w+)'", str(caught.value).partition(", of ")[2])
        assert options == sorted(re.findall(r"`(\w+)`", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10", (10,)), ("2-4", (2, 3, 4)), ("5,10,20", (5, 10, 20)), ("1,3-4,3", (1, 3, 4)), ("7-7", (7,))],
)
def test_numbers(text, expected):
    """Single numbers and ranges, each number once, in the order given."""
    assert numbers(text) == expected
