"""The pages in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from _browser import PAYLOADS
from nearlabel.audit import read_corrections
from nearlabel.report import write_report

pytestmark = pytest.mark.long

PHONE, DESK = {"width": 360, "height": 640}, {"width": 1200, "height": 800}
PAPER = {"width": 718, "height": 1047}  # A4 with margins of one centimetre
PAGES = {
    "digits": "digits_facts", "evil": "evil_facts", "nldd": "nldd_facts",
    "run": "run_of_one", "many": "run_of_many", "wide": "wide_run", "audit": "audited_facts",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(request, tmp_path_factory) -> dict[str, Any]:
    """All kinds of pages."""
    folder = tmp_path_factory.mktemp("pages")
    return {n: write_report(request.getfixturevalue(f), folder / f"{n}.html") for n, f in PAGES.items()}


@pytest.fixture
def visit(browser, files) -> Iterator[Any]:
    """Open a page; at the end nothing may have been complained of, or asked of the network."""
    contexts, complaints = [], []

    def _visit(name: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce"} | options)
        contexts.append(context)

        def _route(route: Any) -> None:
            if route.request.url == files[name].as_uri():
                route.continue_()
            else:
                complaints.append(f"request {route.request.url}")
                route.abort()

        context.route("**/*", _route)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error {error}"))
        page.goto(files[name].as_uri())
        return page

    yield _visit
    for context in contexts:
        context.close()
    assert complaints == []


def column(page: Any, caption: str, number: int) -> list[str]:
    """The texts of a column, of the rows that are seen."""
    rows = page.locator("table", has=page.locator("caption", has_text=caption)).first.locator("tbody tr:not(.off)")
    return rows.locator(f"> :nth-child({number})").all_inner_texts()


LABELS = "Precision, recall and F1"


def test_sorting(visit):
    """A click sorts by numbers, largest first, another turns it; what is undefined stays last; words by words."""
    page = visit("evil")
    heads = page.locator("section#labels thead button")
    heads.nth(3).click()  # precision
    head = page.locator("section#labels thead th").nth(3)
    for direction, turn in (("descending", True), ("ascending", False)):
        assert head.get_attribute("aria-sort") == direction
        rows = page.locator("section#labels tbody tr")
        values = rows.evaluate_all("rows => rows.map(row => row.cells[3].dataset.v ?? null)")
        known = [float(value) for value in values if value is not None]
        assert known == sorted(known, reverse=turn)
        assert 1 < len(known) < len(values)
        assert values[: len(known)].count(None) == 0
        heads.nth(3).click()
    assert page.locator("section#labels [aria-sort]").count() == 1
    heads.nth(0).click()
    assert head.get_attribute("aria-sort") is None
    names = column(page, LABELS, 1)
    assert names.index("label 9") < names.index("label 10")


def test_sorting_by_keyboard(visit):
    """A heading is reached by Tab and pressed by Enter."""
    page = visit("run")
    button = page.locator("section#comparison thead button").nth(1)
    page.locator("section#comparison thead button").nth(0).focus()
    page.keyboard.press("Tab")
    assert button.evaluate("node => node === document.activeElement")
    page.keyboard.press("Enter")
    assert page.locator("section#comparison thead th").nth(1).get_attribute("aria-sort") == "descending"


def test_filtering_and_pages(visit):
    """The box keeps the labels that hold its text; 150 labels are shown a hundred at a time, printed all at once."""
    page = visit("evil")
    labels = page.locator("section#labels")
    assert len(column(page, LABELS, 1)) == 100
    labels.get_by_role("button", name="Later").click()
    assert len(column(page, LABELS, 1)) == 50
    assert labels.locator(".pager output").inner_text() == "101 to 150 of 150"
    labels.get_by_label("Filter labels").fill("LABEL 14")
    found = sorted(column(page, LABELS, 1), key=lambda name: (len(name), name))
    assert found == ["label 14", *(f"label 14{i}" for i in range(9))]
    assert labels.locator(".filter output").inner_text() == "10 of 150"
    labels.get_by_label("Filter labels").fill("nothing is named so")
    assert column(page, LABELS, 1) == []
    page.emulate_media(media="print")
    assert labels.locator("tbody tr").first.is_visible()
    assert labels.locator("tbody tr").last.is_visible()


def test_filtering_pairs(visit):
    """A pair is found by either of its labels."""
    page = visit("evil")
    pairs = page.locator("section#label-co-occurrence")
    pairs.locator("summary").click()
    pairs.get_by_label("Filter labels").fill("label 5")
    sides = [column(page, "Labels that occur together", side) for side in (1, 2)]
    assert all("label 5" in first + second for first, second in zip(*sides, strict=True))
    assert all(any("label 5" in name for name in side) for side in sides)


def test_buttons_keep_the_focus(visit, digits_facts):
    """At the end of the rows, or of the pages, a button does nothing more, but the keyboard stays where it was."""
    page = visit("digits")
    explorer, last = page.locator("#explorer-view"), len(digits_facts["explorer"]["rows"]) - 1
    later = explorer.get_by_role("button", name="Next")
    explorer.get_by_role("combobox").select_option(str(last - 1))
    for _ in range(2):
        later.press("Enter")
        assert explorer.get_by_role("combobox").input_value() == str(last)
        assert later.get_attribute("aria-disabled") == "true"
        assert later.evaluate("node => node === document.activeElement")
    labels = visit("evil").locator("section#labels")
    later = labels.get_by_role("button", name="Later")
    for _ in range(2):
        later.press("Enter")
        assert labels.locator(".pager output").inner_text() == "101 to 150 of 150"
        assert later.evaluate("node => node === document.activeElement")


def test_only_a_short_line_is_read_out(visit, digits_facts):
    """Which row it is, and whether it is right: on the screen, to a screen reader, and on paper."""
    page = visit("digits")
    explorer, row = page.locator("#explorer-view"), digits_facts["explorer"]["rows"][2]
    explorer.get_by_role("combobox").select_option("2")
    wrong = len(set(row["true"]) ^ set(row["predicted"]))
    assert explorer.get_by_role("status").inner_text() == f"Row {row['row']}: {f'{wrong} wrong' if wrong else 'right'}"
    assert explorer.locator("[aria-live]").count() == 0
    page.emulate_media(media="print")
    assert explorer.get_by_role("status").is_visible()
    assert explorer.get_by_role("combobox").is_hidden()


def test_names_are_harmless(visit):
    """A label named like a script is shown, and not run."""
    page = visit("evil")
    page.locator("section#labels").get_by_label("Filter labels").fill("<script>w")
    assert column(page, LABELS, 1) == ["<script>window.harmed = 1</script>"]
    assert page.evaluate("window.harmed") is None
    assert page.locator("#explorer-view .chip", has_text="<script>").count() > 0


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_that_escaping_let_through_runs_nothing(browser, files, tmp_path, payload, guarded):
    """The policy is a second wall; without it, the same page is harmed, so that the test would notice."""
    text = files["run"].read_text(encoding="utf-8").replace("</h1>", f"</h1>{PAYLOADS[payload]}", 1)
    if not guarded:
        text = text.replace("Content-Security-Policy", "x")
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    context = browser.new_context(viewport=DESK)
    asked, told = [], []

    def _route(route: Any) -> None:
        asked.append(route.request.url)
        route.continue_() if route.request.url.startswith(("file:", "data:")) else route.abort()

    context.route("**/*", _route)
    page = context.new_page()
    page.on("console", lambda message: told.append(message.text))
    page.goto(file.as_uri())
    for bait in page.locator(".bait").all():
        bait.click(timeout=5000)
    page.wait_for_timeout(200)
    is_styled = page.locator("main").is_hidden() or page.evaluate("!!document.querySelector('p[style]')?.style.top")
    is_harmed = page.evaluate("window.harmed === 1") or is_styled or any("example.org" in url for url in asked)
    assert is_harmed is not guarded
    assert any("Content Security Policy" in text for text in told) is guarded
    if guarded:
        page.locator("section#comparison thead button").first.click()  # the program of the page runs
        assert page.locator("section#comparison [aria-sort]").count() == 1
    context.close()


def test_no_text_becomes_markup(browser, files):
    """Trusted Types refuse a text where markup is expected, and no policy can be made that would let it through."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(files["run"].as_uri())
    for action in ("document.body.innerHTML = '<b>a</b>'", "document.write('<b>a</b>')",
                   "trustedTypes.createPolicy('a', {createHTML: text => text})"):  # fmt: skip
        found = page.evaluate(f"(() => {{ try {{ {action}; return null }} catch (error) {{ return error.name }} }})()")
        assert found == "TypeError", action
    context.close()


def test_explorer(visit, digits_facts):
    """A row, by the list or by the buttons, shows its label sets, scores, neighbours and pictures."""
    page = visit("digits")
    explorer = page.locator("#explorer-view")
    rows, names = digits_facts["explorer"]["rows"], digits_facts["explorer"]["names"]
    explorer.get_by_role("combobox").select_option("3")
    explorer.get_by_role("button", name="Next").click()
    row = rows[4]
    true = explorer.locator(".summary p").nth(0).locator(".chip").all_inner_texts()
    assert true == [names[label] for label in row["true"]]
    near = explorer.get_by_role("region", name="Neighbours").locator("tbody th").all_inner_texts()
    assert near == [str(one["row"]) for one in row["neighbors"]]
    assert near[0] == str(row["row"])  # it is a training row, hence its own neighbour
    scores = explorer.get_by_role("region", name="Labels").locator("tbody tr td:nth-child(4)").all_inner_texts()
    assert [float(score) for score in scores] == pytest.approx([one["score"] for one in row["labels"]], rel=5e-3)
    assert explorer.locator("canvas").count() == 1 + len(near)
    dark = explorer.locator(".summary canvas").evaluate("c => c.getContext('2d').getImageData(0, 0, 9, 9).data[0]")
    assert dark == 255 - 17 * int(digits_facts["explorer"]["pictures"][str(row["row"])][0], 16)


def test_explorer_filters(visit, digits_facts):
    """Only rows with an error, or with a label; none at all is said."""
    page = visit("digits")
    explorer = page.locator("#explorer-view")
    wrong = [str(row["row"]) for row in digits_facts["explorer"]["rows"] if set(row["true"]) != set(row["predicted"])]
    explorer.get_by_label("with errors only").check()
    options = explorer.get_by_role("combobox").locator("option").all_inner_texts()
    assert [option.partition(":")[0] for option in options] == wrong
    explorer.get_by_label("With the label").fill("no such label")
    assert explorer.get_by_text("No such row.").is_visible()
    assert explorer.get_by_role("button", name="Next").is_disabled()


def test_explorer_finds_rows_by_their_names(visit):
    """By a part of id or title, or by the row number; rows of one title are told apart by their number."""
    explorer = visit("nldd").locator("#explorer-view")
    find, rows = explorer.get_by_label("Find by row number, id, title"), explorer.get_by_role("combobox")
    for text, found in (("SONG 3", [3, 13, 23]), ("4714", [3]), ("14", [3, 14]), ("song 33", [])):
        find.fill(text)
        names = [option.rpartition(":")[0] for option in rows.locator("option").all_inner_texts()]
        assert names == [f"Song {row % 10} (id {4711 + row}), row {row}" for row in found]
    assert explorer.get_by_role("status").inner_text() == "No such row."
    find.fill("4714")
    assert explorer.get_by_role("status").inner_text().startswith("Song 3 (id 4714), row 3: ")
    assert explorer.get_by_text("id: 4714; title: Song 3").is_visible()
    assert visit("digits").get_by_label("Find by").count() == 0


def test_findings_are_sorted_and_read_out(visit):
    """A table with a caption, headings that sort it, and a name for each row."""
    table = visit("digits").locator("section#findings-in-the-data table")
    kinds = table.get_by_role("rowheader").all_inner_texts()
    assert len(kinds) > 1
    table.get_by_role("button", name="finding").click()
    assert table.get_by_role("rowheader").all_inner_texts() == sorted(kinds)
    assert "Findings in digits" in table.locator("caption").inner_text()


def table_of(region: Any) -> list[list[str]]:
    """The texts of a table of the explorer, headings first; a heading over two columns stands twice."""
    return region.evaluate(
        """node => [...node.querySelectorAll("tr")].map(row =>
        [...row.cells].flatMap(cell => Array(cell.colSpan).fill(cell.textContent)))"""
    )


def test_explorer_of_nldd(visit, nldd_facts):
    """The columns that its rule names, of labels and of neighbours, and the words that explain them."""
    page = visit("nldd")
    explorer, facts = page.locator("#explorer-view"), nldd_facts["explorer"]
    labels, near = (table_of(explorer.get_by_role("region", name=name)) for name in ("Labels", "Neighbours"))
    assert labels[0] == ["label", "score", "score", "flip row", "margin", "margin dx"]
    assert near[0] == ["training row", "distance", "dy", "logit", "share", "loss", "margin dx", "labels"]
    row = facts["rows"][0]
    assert [line[0] for line in near[1:]] == [str(one["row"]) for one in row["neighbors"]]
    shares = [float(line[4]) for line in near[1:]]
    assert shares == pytest.approx([one["share"] for one in row["neighbors"]], rel=5e-3)
    assert shares == sorted(shares)
    notes = explorer.locator(".note").all_inner_texts()
    assert {row["rule"], facts["change"]} <= set(notes)
    assert any("loss: how many labels are expected to be wrong" in note for note in notes)


def test_explorer_explains_its_columns(visit, digits_facts):
    """Votes, score, threshold; the rule of the row; what would turn a decision."""
    explorer = visit("digits").locator("#explorer-view")
    heads = table_of(explorer.get_by_role("region", name="Labels"))[0]
    own = ["prior", "likelihood", "likelihood without"]
    assert heads == ["label", "votes", "score", "score", "threshold", "flip", *own]
    words = " ".join(explorer.locator(".note").all_inner_texts())
    assert all(f"{head}: " in words for head in (*heads[1:6], *own))
    assert digits_facts["explorer"]["rows"][0]["rule"] in words


def test_ticked_cells_become_corrections(visit, audited_facts, tmp_path):
    """The file has the ticked cells in their order, whatever names hold; what a file of corrections needs."""
    page, cells = visit("audit"), audited_facts["cells"]
    bar = page.locator("#corrections")
    save, state = bar.get_by_role("button", name="Save corrections"), bar.locator("output")
    assert (save.get_attribute("aria-disabled"), state.inner_text()) == ("true", "0 of 40 ticked")
    boxes = page.locator(".tick input")
    chosen = [0, 7, 39]
    for at in reversed(chosen):
        boxes.nth(at).check()
    assert state.inner_text() == "3 of 40 ticked"
    with page.expect_download() as saved:
        save.click()
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    assert path.name == "corrections.csv"
    by_row, by_id = read_corrections(path), read_corrections(path, id_column='the "id"')
    expected = [(cells[at]["row"], cells[at]["label"], cells[at]["suggested"], cells[at]["given"]) for at in chosen]
    assert [(one.row, one.label, one.correct, one.given) for one in by_row] == expected
    assert [one.id for one in by_id] == [cells[at]["id"] for at in chosen]


def test_cells_of_one_label(visit, audited_facts):
    """A label, and only the flagged cells; what is ticked stays ticked, and all is printed."""
    page, cells = visit("audit"), audited_facts["cells"]
    seen = page.locator(".suspects > li:not(.off)")
    page.locator(".tick input").first.check()
    label = cells[1]["label"]
    page.locator("#corrections").get_by_role("combobox").select_option(label=label)
    assert seen.count() == sum(cell["label"] == label for cell in cells)
    page.get_by_label("flagged only").check()
    assert seen.count() == sum(cell["label"] == label and cell["is_issue"] for cell in cells)
    assert page.locator("#corrections output").inner_text() == "1 of 40 ticked"
    page.emulate_media(media="print")
    assert page.locator(".suspects > li").first.is_visible()
    assert page.locator("#corrections").is_hidden()


def test_an_audit_without_scripts(browser, files):
    """Everything is there to be read; a line says what is missing."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["audit"].as_uri())
    assert page.locator("#corrections").inner_text().startswith("Saving corrections needs JavaScript.")
    assert page.locator(".suspects > li").count() == 40
    context.close()


BROKEN = """() => [...document.querySelectorAll("tbody th, dd, .chip")].flatMap(node => {
        const text = node.firstChild, range = document.createRange();
        if (!text || text.nodeType !== Node.TEXT_NODE || !node.offsetWidth) return [];
        return [...text.data.matchAll(/[a-zA-Z]{2,14}\\b/g)].filter(word => {
          if (/\\S{20}/.test(text.data)) return false;
          range.setStart(text, word.index);
          range.setEnd(text, word.index + word[0].length);
          return range.getClientRects().length > 1;
        }).map(word => word[0]); })"""


@pytest.mark.parametrize("name", PAGES)
def test_narrow(visit, name):
    """On a phone the page is as wide as the screen, whatever is opened; tables scroll in their boxes.

    Rows are named by words, not by letters one below the other, there and on a desk; only what is wider than a column
    is broken.
    """
    page = visit(name, viewport=PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for viewport in (PHONE, DESK):
        page.set_viewport_size(viewport)
        assert page.evaluate(BROKEN) == [], viewport


def test_all_metrics_fit_a_desk(visit):
    """The table of a run with all metrics needs no scrolling sideways."""
    page = visit("wide", viewport=DESK)
    widths = page.locator("section#comparison .scroll").first.evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert page.locator("section#comparison table").first.locator("thead th").count() > 15
    assert widths[0] <= widths[1]


def test_long_label_on_a_phone(visit):
    """A name of 300 signs without a space is broken, in the summary of a row as in its tables."""
    page = visit("evil", viewport=PHONE)
    page.get_by_label("With the label").fill("xxxx")
    assert page.locator(".summary .chip", has_text="xxxx").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", PAGES)
def test_paper(visit, name):
    """All that is open fits between the margins; headings can stand on each page; bars have their colours."""
    page = visit(name, viewport=PAPER, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    buttons = page.locator("thead button").evaluate_all("nodes => nodes.map(node => getComputedStyle(node).display)")
    assert set(buttons) == {"contents"}  # Chromium repeats no headings that hold a box
    for part in page.locator(".meter, .meter *").all()[:2]:
        assert part.evaluate("node => getComputedStyle(node).printColorAdjust") == "exact"


def test_long_names_stay_on_the_paper(visit):
    """In print nothing scrolls, so long names in all cells of a line are broken."""
    page = visit("run", viewport=PAPER)
    page.emulate_media(media="print")
    cells = page.locator(".prose td:nth-child(n+3)")
    assert cells.count() >= 3
    cells.evaluate_all("cells => cells.forEach(cell => { cell.textContent = 'a_long_name_'.repeat(4) })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]


def test_colours(visit):
    """Both schemes have dark on light or light on dark, of a contrast of at least 4.5."""
    shades = {}
    for scheme in ("light", "dark"):
        page = visit("run", color_scheme=scheme)
        paper, ink, soft = page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
            getComputedStyle(document.querySelector('figure svg text')).fill]
            .map(text => text.match(/\\d+/g).map(Number))"""
        )
        shades[scheme] = luminance(paper)
        for other in (ink, soft):
            bright, dark = sorted([luminance(paper), luminance(other)], reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 4.5
    assert shades["light"] > 0.9 > 0.1 > shades["dark"]


def luminance(colour: list[int]) -> float:
    """Relative luminance, as the accessibility guidelines define it."""
    linear = [c / 3294 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


CONTRASTS = """() => {
    const numbers = text => text.match(/[\\d.]+/g).map(Number);
    const paperOf = node => {
        for (let at = node; at; at = at.parentElement) {
            const colour = numbers(getComputedStyle(at).backgroundColor);
            if (colour.length === 3) return colour;
        }
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest("script, svg, [aria-disabled]"))
            continue;
        found.push([node.className + " " + node.tagName, paperOf(node), numbers(getComputedStyle(node).color)]);
    }
    return found;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_contrast_of_all_words(visit, name):
    """Every text that is seen has a contrast of at least 4.5 with what is behind it, in both schemes and on paper."""
    page = visit(name)
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page.emulate_media(color_scheme=scheme, media=media)
        found = page.evaluate(CONTRASTS)
        assert len(found) > 50
        for words, paper, ink in found:
            dark, light = sorted([luminance(paper), luminance(ink[:3])])
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, media, words)


@pytest.mark.parametrize("name", PAGES)
def test_headings_are_in_order(visit, name):
    """One first heading; none is more than one level below the one before; each section and table has a name."""
    page = visit(name)
    levels = page.evaluate(
        "() => [...document.querySelectorAll('h1, h2, h3, h4')].map(node => Number(node.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert page.locator("main > section:not(:has(h2))").count() == 0
    assert page.locator(".sorted table:not(:has(caption)), table:not(:has(th[scope=col]))").count() == 0


def test_the_width_is_used(visit):
    """On a desk two short sections are next to each other; on a phone one is below the other, in the same order."""
    for viewport, beside in ((DESK, True), (PHONE, False)):
        page = visit("digits", viewport=viewport)
        metrics, calibration, labels = (
            page.locator(f"section#{name}").bounding_box() for name in ("metrics", "calibration", "labels")
        )
        assert (metrics["y"] == calibration["y"]) == beside
        assert (metrics["x"] + metrics["width"] < calibration["x"]) == beside
        assert labels["width"] > 0.9 * (viewport["width"] - 70)


def test_without_scripts(visit):
    """All tables and figures are there, in full; the explorer says what it needs."""
    page = visit("evil", java_script_enabled=False)
    assert page.locator("section#labels tbody tr").count() == 150
    assert page.get_by_text("The explorer needs JavaScript.").is_visible()
    assert page.locator("button, input").count() == 0
