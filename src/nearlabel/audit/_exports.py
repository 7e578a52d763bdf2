"""Exports of Label Studio, doccano and prodigy: the answers of annotators as corrections of the present labels.

A task has ``row``, the number of its sample, or ``row_id``, and ``given``, the labels that it had when it was made.

* Label Studio, JSON: ``data`` has these keys, and each of ``annotations`` has a ``result``. JSON_MIN and CSV: a record
  for each annotation, with the keys of ``data``, ``annotation_id`` and, if something is chosen, the name of the
  control: one choice as text, several as ``{"choices": [...]}``. Both leave out what was cancelled (the converter of
  label-studio-sdk).
* doccano, JSON lines or JSON: the keys, and ``label``, a list of texts (the formatters of its `data_export`). It does
  not say whether anyone looked, so labels that are still those of the task are no answer.
* prodigy, JSON lines: the keys, the ``options``, their ids in ``accept``, and the ``answer``
  (prodi.gy/docs/api-interfaces).
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.datasets.tables import column_names_of, did_you_mean, read_columns, shortened
from nearlabel.files.untrusted import read_regular
from nearlabel.utils.messages import ParameterWarning
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR

CONTROL = "tags"  # the name of the choices in Label Studio, if there are several controls
_OF_CSV = (CONTROL, "annotation_id", "row", "row_id", "given")
_BESIDE_CHOICES = frozenset({"textarea", "rating", "number", "datetime"})  # results that are no labels
_BLANKS = re.compile(r"[ \t\r\n]*+")
_JSON = (".json", ".jsonl", ".ndjson")
_MOST_KEYS, _MOST_DIGITS = 8, 18


class Value(NamedTuple):
    """The value of a cell that an annotator set, and the present one; NaN is unknown."""

    row: int
    label: int
    value: int
    given: float


class _Answer(NamedTuple):
    """The labels that a sample has according to an annotator.

    `judged` are the labels that the annotator could choose, None: all; `is_certain`: someone has looked.
    """

    where: str
    keys: Mapping[str, Any]
    chosen: frozenset[str]
    judged: frozenset[str] | None = None
    is_certain: bool = True


def is_export(path: Path) -> bool:
    """Return whether a file is what an annotation tool exports, rather than a table of corrections."""
    if path.suffix.lower() in _JSON:
        first = next(_records(path), (None, {}))[1]
        return not {"label", "correct"} <= set(first)
    names = column_names_of(path)
    return names is not None and "annotation_id" in names and "correct" not in names


def values_in(
    path: Path,
    given: PartialLabels,
    label_names: Sequence[Any],
    *,
    id_column: str | None,
    ids: Sequence[Any] | None,
) -> Iterator[Value]:
    """Yield the cells whose value in an export differs from the present one, or from that in the task.

    A warning counts the answers that do not count, and the cells on which annotators differ.

    Raises
    ------
    ValueError
        If the file is no export, has no answer, or a task names no sample, or a label that does not exist.
    """
    answers, n_without = _answers_in(path, id_column)
    if not answers:
        raise ValueError(f"corrections must be answers to tasks, got none in {path}: all are skipped or not labelled.")
    if n_without:
        tasks = "1 task has" if n_without == 1 else f"{n_without:,} tasks have"
        which = "skipped, rejected, not labelled yet, or in doccano still as predicted"
        _warn(f"{tasks} no answer that counts, and no effect: {which}.")
    rows = _Rows(given.labels.shape[0], id_column, ids)
    by_row: dict[int, list[_Answer]] = {}
    for answer in answers:
        by_row.setdefault(rows.of(answer), []).append(answer)
    judge = _Judge(given, label_names)
    for row in sorted(by_row):
        yield from judge.values(row, by_row[row])
    if judge.differing:
        row, label = judge.differing[0]
        cells = "1 cell" if len(judge.differing) == 1 else f"{len(judge.differing):,} cells"
        _warn(f"Annotators differ on {cells}, such as row {row}, label {str(label_names[label])!r}: no change there.")


def _warn(message: str) -> None:
    warnings.warn(ParameterWarning("{message}", {}, {"message": message}), stacklevel=5)  # always shown


class _Judge:
    """Compares answers with the present labels, and remembers the cells on which annotators differ."""

    def __init__(self, given: PartialLabels, label_names: Sequence[Any]) -> None:
        self._places = {str(name).strip(): place for place, name in enumerate(label_names)}
        self._labels = sparse.csr_array(given.labels)
        self._labels.eliminate_zeros()
        self._unknown = None if given.unknown is None else sparse.csr_array(given.unknown)
        self.differing: list[tuple[int, int]] = []

    def values(self, row: int, answers: Sequence[_Answer]) -> Iterator[Value]:
        """Yield the cells of a row that change."""
        present, unknown = _columns(self._labels, row), _columns(self._unknown, row)
        judging = [a for a in answers if a.is_certain or self._set(a, a.chosen) != self._before(a, present, unknown)]
        if not judging:
            return
        chosen = [self._set(answer, answer.chosen) for answer in judging]
        before = self._before(judging[0], present, unknown)
        all_say, some_say = set.intersection(*chosen), set.union(*chosen)
        self.differing += [(row, label) for label in sorted(some_say - all_say)]
        changing = ((all_say ^ before) | unknown) - (some_say - all_say)
        offered = [answer.judged for answer in judging if answer.judged is not None]
        if len(offered) == len(judging):
            changing &= self._set(judging[0], frozenset[str]().union(*offered))
        for label in sorted(changing):
            value = int(label in all_say)
            yield Value(row, label, value, np.nan if label in unknown else 1 - value)

    def _before(self, answer: _Answer, present: set[int], unknown: set[int]) -> set[int]:
        """Return the labels that a row had when the task was made."""
        names = _texts(answer.keys.get("given"))
        return present if names is None else self._set(answer, names) - unknown

    def _set(self, answer: _Answer, names: Iterable[str]) -> set[int]:
        try:
            return {self._places[name.strip()] for name in names}
        except KeyError:
            wrong = next(name for name in names if name.strip() not in self._places)
            hint = did_you_mean(wrong, self._places)
            raise ValueError(
                f"{answer.where}: corrections must name labels of the data, got {shortened(wrong)}.{hint}"
            ) from None


def _columns(matrix: CSR | None, row: int) -> set[int]:
    if matrix is None:
        return set()
    return set(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist())


class _Rows:
    """Finds the samples of tasks, by id or by number."""

    def __init__(self, n_rows: int, id_column: str | None, ids: Sequence[Any] | None) -> None:
        self._n_rows, self._id_column = n_rows, id_column
        self._places: dict[str, list[int]] = {}
        for row, name in enumerate(ids or ()):
            self._places.setdefault("" if name is None else str(name).strip(), []).append(row)

    def of(self, answer: _Answer) -> int:
        """Return the number of a sample."""
        return self._by_number(answer) if self._id_column is None else self._by_id(answer, self._id_column)

    def _by_number(self, answer: _Answer) -> int:
        value = answer.keys.get("row")
        number = "" if isinstance(value, bool) else str(value)
        is_number = number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS
        if is_number and int(number) < self._n_rows:
            return int(number)
        hint = "" if is_number else " Hint: tasks of nearlabel have it; or name the column of ids, id_column."
        expected = f"a task must have the number of its row, row, from 0 to {self._n_rows - 1}"
        raise ValueError(f"{answer.where}: {expected}, got {shortened(value)}.{hint}")

    def _by_id(self, answer: _Answer, column: str) -> int:
        value = answer.keys.get("row_id", answer.keys.get(column))
        rows = [] if value is None else self._places.get(str(value).strip(), [])
        if len(rows) == 1:
            return rows[0]
        got = shortened(value) if value is not None else f"neither row_id nor {column}"
        more = f", which rows {rows[0]} and {rows[1]} have" if rows else ", which no row has" if value else ""
        raise ValueError(f"{answer.where}: a task must have the id of one row, got {got}{more}.")


# The records of a file, and the answers in them.


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of an array, or one after the other, as JSON lines are, each with its place."""
    try:
        text = read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be JSON in UTF-8, got other bytes ({error.reason}).") from None
    decoder, number, at = json.JSONDecoder(), 0, _after_blanks(text, 0)
    is_array = text.startswith("[", at)
    at = _after_blanks(text, at + is_array)
    while at < len(text) and not (is_array and text[at] == "]"):
        number += 1
        where = f"{path}, record {number}"
        if is_array and number > 1:
            if text[at] != ",":
                raise ValueError(f"{where}: must come after a comma, got {shortened(text[at : at + 20])}.")
            at = _after_blanks(text, at + 1)
        try:
            record, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            got = error if isinstance(error, json.JSONDecodeError) else "too many digits or levels"
            raise ValueError(f"{where} must be JSON, got text that is not ({got}).") from None
        if not isinstance(record, dict):
            raise ValueError(f"{where} must be an object, got {shortened(record)}.")
        yield where, record
        at = _after_blanks(text, at)
    if is_array and (at == len(text) or _after_blanks(text, at + 1) < len(text)):
        got = "one that does not end" if at == len(text) else "more after its end"
        raise ValueError(f"{path} must be one whole array of JSON, got {got}.")


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None, "the pattern takes nothing, too"
    return found.end()


def _answers_in(path: Path, id_column: str | None) -> tuple[list[_Answer], int]:
    """Return the answers that count, and the number of tasks without one."""
    answers: list[_Answer] = []
    n_without, of_choices = 0, False
    is_csv = path.suffix.lower() not in _JSON
    for where, record in _lines(path, id_column) if is_csv else _records(path):
        of_choices = of_choices or "annotation_id" not in record or CONTROL in record
        found = list(_of_record(where, record))
        answers += found
        n_without += not found
    if answers and not of_choices:
        raise ValueError(
            f"{path} must have choices named {CONTROL!r}, got none. Hint: export from Label Studio as JSON."
        )
    return answers, n_without


def _lines(path: Path, id_column: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the lines of Label Studio's CSV, without empty cells."""
    wanted = [name for name in dict.fromkeys([*_OF_CSV, id_column]) if name in (column_names_of(path) or ())]
    columns = read_columns(path, dict.fromkeys(map(str, wanted), "corrections"))
    for number, cells in enumerate(zip(*columns.values(), strict=True), start=1):
        record = {name: cell for name, cell in zip(columns, cells, strict=True) if cell not in (None, "")}
        record.setdefault("annotation_id", None)
        if CONTROL in columns:
            record[CONTROL] = _written(record.get(CONTROL))
        yield f"{path}, row {number}", record


def _written(cell: Any) -> Any:
    """Return what a cell of CSV contains: JSON of several choices, one choice, or none."""
    if cell is None:
        return []
    try:
        read = json.loads(cell) if cell[:1] in "{[" else cell
    except (ValueError, RecursionError):
        return cell
    return read if isinstance(read, dict | list) else cell


def _of_record(where: str, record: Mapping[str, Any]) -> Iterator[_Answer]:
    """Yield the answers that count in a task of any tool."""
    annotations = record.get("annotations", record.get("completions"))
    if isinstance(record.get("data"), dict) and isinstance(annotations, list):
        yield from _of_annotations(where, record["data"], annotations)
    elif "annotation_id" in record:
        if record["annotation_id"] not in (None, ""):
            yield _Answer(where, record, _choices(where, record.get(CONTROL, [])))
    elif "answer" in record and isinstance(record.get("options"), list):
        if record["answer"] == "accept":
            yield _Answer(where, record, _choices(where, record.get("accept", [])), _option_ids(where, record))
    elif (labels := _texts(record.get("label", record.get("labels")))) is not None and "text" in record:
        meta = record.get("meta")
        keys = {**meta, **record} if isinstance(meta, dict) else record
        predicted, confirmed = _texts(keys.get("predicted")), record.get("is_confirmed")
        is_touched = predicted is None or {*predicted} != {*labels}  # else perhaps no one has looked at it
        if confirmed is True or (confirmed is None and is_touched):
            yield _Answer(where, keys, frozenset(labels), is_certain=confirmed is True)
    else:
        some = ", ".join(map(shortened, [*record][:_MOST_KEYS]))
        raise ValueError(
            f"{where} must be a task of Label Studio (data and annotations, or annotation_id), doccano (text and label,"
            f" a list) or prodigy (options and answer), got the keys {some}."
        )


def _of_annotations(where: str, data: Mapping[str, Any], annotations: Sequence[Any]) -> Iterator[_Answer]:
    """Yield the answers of annotators in Label Studio: of those marked as ground truth alone, if some are."""
    if not all(isinstance(one, dict) and isinstance(one.get("result", []), list) for one in annotations):
        raise ValueError(f"{where}: annotations must be objects with a result, got {shortened(annotations)}.")
    counting = [one for one in annotations if not (one.get("was_cancelled") or one.get("skipped"))]
    for one in [one for one in counting if one.get("ground_truth")] or counting:
        yield _Answer(where, data, chosen(where, one.get("result") or []))


def chosen(where: str, results: Sequence[Any]) -> frozenset[str]:
    """Return the choices in the results of an annotation: of the one control, or of that named as in our tasks."""
    of_control: dict[str, set[str]] = {}
    for result in results:
        kind = result.get("type") if isinstance(result, dict) else None
        if kind == "choices":
            of_control.setdefault(str(result.get("from_name")), set()).update(_choices(where, result.get("value")))
        elif not isinstance(kind, str) or kind not in _BESIDE_CHOICES:
            raise ValueError(f"{where}: results must be choices of labels, got {shortened(kind)}.")
    if len(of_control) > 1 and CONTROL not in of_control:
        got = " and ".join(map(shortened, of_control))
        raise ValueError(f"{where}: choices must be those of one control, or of {CONTROL!r}, got {got}.")
    return frozenset(of_control.get(CONTROL) or next(iter(of_control.values()), ()))


def _choices(where: str, value: Any) -> frozenset[str]:
    """Return the choices: one, a list, or an object with a list."""
    value = value.get("choices") if isinstance(value, dict) else value
    choices = [value] if isinstance(value, str) else _texts(value)
    if choices is None:
        raise ValueError(f"{where}: choices must be a list of texts, got {shortened(value)}.")
    return frozenset(choices)


def _option_ids(where: str, record: Mapping[str, Any]) -> frozenset[str]:
    ids = _texts([option.get("id") if isinstance(option, dict) else None for option in record["options"]])
    if ids is None:
        raise ValueError(f"{where}: options must be objects with an id, a text, got {shortened(record['options'])}.")
    return frozenset(ids)


def _texts(value: Any) -> list[str] | None:
    """Return a list of texts, which may be written in a cell; None if it is none."""
    if isinstance(value, str):
        value = _written(value)
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None
