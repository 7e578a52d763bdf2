"""The workbench: the files of its page, and what the page has to know of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel import models
from nearlabel.cli import _data
from nearlabel.datasets import tables
from nearlabel.serve._live import State
from nearlabel.utils.estimators import response_method_of

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_FILES = ("page.css", "page.js", "service.js", "parts.js", "row.js", "result.js", "lists.js")
PAGE = {"/": "page.html", **{f"/workbench/{file}": file for file in _FILES}}  # paths, and files
# No text becomes markup by a script, and nothing comes from elsewhere, whatever names and rows contain.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {"content-security-policy": _POLICY}
_MOST_CATEGORIES = 500  # that a list offers
_MOST_WORDS = 6  # of an example
_LONGEST = 80  # letters of an example
_MOST_COLUMNS = 5000  # that a person can paste


def content(file: str) -> tuple[bytes, str]:
    """Return a file of the page, and its type."""
    return (resources.files("nearlabel.serve") / "workbench" / file).read_bytes(), _TYPES[file.rpartition(".")[2]]


def form(state: State) -> dict[str, Any]:
    """Return the columns of a model with their kinds, categories and examples, its labels, and what it can do."""
    opened, card = state.opened, state.file.card
    kinds = opened.matching.kinds or ("number",) * len(opened.feature_names)
    named = not isinstance(opened.feature_names, tables.NumberedNames)
    needed = ("number", "date") if _needs_numbers(state, kinds) else ()
    columns: list[dict[str, Any]] = [
        {"name": name, "kind": kind, "required": kind in needed}
        for name, kind in zip(opened.feature_names, kinds, strict=True)
    ]
    for place, more in _known(state).items():
        columns[place] |= more
    if len(columns) > _MOST_COLUMNS:
        columns = []
    return {
        "columns": columns,
        "named": named,
        "labels": list(opened.label_names),
        "labels_column": card.labels_column[0] if card.labels_column else "",
        "id_column": card.id_column,
        "kept": list(state.file.kept),
        "probabilities": response_method_of(opened.model) == "predict_proba",
        "explains": models.explains(opened.model),
    }


_MISSING = {"text": "", "category": None, "date": None, "number": np.nan}


def _needs_numbers(state: State, kinds: Sequence[str]) -> bool:
    """Return whether the model refuses a row without its numbers; imputation is not all, so it is asked."""
    if set(kinds) <= {"text", "category"}:
        return False
    row = np.array([[_MISSING[kind] for kind in kinds]], dtype=object if set(kinds) != {"number"} else np.float64)
    try:
        state.file.model.predict(row)
    except (ValueError, TypeError):
        return True
    return False


def _known(state: State) -> Mapping[int, dict[str, Any]]:
    """Return categories and examples of columns, by their places; none where the encoder has none."""
    encoder = _data.encoder_of(state.file.model)
    known: dict[int, dict[str, Any]] = {}
    if encoder is None:
        return known
    for group, places in encoder.groups_.items():
        steps = encoder.transformer_.named_transformers_[group].named_steps
        if group == "categories":
            for place, values in zip(places, steps["overlap"].encoder_.categories_, strict=True):
                there = [value for value in values.tolist() if value is not None]
                known[place] = {"values": there[:_MOST_CATEGORIES], "example": there[0] if there else ""}
        elif group == "numbers":  # the usual ones, or the least
            usual = getattr(steps["impute"], "statistics_", getattr(steps["scale"], "data_min_", ()))
            known |= {place: {"example": float(value)} for place, value in zip(places, usual, strict=False)}
        elif group == "text":
            known[places[0]] = {"example": _words(state, encoder)}
    for place, name in enumerate(state.opened.feature_names):
        texts = state.file.kept.get(name, ())
        if len(texts) and place in encoder.groups_.get("text", ()):
            known[place] = {"example": texts[0][:_LONGEST]}
    return known


def _words(state: State, encoder: Any) -> str:
    """Return words of the first training sample, in no order; nothing where features are no words."""
    if models.way_to_update(state.file.model) == "no":
        return ""
    search: Any = getattr(models.parts_with_samples(state.file.model)[1], "search_", None)
    names: Sequence[str] = encoder.get_feature_names_out()
    row = sparse.csr_array(search.take([0])) if hasattr(search, "take") else sparse.csr_array((1, 0))
    if row.shape[1] != len(names):
        return ""
    of_text = [names[place].partition("text__")[2] for place in row.indices[np.argsort(-row.data, kind="stable")]]
    return " ".join([word for word in of_text if word and not word.startswith("(")][:_MOST_WORDS])
