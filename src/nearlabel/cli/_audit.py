"""``nearlabel audit``: which labels are probably wrong, as text, page and list; and the corrected data."""

from __future__ import annotations

import argparse
import csv
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearlabel.audit import Audit, SuspectCell, audit
from nearlabel.cli import _console, _correct, _data, _kept, _missing, _model
from nearlabel.cli._first_look import print_severe
from nearlabel.cli.arguments.audit import METHOD, MOST_ROWS, N_NEIGHBORS, SECOND, is_model
from nearlabel.datasets import Dataset
from nearlabel.experiments import Candidate, MethodSpec, usual_search
from nearlabel.files.atomic_file import check_can_be_written, whole_file
from nearlabel.models.out_of_sample import Needs, left_out_answer
from nearlabel.persistence import read_kept
from nearlabel.report import audit_facts, write_report
from nearlabel.utils.containers import are_words
from nearlabel.utils.partial_labels import has_unknown
from nearlabel.utils.tables import names_of_rows
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_integer

_BEFORE = ("label", "given", "suggested", "correct")
_BEHIND = ("probability", "quality", "disagreement", "is_issue", "n_lists", "n_righted", "n_wronged", "neighbors")
COLUMNS = ("row", *_BEFORE, *_BEHIND)  # columns of the cells as CSV, in addition to the saved columns of the samples
_DIGITS = 6
_OTHER_ROWS = (
    "Row numbers are those of the model, not of the data that it was fitted to: some rows were held out for its"
    " guarantee, or forgotten. Corrections therefore cannot name rows by number."
)


class _Audited(NamedTuple):
    """The result of an audit, with its data, its method, and the columns that name the samples."""

    found: Audit
    name: str
    by: str
    kept: Mapping[str, Sequence[str]]
    id_column: str | None
    by_number: bool = True  # whether a row has the number that it has in the data


def main(arguments: argparse.Namespace) -> None:
    """Audit a model or DATA, and write what was found; or correct DATA."""
    if arguments.apply is not None:
        _correct.main(arguments)
        return
    _check_files(arguments)
    audited = _of_model(arguments) if is_model(arguments) else _of_data(arguments)
    written = _written(arguments, audited)
    _print(audited, written, arguments.format)


def _check_files(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be written or is no number, before anything is computed."""
    check_integer("--n", arguments.n, low=1)
    for option, file in (("--out", arguments.file), ("--csv", arguments.csv)):
        if file is not None:
            check_can_be_written(file, name=option)
    if arguments.csv is not None:
        _data.check_other_file(arguments.csv, [Path(arguments.data), arguments.file], "--csv", "DATA|MODEL and --out")
    if arguments.csv is not None and arguments.csv.exists() and not arguments.force:
        raise FileExistsError(f"{arguments.csv} already exists. Hint: --force overwrites it.")


def _of_model(arguments: argparse.Namespace) -> _Audited:
    """Audit the training samples of the model in a file."""
    with _console.progress_bar("model"):
        opened = _model.open_model(argparse.Namespace(model=arguments.data, trusted=arguments.trusted))
    kept, name = read_kept(arguments.data), opened.card.data.name or Path(arguments.data).stem
    found = _found(arguments, opened.model, opened.label_names, kept)
    changes = opened.card.changes
    by_number = not opened.card.guarantee and (changes is None or not changes.forgotten)
    return _Audited(found, name, opened.card.method, kept, _id_column(kept, next(iter(kept), None)), by_number)


def _of_data(arguments: argparse.Namespace) -> _Audited:
    """Fit a method to DATA, and audit these."""
    _check_method(arguments)
    kept = {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in _kept_of(arguments).items()}
    data = _missing.open_training_data(_kept.without_kept(arguments))
    candidate = _candidate(arguments, data)
    print_severe(data, scales=(candidate.scale,), searches=(str(candidate.search),), by_neighbors=True)
    with _console.progress_bar(f"neighbours of {data.name}"):
        model = candidate.fit(data)
    by, scores = f"{candidate.method}, k {candidate.n_neighbors}", None
    if arguments.method is None and data.X.shape[0] <= MOST_ROWS and not has_unknown(data.Y):
        with _console.progress_bar(f"distances of label sets of {data.name}"):
            scores = _mean_scores(data, model, _second(candidate).fit(data))
        by = f"{by}, and {SECOND}"
    found = _found(arguments, model, data.label_names, kept, scores)
    return _Audited(found, data.name, by, kept, _id_column(kept, arguments.id))


def _id_column(kept: Mapping[str, Sequence[str]], name: str | None) -> str | None:
    """Return the name of a column if its cells name each row by one id; else None, and rows are named by number."""
    if name is None or name in COLUMNS:
        return None
    ids = {text.strip() for text in kept[name]} - {""}
    return name if len(ids) == len(kept[name]) else None


def _check_method(arguments: argparse.Namespace) -> None:
    """Refuse a method without neighbours, before the data are read."""
    if arguments.method is not None and not MethodSpec.of(arguments.method).has_neighbors:
        raise ValueError(f"--method must be a method by votes of neighbours, such as mlknn, got {arguments.method}.")
    if arguments.k is not None:
        check_integer("--k", arguments.k, low=1)


def _candidate(arguments: argparse.Namespace, data: Dataset) -> Candidate:
    """Return the named method, or the usual one, on features scaled as its kind is best compared."""
    scale = arguments.scale
    if scale is None:
        scale = "tfidf" if data.X.dtype.kind != "O" and are_words(data.X) else "minmax"
    k = min(N_NEIGHBORS, data.X.shape[0] - 2) if arguments.k is None else arguments.k
    search = arguments.search or usual_search(scale)
    return Candidate(arguments.method or METHOD, max(1, k), scale, search, impute=_missing.imputation(arguments))


def _second(candidate: Candidate) -> Candidate:
    """Return a second method with the same distance: ML-MLM, which makes different errors than the usual one."""
    metric = ":metric=cosine" if candidate.scale == "tfidf" else ""
    return replace(candidate, method=f"{SECOND}:scale=none{metric}", n_neighbors=None, search=None)


def _mean_scores(data: Dataset, *models: Any) -> FloatArray:
    """Return the mean of the leave-one-out probabilities."""
    found = [left_out_answer(model, data.Y.shape[1], Needs(labels=False)).scores for model in models]
    return np.asarray(sum(found) / len(found))


def _kept_of(arguments: argparse.Namespace) -> Mapping[str, Sequence[Any]]:
    kept = _kept.open_kept(arguments)
    for name in kept:
        if name in COLUMNS:
            option = "--id" if name == arguments.id else "--show"
            raise ValueError(f"{option} must name columns other than those of corrections, got {name!r}.")
    return kept


def _found(
    arguments: argparse.Namespace,
    model: Any,
    label_names: Sequence[str],
    kept: Mapping[str, Sequence[str]],
    scores: FloatArray | None = None,
) -> Audit:
    with _console.progress_bar("labels"):
        found = audit(model, scores=scores, n_cells=arguments.n, label_names=label_names)
    return found.named(names_of_rows(kept)) if kept else found


def _written(arguments: argparse.Namespace, audited: _Audited) -> list[str]:
    """Write the page and the list, and return what was written."""
    written = [] if audited.by_number else [_other_rows(audited)]
    if arguments.file is not None:
        ids = None if audited.id_column is None else audited.kept[audited.id_column]
        facts = audit_facts(
            audited.found,
            name=audited.name,
            by=audited.by,
            id_column=audited.id_column,
            ids=ids,
            by_number=audited.by_number,
        )
        written.append(f"Page: {write_report(facts, arguments.file)}")
    if arguments.csv is not None:
        _write_csv(arguments.csv, audited)
        written.append(f"Cells: {arguments.csv}")
    return written


def _other_rows(audited: _Audited) -> str:
    if audited.id_column is None:
        return f"{_OTHER_ROWS} Hint: nearlabel fit --id names a column of ids that the model keeps."
    return f"{_OTHER_ROWS} Apply them with --id {shlex.quote(audited.id_column)}."


def _write_csv(path: Path, audited: _Audited) -> None:
    with whole_file(path, name="--csv") as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _columns(audited), lineterminator="\n")
        writer.writeheader()
        writer.writerows(_line(cell, audited) for cell in audited.found.cells)


def _columns(audited: _Audited) -> list[str]:
    return ["row", *(name for name in audited.kept if name not in COLUMNS), *_BEFORE, *_BEHIND]


def _line(cell: SuspectCell, audited: _Audited) -> dict[str, Any]:
    """Return a cell as a line of a list; the column of corrections is empty."""
    record = cell.to_record()
    kept = {name: texts[cell.row] for name, texts in audited.kept.items() if name not in COLUMNS}
    return {
        "row": cell.row if audited.by_number else "",
        **kept,
        **{name: record[name] for name in ("given", "suggested", *_BEHIND)},
        "label": cell.label_name,
        "correct": "",
        "probability": round(cell.probability, _DIGITS),
        "quality": round(cell.quality, _DIGITS),
        "disagreement": round(cell.disagreement, _DIGITS),
        "is_issue": int(cell.is_issue),
        "neighbors": " ".join(map(str, record["neighbors"])),
    }


def _print(audited: _Audited, written: Sequence[str], format_: str) -> None:
    if format_ != "table":
        _console.print_notes(written)  # the output is what was found, and nothing else
    if format_ == "json":
        _console.print_json({"name": audited.name, "by": audited.by, **audited.found.to_dict()})
    elif format_ == "csv":
        _console.print_csv([_line(cell, audited) for cell in audited.found.cells], columns=_columns(audited))
    else:
        parts = [f"{audited.name}, by {audited.by}", "", str(audited.found), *([""] if written else []), *written]
        _console.print_lines("\n".join(parts))
