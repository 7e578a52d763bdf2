import csv
import os
import re
import tomllib
from dataclasses import replace
from importlib import resources
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nearlabel.comparison import paired_tests, paired_values
from nearlabel.datasets import Dataset, catalogue
from nearlabel.experiments import Plan, ThresholdPlan, run, summarise
from nearlabel.experiments._folds import Fold
from nearlabel.labels import describe
from nearlabel.papers import Paper, PrintedCell, paper_names
from nearlabel.papers._paper import left_out_of, wins_beside_printed
from nearlabel.papers._printed_table import statistics_of
from nearlabel.solvers.label_probabilities import LabelProbabilities
from nearlabel.utils import progress

NAMES = paper_names()
PROTOCOLS = {"methods": Plan, "thresholds": ThresholdPlan}


def facts_of(name):
    """A paper's file as it is packaged."""
    file = resources.files("nearlabel.papers") / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def plan_of(experiment):
    """The plan of an experiment and the names of its data sets."""
    not_of_the_plan = ("datasets", "given_split", "with_labels", "protocol", "quick")
    settings = {k: v for k, v in experiment.items() if k not in not_of_the_plan}
    plan = PROTOCOLS[experiment.get("protocol", "methods")](**settings)
    return plan, [name for kind in ("datasets", "given_split", "with_labels") for name in experiment.get(kind, ())]


def cells_of(plan, dataset):
    """What a plan measures on a data set: (data set, method, number of neighbours or their mean, measure)."""
    Y, rows = np.eye(2, dtype=int), np.arange(2)  # a metric may say how many labels it leaves out
    fold = Fold(dataset, None, 0, None, Y, rows, rows)
    settings = list(plan.settings(fold))
    return {
        (dataset, record["method"], k, record["metric"])
        for record in settings
        for k in ((None,) if record["n_neighbors"] is None else (record["n_neighbors"], "mean"))
    }


TABLES = [(name, number) for name in NAMES for number in facts_of(name).get("tables", {})]
RESULTS = [(name, number) for name, number in TABLES if "statistics" not in facts_of(name)["tables"][number]]
WINS = [(name, number) for name, number in TABLES if "wins" in facts_of(name)["tables"][number]]
ORDERS = [(name, number) for name in NAMES for number in facts_of(name).get("orders", ())]
RANKINGS = [(name, number) for name in NAMES for number in facts_of(name).get("rankings", ())]
FIGURES = [(name, number) for name in NAMES for number in facts_of(name).get("figures", ())]


def test_the_papers():
    """All five papers are known."""
    assert NAMES == ["chaudhari2016", "gweon2019", "pillai2012", "spyromitros2008", "zhang2007"]


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_says_what_it_is(name):
    """The file is named after the paper, cites it, and lists its tables in their order."""
    facts = facts_of(name)
    assert facts["name"] == Paper(name).name == name
    assert facts["title"]
    assert facts["reference"]
    assert Paper(name).tables == sorted([*facts.get("tables", {}), *facts.get("orders", {})], key=int)
    assert Paper(name).tables or Paper(name).rankings


@pytest.mark.parametrize("name", NAMES)
def test_experiments_are_plans_over_known_data(name):
    """Every experiment makes a plan; each of its data sets, and its given split, is in the catalogue."""
    for experiment in facts_of(name)["experiments"].values():
        _, datasets = plan_of(experiment)
        parts = experiment.get("with_labels", {})
        assert set(datasets) - set(parts) <= set(catalogue())
        assert {whole for whole, _ in parts.values()} <= set(catalogue())
        plan_of(experiment | experiment.get("quick", {}))
        for dataset in experiment.get("given_split", ()):
            assert {"train", "test"} <= set(catalogue()[dataset].subsets)


@pytest.mark.parametrize(("name", "number"), RESULTS)
def test_every_printed_cell_is_run(name, number):
    """Each cell, and what stands beside it, is measured by one of the table's experiments; "" is no number."""
    facts = facts_of(name)
    table = facts["tables"][number]
    plans = [plan_of(facts["experiments"][experiment]) for experiment in table["experiments"]]
    measured = set(chain(*(cells_of(plan, dataset) for plan, datasets in plans for dataset in [*datasets, "average"])))
    for dataset, method, k, metric, *_ in table["printed"]:
        metrics = [metric, *table.get("beside_metrics", {}).get(metric, ())]
        methods = [method, *table.get("beside_methods", {}).get(method, ())]
        assert {(dataset, method, k or None, each) for each in metrics} <= measured
        assert {(dataset, each, k or None, metric) for each in methods} <= measured


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_no_cell_is_printed_twice(name, number):
    """A table has one figure for each of its cells."""
    rows = facts_of(name)["tables"][number]["printed"]
    keys = [tuple(map(str, row[:2] if len(row) == 3 else row[:4])) for row in rows]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(("name", "number"), FIGURES)
def test_every_figure_is_run(name, number):
    """Method and measure of a figure belong to its experiment."""
    facts = facts_of(name)
    figure = facts["figures"][number]
    plan, _ = plan_of(facts["experiments"][figure["experiment"]])
    assert figure["method"] in plan.methods
    assert figure["metric"] in plan.metrics


@pytest.mark.parametrize(("name", "number"), ORDERS)
def test_every_order_is_of_printed_tables(name, number):
    """Each relation is of two methods with printed figures by that measure; what they win and lose adds up."""
    facts = facts_of(name)
    order = facts["orders"][number]
    printed = {(row[1], row[3]) for table in order["tables"] for row in facts["tables"][table]["printed"]}
    scores = dict.fromkeys(order["scores"], 0)
    for metric, better, worse in order["relations"]:
        assert {(better, metric), (worse, metric)} <= printed
        scores[better] += 1
        scores[worse] -= 1
    assert scores == order["scores"]


@pytest.mark.parametrize(("name", "number"), RANKINGS)
def test_every_ranking_is_run(name, number):
    """Each measure that is ranked or tested, and each method that is tested, belongs to its experiments."""
    facts = facts_of(name)
    ranking = facts["rankings"][number]
    plans = [plan_of(facts["experiments"][experiment])[0] for experiment in ranking["experiments"]]
    for plan in plans:
        assert set(ranking["claims"]) <= set(plan.metrics)
    methods = list(chain(*(plan.methods for plan in plans)))
    assert len(set(methods)) == len(methods)
    for metric, *pair in ranking["tests"]:
        assert metric in ranking["claims"]
        assert set(pair) <= set(methods)


# The paper's words for what we call otherwise.
METRICS = {
    "hamming loss": "hamming_loss", "accuracy": "jaccard_examples", "f-measure": "f1_of_means",
    "subset accuracy": "subset_accuracy", "micro f-measure": "micro_f1", "macro f-measure": "macro_f1",
    "one-error": "one_error", "one error": "one_error", "coverage": "coverage", "ranking loss": "ranking_loss",
    "average precision": "average_precision",
    "examples": "instances", "numeric attributes": "features", "labels": "labels",
    "distinct subsets": "labelset_diversity", "label cardinality": "cardinality", "label density": "density",
    "training samples": "training_instances", "testing samples": "test_instances", "feature set size": "features",
    "#wins": "wins", "#better than base": "better_than_brknn",
    "total images": "instances", "categories": "labels", "vocabulary size": "features",
    "train pmc (%)": "training_multilabel_percent", "test pmc (%)": "test_multilabel_percent",
    "train anl": "training_cardinality", "test anl": "test_cardinality",
    "train prc (%)": "training_rare_labels_percent", "test prc (%)": "test_rare_labels_percent",
    "classes": "labels", "class frequency min": "lowest_frequency", "class frequency max": "highest_frequency",
    "micro f1 validation set": "validation_micro_f1", "micro f1 test set": "test_micro_f1",
    "micro f1 test set (1st loop)": "test_micro_f1_first_scan",
    "micro f1 fbr.0": "test_micro_f1_fbr0", "micro f1 fbr.1": "test_micro_f1_fbr1",
}  # fmt: skip
METHODS = {
    "cml-knn": "cmlknn", "cml-knn+fs": "igs+cmlknn", "ml-knn": "mlknn", "boostexter": "adaboostmh",
    "adtboost.mh": "adtboostmh", "rank-svm": "ranksvm",
}  # fmt: skip
NOT_RESULTS = {"discrete attributes"}
# Of the tables' cells those that are no figure of the paper's tables, with the reason.
NOT_IN_THE_TABLE = {"evaluated_share": "the text only says that it stayed below 1: no transcript of a table has it"}
DATASETS = {
    "natural scene (2000 images)": "image", "natural scene filtered (457 images)": "image-457",
    "Reuters": "reuters21578-terms",
    "Arts & Humanities": "yahoo-arts", "Business & Economy": "yahoo-business",
    "Computers & Internet": "yahoo-computers", "Recreation & Sports": "yahoo-recreation",
    "Social & Science": "yahoo-social", "Society & Culture": "yahoo-society", "Average": "average",
}  # fmt: skip
FILES = {
    ("spyromitros2008", "1"): "000_table1_datasets", ("spyromitros2008", "2"): "000_table2_results",
    ("spyromitros2008", "3"): "000_table3_results", ("zhang2007", "1"): "003_table01_yeast_k",
    ("zhang2007", "10"): "003_table10_web_hamming_loss", ("zhang2007", "11"): "003_table11_web_one_error",
    ("zhang2007", "12"): "003_table12_web_coverage", ("zhang2007", "13"): "003_table13_web_ranking_loss",
    ("zhang2007", "14"): "003_table14_web_average_precision",
    ("zhang2007", "2"): "003_table02_yeast", ("zhang2007", "5"): "003_table05_scene2000",
    ("zhang2007", "7"): "003_table07_scene457", ("zhang2007", "4"): "003_table04_scene2000_labelsets",
    ("zhang2007", "9"): "003_table09_web_datasets",
    ("chaudhari2016", "1"): "002_table1_cmlknn", ("chaudhari2016", "2"): "002_table2_cmlknn_fs",
    ("pillai2012", "1"): "004_table1_datasets", ("pillai2012", "2"): "004_table2_microf1",
}  # fmt: skip


@pytest.fixture(scope="module")
def transcripts():
    """The folder of the papers' tables, typed off independently."""
    folder = Path(os.environ.get("NEARLABEL_DATA", "nowhere")).parent / "paper_tables"
    if not folder.is_dir():
        pytest.skip("no folder paper_tables beside NEARLABEL_DATA")
    return folder


def transcribed_cells(file):
    """The cells of a transcript of ours' words: (data set, method, k, measure) -> (value, deviation)."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["metric"] not in NOT_RESULTS]
    cells = {}
    for row in rows:
        algorithm, _, k = row["algorithm"].partition(" (K=")
        if row["value"] == "N/A":
            continue
        dataset = DATASETS.get(row["dataset"], row["dataset"].lower())
        method = algorithm.lower().replace("k-nn", "knn")
        if method == "svm":
            method = "svm-linear" if row["dataset"] == "Reuters" else "svm-rbf"
        method = METHODS.get(method, method)
        dataset = dataset if dataset in (*catalogue(), "average", "image-457") else f"yahoo-{dataset}"
        number = int(k.rstrip(")")) if k else None
        std = float(row["std"]) if row["std"] else None
        cells[dataset, method, number, transcribed_metric(row["metric"])] = (float(row["value"]), std)
    return cells


def transcribed_metric(words):
    """Our name of a metric or statistic; the text of a label set, whose images are counted."""
    if words.startswith("images with "):
        return str(words.removeprefix("images with ").split("+"))
    return METRICS[words.lower()]


@pytest.mark.parametrize(("name", "number"), FILES)
def test_printed_figures_are_those_of_the_paper(transcripts, name, number):
    """Every figure, and every deviation, equals an independent transcript; none is missing."""
    cells = {}
    table = facts_of(name)["tables"][number]
    for dataset, method, _, *counts in table.get("wins", ()):
        for metric, count in zip(("wins", f"better_than_{table.get('base')}"), counts, strict=False):
            cells[dataset, method, None, metric] = count, None
    for row in table["printed"]:
        dataset, method, k, metric, value, *std = row if len(row) > 3 else (row[0], "", None, *row[1:])
        if str(metric) in NOT_IN_THE_TABLE:
            continue
        cells[dataset, method, (k or None) if FILES[name, number].endswith("yeast_k") else None, str(metric)] = (
            value,
            std[0] if std else None,
        )
    assert cells == transcribed_cells(transcripts / f"{FILES[name, number]}.csv")


def test_every_table_is_compared_with_a_transcript():
    """No table of a paper's file is left out of the comparison above."""
    assert set(FILES) == set(TABLES)


ORDER_FILES = {
    ("zhang2007", "3"): "003_table03_yeast_orders", ("zhang2007", "6"): "003_table06_scene2000_orders",
    ("zhang2007", "8"): "003_table08_scene457_orders", ("zhang2007", "15"): "003_table15_web_orders",
}  # fmt: skip


@pytest.mark.parametrize(("name", "number"), ORDERS)
def test_printed_orders_are_those_of_the_paper(transcripts, name, number):
    """Every relation and every score equals an independent transcript; none is missing."""
    order = facts_of(name)["orders"][number]
    with (transcripts / f"{ORDER_FILES[name, number]}.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    scores = {METHODS[r["algorithm"].lower()]: int(r["value"]) for r in rows if r["metric"] == "total order score"}
    relations = {
        (METRICS[r["metric"].lower()], *(METHODS[method.lower()] for method in r["algorithm"].split(" > ")))
        for r in rows
        if r["metric"] != "total order score"
    }
    assert scores == order["scores"]
    assert relations == {tuple(relation) for relation in order["relations"]}
    assert len(relations) == len(order["relations"])


def test_remarks_and_corrections_are_of_the_transcripts_corrections(transcripts):
    """Every printed figure that cannot be right is marked, and no other; what is corrected is what is implied."""
    with (transcripts / "corrections.csv").open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["paper"] == "zhang2007_mlknn"]
    known = {
        (DATASETS[row["dataset"]], METHODS[row["algorithm"].lower()], METRICS[row["metric"].lower()]): row["implied"]
        for row in rows
    }
    facts = facts_of("zhang2007")
    marked = {tuple(remark[:3]) for table in facts["tables"].values() for remark in table.get("remarks", ())}
    assert marked == set(known)
    corrected = {tuple(row[:3]): row[3] for order in facts["orders"].values() for row in order.get("corrections", ())}
    assert corrected == {key: float(implied) for key, implied in known.items() if implied}


def test_a_quick_look_at_the_coupled_labels(load):
    """CML-kNN beside its printed figures, without the feature selections, which small random data do not bear."""
    paper = with_methods(Paper("chaudhari2016", load=load), "cmlknn", "mlknn")
    paper._facts["tables"]["1"] |= {"beside_methods": {"cmlknn": ["mlknn"]}, "experiments": ["cmlknn"]}
    cells = paper.reproduce_table("1").cells
    assert {(cell.dataset, cell.metric) for cell in cells if cell.method == "cmlknn"} == {
        (dataset, metric) for dataset in ("enron", "medical") for metric in ("hamming_loss", "one_error")
    }
    for cell in cells:
        assert cell.difference == cell.ours - cell.printed
        assert cell.method == "mlknn" or 0 <= cell.beside["mlknn"] <= 1


def test_the_printed_web_tables_give_the_printed_order(load):
    """The t-test over the printed figures of tables 10 to 14 returns table 15, relation for relation."""
    order = with_methods(Paper("zhang2007", load=load), "mlknn", "br:estimator=logistic").reproduce_table("15")
    assert [note.split(",")[0] for note in order.notes] == ["By its figures: yahoo-society"]
    assert [r.of_printed for r in order.relations if r.printed] == [True] * 9
    assert not [r for r in order.relations if r.of_printed and not r.printed]
    assert {method: score.of_printed for method, score in order.scores.items()} == {
        "mlknn": 2, "adaboostmh": 2, "adtboostmh": 1, "ranksvm": -5,
    }  # fmt: skip


def test_without_its_correction_the_order_is_another(load):
    """The misprint adds a relation that table 15 does not list."""
    paper = with_methods(Paper("zhang2007", load=load), "mlknn", "br:estimator=logistic")
    del paper._facts["orders"]["15"]["corrections"]
    other = [r for r in paper.reproduce_table("15").relations if r.of_printed and not r.printed]
    assert [(r.metric, r.better, r.worse) for r in other] == [("average_precision", "adtboostmh", "ranksvm")]


def with_methods(paper, *methods):
    """Run these methods only, in every experiment of a paper."""
    for experiment in paper._facts["experiments"].values():
        experiment["methods"] = list(methods)
    return paper


def with_only(paper, method):
    """Run one method only, and print the figures of no other."""
    for table in paper._facts["tables"].values():
        table["printed"] = [row for row in table["printed"] if row[1] == method]
    return with_methods(paper, method)


def test_an_order_of_our_records(load):
    """Our relations are those of paired t-tests over the folds; both directions of the measures are understood."""
    paper = Paper("zhang2007", load=load)
    paper._facts["experiments"]["yeast-rivals"] |= {"methods": ["mlknn", "adtboostmh"], "cv": 3, "n_neighbors": [3]}
    order = paper.reproduce_table("3")
    assert order.notes[-1].startswith("The test is the paper's: folds share training samples")
    (values,) = paired_values(paper._records["yeast-rivals"], "folds", ["coverage"])
    with pytest.warns(UserWarning, match="Folds share training samples"):
        (test,) = paired_tests(values, "t")
    (relation,) = (
        r for r in order.relations
        if (r.metric, r.better, r.worse) == ("coverage", "mlknn", "adtboostmh")
    )  # fmt: skip
    assert relation.printed
    assert relation.of_printed is None
    assert relation.difference == test.difference
    assert relation.p_value == test.p_value
    assert relation.ours == (test.p_value < 0.05 and test.better == "mlknn")
    assert {method: score.printed for method, score in order.scores.items()}["mlknn"] == 11
    assert order.as_dict()["scores"]["ranksvm"] == {"printed": -3, "ours": 0, "of_printed": None}


@pytest.mark.long
def test_a_look_runs_less_and_says_so(load, tmp_path):
    """Fewer folds and data sets, in a folder of their own; cells that were not run, and averages, are left out."""
    paper = with_methods(Paper("zhang2007", load=load, quick=True, out=tmp_path), "mlknn")
    table = paper.reproduce_table("12")
    assert {cell.dataset for cell in table.cells} == {"yahoo-business", "yahoo-reference", "yahoo-science"}
    assert table.notes[-1].startswith("A preview only: experiment web leaves out 8 of 11 data sets (yahoo-arts, yahoo-")
    assert (tmp_path / "zhang2007-web-quick" / "records.jsonl").is_file()
    paper.reproduce_table("2")
    assert {record["fold"] for record in paper._records["yeast-rivals"]} == {0, 1}
    for number in ("6", "8"):  # a look has enough for every order
        assert paper.reproduce_table(number).relations
    assert "A preview only" not in " ".join(with_methods(paper, "mlknn").reproduce_table("1").notes)
    assert list(paper.left_out) == ["web", "yeast-rivals", "image", "yeast"]
    assert (paper.left_out["image"], paper.left_out["yeast"]) == ("8 of 10 folds", "")


def test_an_interrupted_reproduction_resumes(load, tmp_path):
    """After Ctrl-C in the second data set the same table comes of the folds on file and of those left."""

    def interrupt(done, _total):
        if done == 12:
            raise KeyboardInterrupt

    told = []
    with pytest.raises(KeyboardInterrupt):
        with_only(Paper("zhang2007", load=load, out=tmp_path, progress=interrupt), "mlknn").reproduce_table("5")
    resumed = Paper("zhang2007", load=load, out=tmp_path, progress=lambda done, _total: told.append(done))
    whole = with_only(Paper("zhang2007", load=load), "mlknn").reproduce_table("5")
    assert with_only(resumed, "mlknn").reproduce_table("5") == whole
    assert told == list(range(13, 21))


def test_every_omission_of_a_look_has_words():
    """Folds of shuffles, runs, data sets and methods; another setting is named with both values."""
    facts = {"methods": ["br", "cbm"], "datasets": ["a", "b", "c"], "seeds": [0, 1], "cv": 5}
    instead = {"first_folds": 2, "methods": ["br"], "datasets": ["b"], "scale": "minmax"}
    assert left_out_of(facts, instead) == (
        "3 of 5 folds of each shuffle and 1 of 2 methods (cbm) and 2 of 3 data sets (a, c) and its own scale (here"
        " minmax, in the paper the default)"
    )
    assert left_out_of({"protocol": "thresholds", "methods": ["knn"]}, {"first_folds": 2}) == "8 of 10 runs"
    assert left_out_of(facts, {"first_folds": 5, "methods": ["br", "cbm"]}) == ""


def test_rows_of_several_labels_are_a_data_set(load):
    """The images of two or more labels."""
    paper = with_methods(Paper("zhang2007", load=load), "mlknn")
    paper._facts["experiments"]["image"] |= {"cv": 2, "n_neighbors": [1]}
    paper._run("image")
    assert {record["dataset"] for record in paper._records["image"]} == {"image", "image-457"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Paper("spyromitros"), "paper must be one of .*'zhang2007'.*, got 'spyromitros'"),
        (lambda: Paper("zhang2007").reproduce_table("16"), r"table must be one of \['1', '10', .*\], got '16'"),
        (lambda: Paper("spyromitros2008").reproduce_figure("2"), r"figure must be one of \['1'\], got '2'"),
    ],
)
def test_unknown_paper_table_or_figure(ask, message):
    """The known ones are listed."""
    with pytest.raises(ValueError, match=message):
        ask()


@pytest.fixture
def load():
    """Give a small data set of any name instead of the real one, and remember what was asked for."""

    def _load(name, subset="all"):
        _load.asked.append((name, subset))
        rng = np.random.default_rng(sum(map(ord, name + subset)))
        X = rng.integers(0, 4, (30, 5)) * np.array([1.0, 1.0, 2.0, 0.5, 10.0])
        Y = (X[:, :4] + rng.normal(size=(30, 4)) > [1, 2, 3, 1.4]).astype(np.int64)
        names = tuple(map(str, range(5)))
        return Dataset(X, Y, names, names[:4], name)

    _load.asked = []
    return _load


@pytest.fixture
def lazy_paper(load):
    """Spyromitros et al. with two folds and two numbers of neighbours."""
    paper = Paper("spyromitros2008", load=load)
    paper._facts["experiments"]["lazy"] |= {"n_neighbors": [1, 4], "seeds": [0], "cv": 2}
    return paper


@pytest.fixture
def thresholds_paper(load):
    """Pillai et al. with three runs of two folds."""
    paper = Paper("pillai2012", load=load)
    for experiment in paper._facts["experiments"].values():
        experiment |= {"n_parts": 3, "n_parts_used": 2, "cv": 2, "n_neighbors": 3}
    return paper


@pytest.mark.long
def test_a_table_of_two_experiments(thresholds_paper, load):
    """Each cell is the mean of the runs of its own experiment; where "" is printed there is no number of neighbours."""
    found = {}
    for experiment in thresholds_paper._facts["experiments"].values():
        plan, datasets = plan_of(experiment)
        problems = {name: (load(name, "train"), load(name, "test")) for name in datasets}
        found |= {(c.dataset, c.method, c.metric): c for c in summarise(run(plan, problems))}
    cells = thresholds_paper.reproduce_table("2").cells
    assert {cell.n_neighbors for cell in cells} == {None}
    for cell in cells:
        ours = found[cell.dataset, cell.method, cell.metric]
        assert (cell.ours, cell.std) == (ours.mean, ours.std)
    beside = next(cell.beside for cell in cells if cell.metric == "test_micro_f1")
    assert beside == {
        "test_micro_f1_per_label": found[cells[0].dataset, cells[0].method, "test_micro_f1_per_label"].mean
    }


def test_a_table_of_statistics_of_both_parts(thresholds_paper, load):
    """Rows of the training and of the test part; frequencies of labels in the training part."""
    table = thresholds_paper.reproduce_table("1")
    ours = {(cell.dataset, cell.metric): cell.ours for cell in table.cells}
    share = load("scene", "train").Y.mean(axis=0)
    assert (ours["scene", "lowest_frequency"], ours["scene", "highest_frequency"]) == (share.min(), share.max())
    assert (ours["yeast", "training_instances"], ours["yeast", "test_instances"]) == (30, 30)
    assert load.asked[:2] == [("reuters21578-terms", "train"), ("reuters21578-terms", "test")]


def test_a_difference_of_counts_stays_a_count(thresholds_paper):
    """The largest difference of a whole number is printed without decimals."""
    largest = thresholds_paper.reproduce_table("1").largest_differences()
    assert largest["labels"] == 90 - 4
    assert isinstance(largest["labels"], int)
    assert isinstance(largest["lowest_frequency"], float)


@pytest.mark.long
def test_a_table_of_results(load):
    """Our figure is the mean of what the experiment's plan gives, the difference is ours minus the printed one."""
    plan, _ = plan_of(facts_of("zhang2007")["experiments"]["yeast"])
    cells = {(c.n_neighbors, c.metric): c for c in summarise(run(plan, {"yeast": load("yeast")}))}
    table = Paper("zhang2007", load=load).reproduce_table("1")
    assert len(table.cells) == 25
    for cell in table.cells:
        ours = cells[cell.n_neighbors, cell.metric]
        assert (cell.ours, cell.std) == (ours.mean, ours.std)
        assert cell.difference == ours.mean - cell.printed
        assert cell.printed_std > 0


def test_a_table_of_given_splits_with_averages(load):
    """The row "average" is the mean of our figures over the data sets; one fold has no deviation."""
    table = with_only(Paper("zhang2007", load=load), "mlknn").reproduce_table("12")
    assert {subset for _, subset in load.asked} == {"train", "test"}
    *sets, average = table.cells
    assert average.dataset == "average"
    assert average.ours == pytest.approx(np.mean([cell.ours for cell in sets]))
    assert average.difference == average.ours - 4.0968
    assert {cell.std for cell in table.cells} == {None}


def test_a_table_of_statistics(load):
    """The figures of Y, and the shape of X, beside the printed ones."""
    table = Paper("spyromitros2008", load=load).reproduce_table("1")
    ours = {(cell.dataset, cell.metric): cell.ours for cell in table.cells}
    assert ours["scene", "cardinality"] == describe(load("scene").Y)["cardinality"]
    assert (ours["yeast", "instances"], ours["yeast", "features"], ours["yeast", "labels"]) == (30, 5, 4)
    assert {cell.difference for cell in table.cells if cell.metric == "instances"} == {30 - 2712, 30 - 593, 30 - 2417}


def test_label_sets_are_counted(load):
    """Rows with these labels and no other, under the paper's names of them, dense and sparse; absent ones are 0."""
    Y = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    for container in (np.asarray, sparse.csr_array):
        data = replace(load("image"), X=np.zeros((4, 5)), Y=container(Y))
        paper = Paper("zhang2007", load=lambda _, data=data: data)
        paper._facts["tables"]["4"] |= {
            "label_names": {"image": ["sea", "sunset", "trees", "desert"]},
            "printed": [["image", labels, 1] for labels in (["sea"], ["sunset", "sea"], [], ["trees"])],
        }
        cells = paper.reproduce_table("4").cells
        assert [cell.ours for cell in cells] == [2, 1, 1, 0]
        assert {cell.metric for cell in cells} == {"instances"}
        assert cells[1].label_set == ("sunset", "sea")
        assert paper.reproduce_table("4").largest_differences() == {"instances": 1}


def test_unknown_labels_of_a_label_set(load):
    """A slip in a label, and names of another number than the labels, are refused."""
    paper = Paper("zhang2007", load=load)
    with pytest.raises(ValueError, match="label_names must contain 4 names, got 5"):
        paper.reproduce_table("4")
    del paper._facts["tables"]["4"]["label_names"]
    with pytest.raises(ValueError, match="labels of a printed label set must be of 0, 1, 2, 3, got 'desert' of image"):
        paper.reproduce_table("4")


def test_statistics_of_each_part(load):
    """Percentages of rows with several labels, and of labels that less than 1 % of the rows have."""
    table = Paper("zhang2007", load=load).reproduce_table("9")
    ours = {(cell.dataset, cell.metric): cell.ours for cell in table.cells}
    for part, subset in (("training", "train"), ("test", "test")):
        sizes = load("yahoo-arts", subset).Y.sum(axis=1)
        assert ours["yahoo-arts", f"{part}_cardinality"] == pytest.approx(sizes.mean())
        assert ours["yahoo-arts", f"{part}_multilabel_percent"] == pytest.approx(100 * (sizes > 1).sum() / 30)


def test_rare_labels_have_less_than_one_percent_of_the_rows():
    """One row of 100 is not rare, none is; with one row of 101 both are."""
    Y = np.zeros((101, 2), dtype=np.int64)
    Y[:, 0] = 1
    Y[0, 1] = 1
    small, large = (Dataset(np.zeros((n, 1)), Y[:n], ("a",), ("x", "y"), "toy") for n in (100, 101))
    statistics = statistics_of(small, large)
    assert statistics["training_rare_labels_percent"] == 0
    assert statistics["test_rare_labels_percent"] == 50


@pytest.mark.long
def test_other_readings_stand_beside(lazy_paper):
    """Other measures beside a printed F-measure, other rules for ties beside LPkNN."""
    cells = {(c.dataset, c.method, c.metric): c for c in lazy_paper.reproduce_table("3").cells}
    assert set(cells["yeast", "mlknn", "f1_of_means"].beside) == {"recall_examples", "f1_examples"}
    rules = cells["scene", "lpknn", "micro_f1"].beside
    assert list(rules) == ["ties=first", "ties=frequent", "ties=random:random_state=0"]
    assert cells["scene", "mlknn", "micro_f1"].beside == {}


@pytest.mark.long
def test_one_run_serves_all_tables_and_figures(lazy_paper, load):
    """The experiment behind two tables and a figure loads its data, and hence runs, once."""
    lazy_paper.reproduce_table("2")
    lazy_paper.reproduce_table("3")
    lazy_paper.reproduce_figure("1")
    assert load.asked == [("scene", "all"), ("emotions", "all"), ("yeast", "all")]


@pytest.mark.parametrize(("name", "number"), WINS)
def test_the_printed_figures_give_the_printed_wins(name, number):
    """The count that we make of our figures is the paper's: of its own figures it gives its last line."""
    table = facts_of(name)["tables"][number]
    cells = [
        PrintedCell(dataset, method, k, metric, value, None, value, None, 0)
        for dataset, method, k, metric, value in table["printed"]
    ]
    wins = list(wins_beside_printed(table, cells, []))
    assert len(wins) == sum(len(row) - 3 for row in table["wins"]) > 0
    assert [cell.ours for cell in wins] == [cell.printed for cell in wins]


@pytest.mark.long
def test_wins_are_of_our_figures(lazy_paper):
    """Every row of the last line beside the wins of the cells above it, by hand; a loss is won by the least."""
    cells = lazy_paper.reproduce_table("2").cells
    lossy = ("hamming_loss",)
    best = {}
    for cell in cells:
        if cell.dataset == "scene" and "brknn" not in cell.metric and cell.metric != "wins":
            best.setdefault(cell.metric, {})[cell.method] = -cell.ours if cell.metric in lossy else cell.ours
    wins = {cell.method: cell.ours for cell in cells if (cell.dataset, cell.metric) == ("scene", "wins")}
    assert wins == {
        method: sum(values[method] == max(values.values()) for values in best.values())
        for method in ("brknn", "brknn-a", "brknn-b")
    }
    better = [c for c in cells if (c.dataset, c.method, c.metric) == ("scene", "brknn-a", "better_than_brknn")]
    assert [c.ours for c in better] == [sum(values["brknn-a"] > values["brknn"] for values in best.values())]
    assert {c.difference for c in better} == {better[0].ours - 6}


def test_equal_values_win_both():
    """A tie has two winners and nobody better; of a user's loss the records tell the direction."""
    table = {"base": "a", "wins": [["toy", "a", 0, 0], ["toy", "b", 0, 0, 0], ["elsewhere", "b", 0, 0]]}
    values = {("a", "micro_f1"): 0.5, ("b", "micro_f1"): 0.5, ("a", "cost"): 2.0, ("b", "cost"): 1.0}
    cells = [PrintedCell("toy", *who, 0, None, value, None, 0) for who, value in with_no_k(values)]
    with pytest.raises(ValueError, match="wins must be of metrics with a known direction, got cost"):
        list(wins_beside_printed(table, cells, []))
    wins = list(wins_beside_printed(table, cells, [{"metric": "cost", "greater_is_better": False}]))
    assert [(cell.method, cell.metric, cell.ours) for cell in wins] == [
        ("a", "wins", 1), ("b", "wins", 2), ("b", "better_than_a", 1),
    ]  # fmt: skip


def with_no_k(values):
    """Method, no number of neighbours and metric of each value."""
    return [((method, None, metric), value) for (method, metric), value in values.items()]


def test_a_figure_is_a_line_for_each_data_set(lazy_paper):
    """The share of empty predictions at each number of neighbours, without the mean over them."""
    curve = lazy_paper.reproduce_figure("1")
    assert list(curve.series) == ["scene", "emotions", "yeast"]
    assert {tuple(line) for line in curve.series.values()} == {(1, 4)}
    assert curve.as_dict()["series"] == curve.series


def test_a_cube_of_labels():
    """Figure 1 of Gweon et al. (2019), by hand: the distance to (1, 0, 1) is the root of 0.25² + 0.35² + 0.45²."""
    cube = Paper("gweon2019").reproduce_figure("1")
    assert cube.labelsets == ((1, 1, 0), (1, 0, 1), (0, 0, 1))
    assert cube.probabilities == (0.75, 0.35, 0.55)
    assert cube.distances[1] == pytest.approx(0.3875**0.5)
    assert [row["ours"] for row in cube.rows()] == list(cube.distances)
    assert cube.as_dict()["title"].startswith("The label space")


def test_pairs_of_one_row(load):
    """Figure 2, by plain loops: distances in features divided by the deviations of T1, and to the label sets of T1."""
    pairs = Paper("gweon2019", load=load).reproduce_figure("2")
    data = load("emotions")
    random = np.random.RandomState(2)
    order = random.permutation(30)[:20]
    T1, query = order[:10], order[14]
    assert (pairs.dataset, pairs.query, list(pairs.row)) == (data.name, query, T1.tolist())
    deviations = data.X[T1].std(axis=0, ddof=1)
    assert pairs.dx == pytest.approx(np.linalg.norm((data.X[T1] - data.X[query]) / deviations, axis=1))
    p = LabelProbabilities.fit(None, data.X[T1], data.Y[T1], random, None).predict(data.X[[query]])
    assert pairs.dy == pytest.approx(np.linalg.norm(data.Y[T1] - p, axis=1))
    assert list(pairs.loss) == (data.Y[T1] != data.Y[query]).sum(axis=1).tolist()
    m1, m2 = pairs.marks.values()
    assert m1 == min(range(10), key=lambda j: (pairs.dx[j], pairs.dy[j]))
    assert m2 == min(range(10), key=lambda j: (pairs.dy[j], pairs.dx[j]))
    remarks = {row["row"]: row["remark"] for row in pairs.rows()}
    assert [row for row, remark in remarks.items() if remark.startswith("m1")] == [pairs.row[m1]]


def test_pairs_of_more_rows_than_there_are(load):
    """What is missing is named."""
    paper = Paper("gweon2019", load=load)
    paper._facts["pairs"]["2"]["n_samples"] = 40
    with pytest.raises(ValueError, match=r"\[pairs.2\] n_samples must be at most 30, got 40"):
        paper.reproduce_figure("2")


@pytest.mark.long
def test_largest_differences(load):
    """Of each measure the largest difference, whatever its sign."""
    table = Paper("zhang2007", load=load).reproduce_table("1")
    expected = max(abs(cell.difference) for cell in table.cells if cell.metric == "coverage")
    assert table.as_dict()["largest_differences"]["coverage"] == expected > 0


@pytest.mark.parametrize("as_text", [True, False])
def test_records_are_kept_by_experiment(load, tmp_path, as_text):
    """A folder given as text or path holds a sub-folder for each experiment; nothing is run twice."""
    told = []
    for _ in range(2):
        out = str(tmp_path) if as_text else tmp_path
        paper = Paper("zhang2007", load=load, out=out, progress=lambda *args: told.append(args))
        with_only(paper, "mlknn").reproduce_table("10")
    assert (tmp_path / "zhang2007-web" / "records.jsonl").is_file()
    assert told == [(done, 11) for done in range(1, 12)]


def test_each_experiment_has_a_bar_of_its_own(load, monkeypatch, capsys):
    """A bar that starts again names what it is of: the folds of the next experiment."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    paper = with_only(Paper("zhang2007", load=load), "mlknn")
    for number in ("10", "5"):
        paper.reproduce_table(number)
    lines = capsys.readouterr().err.splitlines()
    names = list(dict.fromkeys(line.removeprefix("nearlabel: ").partition(":")[0] for line in lines))
    assert names == ["folds of web", "folds of image"]
    for name in names:
        shares = [int(share) for share in re.findall(rf"{name}: (\d+) %", "\n".join(lines))]
        assert shares == sorted(shares)
