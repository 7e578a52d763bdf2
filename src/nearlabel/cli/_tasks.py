"""Tasks of annotation tools: rows with their labels, as Label Studio, doccano and prodigy import them.

Label Studio: an array of objects with ``data``, which its labelling configuration shows, and ``predictions``, whose
``result`` names a control and an object of that configuration (labelstud.io/guide/predictions; checked by its own
`LabelInterface`). doccano: JSON lines with ``text`` and ``label``; every other key is kept, and exported again (the
pipeline of its `data_import`). prodigy: JSON lines with ``text``, ``options`` and ``accept``
(prodi.gy/docs/api-interfaces, choice); ``meta`` is shown, and other keys are kept.

`nearlabel.audit.read_corrections` reads what these tools export: ``row``, ``row_id`` and ``given`` name the rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import nearlabel
from nearlabel.cli import _console, _data

ENDINGS = {"label-studio": ".json", "doccano": ".jsonl", "prodigy": ".jsonl"}  # of files, by tool
_DIGITS = 6  # of scores
_CONTROL, _OBJECT = "tags", "text"  # the names in a labelling configuration of Label Studio
# Keys of tasks and of exports, which the columns of --show must not hide.
_TAKEN = (
    "Comments", "abstained", "accept", "agreement", "annotation_id", "annotator", "answer", "created_at",
    "example_uuid", "filename", "given", "id", "label", "labels", "lead_time", "meta", "options", "predicted", "row",
    "row_id", "scores", "suggestion", "tags", "text", "updated_at", "upload_name",
)  # fmt: skip


class Opinion(NamedTuple):
    """The labels that a row has according to someone, and how certain that is, from 0 to 1; None: unknown."""

    by: str
    labels: Sequence[str]
    score: float | None = None


class Task(NamedTuple):
    """A row to label: the keys that name it, the cells that are shown of it, and opinions, the first preselected."""

    keys: Mapping[str, Any]
    text: str
    shown: Mapping[str, str]
    opinions: Sequence[Opinion]


def _label_studio(task: Task, _: Sequence[str]) -> dict[str, Any]:
    predictions = [label_studio_prediction(opinion, _CONTROL, _OBJECT) for opinion in task.opinions]
    return {"data": {_OBJECT: task.text, **task.keys, **task.shown}, "predictions": predictions}


def label_studio_prediction(opinion: Opinion, control: str, of: str) -> dict[str, Any]:
    """Return a prediction of Label Studio: choices of a control for an object."""
    return {
        "model_version": opinion.by,
        **({} if opinion.score is None else {"score": round(opinion.score, _DIGITS)}),
        "result": [{"from_name": control, "to_name": of, "type": "choices", "value": {"choices": [*opinion.labels]}}]
        if opinion.labels
        else [],
    }


def _doccano(task: Task, _: Sequence[str]) -> dict[str, Any]:
    return {"text": task.text, "label": [*_preselected(task)], **task.keys, **task.shown}


def _prodigy(task: Task, label_names: Sequence[str]) -> dict[str, Any]:
    remarks = {name: task.keys[name] for name in ("scores", "suggestion") if name in task.keys}
    return {
        "text": task.text,
        "options": [{"id": name, "text": name} for name in label_names],
        "accept": [*_preselected(task)],
        **task.keys,
        "meta": {**remarks, **task.shown},
    }


def _preselected(task: Task) -> Sequence[str]:
    return task.opinions[0].labels if task.opinions else ()


_FORMS: Mapping[str, Callable[[Task, Sequence[str]], dict[str, Any]]] = {
    "label-studio": _label_studio,
    "doccano": _doccano,
    "prodigy": _prodigy,
}


@contextmanager
def writing(file: TextIO, tool: str, label_names: Sequence[str]) -> Iterator[Callable[[Task], None]]:
    """Yield a function that writes a task, in ASCII: doccano guesses encodings, and half a character has none."""
    is_array, n_tasks, n_empty, form = ENDINGS[tool] == ".json", count(), 0, _FORMS[tool]

    def write(task: Task) -> None:
        nonlocal n_empty
        n_empty += not task.text
        between = (",\n" if next(n_tasks) else "[\n") if is_array else ""
        text = json.dumps(_console.finite(form(task, label_names)), allow_nan=False)
        file.write(between + text + ("" if is_array else "\n"))

    yield write
    if is_array:
        file.write("\n]\n" if next(n_tasks) else "[]\n")
    if n_empty:
        rows = "1 task has" if n_empty == 1 else f"{n_empty:,} tasks have"
        _console.print_notes([f"{rows} no text, which doccano refuses."])


# What is shown of a row: its texts, and the columns of --id and --show.


class Shown(NamedTuple):
    """The columns that tasks show: those of `text` joined as the text, those of `others` one by one."""

    text: tuple[str, ...]
    others: tuple[str, ...]
    id_column: str | None

    @classmethod
    def of(cls, tool: str, texts: Iterable[str], show: Iterable[str], id_column: str | None) -> Shown:
        """Return the columns; without columns of text, those of --show are the text, or else that of --id."""
        ids = () if id_column is None else (id_column,)
        texts, show = tuple(texts), tuple(name for name in dict.fromkeys(show) if name not in ids)
        text = texts or show or ids
        if not text:
            raise ValueError(f"--format {tool} must have a text to show, got none. Hint: --show COLUMN, or --id.")
        others = tuple(name for name in show if text != (name,) and not (name in text and name == _OBJECT))
        if wrong := [name for name in others if name in _TAKEN]:
            raise ValueError(f"--show must name columns other than the keys of tasks, got {wrong[0]!r}.")
        return cls(text, others, id_column)

    @property
    def options(self) -> dict[str, str]:
        """The columns to read, each with an option for messages."""
        of_id = {} if self.id_column is None else {self.id_column: "--id"}
        return of_id | dict.fromkeys([*self.text, *self.others], "--show") | of_id

    def task(self, keys: Mapping[str, Any], cells: Mapping[str, Any], opinions: Sequence[Opinion]) -> Task:
        """Return the task of a row, from its cells."""
        of_row = {name: "" if cell is None or cell != cell else str(cell) for name, cell in cells.items()}
        text = "\n\n".join(of_row[name] for name in self.text if of_row[name])
        if self.id_column is not None:
            keys = {"row_id": of_row[self.id_column], **keys}
        return Task(keys, text, {name: of_row[name] for name in self.others}, opinions)


def cells_of_rows(arguments: argparse.Namespace, shown: Shown) -> Iterator[dict[str, Any]]:
    """Return the cells of each row of DATA, in some columns, one row after the other."""
    if _data.column_names(arguments.data) is None:
        raise ValueError(f"--format must go with a table as DATA to make tasks of it, got {arguments.data!r}.")
    batches = nearlabel.datasets.tables.column_batches(
        Path(arguments.data), shown.options, decimal=arguments.decimal or "."
    )
    return (dict(zip(batch, row, strict=True)) for batch in batches for row in zip(*batch.values(), strict=True))
