"""What a notebook shows of the library's objects: names are no markup, colours are the notebook's, tables are short."""

import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from _classifiers import SMALL, default_classifiers
from nearlabel.audit import audit, review, suggest
from nearlabel.comparison import compare
from nearlabel.datasets import Dataset, examine
from nearlabel.experiments import Plan, Tuning, run, summarise
from nearlabel.lazy import NLDD, BRkNN, MLkNN
from nearlabel.rivals import BinaryRelevance
from nearlabel.selection import MixtureClassifierCV, NeighborsClassifierCV
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.tables import ShownList

HOSTILE = ("<script>alert(1)</script>", "a & b", "'\"><img src=x onerror=y>")
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(80, 3))
Y = (X + RANDOM.normal(size=(80, 3)) > 0).astype(int)
Y[:10], X[40:50] = 1 - Y[40:50], X[:10]  # near copies that disagree
FRAME = pd.DataFrame(Y, columns=HOSTILE)
METHODS = {"<b>one</b>": BRkNN(), "a & b": MLkNN(), "<i>two</i>": BRkNN(weights="distance")}


def choice():
    """A choice among methods whose names are markup."""
    names = {"n_neighbors": [1, 3, 5], "scales": ["minmax"], "metrics": ["euclidean", "manhattan"]}
    return NeighborsClassifierCV(methods=METHODS, **names).fit(X, FRAME)


def our_page(shown):
    """The HTML of an object; of an estimator what is below scikit-learn's diagram."""
    page = shown._repr_mimebundle_()["text/html"] if hasattr(shown, "fit") else shown._repr_html_()
    return page[page.rindex("<div><p>") :] if hasattr(shown, "fit") else page


def records():
    """The records of three methods."""
    data = Dataset(X, Y, ("a", "b", "c"), HOSTILE, "<i>toy</i>")
    return run(Plan(METHODS, (3,), cv=5, metrics=("micro_f1", "hamming_loss")), {data.name: data})


def examined():
    """What is wrong with data whose columns have names that are markup."""
    named = pd.DataFrame(X, columns=HOSTILE).assign(**{"<script>alert(1)</script>": np.arange(80.0) * 1e6})
    return examine(named, FRAME, search=False)


SHOWN = {
    "Examination": examined,
    "Dataset": lambda: Dataset(X, Y, HOSTILE, HOSTILE, "<i>toy</i>"),
    "Explanation": lambda: BRkNN(3).fit(X, FRAME).explain(X[:1])[0].with_kept({"<u>": [*HOSTILE] * 26 + ["a", "b"]}),
    "Audit": lambda: audit(BRkNN(3).fit(X, FRAME), scores="model").named([HOSTILE[row % 3] for row in range(80)]),
    "Tuned": lambda: Tuning(METHODS, n_neighbors=(3, 5)).run((X, Y)),
    "Comparison": lambda: compare(records()),
    "choice": choice,
    "suggestions": lambda: suggest(BRkNN(3).fit(X, FRAME), RANDOM.normal(size=(30, 3)), 20),
    "review": lambda: review(BRkNN(3).fit(X, FRAME), X, 20),
    "means": lambda: summarise(records()),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_is_safe_and_short(name):
    """It is well-formed, of plain elements only, with the notebook's colours, and says how many rows it leaves out."""
    page = our_page(SHOWN[name]())
    document = ET.fromstring(page)
    assert {element.tag for element in document.iter()} <= {"div", "p", "table", "caption", "tr", "th", "td"}
    assert {key for element in document.iter() for key in element.attrib} <= {"style"}
    assert not any(word in page for word in ("color", "background", "url(", "http"))
    text = "".join(document.itertext())
    assert any(hostile in text for hostile in (*HOSTILE, *METHODS, "<i>toy</i>"))
    assert max(len(table.findall("tr")) for table in document.iter("table")) <= 15


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Audit", "... and 17 more rows"),
        ("suggestions", "... and 10 more rows"),
        ("review", "... and 10 more rows"),
        ("means", "... and 2 more cells"),
    ],
)
def test_what_is_left_out_is_counted(name, more):
    """A paragraph below the table."""
    assert more in [paragraph.text for paragraph in ET.fromstring(our_page(SHOWN[name]())).iter("p")]


def test_the_leaderboard_of_a_choice():
    """A line for each method and distance, with its best number of neighbours, best first; the first is the best."""
    model = choice()
    (table,) = ET.fromstring(our_page(model)).iter("table")
    head, *rows = [[cell.text for cell in row] for row in table]
    assert head == ["method", "scaling", "distance", "k", "micro F1"]
    assert len(rows) == 6
    assert rows[0][:4] == [str(model.best_params_[name]) for name in ("method", "scale", "metric", "n_neighbors")]
    values = [float(row[-1]) for row in rows]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(model.best_score_, abs=1e-4)


def test_an_examination_shows_its_findings():
    """Each with its remedy, the most severe first, and the notes below; if there is none, a sentence says so."""
    found = examined()
    document = ET.fromstring(found._repr_html_())
    (table,) = document.iter("table")
    head, *rows = [[cell.text for cell in row] for row in table]
    assert head == ["severity", "kind", "finding", "remedy"]
    assert [row[:2] for row in rows] == [[one.severity, one.kind] for one in found]
    assert [paragraph.text for paragraph in document.iter("p")] == [repr(found), *found.notes]
    assert "<p>Nothing was found.</p>" in found.__class__([])._repr_html_()


def test_an_unfitted_choice_is_a_diagram_only():
    """There is no leaderboard yet."""
    assert "<div><p>" not in NeighborsClassifierCV()._repr_mimebundle_()["text/html"]


def test_tuned_shows_each_line_once():
    """With the best of its numbers of neighbours; the text is one line."""
    tuned = SHOWN["Tuned"]()
    (table,) = ET.fromstring(tuned._repr_html_()).iter("table")
    assert [row[0].text for row in table][1:] == [line.method for line in tuned.best_of_lines]
    assert len(tuned.trials) == 2 * len(tuned.best_of_lines) == 6
    assert repr(tuned) == f"<Tuned: 6 models by micro_f1, the best {tuned.best.method}>"


def test_a_comparison_shows_wins_minus_losses():
    """In the order of the methods, over all metrics and for each."""
    found = SHOWN["Comparison"]()
    (table,) = ET.fromstring(found._repr_html_()).iter("table")
    head, *rows = [[cell.text for cell in row] for row in table]
    assert head == ["method", "all metrics", "micro F1", "Hamming loss"]
    assert [(row[0], int(row[1])) for row in rows] == list(found.order.scores.items())
    assert all(int(row[1]) == int(row[2]) + int(row[3]) for row in rows)


def test_lists_stay_lists():
    """What `suggest` returns equals a list, and is one."""
    found = SHOWN["review"]()
    assert isinstance(found, list)
    assert found == list(found)
    assert found[:2] == [found[0], found[1]]
    assert ShownList([], ("row",), "rows")._repr_html_().count("<tr>") == 1


# What cannot be updated has properties of updates that are not there.
OTHERS = {
    "a mixture": MixtureClassifierCV(families=("neighbors", "trees"), n_neighbors=(3,), scales=("none",)),
    "thresholds of others": TunedThresholdsClassifierCV(BinaryRelevance(LogisticRegression())),
    "thresholds of NLDD": TunedThresholdsClassifierCV(NLDD(random_state=0)),
    "thresholds alone": TunedThresholdsClassifierCV(BRkNN().fit(X, Y), cv="prefit", refit=False),
}
CLASSIFIERS = {**default_classifiers(), **SMALL, **OTHERS}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_shows_itself(name):
    """scikit-learn's diagram reads each fitted attribute, properties too."""
    classifier = CLASSIFIERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = classifier.fit(X, Y)._repr_mimebundle_()["text/html"]
    assert type(classifier).__name__ in page
    assert "classes_" in dir(classifier)  # which reads them, too


def test_a_mixture_shows_its_parts():
    """Each with its weight; the diagram is above."""
    model = MixtureClassifierCV(n_neighbors=(3, 5), scales=("minmax",), metrics=("euclidean",)).fit(X, Y)
    sentence, *_ = ET.fromstring(our_page(model))
    assert len(model.parts_) > 1
    assert all(f"{part['weight']:.2f} of {part['method']}" in sentence.text for part in model.parts_)
