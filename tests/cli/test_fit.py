import json
import os
import re
import shlex
import signal
from itertools import count

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

from nearlabel.datasets import Dataset, write_npz
from nearlabel.experiments import make_method
from nearlabel.metrics import score_all
from nearlabel.persistence import load_model, read_card
from nearlabel.selection import NeighborsClassifierCV, _neighbors_classifier_cv

CSV = ("--labels-column", "tags", "--ignore", "id")


def test_fixed_number_of_neighbors(nearlabel, table, tmp_path):
    """The model is that of the library; the measures are its leave-one-out ones, on the screen and in the card."""
    data, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, "--method", "mlknn:smoothing=0.5", "--k", 4, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    model, card = load_model(out), read_card(out)
    known = make_method("mlknn:smoothing=0.5", 4).fit(data.X, data.Y)
    assert np.array_equal(model.predict_proba(data.X), known.predict_proba(data.X))
    scores = score_all(data.Y, known.loo_predict(), known.loo_predict_proba())
    assert card.scores == pytest.approx(scores)
    assert card.measured == "leave-one-out"
    assert card.data.label_names == data.label_names
    assert card.data.feature_names == ("x0", "x1", "x2")
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["micro", "F1", f"{scores['micro_f1']:.4f}"] in lines
    assert ["neighbours", "(k)", "4"] in lines
    assert lines[-1][0] == "Model:"


@pytest.mark.parametrize(
    ("options", "spec"),
    [(("--method=brknn",), "brknn@isotonic"), (("--method=brknn", "--thresholds=micro-f"), "brknn@isotonic@micro-f")],
)
def test_calibrated(nearlabel, table, tmp_path, options, spec):
    """The model is calibrated on left-out scores, and judged on folds, as it has no leave-one-out answers."""
    data, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, *options, "--calibrate", "isotonic", "--k", 4, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    known = make_method(spec, 4).fit(data.X, data.Y)
    np.testing.assert_array_equal(load_model(out).predict_proba(data.X), known.predict_proba(data.X))
    np.testing.assert_array_equal(load_model(out).predict(data.X), known.predict(data.X))
    assert read_card(out).measured.startswith("5-fold cross-validation")


@pytest.mark.parametrize(
    ("options", "way"),
    [
        (("--method", "mlknn@micro-f", "--updatable"), "yes"),
        (("--method", "iblr", "--updatable"), "by refit"),
        (("--method", "nldd"), "no"),
        (("--method", "mlknn", "--guarantee", "recall=0.6"), "no"),
        (("--updatable", "--scale", "none", "--search", "exact"), "yes"),
    ],
)
def test_whether_the_model_can_be_updated(nearlabel, table, tmp_path, options, way):
    """Printed, and on the card."""
    out = tmp_path / "m.skops"
    k = () if "nldd" in options else ("--k", 3)
    answer = nearlabel("fit", table[1], *CSV, *options, *k, "--validate", "none", "--out", out)
    assert answer.code == 0, answer.err
    assert f"can be updated {way}" in " ".join(answer.out.split())
    assert read_card(out).updatable == way
    assert read_card(out).fit_options.startswith("--method ")


@pytest.mark.parametrize(
    ("options", "others"),
    [
        (("--method", "mlknn@micro-f", "--k", "3", "--scale", "none", "--search", "exact"), ""),
        (("--method", "mlknn", "--k", "3", "--out-of-range", "keep"), " --out-of-range keep"),
        (("--method", "mlknn", "--k", "3", "--guarantee", "recall=0.6"), " --guarantee recall=0.6"),
    ],
)
def test_the_card_has_the_command_that_makes_the_model(nearlabel, table, tmp_path, options, others):
    """With the options that describe DATA: it makes the same model again."""
    given = ("--labels-column", "tags", "--id", "id", "--validate", "none")
    assert nearlabel("fit", table[1], *given, *options, "--out", tmp_path / "m.skops").code == 0
    shown = nearlabel("card", tmp_path / "m.skops", "--format", "markdown").out
    command = re.search(r"\| made by \| nearlabel fit DATA (.*?) \|", shown)[1]
    assert command.startswith("--method mlknn")
    assert "--labels-column tags" in command
    assert command.endswith(f" --id id{others}")
    again = nearlabel("fit", table[1], *shlex.split(command), "--validate", "none", "--out", tmp_path / "n.skops")
    assert again.code == 0, again.err
    predicted = [nearlabel("predict", tmp_path / f"{name}.skops", table[1], "--scores", "all").out for name in "mn"]
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize("method", ["mlknn", "brknn@isotonic@micro-f"])
def test_what_an_approximate_search_finds_is_printed(nearlabel, table, tmp_path, method):
    """Beside its name, of the fitted model; nothing of the exact search."""
    pytest.importorskip("faiss")
    options = ("fit", table[1], *CSV, "--method", method, "--k", 3, "--validate", "none")
    for search, ending in (
        ("faiss-ivf:n_probe=1", ", which finds 100.0 % of the true neighbours (of 30 rows, drawn)"),
        ("exact", " "),
    ):
        out = tmp_path / f"{search[:5]}.skops"
        answer = nearlabel(*options, "--search", search, "--out", out)
        assert answer.code == 0, answer.err
        assert f"search {search}{ending}" in " ".join(answer.out.split())


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--validate", "3"), ("--validate", "none")])
def test_without_a_method_the_best_is_chosen(nearlabel, table, tmp_path, options):
    """By what `NeighborsClassifierCV` does; what is said and kept is of that model."""
    data, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, *options, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    chosen = NeighborsClassifierCV().fit(data.X, data.Y)
    np.testing.assert_array_equal(load_model(out).predict(data.X), chosen.predict(data.X))
    values = f"{chosen.best_score_:.4f}, cross-fitted {chosen.crossfit_score_:.4f}"
    assert f"the best of {chosen.n_candidates_} by micro F1: {values}" in answer.out
    measured = read_card(out).measured
    assert ("none" in options) == (not measured) == (not read_card(out).scores)
    assert measured.endswith("; method selected on the same rows") != ("none" in options)


def test_auto_takes_the_best_of_rows_held_out(nearlabel, table, tmp_path):
    """The number is the one that `tune` finds, and the judgement did not see what it is judged on."""
    _, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, "--method", "mlknn", "--metric", "hamming_loss", "--out", out)
    tuned = nearlabel(
        "tune", path, *CSV, "--methods", "mlknn", "--scales", "none", "--search", "exact", "--metric", "hamming_loss",
        "--format", "json",
    )  # fmt: skip
    found = json.loads(tuned.out)
    assert load_model(out)[-1].n_neighbors == found["trials"][0]["n_neighbors"]
    assert "the best of 28 by Hamming loss" in answer.out
    card = read_card(out)
    assert card.scores == pytest.approx(found["scores"])
    assert card.measured == "leave-one-out; selection nested in 5-fold cross-validation"


def test_scaling_thresholds_search_and_folds(nearlabel, table, tmp_path):
    """All options make one estimator; the thresholds are on the card."""
    data, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel(
        *("fit", path, *CSV, "--method=mlknn", "--k=3", "--scale=standard", "--thresholds=macro-f:beta=2"),
        *("--search=exact:metric=manhattan", "--validate=4", "--out", out),
    )
    assert answer.code == 0
    model, card = load_model(out), read_card(out)
    assert isinstance(model, Pipeline)
    assert card.method == "Pipeline(FeatureScaler, TunedThresholdsClassifierCV(MLkNN))"
    assert card.measured.startswith("4-fold cross-validation; ")
    assert card.parameters["tunedthresholdsclassifiercv__estimator__search__metric"] == "'manhattan'"
    known = make_method("mlknn@macro-f:beta=2", 3).set_params(estimator__search=model[-1].estimator.search)
    scaled = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    np.testing.assert_allclose(known.fit(scaled, data.Y).thresholds_, model[-1].thresholds_)
    known.set_params(map_scores=True).fit(model[0].transform(data.X), data.Y)
    np.testing.assert_allclose(known.mapped_thresholds_, card.thresholds)
    assert f"thresholds       {min(card.thresholds):.4g} to" in answer.out


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "iblr", "--k", "3"),
        ("--method", "br:estimator=logistic", "--thresholds", "0.3"),
        ("--method", "igs:factor=0.1+brknn-a@micro-f", "--k", "2"),
        ("--method", "ranksvm@micro-f", "--validate", "2"),
        ("--method", "nldd:estimator=logistic", "--validate", "none"),
        ("--method", "mlknn", "--k", "3", "--validate", "none"),
    ],
)
def test_methods(nearlabel, table, tmp_path, options):
    """With k and without, with decision values, with selections; measures only where asked for."""
    data, path = table
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, *options, "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert load_model(out).predict(data.X).shape == data.Y.shape
    assert bool(read_card(out).scores) == ("none" not in options) == ("Scores (" in answer.out)


@pytest.mark.parametrize("fixture", ["meka", "mulan", "svmlight"])
def test_every_format_of_data(nearlabel, request, tmp_path, fixture):
    """The names of features and labels come from the file; sparse files are fitted sparse."""
    out = tmp_path / "m.skops"
    options = ("--method=mlknn", "--k=2", "--scale=minmax", "--out", out)
    assert nearlabel("fit", request.getfixturevalue(fixture), *options).code == 0
    assert read_card(out).data.features == 3
    assert nearlabel("predict", out, request.getfixturevalue(fixture)).out.count("\n") == 31


def test_an_existing_file_is_kept_unless_forced(nearlabel, table, tmp_path):
    """Before any work; with --force the new model takes its place."""
    _, path = table
    out = tmp_path / "m.skops"
    out.write_text("precious")
    answer = nearlabel("fit", path, *CSV, "--out", out)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"nearlabel: {out} already exists. Hint: --force overwrites it.\n"
    assert out.read_text() == "precious"
    assert nearlabel("fit", path, *CSV, "--method=mlknn", "--k", 3, "--out", out, "--force").code == 0
    assert read_card(out).method == "Pipeline(FeatureScaler, MLkNN)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "m.pickle"), "argument --out: must end in .skops, got 'm.pickle'"),
        (("--out", "nowhere/m.skops"), "--out must be in a folder that exists"),
        (("--out", "m.skops", "--k", "0"), "argument --k: must be auto or a number from 1, got '0'"),
        (("--out", "m.skops", "--k", "1-30"), "argument --k: must be auto or a number from 1, got '1-30'"),
        (("--out", "m.skops", "--k", "99"), "--k must be at most n_samples=30, got 99."),
        (
            ("--out", "m.skops", "--method=mlknn", "--k", "99"),
            "--k must be at most 28 where some of 30 rows",
        ),
        (("--out", "m.skops", "--method", "mlkn"), "method must be one of"),
        (("--out", "m.skops", "--method", "br", "--k", "3"), "--k must go with a method by neighbours, got br."),
        (("--out", "m.skops", "--method", "mlknn@"), "thresholds must be a number from 0 to 1 or one of"),
        (("--out", "m.skops", "--thresholds", "half"), "thresholds must be a number from 0 to 1 or one of"),
        (("--out", "m.skops", "--thresholds", "0.5"), "thresholds must be tuned, by one of"),
        (
            ("--out", "m.skops", "--thresholds", "none"),
            "--thresholds must be tuned if no method is named",
        ),
        (
            ("--out", "m.skops", "--search", "faiss-ivf"),
            "--search must be exact if no method is named",
        ),
        (("--out", "m.skops", "--metric", "micro"), "metric must be"),
        (
            ("--out", "m.skops", "--method=mlknn", "--thresholds", "half"),
            "thresholds must be a number from 0 to 1 or one of",
        ),
        (("--out", "m.skops", "--validate", "1"), "argument --validate: must be loo or a number of folds, from 2"),
        (
            ("--out", "m.skops", "--method=mlknn", "--validate", "none"),
            "--k must be a number with --validate none",
        ),
        (("--out", "m.skops", "--search", "exact:metric=far"), "nearlabel: metric must be"),
        (
            ("--out", "m.skops", "--method", "mlknn@micro-f", "--thresholds", "0.3"),
            "--thresholds must go with a method that names none after an @, got mlknn@micro-f.",
        ),
        (
            ("--out", "m.skops", "--method", "mlknn@micro-f", "--calibrate", "beta"),
            "--calibrate must go with a method that names none after an @, got mlknn@micro-f.",
        ),
        (("--out", "m.skops", "--calibrate", "beta"), "--calibrate must go with a named method, got beta."),
        (("--out", "m.skops", "--calibrate", "platt"), "argument --calibrate: invalid choice: 'platt'"),
        (
            ("--out", "m.skops", "--updatable", "--method", "rfpct"),
            "--updatable must go with a method whose models can be updated, got rfpct. Hint: without --method",
        ),
        (
            ("--out", "m.skops", "--updatable", "--guarantee", "recall=0.8"),
            "--updatable must go without --guarantee: added rows end a guarantee.",
        ),
        (("--out", "m.skops", "--validate", "40"), "--validate must be at most the 30 rows of fruit, got 40"),
    ],
)
def test_bad_options(nearlabel, table, tmp_path, monkeypatch, options, message):
    """One line, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    answer = nearlabel("fit", table[1], *CSV, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_missing_features_are_named(nearlabel, tmp_path):
    """Methods by neighbours take no missing values: the message says where."""
    path = tmp_path / "holes.csv"
    path.write_text("a,b,tags\n1,2,x\n,3,y\n4,5,x\n6,7,y\n")
    answer = nearlabel(
        "fit", path, "--labels-column", "tags", "--method=mlknn", "--k", 1, "--out", tmp_path / "m.skops"
    )
    assert "holes.csv, line 3: column 'a' must contain numbers that are finite, got a missing value. " in answer.err
    assert not (tmp_path / "m.skops").exists()


def test_interrupted(nearlabel, table, tmp_path, monkeypatch):
    """Nothing is left behind, and nothing is said to resume."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearlabel.persistence.save_model", interrupt)
    answer = nearlabel("fit", table[1], *CSV, "--method=mlknn", "--k", 3, "--out", tmp_path / "m.skops")
    assert (answer.code, answer.err) == (130, "nearlabel: interrupted.\n")
    assert not list(tmp_path.glob("*.skops"))


@pytest.mark.parametrize("where", ["before", "behind"])
def test_debug_shows_where(nearlabel, table, tmp_path, where):
    """A traceback only where it is asked for, before the command or behind it; then the line."""
    command = ["fit", table[1], *CSV, "--method=mlknn", "--k", 99, "--out", tmp_path / "m.skops"]
    answer = nearlabel(*(["--debug", *command] if where == "before" else [*command, "--debug"]))
    assert answer.code == 2
    assert answer.err.startswith("Traceback")
    assert answer.err.splitlines()[-1].startswith("nearlabel: --k must be at most 28")


def test_a_mistake_of_ours_is_told_in_a_line(nearlabel, table, monkeypatch, tmp_path):
    """Whatever goes wrong, no traceback falls on the user unasked."""

    def fail(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr("nearlabel.persistence.save_model", fail)
    answer = nearlabel("fit", table[1], *CSV, "--method=mlknn", "--k", 3, "--out", tmp_path / "m.skops")
    assert (answer.code, answer.err) == (2, "nearlabel: KeyError: 'lost'. Hint: --debug shows the traceback.\n")


def interrupting(function, after):
    """Return a function that sends SIGINT at the end of some of its calls, as Ctrl-C does."""
    calls = count(1)

    def call(*arguments, **options):
        result = function(*arguments, **options)
        if next(calls) in after:
            os.kill(os.getpid(), signal.SIGINT)
        return result

    return call


@pytest.fixture
def usual_signals():
    """Handle SIGINT as Python does, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the command has put its handler back"
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_signals")
def test_ctrl_c_gives_the_best_so_far(nearlabel, tmp_path, monkeypatch):
    """The first ends the selection after the method in progress; the model is saved; scripts know it by the code."""
    file = tmp_path / "m.skops"
    stopped = interrupting(_neighbors_classifier_cv.try_numbers, {1})
    monkeypatch.setattr(_neighbors_classifier_cv, "try_numbers", stopped)
    answer = nearlabel("fit", "multidigits", "--out", file)
    assert answer.code == 130
    told = answer.err.splitlines()[-1]
    n_tried, n_left = map(int, re.findall(r"([0-9]+) m\w+ were", told))
    assert told == (
        f"nearlabel: interrupted: {n_tried} models were tried, {n_left} methods were not, or not on all rows."
        f" The best of them is saved in {file}."
    )
    assert f"the best of {n_tried} by micro F1" in answer.out
    assert n_left > n_tried / 12 > 0
    assert "stopping after the model in progress, with the best so far; Ctrl-C again ends at once." in answer.err
    assert (
        "Left out at Ctrl-C: mlknn (minmax, euclidean), brknn:weights=distance (minmax, euclidean), brknn:weights=gau"
        in answer.out
    )
    assert "more. Hint: the same command with --force tries more." in answer.out
    assert read_card(file).method.startswith("Pipeline(FeatureScaler, TunedThresholdsClassifierCV(BRkNN")
    again = interrupting(interrupting(_neighbors_classifier_cv.try_numbers, {1}), {1})
    monkeypatch.setattr(_neighbors_classifier_cv, "try_numbers", again)
    assert nearlabel("fit", "multidigits", "--out", file, "--force").code == 130


def test_the_time_limit_leaves_out(nearlabel, tmp_path):
    """And says so, in one line, with what would help."""
    answer = nearlabel("fit", "multidigits", "--out", tmp_path / "m.skops", "--time-limit", 0.001)
    assert answer.code == 0
    (line,) = [
        line for line in answer.out.splitlines() if line.startswith("Left out at the time limit of 0.001 seconds")
    ]
    assert line.endswith(" more. Hint: --time-limit 0.01 --force tries more.")


def test_words_are_mixed_with_a_linear_model(nearlabel, tmp_path):
    """By default for words; --only neighbours, and --updatable, leave it out; folds evaluate the mixture."""
    random = np.random.default_rng(0)
    X = random.poisson(0.12, size=(150, 40)).astype(float)
    Y = (X[:, :12].reshape(-1, 4, 3).sum(axis=2) + random.normal(size=(150, 4)) / 2 > 0.6).astype(int)
    data = Dataset(sparse.csr_array(X), Y, tuple(f"w{word}" for word in range(40)), ("a", "b", "c", "d"), "words")
    path = tmp_path / "words.npz"
    write_npz(path, data)
    mixed = nearlabel("fit", path, "--out", tmp_path / "m.skops")
    assert mixed.code == 0
    assert "svm" in mixed.out
    assert "can be updated   no; with --updatable: yes" in mixed.out
    assert read_card(tmp_path / "m.skops").updatable == "no"
    scored = nearlabel("predict", tmp_path / "m.skops", path, "--score")
    assert scored.code == 0
    explained = nearlabel("explain", tmp_path / "m.skops", path, "--row", "3")
    assert explained.code == 0
    assert "svm" in explained.out
    assert max(map(len, explained.out.splitlines())) <= 80
    refused = nearlabel("update", tmp_path / "m.skops", path)
    assert refused.code == 2
    assert "--updatable" in refused.err
    for option in (("--only", "neighbours"), ("--updatable",)):
        alone = nearlabel("fit", path, *option, "--out", tmp_path / "n.skops", "--force")
        assert "can be updated   yes" in alone.out
    folds = nearlabel("fit", path, "--validate", "3", "--out", tmp_path / "f.skops")
    assert "Scores (3-fold cross-validation" in folds.out
