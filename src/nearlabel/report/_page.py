"""Reports as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from nearlabel.files.atomic_file import whole_file
from nearlabel.report import _audit_page, _model_page, _run_page
from nearlabel.report._tables import Markup, anchors_of, element, section
from nearlabel.utils.characters import escape_controls
from nearlabel.utils.validation import check_choice

_PAGES = {"run": _run_page, "model": _model_page, "audit": _audit_page}
_ENDINGS = (".html", ".htm")


def write_report(facts: Mapping[str, Any], path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write a report to a file, atomically.

    Parameters
    ----------
    facts : mapping
        As returned by `run_facts`, `model_facts` or `audit_facts`.
    path : path-like
        The file, with the suffix ``.html``; its folder is created if it is missing.
    title : str, default=None
        Heading of the page. None or blank: derived from the facts.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the kind of facts is unknown, or the file does not end in ``.html``.
    OSError
        If the file cannot be written.
    ImportError
        If the page has figures and matplotlib is not installed (extra ``plot``).

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> from nearlabel.report import run_facts, write_report
    >>> folder = Path(tempfile.mkdtemp())
    >>> plan = Plan(("brknn", "brknn-b"), n_neighbors=(5, 10), cv=3, metrics=("hamming_loss",))
    >>> records = run(plan, {"multidigits": load_multidigits()}, out=folder)
    >>> write_report(run_facts([folder]), folder / "report.html").name
    'report.html'
    """
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"path must end in .html, got {str(path)!r}.")
    page = report_page(facts, title=title)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")
    return path


def report_page(facts: Mapping[str, Any], *, title: str | None = None) -> str:
    """Return a report as text; the same facts give the same text.

    Parameters
    ----------
    facts : mapping
        As returned by `run_facts`, `model_facts` or `audit_facts`.
    title : str, default=None
        Heading of the page. None or blank: derived from the facts.

    Returns
    -------
    str
        HTML that needs no other file and no network.

    Raises
    ------
    ValueError
        If the kind of facts is unknown.
    ImportError
        If the page has figures and matplotlib is not installed (extra ``plot``).

    See Also
    --------
    write_report : Write it to a file; with an example.
    """
    check_choice("kind", facts.get("kind"), _PAGES)
    page: Any = _PAGES[facts["kind"]]
    heading = title if title and not title.isspace() else page.title(facts)
    sections: list[tuple[str, Markup]] = page.sections(facts)
    anchors = anchors_of([title for title, _ in sections])
    links = [element("a", title, href=f"#{anchor}") for (title, _), anchor in zip(sections, anchors, strict=True)]
    program, style = _resource("page.js"), _resource("page.css")
    body = element(
        "body",
        element("header", element("h1", heading), page.verdict(facts), element("nav", *links, aria_label="Contents")),
        element("main", *(section(*one, anchor) for one, anchor in zip(sections, anchors, strict=True))),
        _data(facts),
        element("script", Markup(program)),
    )
    return f"<!doctype html>\n{element('html', _head(heading, program, style), body, lang='en')}\n"


def _policy(program: str, style: str) -> str:
    """Return the policy: the browser loads nothing, and runs and applies this only, even if a name contains markup.

    No text becomes markup by a script either, where the browser has Trusted Types.
    """
    return (
        f"default-src 'none'; script-src {_hash(program)}; style-src {_hash(style)}; base-uri 'none';"
        " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _head(title: str, program: str, style: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(program, style)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )


def _data(facts: Mapping[str, Any]) -> Markup:
    """Return the data for the script; no text in them can end the element."""
    text = json.dumps(_to_show(facts.get("explorer")), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return element("script", Markup(safe), type="application/json", id="facts")


def _resource(name: str) -> str:
    return (resources.files("nearlabel.report") / name).read_text(encoding="utf-8")


def _to_show(value: Any) -> Any:
    """Return plain data with four significant digits, as the page shows three, and with control characters escaped."""
    if isinstance(value, Mapping):
        return {escape_controls(key): _to_show(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_to_show(one) for one in value]
    if isinstance(value, str):
        return escape_controls(value)
    return float(f"{value:.4g}") if isinstance(value, float) else value
