"""``nearlabel audit``: which labels are probably wrong, as text, page and list; and the corrected data."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import nearlabel
from nearlabel.cli import _arguments, _console, _data, _imports, _model, _tasks
from nearlabel.files.atomic_file import whole_file
from nearlabel.utils.names import SCALES, SEARCHES

SUMMARY = "find labels that are probably wrong, and correct them"
EXAMPLES = (
    "nearlabel audit songs.csv --labels-prefix mood_ --id id --show title --out audit.html",
    "nearlabel audit songs.csv --labels-prefix mood_ --id id --show title --csv suspects.csv",
    "nearlabel audit songs.csv --labels-prefix mood_ --id id --show title --apply corrections.csv --out corrected.csv",
    "nearlabel audit songs.csv --labels-prefix mood_ --id id --show title --format label-studio --out tasks.json",
)
LOADS = ("audit", "datasets", "experiments", "models", "persistence", "report")


METHOD, N_NEIGHBORS = "mlknn", 20  # the defaults for DATA
MODEL_ENDING = ".skops"
_PAGES = (".html", ".htm")
_OF_DATA = (*_arguments.OF_TABLES, "input_format", "date", "id", "show", "method", "k", "scale", "search")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser, metavar="DATA|MODEL", before="a model, to audit its training data; ")
    _data.add_kept_options(parser)
    _data.add_kind_options(parser)
    _add_method(parser)
    _add_output(parser)
    _add_corrections(parser)
    parser.set_defaults(check=_check)


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Add the method that audits DATA; a model has its own."""
    group = parser.add_argument_group("method that audits DATA (a model uses its own)")
    group.add_argument(
        "--method",
        metavar="SPEC",
        help=f"a method by votes of neighbours, with options and thresholds as in nearlabel fit; default: {METHOD},"
        " averaged with mlmlm and rfpct for at most 5,000 rows",
    )
    group.add_argument("--k", type=int, help=f"number of neighbours; default: {N_NEIGHBORS}")
    group.add_argument(
        "--scale",
        choices=SCALES,
        help="how to scale numbers before the search; default: minmax, or tfidf for word counts",
    )
    _data.add_impute_option(parser)
    group.add_argument(
        "--search",
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}, or package.module:Class, which runs its code; default: exact,"
        " or exact:metric=cosine with --scale tfidf",
    )
    _model.add_trusted_option(parser, "for a model: additional types to trust when loading")


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options of the output."""
    parser.add_argument(
        "--out",
        dest="file",
        type=Path,
        metavar="FILE",
        help="HTML page with the findings, or tasks, by --format; with --apply, file for the corrected data;"
        " default: none",
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help="CSV file of the findings; fill in its column correct for --apply; default: none",
    )
    parser.add_argument("--n", type=int, default=100, help="maximum number of findings; default: 100")
    parser.add_argument(
        "--format",
        choices=(*_console.FORMATS, *_tasks.ENDINGS),
        default="table",
        help=f"table, json or csv: of the findings; {', '.join(_tasks.ENDINGS)}: a task for each row with suspicious"
        " cells, in --out or else printed; default: table",
    )


def _add_corrections(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply corrections."""
    parser.add_argument(
        "--apply",
        type=Path,
        metavar="CORRECTIONS",
        help="no audit: apply this table of corrections to DATA and write the result to --out. Its columns are label,"
        " correct (0, 1, ? or empty) and row, or the column of --id instead of row. Or apply what Label Studio, doccano"
        " or prodigy export of tasks of --format",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files of --csv and --apply --out")


def is_model(arguments: argparse.Namespace) -> bool:
    """Return whether the file of a model is audited."""
    return Path(arguments.data).suffix.lower() == MODEL_ENDING


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if is_model(arguments):
        _check_beside_model(arguments)
    if arguments.apply is None:
        tool = arguments.format if arguments.format in _tasks.ENDINGS else None
        endings = _PAGES if tool is None else (_tasks.ENDINGS[tool],)
        if arguments.file is not None and arguments.file.suffix.lower() not in endings:
            hint = "--csv, or --apply" if tool is None else "tasks are written in place of the page"
            raise ValueError(f"--out must end in {endings[0]}, got {str(arguments.file)!r}. Hint: {hint}.")
        return
    if arguments.file is None:
        raise ValueError("--apply must go with --out, the file for the corrected data, got none.")
    if arguments.csv is not None:
        raise ValueError(f"--csv must not go with --apply, which audits nothing, got {arguments.csv}.")


def _check_beside_model(arguments: argparse.Namespace) -> None:
    if arguments.apply is not None:
        hint = "Hint: correct the data, and fit again."
        raise ValueError(f"--apply must go with DATA, got the model {arguments.data}. {hint}")
    for name in _OF_DATA:
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} must go with DATA, got the model {arguments.data}, which contains it.")


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

    found: nearlabel.audit.Audit
    name: str
    by: str
    kept: Mapping[str, Sequence[str]]
    id_column: str | None
    by_number: bool = True  # whether a row has the number that it has in the data
    texts: Mapping[str, Sequence[Any]] = {}  # columns of text that are compared, of which tasks are made
    label_names: Sequence[str] = ()


def main(arguments: argparse.Namespace) -> None:
    """Audit a model or DATA, and write what was found; or correct DATA."""
    if arguments.apply is not None:
        apply_corrections(arguments)
        return
    _check_files(arguments)
    audited = _of_model(arguments) if is_model(arguments) else _of_data(arguments)
    is_of_tasks = arguments.format in _tasks.ENDINGS
    shown = _shown(arguments, audited) if is_of_tasks else None
    written = _written(arguments, audited, shown)
    if shown is None or arguments.file is not None:
        _print(audited, written, "table" if is_of_tasks else arguments.format)
        return
    _console.print_notes(written)
    _write_tasks(arguments.format, audited, shown, sys.stdout)


def _check_files(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be written or is no number, before anything is computed."""
    _data.check_number("--n", arguments.n)
    _data.check_output(arguments.file, "--out")
    others = {"DATA|MODEL and --out": (Path(arguments.data), arguments.file)}
    _data.check_output(arguments.csv, "--csv", others, force=arguments.force)


def _of_model(arguments: argparse.Namespace) -> _Audited:
    """Audit the training samples of the model in a file."""
    with _console.progress_bar("model"):
        opened = _model.open_model(arguments.data, arguments.trusted)
    kept, name = nearlabel.persistence.read_kept(arguments.data), opened.card.data.name or Path(arguments.data).stem
    found = _found(arguments, opened.model, opened.label_names, kept)
    changes = opened.card.changes
    by_number = not opened.card.guarantee and (changes is None or not changes.forgotten)
    return _Audited(
        found,
        name,
        _by(opened.card.method, found),
        kept,
        _id_column(kept, next(iter(kept), None)),
        by_number,
        label_names=opened.label_names,
    )


def _of_data(arguments: argparse.Namespace) -> _Audited:
    """Fit a method to DATA, and audit these."""
    _check_method(arguments)
    kept = {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in _kept_of(arguments).items()}
    data = _data.open_training_data(_model.without_kept(arguments))
    candidate = _candidate(arguments, data)
    _data.print_severe(data, scales=(candidate.scale,), searches=(str(candidate.search),), by_neighbors=True)
    with _console.progress_bar(f"neighbours of {data.name}"):
        model = candidate.fit(data)
    found = _found(arguments, model, data.label_names, kept, "auto" if arguments.method is None else "model")
    by = _by(f"{candidate.method}, k {candidate.n_neighbors}", found)
    texts = _texts_of(arguments) if arguments.format in _tasks.ENDINGS else {}
    id_column = _id_column(kept, arguments.id)
    return _Audited(found, data.name, by, kept, id_column, texts=texts, label_names=data.label_names)


def _texts_of(arguments: argparse.Namespace) -> Mapping[str, Sequence[Any]]:
    names = arguments.text or ()
    return _data.read_columns(arguments, dict.fromkeys(names, "--text")) if names else {}


def _by(method: str, found: nearlabel.audit.Audit) -> str:
    """Return whose probabilities were averaged."""
    others = " and ".join(found.evidence[1:])
    return f"{method}, with {others}" if others else method


def _id_column(kept: Mapping[str, Sequence[str]], name: str | None) -> str | None:
    """Return the name of a column if its cells name each row by one id; else None, and rows are named by number."""
    if name is None or name in COLUMNS:
        return None
    ids = {text.strip() for text in kept[name]} - {""}
    return name if len(ids) == len(kept[name]) else None


def _check_method(arguments: argparse.Namespace) -> None:
    """Refuse a method without neighbours, before the data are read."""
    method = None if arguments.method is None else _imports.method(arguments.method)
    if method is not None and not nearlabel.experiments.MethodSpec.of(method).has_neighbors:
        raise ValueError(f"--method must be a method by votes of neighbours, such as mlknn, got {arguments.method}.")
    if arguments.k is not None:
        _data.check_number("--k", arguments.k)


def _candidate(arguments: argparse.Namespace, data: nearlabel.datasets.Dataset) -> nearlabel.experiments.Candidate:
    """Return the named method, or the usual one, on features scaled as its kind is best compared."""
    from nearlabel.selection import automatic

    scale = arguments.scale
    if scale is None:
        scale = "tfidf" if automatic.has_words(data) else "minmax"
    k = min(N_NEIGHBORS, data.X.shape[0] - 2) if arguments.k is None else arguments.k
    search = arguments.search or nearlabel.experiments.usual_search(scale)
    return _imports.candidate(arguments.method or METHOD, max(1, k), scale, search, impute=_data.imputation(arguments))


def _kept_of(arguments: argparse.Namespace) -> Mapping[str, Sequence[Any]]:
    kept = _model.open_kept(arguments)
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
    scores: str = "auto",
) -> nearlabel.audit.Audit:
    from nearlabel.utils.tables import names_of_rows

    with _console.progress_bar("labels"):
        found = nearlabel.audit.audit(model, scores=scores, n_cells=arguments.n, label_names=label_names)
    return found.named(names_of_rows(kept)) if kept else found


def _written(arguments: argparse.Namespace, audited: _Audited, shown: _tasks.Shown | None) -> list[str]:
    """Write the page or the tasks, and the list, and return what was written."""
    written = [] if audited.by_number else [_other_rows(audited)]
    if arguments.file is not None and shown is not None:
        with (
            whole_file(arguments.file, name="--out") as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            _write_tasks(arguments.format, audited, shown, file)
        written.append(f"Tasks: {arguments.file}")
    elif arguments.file is not None:
        ids = None if audited.id_column is None else audited.kept[audited.id_column]
        facts = nearlabel.report.audit_facts(
            audited.found,
            name=audited.name,
            by=audited.by,
            id_column=audited.id_column,
            ids=ids,
            by_number=audited.by_number,
        )
        written.append(f"Page: {nearlabel.report.write_report(facts, arguments.file)}")
    if arguments.csv is not None:
        with (
            whole_file(arguments.csv, name="--csv") as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            _print_cells(audited, file)
        written.append(f"Cells: {arguments.csv}")
    return written


def _other_rows(audited: _Audited) -> str:
    if audited.id_column is None:
        return f"{_OTHER_ROWS} Hint: nearlabel fit --id names a column of ids that the model keeps."
    return f"{_OTHER_ROWS} Apply them with --id {shlex.quote(audited.id_column)}."


def _shown(arguments: argparse.Namespace, audited: _Audited) -> _tasks.Shown:
    """Return the columns that tasks show."""
    others = [name for name in audited.kept if name != audited.id_column]
    return _tasks.Shown.of(arguments.format, audited.texts, others, audited.id_column)


def _write_tasks(tool: str, audited: _Audited, shown: _tasks.Shown, file: TextIO) -> None:
    """Write a task for each row that has suspicious cells, the most suspicious first."""
    by_row: dict[int, list[nearlabel.audit.SuspectCell]] = {}
    for cell in audited.found.cells:
        by_row.setdefault(cell.row, []).append(cell)
    columns = {**audited.kept, **audited.texts}
    with _tasks.writing(file, tool, audited.label_names) as write:
        for row, suspects in by_row.items():
            given = [str(name) for name in suspects[0].row_labels]
            other = {str(cell.label_name): cell for cell in suspects}
            proposed = [name for name in given if name not in other]
            proposed += [name for name, cell in other.items() if cell.suggested]
            # How certain the present labels are: as the most doubtful of the cells.
            score = min(cell.probability if cell.given else 1 - cell.probability for cell in suspects)
            keys: dict[str, Any] = {"row": row} if audited.by_number else {}
            keys |= {"given": given, "suggestion": "; ".join(map(_suggested, suspects))}
            opinions = [
                _tasks.Opinion("present labels", given, score),
                _tasks.Opinion("nearlabel", proposed, 1 - score),
            ]
            write(shown.task(keys, {name: columns[name][row] for name in shown.options}, opinions))


def _suggested(cell: nearlabel.audit.SuspectCell) -> str:
    return f"{'add' if cell.suggested else 'remove'} {cell.label_name} (probability {cell.probability:.2f})"


def _print_cells(audited: _Audited, file: TextIO | None = None) -> None:
    """Print the cells as CSV, to a file or the screen."""
    columns = ["row", *(name for name in audited.kept if name not in COLUMNS), *_BEFORE, *_BEHIND]
    _console.print_csv([_line(cell, audited) for cell in audited.found.cells], columns=columns, file=file)


def _line(cell: nearlabel.audit.SuspectCell, audited: _Audited) -> dict[str, Any]:
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
        _print_cells(audited)
    else:
        found = str(audited.found).split("\n")
        _console.print_lines(f"{audited.name}, by {audited.by}", "", *found, *([""] if written else []), *written)


# ``nearlabel audit --apply``: DATA with corrected labels, in a new file.

_ARRAYS = ".npz"


def apply_corrections(arguments: argparse.Namespace) -> None:
    """Read DATA and corrections, check all of them, write the copy, print the changes."""
    _check_out(arguments)
    ids = None if arguments.id is None else _model.open_kept(arguments)[arguments.id]
    data = _data.open_data(_model.without_kept(arguments))
    corrections = nearlabel.audit.read_corrections(
        arguments.apply, id_column=arguments.id, y=data.Y, label_names=data.label_names, ids=ids
    )
    Y = nearlabel.audit.apply_corrections(data.Y, corrections, label_names=data.label_names, ids=ids)
    changes = list(_changes(data, Y))
    if arguments.file.suffix.lower() == _ARRAYS:
        _write_arrays(arguments.file, replace(data, Y=Y))
    else:
        _write_table(arguments, changes)
    _console.print_lines(_told(corrections, changes), f"Data: {arguments.file}")


def _check_out(arguments: argparse.Namespace) -> None:
    """Refuse a file that cannot or must not be written, or would have another format, before anything is read."""
    file = arguments.file
    _data.check_file(arguments.data)
    names = _data.column_names(arguments.data)
    if file.suffix.lower() != _ARRAYS:
        if names is None:
            raise ValueError(f"--out must end in {_ARRAYS} for {arguments.data}, got {file.name!r}.")
        nearlabel.datasets.tables.check_same_format(Path(arguments.data), file)
    _data.check_output(file, "--out", {"the corrections": (arguments.apply,)}, force=arguments.force)


def _changes(data: nearlabel.datasets.Dataset, corrected: Any) -> Iterator[tuple[int, str, float]]:
    """Yield row, name of the label and new value, NaN for unknown, of each cell that changes."""
    import numpy as np
    from scipy import sparse

    from nearlabel.utils.targets import PartialLabels

    before, after = PartialLabels.of(data.Y, dtype=None), PartialLabels.of(corrected, dtype=None)
    shape = before.labels.shape
    labels = [sparse.csr_array(parts.labels, dtype=np.int8) for parts in (before, after)]
    masks = [shape if parts.unknown is None else parts.unknown for parts in (before, after)]
    masks = [sparse.csr_array(mask, dtype=np.int8) for mask in masks]
    values, cells = after.with_nan(), sparse.coo_array((labels[0] != labels[1]) + (masks[0] != masks[1]))
    for row, label in sorted(zip(cells.row.tolist(), cells.col.tolist(), strict=True)):
        yield row, data.label_names[label], float(values[row, label])


def _write_arrays(file: Path, data: nearlabel.datasets.Dataset) -> None:
    if data.X.dtype.kind == "O":
        raise ValueError(f"--out must end like DATA if columns contain no numbers, got {file.name!r}.")
    nearlabel.datasets.write_npz(file, data)


def _write_table(arguments: argparse.Namespace, changes: Sequence[tuple[int, str, float]]) -> None:
    nearlabel.datasets.tables.copy_with_labels(
        Path(arguments.data), arguments.file, changes, _data.label_options(arguments)
    )


def _told(corrections: Sequence[nearlabel.audit.Correction], changes: Sequence[tuple[int, str, float]]) -> str:
    n_rows = len({row for row, _, _ in changes})
    cells, rows = ("cell" if len(changes) == 1 else "cells"), ("row" if n_rows == 1 else "rows")
    as_they_were = len({(one.id or one.row, one.label) for one in corrections}) - len(changes)
    told = f"Corrected {len(changes)} {cells} in {n_rows} {rows}"
    return told + (f"; {as_they_were} had the correct value already." if as_they_were else ".")
