import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from nearlabel.plots._figure import Display
from nearlabel.report import report_page, write_report

FIXTURES = [
    "evil_facts",
    "run_of_one",
    *(pytest.param(one, marks=pytest.mark.long) for one in ("digits_facts", "nldd_facts", "run_of_many", "wide_run")),
]
VOID = {"br", "input", "meta"}


class Outline(HTMLParser):
    """Checks that elements are nested, and keeps what a test asks for."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.links, self.uses, self.ids = [], [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Remember what is opened."""
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"an attribute twice in {tag}"
        self.tags.append((tag, attributes))
        links = self.uses if tag == "use" else self.links
        links += [attributes[key] for key in ("href", "src", "action") if key in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """What is closed was opened last."""
        assert self.open.pop() == tag


@pytest.fixture(scope="module", params=FIXTURES)
def facts(request):
    """All kinds of facts."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def page(facts):
    """The page of the facts."""
    return report_page(facts)


@pytest.fixture
def _no_figures(monkeypatch):
    """Figures cost most of the time of a page, and most tests are about its words and tables."""
    monkeypatch.setattr(Display, "to_svg", lambda _, title, words="", **__: f"<svg><title>{title}</title>{words}</svg>")


@pytest.mark.long
@pytest.mark.usefixtures("_no_figures")
def test_facts_are_plain(facts):
    """Facts are JSON, and the same page follows from them after a round trip."""
    again = json.loads(json.dumps(facts, allow_nan=False))
    assert again == facts
    assert report_page(again) == report_page(facts)


@pytest.mark.long
def test_structure(page):
    """Elements are nested, identifiers unique, links lead into the page only, each picture says what it shows."""
    outline = Outline(page)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert all(link.startswith("#") and link[1:] in outline.ids for link in [*outline.links, *outline.uses])
    assert [tag for tag, _ in outline.tags].count("h1") == 1
    pictures = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.S)
    assert pictures
    assert all("<title>" in one and "<desc>" in one for one in pictures)
    assert not re.search(r"\bnan\b|NaN[^(]|undefined\"", "".join(pictures))


def test_nothing_is_loaded(page):
    """No address of any other file."""
    assert "default-src &#x27;none&#x27;" in page
    assert not re.findall(r"https?:|@import|url\(", page)


def test_the_policy(page):
    """The browser runs the program and applies the style of the page by their hashes; elements have neither."""
    outline = Outline(page)
    (policy,) = (one["content"] for tag, one in outline.tags if one.get("http-equiv") == "Content-Security-Policy")
    sources = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert sources.pop(directive) == f"'sha256-{digest}'"
    assert sources == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }  # fmt: skip
    names = {name for _, attributes in outline.tags for name in attributes}
    assert not {name for name in names if name == "style" or name.startswith("on")}
    assert [tag for tag, _ in outline.tags].index("meta") < 3  # before anything that a name is in


@pytest.mark.long
def test_names_are_escaped(evil_facts):
    """A label named like a script is text everywhere: in tables, pictures, attributes and data."""
    page = report_page(evil_facts)
    scripts = [attributes for tag, attributes in Outline(page).tags if tag == "script"]
    assert [one.get("id") for one in scripts] == ["facts", None]
    assert "<script>window" not in page
    assert "&lt;script&gt;window.harmed" in page
    data = re.search(r'id="facts">(.*?)</script>', page, re.S).group(1)
    assert "<" not in data
    assert json.loads(data)["names"].count("<script>window.harmed = 1</script>") == 1


def test_what_only_scripts_serve_is_not_in_the_page(page):
    """No button, no box that would be dead without them; every column is named."""
    assert not {"button", "input", "select"} & {tag for tag, _ in Outline(page).tags}
    assert re.findall(r'<th scope="col"[^>]*><span>(.*?)</span>', page)
    assert '<th scope="col"><span></span>' not in page


@pytest.mark.usefixtures("_no_figures")
def test_title(run_of_one):
    """Of the run, or the user's, escaped; a blank one is none."""
    for blank in (None, "", " "):
        assert "<h1>4 methods on one</h1>" in report_page(run_of_one, title=blank)
    assert "<h1>A &lt; B</h1>" in report_page(run_of_one, title="A < B")


@pytest.mark.usefixtures("_no_figures")
def test_tables_of_a_run(run_of_one):
    """Every mean of the records stands in the comparison, the best one marked by the measure's direction."""
    page = report_page(run_of_one)
    means = {
        (cell["method"], cell["metric"]): cell["mean"]
        for cell in run_of_one["datasets"][0]["cells"]
        if cell["n_neighbors"] == "mean"
    }
    assert len(means) == 12
    assert all(f'data-v="{value:.7g}"' in page for value in means.values())
    best = min(value for (_, metric), value in means.items() if metric == "hamming_loss")
    assert f'<td class="n best" data-v="{best:.7g}">' in page
    assert "Hamming loss\N{NO-BREAK SPACE}↓" in page
    assert "micro F1\N{NO-BREAK SPACE}↑" in page
    assert "empty predictions over the number of neighbours" in page


@pytest.mark.long
@pytest.mark.usefixtures("_no_figures")
def test_several_data_sets(run_of_many):
    """Each has its sections; mean ranks are drawn for each measure that has a direction."""
    page = report_page(run_of_many)
    assert all(f'id="comparison-on-set-{i}"' in page for i in range(6))
    assert page.count("<title>Mean ranks, ") == 2
    assert page.count("The data were not found") == 2 * 6  # their figures, and the findings in them


@pytest.mark.long
@pytest.mark.usefixtures("_no_figures")
def test_findings_in_the_data(digits_facts, evil_facts, run_of_one, run_of_many):
    """A table with headings for rows and columns; without data it says so."""
    page = report_page(digits_facts)
    section = page.split('<section id="findings-in-the-data">')[1].split("</section>")[0]
    assert '<a href="#findings-in-the-data">Findings in the data</a>' in page
    for one in digits_facts["examination"]["findings"]:
        assert f'<th scope="row">{one["kind"].replace("_", " ")}</th>' in section
        assert f'<span class="{one["severity"]}">{one["severity"]}</span>' in section
    assert section.count('<th scope="col">') == 5
    assert "Try <code>--scale</code> minmax" in section
    assert 'id="findings-in-the-data"' in report_page(run_of_one)
    assert 'id="findings-in-set-3"><h2>Findings in set 3</h2><p class="note">The data were not' in report_page(
        run_of_many
    )
    assert "<script>window" not in report_page(evil_facts)


@pytest.mark.usefixtures("_no_figures")
def test_anchors_of_like_names(run_of_many):
    """Names that differ in a sign that no address holds have sections, and links to them, of their own."""
    datasets = [
        {**one, "name": name} for one, name in zip(run_of_many["datasets"], ("a b", "a-b", "a-b-2"), strict=False)
    ]
    outline = Outline(report_page({**run_of_many, "datasets": datasets}))
    assert len(set(outline.ids)) == len(outline.ids)
    assert sorted(link[1:] for link in outline.links) == sorted(set(outline.ids) - {"facts"})
    assert {"data-a-b", "data-a-b-2", "data-a-b-2-2"} <= set(outline.ids)


@pytest.mark.usefixtures("_no_figures")
def test_unfinished_run(run_of_one):
    """It is said how many folds there are; no best is marked where methods cannot be compared."""
    (dataset,) = run_of_one["datasets"]
    assert 'class="n best"' in report_page(run_of_one)
    less = {**dataset, "folds": 3, "planned_folds": 10, "comparable": False}
    page = report_page({**run_of_one, "datasets": [less], "notes": ["The run is not finished."]})
    assert 'class="n best"' not in page
    assert "no best is marked: folds or k differ" in page
    assert "<dt>Folds</dt><dd>3 of 10</dd>" in page
    assert '<p class="note">The run is not finished.</p>' in page


@pytest.mark.usefixtures("_no_figures")
def test_friedman_in_words(run_of_many):
    """The p-value of F; where F is infinite, that of chi-squared."""
    test = run_of_many["tests"][0]
    for f, words in (
        (3.0, "6 data sets. Friedman&#x27;s F: p = 0.012"),
        (None, "infinite; its chi-squared: p = 0.034"),
    ):
        ranked = [{**one, "f": f, "p_value": 0.012, "chi2_p_value": 0.034} for one in test["friedman"]]
        page = report_page({**run_of_many, "tests": [{**test, "friedman": ranked}]})
        assert page.count(words) == len(ranked)


@pytest.mark.usefixtures("_no_figures")
def test_lines_that_hide_each_other(run_of_one):
    """The caption names methods of equal values, of the figure where they are equal."""
    (dataset,) = run_of_one["datasets"]
    assert "hence one line" not in report_page(run_of_one)
    same = [
        {**cell, "mean": 0.5 if (cell["metric"], cell["method"][:5]) == ("micro_f1", "brknn") else cell["mean"]}
        for cell in dataset["cells"]
    ]
    page = report_page({**run_of_one, "datasets": [{**dataset, "cells": same}]})
    assert page.count("The same values, hence one line: brknn, brknn-b.") == 1


@pytest.mark.usefixtures("_no_figures")
def test_training_rows_of_a_model_without_neighbours(digits_facts):
    """No sample is its own neighbour where there are none."""
    optimistic = {**digits_facts, "left_out": False}
    assert "all figures are optimistic, and each sample is its own neighbour." in report_page(optimistic)
    assert "The figures are leave-one-out" in report_page(digits_facts)
    assert "Each sample is its own neighbour here" in report_page(digits_facts)
    explorer = {**digits_facts["explorer"], "explained": False}
    page = report_page({**optimistic, "explorer": explorer})
    assert "all figures are optimistic.<" in page
    assert "sample is its own neighbour" not in page


@pytest.mark.usefixtures("_no_figures")
def test_points_of_the_frontier(digits_facts):
    """Those that are drawn, of all there are."""
    frontier = digits_facts["frontier"]
    drawn = len(frontier["recall"])
    for n_points, words in ((drawn, f"all {drawn} points"), (9999, f"{drawn} of the 9,999 points")):
        assert f"The line: {words} that" in report_page(
            {**digits_facts, "frontier": {**frontier, "n_points": n_points}}
        )


@pytest.mark.usefixtures("_no_figures")
def test_what_a_model_lacks(digits_facts):
    """Without probabilities, scores, neighbours or pictures the page says so and the rest is there."""
    explorer = {**digits_facts["explorer"], "explained": False, "shape": None, "pictures": {}}
    bare = {**digits_facts, "calibration": None, "frontier": None, "explorer": explorer}
    page = report_page(bare)
    assert "The model has no probabilities." in page
    assert "The model has no scores" in page
    assert "does not explain itself" in page
    assert "fitted to these samples" in page


@pytest.mark.usefixtures("_no_figures")
def test_file(tmp_path, run_of_one):
    """The text of the page, in a folder that is made; the same facts give the same bytes, and no draft stays."""
    files = [write_report(run_of_one, tmp_path / "new" / f"{i}.html") for i in range(2)]
    assert files[0].read_text(encoding="utf-8") == report_page(run_of_one)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["0.html", "1.html"]


@pytest.mark.usefixtures("_no_figures")
def test_file_is_whole_or_as_it_was(tmp_path, run_of_one, monkeypatch):
    """Where the disk is full an earlier page stays, and nothing beside it."""
    file = tmp_path / "report.html"
    file.write_text("before")

    def fail(self, *_, **__):
        self.touch()
        raise OSError("No space left on device")

    monkeypatch.setattr(type(file), "write_text", fail)
    with pytest.raises(OSError, match="No space left"):
        write_report(run_of_one, file)
    monkeypatch.undo()
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.usefixtures("_no_figures")
@pytest.mark.parametrize("name", ["report", "report.pdf"])
def test_ending(tmp_path, run_of_one, name):
    """A page is HTML; nothing is written under another name."""
    with pytest.raises(ValueError, match=r"path must end in \.html, got "):
        write_report(run_of_one, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_unknown_kind(tmp_path):
    """Facts of something else are refused."""
    with pytest.raises(ValueError, match="kind must be one of"):
        write_report({"kind": "poem"}, tmp_path / "a.html")
