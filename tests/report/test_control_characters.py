"""Control characters in names: no XML or HTML can contain them, and those of text direction reorder what follows."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from nearlabel.audit import audit
from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.persistence import ModelCard
from nearlabel.plots import CoOccurrenceDisplay
from nearlabel.report import audit_facts, model_facts, report_page, run_facts

SHOWN = {
    "a\x01b": r"a\x01b",
    "\x00": r"\x00",
    "\uffff": r"\uffff",
    "c\ufffe": r"c\ufffe",
    "\u202ekcah\u2066": r"\u202ekcah\u2066",
    "\u200e\u200f\u061c": r"\u200e\u200f\u061c",
    "سلام שלום": "سلام שלום",
}
NAMES = tuple(SHOWN)
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


pytestmark = pytest.mark.filterwarnings("ignore:Matplotlib currently does not support")  # of 3.9, Arabic letters


@pytest.fixture(scope="module")
def data():
    """Rows whose labels, features and data set have such names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (rng.random((60, len(NAMES))) < 0.5).astype(int)
    return Dataset(X, Y, NAMES[:3], NAMES, NAMES[0])


def test_report_of_a_model(data):
    """In tables, figures, attributes and the data of the script."""
    model = MLkNN(3).fit(data.X, data.Y)
    card = json.loads(ModelCard.of(model, data=data).to_json())
    kept = {NAMES[4]: [NAMES[4]] * 60}
    page = report_page(model_facts(model, data, card=card, training=data, seen=True, n_rows=5, kept=kept))
    assert not CONTROLS.search(page)
    assert all(f">{name}<" in page for name in SHOWN.values())
    of_script = json.loads(re.search('id="facts">(.*?)</script>', page)[1])
    assert sorted(of_script["names"]) == sorted(SHOWN.values())


def test_report_of_a_run(data, tmp_path):
    """The names of data sets and labels."""
    run(Plan(("brknn", "mlknn"), (3,), cv=2, metrics=("hamming_loss",)), {NAMES[0]: data}, out=tmp_path)
    page = report_page(run_facts([tmp_path], open_problem=lambda *_: data))
    assert not CONTROLS.search(page)
    assert all(name in page for name in SHOWN.values())


def test_report_of_an_audit(data):
    """Only the values that its script writes into the file of corrections stay: they are not displayed."""
    found = audit(BRkNN(5).fit(data.X, data.Y), n_cells=40, label_names=NAMES)
    page = report_page(audit_facts(found, name=NAMES[4], by="BRkNN"))
    assert f'data-label="{NAMES[4]}"' in page
    assert not CONTROLS.search(re.sub(' data-[a-z]+="[^"]*"', "", page))


@pytest.mark.parametrize("name", NAMES)
def test_figures(name, tmp_path):
    """They are XML, and show the names."""
    display = CoOccurrenceDisplay.from_labels([[1, 0], [1, 1], [0, 1]], label_names=[name, "other"])
    picture = display.to_svg(name, name)
    root = ET.fromstring(picture)
    assert not CONTROLS.search(picture)
    assert [text.text for text in root.iter("text")].count(SHOWN[name]) == 2
    assert [root.find("title").text, root.find("desc").text] == [SHOWN[name], SHOWN[name]]
    written = display.write(tmp_path / "a.svg", title=name).read_text(encoding="utf-8")
    assert ET.fromstring(written).tag.endswith("svg")
    assert not CONTROLS.search(written)


def test_notebooks(data):
    """What a data set is displayed as."""
    shown = data._repr_html_()
    assert not CONTROLS.search(shown)
    assert SHOWN[NAMES[0]] in shown
