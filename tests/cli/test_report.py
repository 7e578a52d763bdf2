import re
import sys

import pytest
from sklearn.ensemble import GradientBoostingClassifier

from nearlabel.datasets import Dataset, load_multidigits, write_npz
from nearlabel.lazy import MLkNN
from nearlabel.persistence import read_card, save_model
from nearlabel.rivals import BinaryRelevance

LABELS = ("[red] apple", "[/b] pear", ":lemon:")


@pytest.fixture
def fruit(rows, tmp_path):
    """Ten rows to report on, twenty to fit to; each as data and as a file."""
    X, Y = rows
    parts = {}
    for name, part in (("test", slice(10)), ("training", slice(10, None))):
        parts[name] = Dataset(X[part], Y[part], tuple("xyz"), LABELS, name)
        write_npz(tmp_path / f"{name}.npz", parts[name])
    return parts


@pytest.fixture
def model(fruit, tmp_path):
    """A model of twenty rows in a file."""
    training = fruit["training"]
    return save_model(MLkNN(3).fit(training.X, training.Y), tmp_path / "m.skops", data=training)


@pytest.mark.long
def test_model(nearlabel, model, fruit, tmp_path):
    """The page has the data's figures and all labels; the command says where it is."""
    out = tmp_path / "report.html"
    answer = nearlabel("report", model, tmp_path / "test.npz", "--out", out)
    assert answer == (0, f"Report: {out}\n", "")
    page = out.read_text()
    assert "<h1>MLkNN on test</h1>" in page
    assert all(name in page for name in LABELS)
    assert "to these samples" not in page.partition("<h2>Metrics")[0]


@pytest.mark.long
def test_model_on_its_training_rows(nearlabel, model, tmp_path):
    """The page warns."""
    assert nearlabel("report", model, tmp_path / "training.npz", "--out", tmp_path / "r.html").code == 0
    assert "The model was fitted to these samples" in (tmp_path / "r.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize("option", ["", "--training"])
def test_training_rows_with_other_columns_first(nearlabel, model, fruit, tmp_path, option):
    """Features and labels in another order, as what is tested or as training: they are the same rows."""
    data = fruit["training"]
    turned = Dataset(data.X[:, ::-1], data.Y[:, ::-1], data.feature_names[::-1], LABELS[::-1], "turned")
    write_npz(tmp_path / "turned.npz", turned)
    files = (tmp_path / "test.npz", option) if option else ()
    answer = nearlabel("report", model, *files, tmp_path / "turned.npz", "--out", tmp_path / "r.html")
    assert answer.code == 0
    assert ("The model was fitted to these samples" in (tmp_path / "r.html").read_text()) == (not option)


def test_training_rows_with_other_features(nearlabel, model, fruit, tmp_path):
    """What is refused is named: not DATA."""
    data = fruit["training"]
    write_npz(tmp_path / "other.npz", Dataset(data.X, data.Y, tuple("abc"), LABELS, "other"))
    files = (tmp_path / "test.npz", "--training", tmp_path / "other.npz")
    answer = nearlabel("report", model, *files, "--out", tmp_path / "r.html")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--training must be the data that the model was fitted to, got different features or labels" in answer.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "examined"), [((), "10 samples of test"), (("--training", "training.npz"), "20 training samples of ")]
)
def test_findings(nearlabel, model, tmp_path, options, examined):
    """In the data of the page, or in the training data if they are named."""
    options = [tmp_path / one if one.endswith("npz") else one for one in options]
    answer = nearlabel("report", model, tmp_path / "test.npz", *options, "--out", tmp_path / "r.html")
    assert answer.code == 0, answer.err
    section = (tmp_path / "r.html").read_text().split("<h2>Findings in the data</h2>")[1]
    assert section.startswith(f'<p class="note">In the {examined}')


@pytest.mark.long
def test_blank_title(nearlabel, model, tmp_path):
    """The page has a heading nevertheless."""
    files = (model, tmp_path / "test.npz", "--out", tmp_path / "r.html")
    assert nearlabel("report", *files, "--title", " ").code == 0
    assert "<h1>MLkNN on test</h1>" in (tmp_path / "r.html").read_text()


@pytest.mark.long
def test_training_rows_for_pictures(nearlabel, tmp_path):
    """Neighbours are drawn where their rows are given; other rows than those of the model are refused."""
    digits = load_multidigits()
    for name, part in (("a", slice(100)), ("b", slice(100, 160))):
        data = Dataset(digits.X[part], digits.Y[part], digits.feature_names, digits.label_names, name)
        write_npz(tmp_path / f"{name}.npz", data)
        if name == "a":
            save_model(MLkNN(3).fit(data.X, data.Y), tmp_path / "m", data=data)
    command = ("report", tmp_path / "m", tmp_path / "b.npz", "--out", tmp_path / "r.html", "--rows", "5")
    assert nearlabel(*command, "--training", tmp_path / "a.npz").code == 0
    drawn = re.search(r'"neighbor_pictures":{(.*?)}', (tmp_path / "r.html").read_text()).group(1)
    assert len(re.findall(r'"\d+":"[0-9a-f]{81}"', drawn)) >= 3
    answer = nearlabel(*command, "--training", tmp_path / "b.npz")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "--training must be the data that the model was fitted to" in answer.err


def test_run(nearlabel, meka, tmp_path):
    """A folder of records, with the data that it is of, or without."""
    options = ("--methods", "brknn,mlknn", "--k", "1-3", "--cv", "3", "--metrics", "micro_f1")
    assert nearlabel("evaluate", meka, *options, "--out", tmp_path / "run").code == 0
    assert nearlabel("report", tmp_path / "run", "--out", tmp_path / "a.html", "--title", "Mine").code == 0
    page = (tmp_path / "a.html").read_text()
    assert "<h1>Mine</h1>" in page
    assert "The data were not found" in page
    assert nearlabel("report", tmp_path / "run", meka, "--out", tmp_path / "b.html").code == 0
    assert "Label cardinality" in (tmp_path / "b.html").read_text()


@pytest.mark.long
def test_run_on_known_data(nearlabel, tmp_path):
    """The embedded data are found by their name."""
    options = ("--methods", "brknn,mlknn", "--k", "3", "--cv", "2", "--metrics", "micro_f1", "--out", tmp_path / "run")
    assert nearlabel("evaluate", "multidigits", *options).code == 0
    assert nearlabel("report", tmp_path / "run", "--out", tmp_path / "a.html").code == 0
    assert "<dt>Samples</dt><dd>2,000</dd>" in (tmp_path / "a.html").read_text()


def test_given_split_of_the_catalogue(nearlabel, data_folder, tmp_path):
    """Both parts are found by name; only what is on this machine is looked at."""
    options = (
        "--methods",
        "brknn,mlknn",
        "--k",
        "3",
        "--cv",
        "given",
        "--metrics",
        "micro_f1",
        "--out",
        tmp_path / "r",
    )
    assert nearlabel("evaluate", "emotions", *options).code == 0
    assert nearlabel("report", tmp_path / "r", "--out", tmp_path / "a.html").code == 0
    assert "<dt>Samples</dt><dd>593</dd>" in (tmp_path / "a.html").read_text()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* contains types that load_model")
def test_a_model_that_needs_trust(nearlabel, fruit, tmp_path):
    """Types are refused by name, and taken when they are named."""
    training = fruit["training"]
    model = BinaryRelevance(GradientBoostingClassifier(n_estimators=1)).fit(training.X, training.Y)
    file = save_model(model, tmp_path / "boosted.skops", data=training)
    command = ("report", file, tmp_path / "test.npz", "--out", tmp_path / "a.html")
    assert "sklearn.tree._tree.Tree" in nearlabel(*command).err
    foreign = ",".join(read_card(file).foreign_types)
    assert nearlabel(*command, "--trusted", foreign).code == 0
    assert "does not explain itself" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("m.skops", "--out", "r.html"), "DATA must be given with a model, got none. Hint: nearlabel report MODEL"),
        (("none", "--out", "r.html"), "RUN|MODEL must be a folder of records or the file of a model, got "),
        ((".", "--out", "r.html"), "must be a folder of records, with a plan.json, got none"),
        ((".", "--training", "test.npz", "--out", "r.html"), "--training must go with a model, got a folder"),
        (("test.npz", "test.npz", "--out", "r.html"), "must be a file that save_model wrote"),
        (("m.skops", "test.npz", "--out", "r.pdf"), "argument --out: must end in .html, got 'r.pdf'"),
        *(
            (("m.skops", "test.npz", "--rows", rows, "--out", "r.html"),
             f"argument --rows: must be a whole number of at least 1, got '{rows}'")
            for rows in ("0", "-3", "many")
        ),
        (("m.skops", "multidigits", "--out", "r.html"), "DATA must have the features of the model, got none named 'x'"),
        (("m.skops", "test.npz"), "the following arguments are required: --out"),
    ],
)  # fmt: skip
def test_errors_are_one_line(nearlabel, model, tmp_path, monkeypatch, arguments, message):
    """What is wrong and what to do; no page is written."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("report", *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert message in answer.err
    assert not list(tmp_path.glob("r.*"))


def test_without_matplotlib(nearlabel, model, tmp_path, monkeypatch):
    """The message names the extra, before anything is read."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, error = nearlabel("report", model, tmp_path / "none.npz", "--out", tmp_path / "r.html")
    assert code == 2
    assert "Drawing needs matplotlib: pip install 'nearlabel[plot]'" in error
