import csv
import io
import json
import shutil

import pytest

from nearlabel import cli
from nearlabel.cli import _compare
from nearlabel.comparison import compare, compare_rows, read_results
from nearlabel.experiments import read_records

METRICS = "hamming_loss,f1_examples"


def evaluate(file, *options):
    """Compare methods by five folds, and save the records."""
    fixed = ["--k", "1,3", "--cv", "5", "--metrics", METRICS, "--format", "json"]
    assert cli.main(["evaluate", str(file), *map(str, options), *fixed]) == 0


@pytest.fixture(scope="module")
def made(meka_text, tmp_path_factory):
    """The folders that fixtures copy for each test: what they contain takes a second."""
    folder = tmp_path_factory.mktemp("made")
    first, *others = meka_text.splitlines(keepends=True)
    for number, (name, text) in enumerate(
        {"fruit": meka_text, "nuts": "".join([first.replace("fruit", "nuts"), *others[:-6]])}.items()
    ):
        file = folder / f"{name}.arff"
        file.write_text(text)
        evaluate(file, "--methods", "brknn,mlknn,lpknn", "--out", folder / f"run{number}")
    evaluate(folder / "fruit.arff", "--methods", "brknn,mlknn,br", "--per-row", "--out", folder / "rows")
    return folder


@pytest.fixture
def runs(made, tmp_path):
    """Two folders of records, of two data sets, three methods each."""
    return [shutil.copytree(made / name, tmp_path / name) for name in ("run0", "run1")]


def test_json_and_csv_are_the_comparison(nearlabel, runs):
    """All formats hold what the library's function gives; no NaN in JSON."""
    expected = compare(read_results(runs[:1]), test="t")
    answer = nearlabel("compare", runs[0], "--test", "t", "--format", "json")
    found = json.loads(answer.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (answer.code, answer.err) == (0, "")
    assert found["order"]["scores"] == expected.order.scores
    assert found["notes"] == list(expected.notes)
    assert [test["p_value"] for test in found["tests"]] == [
        test.p_value if test.p_value == test.p_value else None for test in expected.tests
    ]
    answer = nearlabel("compare", runs[0], "--test", "t", "--format", "csv")
    assert answer.err == f"nearlabel: {expected.notes[0]}\n"
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert [(row["first"], row["second"]) for row in rows] == [test.methods for test in expected.tests]
    assert [float(row["difference"]) for row in rows] == [test.difference for test in expected.tests]


def test_table(nearlabel, runs):
    """Relations at a generous level, with what each method wins and loses, and the notes."""
    comparison = compare(read_results(runs[:1]), test="t", alpha=0.9)
    answer = nearlabel("compare", runs[0], "--test", "t", "--alpha", "0.9")
    assert (answer.code, answer.err) == (0, "")
    lines = [line.split() for line in answer.out.splitlines() if line.strip()]
    assert answer.out.startswith("Significant differences: t over folds, level 0.9\n")
    relation = comparison.order.relations[0]
    figures = [f"{relation.difference:+.4f}", f"{relation.p_value:.2g}", str(relation.n_pairs)]
    assert ["Hamming", "loss", relation.better, relation.worse, *figures] in lines
    best, score = next(iter(comparison.order.scores.items()))
    assert any(line[:2] == [best, f"{score:+d}"] for line in lines)
    assert "Note: Folds share training samples" in answer.out
    none = nearlabel("compare", runs[0], "--alpha", "1e-9").out
    assert none.startswith("No significant difference: corrected-t over folds, level 1e-09.\nNot significant, smalle")


def test_pairs_that_do_not_differ_have_their_p_values(nearlabel, runs, monkeypatch):
    """Every pair is in the table of the significant or of the others, or counted; the ranking has every metric."""
    comparison = compare(read_results(runs[:1]), test="t", alpha=0.3)
    known = [test.p_value for test in comparison.tests if test.p_value == test.p_value]
    others = sorted(p for p in known if p >= 0.3)
    assert 0 < len(others) < len(known)
    out = nearlabel("compare", runs[0], "--test", "t", "--alpha", "0.3").out
    lines = out.partition("Not significant, smallest p first\n")[2].split("Note:")[0].splitlines()
    shown = [line.split()[-2] for line in lines if line.split()[-1:] == ["5"]]
    assert shown == [f"{p:.2g}" for p in others]
    assert ("Without a p-value" in out) == (len(known) < len(comparison.tests))
    ranking = out.partition("Ranking:")[2].partition("Not significant")[0]
    assert "Hamming loss" in ranking
    assert "example" in ranking
    monkeypatch.setattr(_compare, "_MOST_OTHERS", 0)
    cut = nearlabel("compare", runs[0], "--test", "t", "--alpha", "0.3").out
    assert f"\n... and {len(others)} more: fewer --metrics, or --format csv.\n" in cut


def test_pairs_do_not_count_where_friedmans_test_finds_nothing(nearlabel, runs):
    """Their p-values are not shown; those of a metric on which it finds something are."""
    friedman = compare(read_results(runs[:1]), test="friedman").friedman
    assert [of.rejects() for of in friedman] == [False, True]
    n_alike = sum(test.p_value >= 0.05 for test in friedman[1].tests)
    assert n_alike > 0
    others = nearlabel("compare", runs[0], "--test", "friedman").out.partition("Not significant")[2]
    lines = [line for line in others.splitlines() if line.split()[-1:] == ["5"]]
    assert len(lines) == n_alike
    assert not any("Hamming loss" in line for line in lines)


@pytest.mark.parametrize("format_", ["markdown", "latex"])
def test_pages_for_a_paper(nearlabel, runs, format_):
    """The relations and the ranking as tables of a page, notes as its prose; and the rows of two methods."""
    answer = nearlabel("compare", runs[0], "--test", "t", "--alpha", "0.9", "--format", format_)
    relation = compare(read_results(runs[:1]), test="t", alpha=0.9).order.relations[0]
    assert (answer.code, answer.err) == (0, "")
    cells = ["Hamming loss", relation.better, relation.worse, f"{relation.difference:+.4f}".replace("-", "$-$")]
    text = answer.out if format_ == "latex" else answer.out.replace(" | ", " & ").replace("-0.", "$-$0.")
    assert " & ".join(cells) in text
    assert ("% Note: Folds share" if format_ == "latex" else "\n\nNote: Folds share") in answer.out
    nobody = nearlabel("compare", runs[0], "--alpha", "1e-9", "--format", format_).out
    assert nobody.removeprefix("% ").startswith("No significant difference: corrected-t over folds, level 1e-09.")


@pytest.mark.long
def test_friedman_over_data_sets(nearlabel, runs, tmp_path):
    """Mean ranks of each measure, best first, and a diagram for each."""
    figure = tmp_path / "ranks.png"
    answer = nearlabel("compare", *runs, "--test", "friedman", "--figure", figure)
    comparison = compare(read_results(runs), test="friedman")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Hamming loss, 2 data sets: Friedman's chi-squared ")
    ranks = sorted(comparison.friedman[0].mean_ranks.items(), key=lambda item: item[1])
    lines = [line.split() for line in answer.out.splitlines() if line.strip()]
    assert lines[3:6] == [[m, f"{rank:.2f}"] for m, rank in ranks]
    assert f"(Nemenyi): {comparison.friedman[0].critical_difference:.2f}\n" in answer.out
    for metric in METRICS.split(","):
        assert (figure.parent / f"ranks-{metric}.png").stat().st_size > 5000


def test_methods_and_metrics_can_be_chosen(nearlabel, runs):
    """Only what is named is compared."""
    answer = nearlabel("compare", runs[0], "--methods", "lpknn,brknn", "--metrics", "f1_examples", "--format", "json")
    assert [(t["metric"], t["methods"]) for t in json.loads(answer.out)["tests"]] == [
        ("f1_examples", ["lpknn", "brknn"])
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figure", "x.png"], "--figure must go with --test friedman, got --test not given."),
        (["--methods", "mlknn,x"], "--methods must be of those in the results, brknn, mlknn, lpknn, got x."),
        (["--alpha", "2"], "alpha must be below 1, got 2.0."),
    ],
)
def test_bad_arguments(nearlabel, runs, arguments, message):
    """One line says what is wrong, and the code is 2."""
    answer = nearlabel("compare", runs[0], *arguments)
    assert (answer.code, answer.out, answer.err) == (2, "", f"nearlabel: {message}\n")


def test_folders_that_cannot_be_compared(nearlabel, runs, meka, tmp_path):
    """No records; other folds of the same data set; another value for the same record."""
    (tmp_path / "empty").mkdir()
    empty = nearlabel("compare", tmp_path / "empty")
    assert empty.code == 2
    assert "must be a folder of records, with a plan.json, got none. Hint: evaluate --out" in empty.err
    other = tmp_path / "other"
    nearlabel(
        "evaluate", meka, "--methods", "brknn,mlknn", "--k", "1", "--cv", "3", "--metrics", METRICS, "--out", other
    )
    cut = nearlabel("compare", runs[0], other)
    assert cut.code == 2
    assert f"{other} must have the folds of fruit of {runs[0]}, got other folds (3 against 5)." in cut.err
    same = tmp_path / "same"
    same.mkdir()
    for name in ("plan.json", "records.jsonl"):
        (same / name).write_text((runs[0] / name).read_text())
    assert nearlabel("compare", runs[0], same).code == 0
    first, *rest = (same / "records.jsonl").read_text().splitlines(keepends=True)
    changed = json.loads(first) | {"value": 7}
    changed.pop("crc")
    (same / "records.jsonl").write_text(json.dumps(changed) + "\n" + "".join(rest))
    assert (
        f"{same} must agree with {runs[0]} on the values in both, got 7 in place of "
        in nearlabel("compare", runs[0], same).err
    )


def test_the_last_part_of_evaluate(nearlabel, meka):
    """Below the table: who is significantly better, by the test asked for, or a sentence that nobody is."""
    command = ("evaluate", meka, "--methods", "brknn,mlknn,lpknn", "--k", "3", "--cv", "5", "--metrics", METRICS)
    assert "corrected-t over the 5 folds, 5 % level" in nearlabel(*command).out
    by_t = nearlabel(*command, "--test", "t").out
    assert ": t over the 5 folds" in by_t
    assert "Note: Folds share training samples" in by_t
    assert "5 % level" not in nearlabel(*command, "--test", "none").out
    assert "5 % level" not in nearlabel(*command[:2], "--methods", "brknn", *command[4:]).out
    assert "5 % level" not in nearlabel(*command[:-1], "empty_predictions").out


def test_other_rows_are_other_data(nearlabel, runs, meka, tmp_path):
    """The same name and number of folds, other rows: their folds cannot be paired."""
    first, *others = meka.read_text().splitlines(keepends=True)
    fewer = tmp_path / "fewer" / meka.name
    fewer.parent.mkdir()
    fewer.write_text("".join([first, *others[:-2]]))
    other = tmp_path / "other"
    nearlabel(
        "evaluate", fewer, "--methods", "brknn,mlknn", "--k", "1", "--cv", "5", "--metrics", METRICS, "--out", other
    )
    answer = nearlabel("compare", runs[0], other)
    assert (answer.code, answer.out) == (2, "")
    assert "got other samples or split." in answer.err


@pytest.mark.long
def test_other_scales_are_told_or_refused(nearlabel, runs, meka, tmp_path):
    """Other methods on scaled features are compared, with a note; the same methods are not."""
    for number, methods in enumerate(("brknn-a,brknn-b", "brknn,mlknn")):
        options = ("--k", "1,3", "--cv", "5", "--metrics", METRICS, "--scale", "standard")
        nearlabel("evaluate", meka, "--methods", methods, *options, "--out", tmp_path / f"scaled{number}")
    told = nearlabel("compare", runs[0], tmp_path / "scaled0")
    assert told.code == 0
    assert f"Note: Features are scaled differently: none in {runs[0]}, standard in {tmp_path / 'scaled0'}." in told.out
    refused = nearlabel("compare", runs[0], tmp_path / "scaled1")
    assert refused.code == 2
    assert f"must agree with {runs[0]} on the values in both" in refused.err
    assert "Scales: none, standard." in refused.err


def test_searches_are_no_methods(nearlabel, meka, tmp_path):
    """Records of searches would be averaged into one value; they are refused."""
    out = tmp_path / "searches"
    nearlabel("evaluate", meka, "--methods", "brknn,mlknn", "--k", "3", "--search", "exact:metric=cosine", "--out", out)
    answer = nearlabel("compare", out)
    assert answer.code == 2
    assert f"{out} must contain a comparison of methods, got one of searches" in answer.err


def test_a_folder_of_folders(nearlabel, runs):
    """What stands above the runs stands for all of them."""
    assert runs[0].parent == runs[1].parent
    both, above = nearlabel("compare", *runs), nearlabel("compare", runs[0].parent)
    assert (above.code, above.out) == (0, both.out)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("plan.json", "[1]", "must be an object of JSON, got '[1]'"),
        ("plan.json", "{}", "must be a plan that nearlabel wrote, got one without problems"),
        ("records.jsonl", "3\n", "line 1: must be an object of JSON, got '3"),
        (
            "records.jsonl",
            '{"dataset": "one"}\n',
            "must be a record, got one without seed, fold, method, n_neighbors, metric, value",
        ),
        (
            "records.jsonl",
            '{"dataset": "other", "seed": 0, "fold": 0, "method": "m", "n_neighbors": 1, "metric": "a", "value": 1}\n',
            "must contain records of the data sets of its plan, got some of 'other'",
        ),
        ("records.jsonl", "", "results must contain at least one record, got none"),
    ],
)
def test_damaged_folders(nearlabel, runs, name, content, message):
    """What is wrong is said in one line."""
    (runs[0] / name).write_text(content)
    answer = nearlabel("compare", runs[0])
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


@pytest.mark.parametrize(
    "options",
    [("--test", "friedman"), ("--test", "t", "--cv", "given"), ("--test", "t", "--format", "csv")],
)
def test_a_test_that_cannot_be_made_is_refused_before_the_run(nearlabel, meka, options):
    """Rather than after it."""
    answer = nearlabel("evaluate", meka, "--methods", "brknn,mlknn", "--k", "3", *options)
    assert (answer.code, answer.out) == (2, "")
    assert "several folds, a format of tables and no --search. Hint: run nearlabel compare" in answer.err


def test_results_of_another_program(nearlabel, runs, tmp_path):
    """A file beside a folder: their method is one more, and a metric of theirs takes a direction from an option."""
    file = tmp_path / "meka.csv"
    rows = [f"fruit,{fold},CC,{m},0.{fold}" for m in ("hamming_loss", "depth") for fold in range(5)]
    rows += [f"fruit,{fold},PS,depth,0.{fold + 1}" for fold in range(5)]
    file.write_text("\n".join(["dataset,fold,method,metric,value", *rows]))
    answer = nearlabel("compare", runs[0], file, "--metrics", "hamming_loss", "--format", "json")
    assert answer.code == 0
    assert json.loads(answer.out)["methods"] == ["brknn", "mlknn", "lpknn", "CC", "PS"]
    refused = nearlabel("compare", file)
    assert (refused.code, refused.out) == (2, "")
    assert "got none for depth. Hint: --lower-is-better depth" in refused.err
    for option, scores in (("--lower-is-better", {"CC": 1, "PS": -1}), ("--greater-is-better", {"PS": 1, "CC": -1})):
        answer = nearlabel(
            "compare", file, "--metrics", "depth", option, "depth", "--test", "wilcoxon", "--alpha", "0.1",
            "--format", "json",
        )  # fmt: skip
        assert json.loads(answer.out)["order"]["scores"] == scores


@pytest.fixture
def rows_of(made, tmp_path):
    """A folder with the label sets that three methods predict, and the comparison of two of them."""
    folder = shutil.copytree(made / "rows", tmp_path / "rows")
    return folder, compare_rows(read_records(folder), ("br", "brknn"), n_neighbors=3)


OF_ROWS = ("--rows", "--methods", "br,brknn", "--k", "3")


def test_rows_as_json_and_csv(nearlabel, rows_of):
    """All formats hold what the library's function gives; label sets are lists in the cells of CSV, too."""
    folder, expected = rows_of
    assert expected.n_better == {"br": 3, "brknn": 1}
    found = json.loads(nearlabel("compare", folder, *OF_ROWS, "--format", "json").out)
    assert found == json.loads(json.dumps(expected.as_dict())) | {"notes": []}
    rows = list(csv.DictReader(io.StringIO(nearlabel("compare", folder, *OF_ROWS, "--format", "csv").out)))
    assert [int(row["row"]) for row in rows] == [row.row for row in expected.rows]
    assert [json.loads(row["of_worse"]) for row in rows] == [list(row.of_worse) for row in expected.rows]
    some = json.loads(nearlabel("compare", folder, *OF_ROWS, "--limit", "1", "--format", "json").out)
    assert [row["better"] for row in some["rows"]] == ["br", "brknn"]
    assert some["n_better"] == expected.n_better
    assert nearlabel("compare", folder, *OF_ROWS, "--limit", "0", "--format", "csv").out.count("\n") == 1


def test_rows_as_tables(nearlabel, rows_of, monkeypatch):
    """One for each method, with the label sets of both, and how many rows there are of each kind."""
    monkeypatch.setenv("COLUMNS", "150")
    folder, expected = rows_of
    answer = nearlabel("compare", folder, *OF_ROWS, "--limit", "1")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "br right, brknn wrong: 1 of 3 rows"
    assert "brknn right, br wrong: 1 row" in lines
    assert lines[-1] == "Neither is better on 26 of the 30 rows."
    first = expected.rows[0]
    cells = [str(first.row), *(", ".join(of) or "–" for of in (first.labels, first.of_better, first.of_worse))]
    assert " ".join(cells) in [" ".join(line.split()) for line in lines]
    by_loss = nearlabel("compare", folder, *OF_ROWS, "--metrics", "hamming_loss").out
    assert "br better than brknn by Hamming loss: " in by_loss
    assert " 0.3333 " in by_loss


def test_no_rows_are_a_sentence(nearlabel, rows_of):
    """In place of an empty table."""
    out = nearlabel("compare", rows_of[0], *OF_ROWS, "--limit", "0").out
    assert out == (
        "br right, brknn wrong: 3 rows.\nbrknn right, br wrong: 1 row.\nNeither is better on 26 of the 30 rows.\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "--k", "3"), "--methods must be two of brknn, mlknn, br, got brknn, mlknn, br."),
        (("--rows", "--methods", "br,mlknn"), "--k must be of those of mlknn, 1, 3, got None."),
        (
            (*OF_ROWS, "--metrics", "hamming_loss,micro_f1"),
            "--metrics must be one metric with --rows, got hamming_loss",
        ),
        (
            (*OF_ROWS, "--metrics", "coverage"),
            "metric must be one of label sets, since records contain no scores, got co",
        ),
        ((*OF_ROWS, "--test", "t"), "--rows must go without --test and --over, got --test t."),
        ((*OF_ROWS, "--over", "folds"), "--rows must go without --test and --over, got --over folds."),
        ((*OF_ROWS, "--limit", "-1"), "--limit must be a number of rows, 0 or more, got -1."),
        (("--limit", "3"), "--limit must go with --rows, got none."),
        (("--k", "3"), "--k must go with --rows, got none."),
    ],
)
def test_rows_that_cannot_be_shown(nearlabel, rows_of, options, message):
    """One line, and nothing is printed."""
    code, out, err = nearlabel("compare", rows_of[0], *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"nearlabel: {message}")


def test_results_without_rows(nearlabel, runs):
    """Says how they are made."""
    code, out, err = nearlabel("compare", runs[0], "--rows")
    assert (code, out) == (2, "")
    assert err.startswith(
        "nearlabel: results must contain the label sets of samples, got none. Hint: evaluate --per-row --out"
    )
    for options in ((), ("--out", "x", "--search", "exact:metric=cosine")):
        assert nearlabel("evaluate", "multidigits", "--per-row", *options).err.startswith(
            "nearlabel: --per-row must go with --out, where the label sets are saved, and no --search, got "
        )
