"""Figures of the pages: each table names the command that makes it, and a sample is compared with the records."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))]

# Tables with decimals that nobody measured.
NOT_MEASURED = {
    "docs/field.md": "versions of other libraries",
    "docs/first_ten_minutes.md": "a transcript, whose table of obstacles quotes its lines",
    "docs/howto/migrating.md": "versions, and parameters that are decimals",
    "docs/licences.md": "versions of libraries",
    "docs/platforms.md": "versions of libraries",
    "docs/figures/scale.md": "the last table is computed from slopes, as its text states",
    "docs/versions.md": "versions of Python and of libraries",
}
_DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.])")
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_COMMAND = re.compile(r"\b(?:nearlabel [a-z]+ |make [a-z]|(?:benchmarks|examples|tests)/[\w/]+\.py)|not kept")
_MARKS = re.compile(r"<!-- figures: begin -->.*?<!-- figures: end -->", re.DOTALL)


def sections(text):
    """The sections of a page, each behind the page's introduction; what a benchmark writes is part of one section."""
    text = _MARKS.sub(lambda found: found[0].replace("\n## ", "\n### "), text)
    introduction, *others = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return [introduction, *(introduction + other for other in others)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_name_their_command(page):
    """Where a table has decimals, its section or the page's introduction names a command, or what made them is gone."""
    if str(page.relative_to(ROOT)) in NOT_MEASURED:
        return
    for section in sections(page.read_text(encoding="utf-8")):
        n_decimals = sum(len(_DECIMAL.findall(table)) for table in _TABLE.findall(section))
        assert n_decimals < 3 or _COMMAND.search(_TABLE.sub("", section)), section.splitlines()[0]


def test_what_is_not_measured_has_a_reason():
    """Each page of the list exists and has a table with decimals."""
    for name, reason in NOT_MEASURED.items():
        tables = _TABLE.findall((ROOT / name).read_text(encoding="utf-8"))
        assert reason
        assert any(_DECIMAL.search(table) for table in tables), name


def test_named_programs_exist():
    """Each program of the benchmarks that a page names is a file, and the list of benchmarks has a line for it."""
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        for name in re.findall(r"\bbenchmarks/(\w+\.py)\b", page.read_text(encoding="utf-8")):
            assert (ROOT / "benchmarks" / name).is_file(), f"{page.name}: {name}"
            assert f"`{name}" in listed, name


# A sample of printed figures against the records.


def table_of(page, heading):
    """The rows behind the first one that begins with `heading`, as lists of cells without emphasis; dashes left out."""
    text = (DOCS / page).read_text(encoding="utf-8")
    lines = next(table for table in _TABLE.findall(text) if table.startswith(heading)).splitlines()
    rows = [[cell.strip().strip("*") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in rows if set("".join(row)) - set("-:")]


def results_of(name):
    """What a benchmark has stored."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def assert_printed(printed, value, factor=1):
    """The printed figure is the value, rounded to as many digits; the last half may go either way."""
    number = printed.removesuffix(" %").replace(",", "")
    digits = len(number.partition(".")[2])
    assert abs(float(number) - factor * value) <= 0.5000001 * 10**-digits, (printed, value)


def assert_same_cells(rows, records):
    """Each cell of rows, by the name in the first column, is that of a list of values; an empty one is left out."""
    assert {row[0] for row in rows} == set(records)
    for name, *cells in rows:
        for printed, value in zip(cells, records[name], strict=True):
            if printed:
                assert_printed(printed, value, 100 if printed.endswith("%") else 1)


def test_numbers_of_neighbors():
    """ML-kNN with a number for each label, on seven sets, and the thresholds of the text below."""
    results = results_of("neighbors_per_label")["results"]
    columns = [("micro F1", name) for name in ("k = 10", "auto", "each label, micro")]
    columns += [("macro F1", name) for name in ("k = 10", "auto", "each label, macro")]
    records = {name: [of[metric][model] for metric, model in columns] for name, of in results.items()}
    assert_same_cells(table_of("choosing_k.md", "| | micro F1: k = 10 |")[1:], records)
    text = " ".join((DOCS / "choosing_k.md").read_text(encoding="utf-8").split())
    thresholds = re.search(r"micro F1 is ([\d., and]+), more than with a number for each label", text)[1]
    values = [of["micro F1"]["thresholds"] for of in results.values()]
    for printed, value in zip(re.findall(r"0\.\d+", thresholds), values, strict=True):
        assert_printed(printed, value)


def test_expected_loss():
    """NLDD's expected and found wrong labels."""
    results = results_of("expected_loss")["results"]
    columns = [("all", name) for name in ("expected", "found")]
    columns += [(half, name) for half in ("surest half", "other half") for name in ("expected", "found", "exact match")]
    records = {name: [of[part][figure] for part, figure in columns] for name, of in results.items()}
    assert_same_cells(table_of("label_dependence.md", "| | wrong labels per sample")[1:], records)


def test_folds():
    """Plain and stratified folds of four sets."""
    results = results_of("folds")["results"]
    records = {name: [value for of in all_of.values() for value in of.values()] for name, all_of in results.items()}
    assert_same_cells(table_of("comparing.md", "| data set | plain: LD")[1:], records)


def test_order_of_folds():
    """Thresholds by folds of consecutive, shuffled and stratified samples."""
    results = results_of("fold_order")["results"]
    rows = table_of("thresholds.md", "| | no thresholds")[1:]
    assert_same_cells(rows, {name: list(of.values()) for name, of in results.items()})


def test_thresholds_of_any_classifier():
    """F1 of three classifiers of scikit-learn on news, without and with tuned thresholds."""
    rows = table_of("thresholds.md", "| | micro F1 | micro F1, tuned")[1:]
    assert_same_cells(rows, results_of("any_classifier")["results"])


def test_saved_models():
    """Sizes and seconds of four ways to save a model."""
    records = {f"`{way}`": values for way, values in results_of("saving")["results"].items()}
    assert_same_cells(table_of("keeping_models.md", "| | MB")[1:], records)


def test_approximate_searches():
    """Seconds and recall of eight searches beside brute force."""
    rows = [[row[0].replace("`", ""), *row[1:]] for row in table_of("approximate.md", "| search | fit")[1:]]
    results = results_of("approximate")["results"]
    assert_same_cells(rows, {name: list(of.values()) for name, of in results.items()})


def test_ties_of_scikit_learn():
    """Shares of queries with our set of neighbours, lowest and highest of ten draws; brute force has more than half."""
    shares = results_of("ties")["results"]
    assert min(shares["brute"]) > 0.5 > 0.25 > max(shares["kd_tree"] + shares["ball_tree"])
    text = " ".join((DOCS / "decisions" / "0001-ties-by-training-index.md").read_text(encoding="utf-8").split())
    printed = re.findall(r"for (\d+) to (\d+) %", text)
    trees = shares["kd_tree"] + shares["ball_tree"]
    for (least, most), values in zip(printed, (shares["brute"], trees), strict=True):
        assert (int(least), int(most)) == (int(100 * min(values)), round(100 * max(values)))


SAMPLERS = {"MLROS": "ML-ROS 25 %", "MLRUS": "ML-RUS 25 %"}


def test_resampling():
    """Gain and leak after samplers, on the page about imbalanced labels."""
    gained, leaks = (results_of("resampling")["results"][part] for part in ("gained", "leaks"))
    header, *rows = table_of("howto/imbalanced.md", "| sampler | emotions")
    assert len(rows) == 7
    cells = [(name, sampler, cell) for sampler, *of in rows for name, cell in zip(header[1:], of, strict=True)]
    for name, sampler, cell in cells:
        assert_resampled(gained, name, sampler, cell)
    for name, sampler, *of in table_of("howto/imbalanced.md", "| data set | sampler")[1:]:
        assert_resampled(leaks, name, sampler, " ".join(of))


def assert_resampled(stored, name, sampler, text):
    """The figures of a text are the first ones that are stored for a data set and a sampler."""
    sampler = sampler.strip("`").removesuffix("()")
    for printed, value in zip(
        re.findall(r"0\.\d+", text), stored[f"{name} {SAMPLERS.get(sampler, sampler)}"], strict=False
    ):
        assert_printed(printed, value)


def test_guarantees():
    """Simulated draws: means and shares of draws above, as the benchmark's table has them."""
    simulated = {row[0]: row for row in results_of("risk_control")["tables"][0]["rows"]}
    rows = table_of("howto/guarantees.md", "| guarantee | for the loss")[1:]
    assert len(rows) == len(simulated)
    for (name, _, mean, above), stored in zip(rows, simulated, strict=True):
        assert name.split(",")[-1] == stored.split(",")[-1]
        assert [f"0{part}" for part in mean.split(" ± ")] == simulated[stored][2].split(" ± ")
        assert above.replace(" ", "") == simulated[stored][4]


def test_unknown_labels():
    """Micro F1 where cells are hidden."""
    stored = {(row[0], row[1]): row[2:] for row in results_of("unknown_labels")["tables"][0]["rows"]}
    rows = table_of("howto/unknown_labels.md", "| data set | hidden")[1:]
    name, n_cells = "", 0
    for first, hidden, *cells in rows:
        name = first or name
        of = stored[name, "0%" if hidden == "none" else hidden.replace(" ", "")]
        for printed, value in zip(cells, of, strict=True):
            if printed and printed != "too few":
                assert printed == (value.replace(" ± 0.000", "") if hidden == "none" else value)
                n_cells += 1
    assert n_cells == 17


def test_reproduced_tables():
    """The 55 cells of ML-kNN in tables 10 to 14 of Zhang and Zhou: as the command printed them, and README's claim."""
    text = (DOCS / "results" / "zhang2007.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| yahoo-(\w+) \| mlknn \| 10 \| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([-+.\d]+) \|$", text, re.M)
    cells = {(name, metric): (ours, difference) for name, metric, _, ours, difference in found}
    assert len(cells) == 55
    metrics = ("hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision")
    rows = [row for row in table_of("reproduced.md", "| set | Hamming loss")[1:] if (row[0], metrics[0]) in cells]
    assert len(rows) == 11
    for name, *printed in rows:
        for metric, cell in zip(metrics, printed, strict=True):
            ours, difference = cells[name, metric]
            assert cell.split(" (")[0] == ours, (name, metric)
            assert_printed(cell.split("(")[1].rstrip(")"), float(difference))
    largest = max(abs(float(difference)) for _, difference in cells.values())
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"the 55 cells of ML-kNN's tables 10 to 14 differ by {largest:.3f} at most" in readme


def test_ranks_of_the_method_cards():
    """Mean ranks are those of the reproduced ranking."""
    text = (DOCS / "results" / "gweon2019.md").read_text(encoding="utf-8")
    ranks = {}
    for metric in ("subset_accuracy", "jaccard_examples", "f1_examples", "hamming_loss"):
        table = text.split(f"**{metric} (", 1)[1].split("**")[1]
        names, means = (
            re.findall(r"[^|]+", line) for line in re.findall(r"^\| (?:data set|mean rank) \|.*$", table, re.M)[:2]
        )
        ranks[metric] = dict(zip((name.strip() for name in names), (mean.strip() for mean in means), strict=True))
    rows = table_of("method_cards.md", "| name | class")[1:]
    there = {"lp": "lp:probability=False", "cc": "ecc:n_estimators=1:max_samples=1.0"}
    n_cells = 0
    for name, _, *cells in rows:
        for of, cell in zip(ranks.values(), cells[:4], strict=True):
            if cell != "–":
                assert of[there.get(name.strip("`"), name.strip("`"))] == cell
                n_cells += 1
    assert n_cells == 4 * 15


def test_claims_of_the_readme():
    """How well and how fast: the means of the page on defaults, and the searches by the level that the page names."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    means = table_of("best_by_default.md", "| data set | k, then thresholds")[-1]
    assert f"has a mean micro F1 of {means[4]} over ten public data sets. A random forest" in readme
    assert f"with tuned thresholds has {means[3]}, ML-kNN with tuned k and thresholds {means[1]} (" in readme
    of = {table["title"]: table for table in results_of("search")["tables"]}
    for title, theirs in (
        ("By level: Times faster than brute", "4.3 to 5.8"),
        ("By level: Times faster than faiss", "2.0 to 2.7"),
    ):
        column = of[title]["headers"].index("int16")
        ratios = [row[column] for row in of[title]["rows"][:5] if row[column]]
        assert f"{min(ratios):.1f} to {max(ratios):.1f}" == theirs
        assert f"{theirs} times as fast as" in readme


def test_page_of_the_benchmarks(monkeypatch):
    """The page is what the program makes of the stored results."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    tables = importlib.import_module("tables")
    found = [results for results in map(results_of, tables.NAMES) if "tables" in results]
    assert tables.page_of(found) == tables.PAGE.read_text(encoding="utf-8")
