"""The page of an audit: what it says of what was found, whatever names hold."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from nearlabel.audit import audit
from nearlabel.datasets import Dataset
from nearlabel.lazy import IBLR, BRkNN, MLkNN
from nearlabel.report import _facts, audit_facts, report_page
from nearlabel.report._facts import suspicious_labels

X = [[0], [1], [2], [3], [10], [11], [12], [13]]
TAGS = [["calm"], ["calm"], ["loud"], ["calm"], ["loud"], ["loud"], ["loud"], ["loud"]]


class Boxes(HTMLParser):
    """Collects the tick boxes of a page, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.boxes, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Keep what a box says."""
        if tag == "input":
            self.boxes.append(dict(attrs))

    def handle_data(self, data):
        """Keep all text."""
        self.text += data


@pytest.fixture(scope="module")
def found():
    """The third of eight rows has the labels of the other cloud."""
    return audit(BRkNN(3).fit(X, TAGS))


def test_by_hand(found):
    """The verdict, the first cell with its neighbours, and what its box would write."""
    facts = audit_facts(found.named([f"song {row}" for row in range(8)]), name="songs", by="BRkNN, k 3")
    page = report_page(facts)
    told = Boxes(page)
    assert (
        "2 of 16 cells (a sample and a label), 12\N{NO-BREAK SPACE}%, are flagged and should be checked." in told.text
    )
    assert "calmno → yessong 2row 2 the suggestion is right: calm applies" in told.text
    share = "100\N{NO-BREAK SPACE}% of the weight by inverse distance"
    near = "yes song 1 at 1.00yes song 3 at 1.00yes song 0 at 2.00"
    assert f"yes is the value of 3 of 3 neighbours, with {share}{near}" in told.text
    assert f"no is the value of 3 of 3 neighbours, with {share}no song 1 at 1.00" in told.text
    first = {name.removeprefix("data-"): value for name, value in told.boxes[0].items() if name.startswith("data-")}
    assert first == {"row": "2", "id": "", "label": "calm", "given": "0", "correct": "1"}
    assert len(told.boxes) == len(found.cells)
    for part in ("Suspicious rows", "Hubs"):
        assert f"<h2>{part}</h2>" in page
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_what_correcting_changes_is_told(found):
    """As the library has it; the same facts make the same page."""
    facts = audit_facts(found, name="songs")
    assert [(c["n_righted"], c["n_wronged"]) for c in facts["cells"]] == [
        (c.n_righted, c.n_wronged) for c in found.cells
    ]
    page = report_page(facts)
    righted, wronged = found.cells[0].n_righted, found.cells[0].n_wronged
    told = f"corrected, {righted} prediction{'s' * (righted != 1)} of other rows become{'s' * (righted == 1)} right"
    assert f"{told} and {wronged} wrong" in page
    assert report_page(audit_facts(found, name="songs")) == page


def test_hostile_names(audited_facts):
    """No name opens an element or ends an attribute."""
    page = report_page(audited_facts)
    assert page.count("<script") == 2  # data and program
    assert Boxes(page).boxes[0]["data-label"] == audited_facts["cells"][0]["label"]
    assert Boxes(page).boxes[0]["data-id"] == audited_facts["cells"][0]["id"]


def test_nothing_found():
    """Labels that agree with all neighbours: one sentence, and no list."""
    page = report_page(audit_facts(audit(BRkNN(3).fit(X, [["a"]] * 4 + [["b"]] * 4)), name="songs"))
    told = Boxes(page)
    assert "None of the 16 cells (a sample and a label) is flagged." in told.text
    assert "No label is contradicted by its neighbours." in told.text
    assert told.boxes == []


def test_unknown_cells_and_groups():
    """A cell of which nobody knows is not listed; of many copies the first are named."""
    y = np.array([[0.0, 1.0], *[[1.0, 1.0]] * 28, [np.nan, 0.0]])
    found = audit(BRkNN(2).fit(np.zeros((30, 1)), y))
    facts = audit_facts(found, name="zeros")
    group = facts["conflicts"][0]
    assert (group["n_rows"], len(group["rows"])) == (30, 20)
    assert "row 18, row 19 and 10 more" in report_page(facts)
    named = audit_facts(found.named([f"song {row}" for row in range(30)]), name="zeros")
    assert named["conflicts"][0]["names"] == [f"song {row}" for row in range(20)]
    assert "song 18, song 19 and 10 more" in report_page(named)


def test_ids_go_with_their_column(found):
    """One for each row."""
    with pytest.raises(ValueError, match="id_column must go with ids, got 'id' and None"):
        audit_facts(found, name="songs", id_column="id")
    with pytest.raises(ValueError, match="ids must be 8, one for each row, got 1"):
        audit_facts(found, name="songs", id_column="id", ids=["s"])
    ids = [f"s{row}" for row in range(8)]
    by_place = audit_facts(found, name="songs", id_column="id", ids=pd.Series(ids, index=range(7, -1, -1)))
    assert by_place == audit_facts(found, name="songs", id_column="id", ids=ids)
    assert by_place["cells"][0]["id"] == f"s{by_place['cells'][0]['row']}"


def test_suspicious_labels_of_a_model(monkeypatch):
    """Ten at most, by name; nothing of a model that cannot be audited, and a note if there are too many rows."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 2))
    data = Dataset(X, Y, ("x", "y"), ("calm", "loud"), "songs")
    model = MLkNN(3).fit(X, Y)
    facts = suspicious_labels(model, data, data.label_names, {"title": [f"song {row}" for row in range(40)]})
    expected = audit(model, n_cells=10, label_names=data.label_names)
    assert [(c["row"], c["label"]) for c in facts["cells"]] == [(c.row, c.label_name) for c in expected.cells]
    assert facts["cells"][0]["name"] == f"song {expected.cells[0].row}"
    assert facts["n_issues"] == expected.n_issues
    assert suspicious_labels(IBLR(3).fit(X, Y), data, data.label_names, {}) is None
    assert suspicious_labels(BRkNN(40).fit(X, Y), data, data.label_names, {}) is None
    monkeypatch.setattr(_facts, "_MOST_ROWS", 39)
    assert "40 training samples are too many" in suspicious_labels(model, data, data.label_names, {})["note"]
