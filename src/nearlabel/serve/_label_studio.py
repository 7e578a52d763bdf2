"""The routes of a machine-learning backend of Label Studio: predictions of its tasks, and its annotations as samples.

The bodies are those that Label Studio 1.23 sends (`ml/api_connector.py` and `webhooks/` of its source), which has more
keys than are read here. An annotation becomes the sample ``ls-<project>-<task>-<annotation>``: of one that is deleted,
the tool sends the number only.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from nearlabel.audit import CONTROL, chosen
from nearlabel.cli import _tasks
from nearlabel.models import explains
from nearlabel.serve import _answers as answers
from nearlabel.serve import _shapes as shapes
from nearlabel.serve._live import Changed, LiveModel, State

_MOST_CONFIG = 2**20  # characters of a labelling configuration
_MOST_ORDERED = 4_000  # tasks that are compared with each other; more come last
_SAMPLE = re.compile(r"ls-(\d+)-(\d+)-(\d+)", re.ASCII)  # project, task, annotation
_SUBMITTED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
# Of deletions: which part of a sample's id is the number, and the key of the body with the numbers.
_DELETED = {"ANNOTATIONS_DELETED": (3, "annotations"), "TASKS_DELETED": (2, "tasks")}


def routes(app: Any, name: str) -> APIRouter:
    """Return the routes of a model, below ``/label-studio``."""
    router, model = APIRouter(prefix="/label-studio", include_in_schema=False), app.served[name]

    @router.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "UP", "model_class": name}

    @router.post("/setup")
    async def setup(request: Request) -> JSONResponse:
        """Check that the model fits the project; Label Studio predicts a task again if the version has changed."""
        given = await app.body_of(request, shapes.SetupRequest)

        def fitting() -> JSONResponse:
            state = model.state
            Config.read(given.label_config)
            if model.is_updatable:
                _id_column(state)
            return JSONResponse({"model_version": f"{name} {state.version}"})

        answer: JSONResponse = await app.computed(fitting)
        return answer

    @router.post("/predict")
    async def predict(request: Request) -> JSONResponse:
        given = await app.body_of(request, shapes.TasksRequest)

        def asked() -> tuple[Config, Any, bool]:
            state, config = model.state, Config.read(given.label_config)
            rows = {"rows": [_cells(state, config, task.data) for task in given.tasks]}
            X = answers.rows_of(state, shapes.RowsRequest.model_validate(rows))
            return config, X, explains(state.opened.model)

        def answered() -> JSONResponse:
            places = _places(found.state, X) if explain and X.shape[0] > 1 else None
            results = _predictions(name, config, str(given.project).partition(".")[0], found, places)
            return JSONResponse({"results": results, "model_version": f"{name} {found.state.version}"})

        config, X, explain = await app.computed(asked)
        found = await app.in_time(app.batches[name].ask(X, explain=explain))
        app.metrics.see_rows(name, X.shape[0])
        answer: JSONResponse = await app.computed(answered)
        return answer

    @router.post("/webhook")
    async def webhook(request: Request) -> JSONResponse:
        """Make the change that an event is; others change nothing."""
        given = await app.body_of(request, shapes.Event)
        now = await app.changed(_changed, model, given)
        return JSONResponse({"model_version": f"{name} {now.version}"})

    return router


# The labelling configuration: XML, of which one control of choices and its object are read.


class _Tree(ET.TreeBuilder):
    """Elements without a document type, which could declare entities."""

    def doctype(self, *_: object) -> None:
        """Refuse it."""
        raise ValueError("label_config must be XML without a document type, got one.")


class Config(NamedTuple):
    """A control of choices, the object that it is for, and the field of the tasks' data that this object shows."""

    control: str
    shown: str
    field: str
    choices: frozenset[str]  # none: they come with the tasks
    is_single: bool

    @classmethod
    def read(cls, text: str) -> Config:
        """Return the control of a labelling configuration; raise ValueError if it has none of choices."""
        if len(text) > _MOST_CONFIG:
            raise ValueError(f"label_config must have at most {_MOST_CONFIG} characters, got {len(text)}.")
        parser = ET.XMLParser(target=_Tree())
        try:
            parser.feed(text)
            root = parser.close()
        except ET.ParseError as error:
            raise ValueError(f"label_config must be XML, got: {error}.") from error
        controls = {one.get("name", ""): one for one in root.iter("Choices")}
        if len(controls) != 1 and CONTROL not in controls:
            got = " and ".join(map(repr, controls)) or "none"
            raise ValueError(f"label_config must have one control Choices, or one named {CONTROL!r}, got {got}.")
        name = CONTROL if CONTROL in controls else next(iter(controls))
        control = controls[name]
        shown = control.get("toName", "").partition(",")[0].strip()
        fields = [one.get("value", "") for one in root.iter() if one.get("name") == shown and one is not control]
        if not fields or not fields[0].startswith("$"):
            raise ValueError(f"label_config must have the object {shown!r} of {name!r}, with value='$field'.")
        known = [] if "value" in control.attrib else control.iter("Choice")
        choices = frozenset(one.get("alias") or one.get("value") or "" for one in known)
        return cls(name, shown, fields[0][1:], choices, control.get("choice", "single") != "multiple")


def _cells(state: State, config: Config, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a task: its data, and those of the table that is shown."""
    shown = data.get(config.field)
    cells = {name: value for name, value in data.items() if not isinstance(value, dict)}
    cells |= shown if isinstance(shown, dict) else {}
    columns = answers.text_columns(state)
    if len(columns) == 1 and isinstance(shown, str):
        cells.setdefault(columns[0], shown)
    kinds = state.opened.matching.kinds
    for at, name in enumerate(state.opened.feature_names):
        if isinstance(cells.get(name), str) and (not kinds or kinds[at] == "number"):
            cells[name] = _number(cells[name])
    return cells


def _number(text: str) -> float | str | None:
    """Return a number that a table of the tool has as text, None for a blank; others stay, to be refused."""
    try:
        number = float(text) if text.strip() else None
    except ValueError:
        return text
    return number if number is None or isfinite(number) else text


# Predictions


def _places(state: State, X: Any) -> Sequence[float]:
    """Return the place of each task in the order of `suggest`, from 0 to 1: Label Studio takes the lowest first."""
    n_rows = X.shape[0]
    found = answers.suggestions(state, X, n=min(n_rows, _MOST_ORDERED), purpose="labels")
    places = np.ones(n_rows)
    places[[one["row"] for one in found]] = np.arange(len(found)) / n_rows
    return [float(place) for place in places]


def _predictions(
    name: str, config: Config, project: str, found: answers.Answered, places: Sequence[float] | None
) -> list[dict[str, Any]]:
    """Return a prediction for each task.

    Its score is the place in the order; for a single task the mean score of its labels, which that of its result
    always is.
    """
    made = []
    for row, one in enumerate(answers.predictions(found, top=None, proba=False)):
        scores = {label: one["scores"][label] for label in one["labels"]}
        shown = {label: score for label, score in scores.items() if not config.choices or label in config.choices}
        if config.is_single and shown:
            best = max(shown, key=lambda label: -1.0 if shown[label] is None else shown[label])
            shown = {best: shown[best]}
        certainty = _mean(shown.values())
        opinion = _tasks.Opinion(name, [*shown], certainty if places is None else places[row])
        prediction = _tasks.label_studio_prediction(opinion, config.control, config.shown)
        neighbors = _neighbors(found, row, project)
        for result in prediction["result"]:
            result |= {} if certainty is None else {"score": certainty}
            result["meta"] = {"text": _remarks(scores, neighbors, f"{name} {found.state.version}")}
        made.append(prediction | {"neighbors": neighbors})
    return made


def _mean(scores: Any) -> float | None:
    """Return the mean of scores, if they are between 0 and 1, as those of Label Studio."""
    scores = list(scores)
    if not scores or not all(score is not None and 0 <= score <= 1 for score in scores):
        return None
    return float(np.mean(scores))


def _neighbors(found: answers.Answered, row: int, project: str) -> list[int | str]:
    """Return the neighbours, nearest first: numbers of the project's tasks, ids of other samples."""
    if not found.explanations:
        return []
    card, kept = found.state.file.card, found.state.file.kept
    numbers = found.explanations[row].neighbors["row"].tolist()
    ids = kept[card.id_column] if card.id_column else ()
    names = [ids[number] if ids else f"row {number}" for number in numbers]
    samples = [_SAMPLE.fullmatch(name) for name in names]
    return [
        int(sample[2]) if sample and sample[1] == project else name for name, sample in zip(names, samples, strict=True)
    ]


def _remarks(scores: Mapping[str, float | None], neighbors: Sequence[int | str], version: str) -> list[str]:
    """Return what the tool shows with a result: also labels that the project has no choice for."""
    labels = ", ".join(label if score is None else f"{label} {score:.2f}" for label, score in scores.items())
    named = ", ".join(f"task {one}" if isinstance(one, int) else one for one in neighbors)
    return [f"scores: {labels}", *([f"neighbours: {named}"] if named else []), f"model: {version}"]


# Annotations


def _changed(model: LiveModel, given: shapes.Event) -> Changed:
    """Make the change of an event, on disk when this returns; one that is repeated changes nothing."""
    if given.action in _DELETED:
        place, numbered = _DELETED[given.action]
        return _forgotten(model, given.project, place, {one.id for one in getattr(given, numbered)})
    now = model.state.answer
    if given.action not in _SUBMITTED:
        return now
    if given.project is None:
        raise ValueError(f"project must come with {given.action}, got none. Hint: the webhook must send its payload.")
    tasks = {task.id: task for task in _listed(given.task)}
    for annotation in _listed(given.annotation):
        task = tasks.get(annotation.task) if annotation.task is not None else next(iter(tasks.values()), None)
        if task is None:
            raise ValueError(f"task must be that of the annotation {annotation.id}, got {[*tasks] or 'none'}.")
        if annotation.was_cancelled:
            now = _forgotten(model, given.project, 3, {annotation.id})
        else:
            now = _submitted(model, given.project, task, annotation)
    return now


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _submitted(model: LiveModel, project: shapes.Project, task: shapes.Task, annotation: shapes.Annotation) -> Changed:
    """Add the sample of an annotation, in place of those of earlier annotations of the task."""
    state, config, of_task = model.state, Config.read(project.label_config), f"ls-{project.id}-{task.id}-"
    results = [one for one in annotation.result or [] if isinstance(one, dict)]
    labels = chosen("annotation", [one for one in results if one.get("from_name") == config.control])
    cells, column = _cells(state, config, task.data), "labels"
    while column in cells or column in state.opened.feature_names:
        column += "_"
    sample = f"{of_task}{annotation.id}"
    tags = dict.fromkeys(sorted(labels), True)  # in a list, 0, 1 and None could be answers to labels without names
    row = cells | {_id_column(state): sample, column: tags}
    key = f"{sample} {annotation.updated_at}" if annotation.updated_at else ""
    return model.update([row], "replace", key, labels_column=column, instead_of=of_task)


def _forgotten(model: LiveModel, project: shapes.Project | None, place: int, numbers: set[int]) -> Changed:
    """Remove the samples of annotations, or of tasks, which may have none."""
    state, gone = model.state, []
    for name in state.file.kept[_id_column(state)]:
        sample = _SAMPLE.fullmatch(name)
        if sample and int(sample[place]) in numbers and (project is None or int(sample[1]) == project.id):
            gone.append(name)
    return model.forget(gone) if gone else state.answer


def _id_column(state: State) -> str:
    """Return the column of ids; raise ValueError if the model has none."""
    column = state.file.card.id_column
    if not column:
        raise ValueError("the model must have ids to learn from annotations, got one without. Hint: fit with --id.")
    return column
