"""The workbench in a real browser: predict, correct, see the next prediction changed, reload, undo; and harmless."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from _browser import HARM, PAYLOADS, serious_findings
from nearlabel import cli
from nearlabel.audit import read_corrections
from nearlabel.datasets import load_dataset

pytestmark = pytest.mark.long

DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
TOKEN = "a-token-of-the-service"
TICKETS = [
    ("I was charged twice for my subscription", "app", 1, "billing"),
    ("The invoice shows the wrong amount", "web", 2, "billing"),
    ("Please refund the payment", "shop", 3, "billing"),
    ("My card was declined when I paid", "shop", 3, "billing"),
    ("I cannot log in to my account", "app", 4, "login"),
    ("The password reset email never arrives", "web", 4, "login"),
    ("My account is locked after the update", "web", 5, "login"),
    ("The login page rejects my password", "app", 5, "login"),
    ("The app crashes when I open the calendar", "app", 5, "bug"),
    ("The report shows an error since the update", "web", 4, "bug"),
    ("The screen freezes on the dashboard", "app", 4, "bug"),
    ("Saving my profile fails with an error", "web", 2, "bug"),
    ("The courier lost my package", "shop", 1, "shipping"),
    ("My parcel is late since Monday", "shop", 2, "shipping"),
    ("The package arrived damaged", "shop", 2, "shipping"),
    ("The refund of my payment is late", "shop", 2, "shipping"),  # wrong: it is billing
]
VIEWS = ("predict", "next", "suspects", "history")


def write_tickets(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    """Write a table, with ids."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "product", "priority", "tags"])
        writer.writerows([f"T{number}", *row] for number, row in enumerate(rows))
    return path


def fitted(folder: Path, name: str, *options: str, rows: list[tuple[Any, ...]] = TICKETS) -> Path:
    """Return the file of a model of one or three neighbours."""
    data, file = write_tickets(folder / f"{name}.csv", rows), folder / f"{name}.skops"
    command = ["fit", str(data), "--labels-column", "tags", "--text", "text", *options, "--validate", "none", "--quiet"]
    assert cli.main([*command, "--out", str(file)]) == 0
    return file


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """Models that differ in what can be done with them."""
    folder = tmp_path_factory.mktemp("models")
    words = ("--ignore", "product,priority", "--scale", "tfidf")
    return {
        "tickets": fitted(folder, "tickets", "--id", "id", "--show", "text", "--method", "brknn", "--k", "1", *words),
        "mixed": fitted(folder, "mixed", "--id", "id", "--categorical", "product", "--method", "mlknn", "--k", "3"),
        "nameless": fitted(folder, "nameless", "--method", "brknn", "--k", "1", "--ignore", "id,product,priority"),
    }


class Service:
    """A running service of copies of models."""

    def __init__(self, files: list[Path], *options: str, token: str = "") -> None:
        self._command = [sys.executable, "-m", "nearlabel", "serve", *map(str, files), "--port", "0", *options]
        self._environment = os.environ | {"NEARLABEL_TOKEN": token}
        self.start()

    def start(self) -> None:
        """Start, and wait for the address."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self._environment
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.address = line.rpartition(" at ")[2].strip()
        assert self.address.startswith("http://"), line

    def end(self, how: int = signal.SIGTERM) -> None:
        """End it."""
        self._process.send_signal(how)
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def serve(models, tmp_path) -> Iterator[Callable[..., Service]]:
    """Serve copies of some models, which tests may change."""
    running: list[Service] = []

    def _serve(*names: str, options: tuple[str, ...] = (), token: str = "") -> Service:
        files = [Path(shutil.copy(models.get(name, name), tmp_path)) for name in names]
        running.append(Service(files, *options, token=token))
        return running[-1]

    yield _serve
    for service in running:
        service.end()


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Any]]:
    """Open the page; at the end nothing may have been complained of, or asked of another address."""
    contexts, complaints = [], []

    def _visit(service: Service, view: str = "predict", *, refused: bool = False, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce"} | options)
        contexts.append(context)

        def _route(route: Any) -> None:
            if route.request.url.startswith((service.address, "data:", "blob:")):
                route.continue_()
            else:
                complaints.append(f"request {route.request.url}")
                route.abort()

        def _hear(message: Any) -> None:
            if not (refused and any(words in message.text for words in ("status of 4", "TrustedHTML"))):
                complaints.append(f"console {message.text}")

        context.route("**/*", _route)
        page = context.new_page()
        page.on("console", _hear)
        page.on("pageerror", lambda error: complaints.append(f"error {error}"))
        page.goto(f"{service.address}/#{view}")
        page.locator(f"#{view}" if not refused else "header").wait_for()
        return page

    yield _visit
    for context in contexts:
        context.close()
    assert complaints == []


def predict(page: Any, text: str) -> list[str]:
    """Type a text, press Ctrl+Enter, and return the predicted labels."""
    page.locator("#row textarea").fill(text)
    page.keyboard.press("Control+Enter")
    said(page, "predicted", "Predicted")
    return chosen(page)


def said(page: Any, *any_of: str) -> str:
    """Wait until the page says something, for a screen reader too, and return it."""
    page.wait_for_function(
        "words => words.some(one => document.getElementById('state').textContent.includes(one))", arg=list(any_of)
    )
    words: str = page.locator("#state").text_content()
    page.evaluate("document.getElementById('state').textContent = ''")
    return words


def go(page: Any, view: str) -> None:
    """Go to a view by its link, and wait for it."""
    page.locator(f'nav a[href="#{view}"]').click()
    page.locator(f"#{view}").wait_for()


def chosen(page: Any) -> list[str]:
    """The labels that are on."""
    return page.locator('.labels [aria-pressed="true"] .name').all_inner_texts()


def test_a_correction_changes_the_next_prediction(serve, visit):
    """Type a text, see its labels, correct them, see the next prediction changed; reload; undo."""
    service = serve("tickets")
    page = visit(service)
    assert page.locator("#row textarea").get_attribute("placeholder") == f"such as: {TICKETS[0][0]}"
    assert predict(page, "The calendar crashes") == ["bug"]
    assert page.get_by_role("heading", name="Predicted: bug").is_visible()
    near = page.get_by_role("region", name="The nearest rows").locator("tbody tr").first
    assert near.locator("th").inner_text().split() == ["T8", *TICKETS[8][0].split()]
    page.get_by_role("button", name="Wrong").click()
    page.get_by_role("button", name="bug").click()
    page.get_by_role("button", name="login").click()
    page.get_by_role("button", name="Save these labels").click()
    assert said(page, "Saved") == "Saved with login. bug is no longer predicted; login is now predicted."
    changes = page.locator(".changes li").all_inner_texts()
    assert changes[0].split()[:4] == ["bug", "100", "%", "→"]
    assert predict(page, "It crashes, the calendar") == ["login"]
    page.reload()
    page.locator("#row textarea").wait_for()
    assert predict(page, "The calendar crashes") == ["login"]
    go(page, "history")
    items = page.locator("#history .cards > li")
    assert items.count() == 1
    assert "The calendar crashes" in items.inner_text()
    items.get_by_role("button", name="Undo").click()
    said(page, "Undone")
    assert items.count() == 0
    go(page, "predict")
    assert chosen(page) == ["bug"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_corrections_outlive_the_service(serve, visit, how):
    """Rows and changed labels are listed after a restart, or a crash, and can be undone then."""
    service = serve("tickets")
    page = visit(service)
    predict(page, "A parrot in the parcel")
    page.keyboard.press("r")
    said(page, "Saved")
    page.keyboard.press("x")
    said(page, "suspect")
    page.get_by_role("button", name="Remove shipping").first.click()
    said(page, "Corrected")
    page.context.close()
    service.end(how)
    service.start()
    page = visit(service, "history")
    items = page.locator("#history .cards > li")
    assert [item.split("\n")[0].startswith("wb-") for item in items.all_inner_texts()] == [False, True]
    for left in (1, 0):
        items.first.get_by_role("button", name="Undo").click()
        said(page, "Undone")
        assert items.count() == left


def test_keys(serve, visit):
    """Without a mouse: numbers turn labels, letters save and undo; in a field they are letters."""
    page = visit(serve("tickets"))
    page.keyboard.type("The courier was late, was he? 1234")
    assert page.locator("#row textarea").input_value().endswith("he? 1234")
    page.keyboard.press("Control+Enter")
    said(page, "redicted")
    before = page.locator(".labels .name").all_inner_texts()
    page.keyboard.press("3")
    assert page.locator(".labels li").nth(2).locator("button").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.dataset.label") == before[2]
    page.keyboard.press("a")
    page.keyboard.type("lost and found")
    page.keyboard.press("Enter")
    assert "lost and found" in chosen(page)
    page.keyboard.press("s")
    said(page, "Saved with")
    assert set(chosen(page)) >= {before[2], "lost and found"}
    page.keyboard.press("u")
    said(page, "Undone")
    assert before[2] not in chosen(page)
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.get_by_label("Single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    assert page.locator("#predict").is_visible()
    page.keyboard.press("?")
    page.get_by_label("Single keys").check()
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    assert page.evaluate("document.activeElement.id") == "history-title"


def test_suspects(serve, visit):
    """What is confirmed stays away, what is corrected changes the model, and undo brings it back."""
    page = visit(serve("tickets"))
    assert predict(page, "The refund of the payment is late") == ["shipping"]
    go(page, "suspects")
    said(page, "suspect")
    card = page.locator(".cards > li", has_text="T15")
    assert TICKETS[15][0] in card.inner_text()
    card.get_by_role("button", name="Remove shipping").click()
    said(page, "Corrected: T15, shipping.")
    go(page, "predict")
    assert chosen(page) == []
    go(page, "suspects")
    card.get_by_role("button", name="Undo").click()
    said(page, "Undone")
    go(page, "predict")
    assert chosen(page) == ["shipping"]
    go(page, "suspects")
    card.get_by_role("button", name="It is right as it is: shipping").click()
    said(page, "Confirmed")
    page.reload()
    said(page, "suspect")
    assert card.get_by_role("button", name="Remove shipping").count() == 0


def test_the_next_rows_to_label(serve, visit, tmp_path):
    """The rows of a file are put in an order; each one that is saved makes place for the next."""
    page = visit(serve("mixed"), "next")
    pool = tmp_path / "pool.csv"
    pool.write_text(
        'id;text;product;priority\nP1;The parcel is lost;shop;2\nP2;"A crash; and an error";app;3\nP3;My card;;1\n',
        encoding="utf-8",
    )
    page.locator("#next-file").set_input_files(pool)
    said(page, "3 rows to label next, of 3.")
    first, second, third = page.locator("#queue li .who").all_inner_texts()
    assert {first, second, third} == {"P1", "P2", "P3"}
    page.get_by_role("button", name="Label this row").click()
    said(page, "redicted")
    page.keyboard.press("r")
    said(page, "Saved with")
    page.keyboard.press("n")
    said(page, "redicted")
    texts = {"P1": "The parcel is lost", "P2": "A crash; and an error", "P3": "My card"}
    assert page.locator("#row textarea").input_value() == texts[second]
    page.keyboard.press("r")
    said(page, "Saved with")
    page.keyboard.press("l")
    page.locator("#queue").wait_for()
    assert page.locator("#queue li .who").all_inner_texts() == [third]
    page.keyboard.press("h")
    page.locator("#history li .who").nth(1).wait_for()
    assert page.locator("#history li .who").all_inner_texts() == [second, first]
    go(page, "next")
    page.locator("#next-view summary").click()
    page.locator("#next-text").fill("id,text,product,priority\n,A blank id,app,1\n")
    page.get_by_role("button", name="Use these rows").click()
    page.get_by_role("button", name="Label this row").click()
    said(page, "redicted")
    page.keyboard.press("r")
    said(page, "Saved with")
    page.keyboard.press("h")
    page.locator("#history li .who").nth(2).wait_for()
    assert page.locator("#history li .who").first.inner_text().startswith("wb-")
    go(page, "next")
    for text, problem in (
        (
            "text,product\nwithout a priority,app\n",
            "The rows must have the column “priority” of the model, but do not.",
        ),
        (
            "text,product,priority\nA crash,app,1\nMy card,app,\n",
            "Each row must have a value of “priority”, which the model needs; row 2 has none.",
        ),
    ):
        page.locator("#next-text").fill(text)
        page.get_by_role("button", name="Use these rows").click()
        assert page.get_by_role("alert").inner_text() == problem


def test_exports_are_read_by_the_commands(serve, visit, models, tmp_path):
    """The rows, in the table's columns, and the changed labels, as ``nearlabel audit --apply`` reads them."""
    page = visit(serve("mixed"))
    page.locator("#field-0").fill('=A "crash", and\nan error; or two')
    page.locator("#field-1").fill("web")
    page.locator("#field-2").fill("2.5")
    page.get_by_role("button", name="Predict").click()
    said(page, "redicted")
    page.get_by_label("Add label").fill("login")
    page.locator(".adding button").click()
    labels = chosen(page)
    page.get_by_role("button", name="Save these labels").click()
    said(page, "Saved")
    go(page, "suspects")
    said(page, "suspect")
    of_table = page.locator(".cards > li", has=page.locator(".who", has_text=re.compile(r"^T\d")))
    of_table.first.locator("button.strong").first.click()
    said(page, "Corrected")
    go(page, "history")
    saved = {}
    for name in ("Save rows as CSV", "Save rows as JSON lines", "Save changed labels as CSV"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        saved[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[name])
    rows = load_dataset(
        saved["Save rows as CSV"], labels_column="tags", text=["text"], categorical=["product"], ignore=["id"]
    )
    assert set(rows.label_names) == set(labels)
    assert rows.X.tolist() == [['=A "crash", and\nan error; or two', "web", 2.5]]
    line = json.loads(saved["Save rows as JSON lines"].read_text(encoding="utf-8"))
    assert (line["text"], line["tags"], line["id"][:3]) == ('=A "crash", and\nan error; or two', labels, "wb-")
    [cell] = read_corrections(saved["Save changed labels as CSV"], id_column="id")
    assert (cell.given, cell.id[0]) == (1 - cell.correct, "T")
    shutil.copy(models["mixed"], tmp_path / "again.skops")
    command = ["update", str(tmp_path / "again.skops"), str(saved["Save rows as CSV"]), "--quiet"]
    assert cli.main(command) == 0


def test_why(serve, visit):
    """Neighbours with their labels, words with what they add, votes beside the percent."""
    page = visit(serve("mixed"))
    page.locator("#field-0").fill("refund my payment")
    page.locator("#field-1").fill("shop")
    page.get_by_role("button", name="Predict").click()
    assert page.locator("#result").is_hidden()  # the model needs the priority
    page.locator("#field-2").fill("3")
    page.get_by_role("button", name="Predict").click()
    said(page, "redicted")
    first = page.locator(".labels li").first
    assert first.locator(".votes").inner_text().endswith(" of 3 neighbours")
    assert first.locator(".share").inner_text().endswith("%")
    page = visit(serve("tickets"))
    assert predict(page, "The screen is damaged") in (["bug"], ["shipping"])
    parts = page.get_by_role("region", name="Why: words")
    parts.wait_for()
    decisive = {"bug": "screen", "shipping": "damaged"}[chosen(page)[0]]
    assert [row.split() for row in parts.locator("tbody tr").all_inner_texts()] == [[decisive, "+100"]]


def test_a_token_is_asked_for_once(serve, visit):
    """The page comes without it, the data do not; it stays in the tab."""
    service = serve("tickets", token=TOKEN)
    page = visit(service, refused=True)
    field = page.get_by_label("Token of the service")
    for token in ("not-the-token-of-it", TOKEN):
        field.wait_for()
        field.fill(token)
        with page.expect_response("**/form"):
            page.get_by_role("button", name="Open").click()
    page.locator("#row textarea").wait_for()
    assert field.is_hidden()
    page.reload()
    assert predict(page, "The courier lost my package") == ["shipping"]
    assert TOKEN not in page.content()


def test_what_cannot_be_done_is_said(serve, visit):
    """A service that is read-only; a model without ids."""
    page = visit(serve("tickets", options=("--read-only",)))
    predict(page, "The courier lost my package")
    assert page.get_by_text("This model cannot be corrected here").is_visible()
    assert page.get_by_role("button", name="Right").count() == 0
    page.keyboard.press("x")
    said(page, "suspect")
    page.get_by_role("button", name="Remove shipping").first.click()
    assert page.get_by_text("Marked for the table: the model cannot change this row here.").is_visible()
    with page.expect_download():
        page.get_by_role("button", name="Save 1 correction for the table").click()
    page = visit(serve("nameless"))
    predict(page, "The courier lost my package")
    assert page.get_by_text("what is added cannot be undone").is_visible()
    page.keyboard.press("r")
    said(page, "Saved")
    page.keyboard.press("h")
    page.locator("#history li").wait_for()
    assert page.locator("#history li").count() == 1
    assert page.locator("#history").get_by_role("button", name="Undo").count() == 0


def test_several_models(serve, visit):
    """One is chosen by its name; each has its own columns."""
    page = visit(serve("tickets", "mixed"))
    assert page.locator("#row input").count() == 0
    page.get_by_role("combobox", name="Model").select_option("mixed")
    page.locator("#row input").first.wait_for()
    assert page.locator("#row label").all_inner_texts() == ["text", "product", "priority"]
    options = page.locator("datalist#field-1-values option").evaluate_all("nodes => nodes.map(node => node.value)")
    assert options == ["app", "shop", "web"]
    assert page.locator("#field-2").get_attribute("type") == "number"


def test_names_are_harmless(serve, visit, tmp_path):
    """Markup in texts, ids, labels and columns is shown as it is, and nothing of it runs or loads."""
    texts = [*PAYLOADS.values()]
    rows = [(f"{text} refund {number}", "app", 1, text.replace(";", ",")) for number, text in enumerate(texts * 2)]
    file = fitted(
        tmp_path, "evil", "--id", "id", "--show", "text", "--ignore", "product,priority", "--method", "brknn", "--k",
        "3", rows=rows,
    )  # fmt: skip
    (tmp_path / "served").mkdir()
    page = visit(serve(str(shutil.copy(file, tmp_path / "served"))))
    for text in texts:
        predict(page, text)
        assert page.locator("#row textarea").input_value() == text
        page.get_by_label("Add label").fill(text)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Save these labels").click()
        said(page, "Saved")
    page.keyboard.press("x")
    said(page, "suspect")
    page.keyboard.press("h")
    assert page.locator("#history .cards > li").count() == len(texts)
    assert page.locator("#history .cell-text", has_text=HARM).count() > 0
    assert page.evaluate("window.harmed") is None
    assert page.locator(".bait, main img, main svg, main iframe, main script, base").count() == 0


def test_no_text_becomes_markup(serve, visit):
    """Trusted Types refuse a text where markup is expected: the program of the page has no such place."""
    page = visit(serve("tickets"), refused=True)
    page.locator("#row textarea").wait_for()
    script = "(() => { try { document.body.innerHTML = '<b>a</b>' } catch (error) { return error.name } })()"
    assert page.evaluate(script) == "TypeError"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_all_views_fit_the_screen(serve, visit, tmp_path, viewport, scheme):
    """No view scrolls sideways; axe finds nothing serious; a picture of each is in the temporary folder."""
    page = visit(serve("tickets", "mixed"), viewport=viewport, color_scheme=scheme)
    predict(page, "The calendar crashes, and " + "averyveryverylongword" * 8)
    page.keyboard.press("w")
    page.keyboard.press("2")
    page.keyboard.press("s")
    said(page, "Saved")
    page.locator("summary", has_text="The numbers").click()
    for view in VIEWS:
        go(page, view)
        if view == "suspects":
            said(page, "suspect")
        page.screenshot(path=tmp_path / f"{view}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view
        if scheme == "light":
            assert serious_findings(page) == {"light": [], "dark": []}, view
            page.emulate_media(color_scheme="light")
