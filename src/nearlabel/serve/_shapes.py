"""The shapes of requests and answers, version 1: as pydantic checks them, and as OpenAPI shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr

VERSION = "1"


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _listed(texts: Any) -> Any:
    """Return a text as a list: the templates of doccano replace the values of objects only."""
    return [texts] if isinstance(texts, str) else texts


def _with_example(**body: Any) -> ConfigDict:
    """Return the configuration of a request with an example for OpenAPI."""
    return ConfigDict(json_schema_extra={"examples": [body]})


_Texts = Annotated[list[StrictStr] | None, BeforeValidator(_listed, json_schema_input_type=list[str] | str | None)]

_Id = Annotated[StrictStr, Field(min_length=1)]  # samples without an id have a blank one


class RowsRequest(_Request):
    """Rows without labels: exactly one of the three."""

    rows: list[dict[str, Any]] | None = Field(None, description="an object for each row, with the table's columns")
    texts: _Texts = Field(None, description="a text for each row, or one text, for a model with one text column")
    arrays: list[list[Any]] | None = Field(None, description="the features of each row, in the order of the model")


class PredictRequest(RowsRequest):
    """Rows to predict."""

    model_config = _with_example(rows=[{"text": "I forgot my password"}], top=3)

    top: StrictInt | None = Field(None, ge=1, description="scores of the best labels, and not of the predicted ones")
    proba: StrictBool = Field(False, description="scores of all labels")
    explain: StrictBool = Field(False, description="the neighbours and their votes, too")


class UpdateRequest(_Request):
    """Rows with their labels, as `nearlabel update` reads them."""

    model_config = _with_example(rows=[{"id": "T9001", "text": "I forgot my password", "tags": ["login"]}])

    rows: list[dict[str, Any]] = Field(min_length=1)
    existing: Literal["raise", "skip", "replace", "add"] = Field("raise", description="what happens to known ids")


class ForgetRequest(_Request):
    """Samples to remove."""

    model_config = _with_example(ids=["T9001"])

    ids: list[_Id] = Field(min_length=1)


class RelabelRequest(_Request):
    """Labels of a sample of the model to change; its features stay unchanged."""

    model_config = _with_example(id="T9001", labels={"login": True, "billing": False})

    id: _Id
    labels: dict[str, StrictBool] = Field(min_length=1, description="whether each applies; the others stay")


class SuggestRequest(RowsRequest):
    """Rows without labels, of which the best to label next are wanted."""

    model_config = _with_example(rows=[{"text": "I forgot my password"}, {"text": "Wrong invoice"}], n=1)

    n: StrictInt = Field(20, ge=1)
    purpose: Literal["labels", "review"] = Field("labels", description="to label next, or predictions to check")


class AuditRequest(_Request):
    """Suspects among the training samples."""

    model_config = _with_example(n=20)

    n: StrictInt = Field(20, ge=1)


class ModelFacts(BaseModel):
    """The model that answered; the version is the number of its last change."""

    name: str
    version: int
    samples: int


class Prediction(BaseModel):
    """The labels of a row; scores by label."""

    labels: list[str]
    scores: dict[str, float | None]
    explanation: dict[str, Any] | None = None


class PredictAnswer(BaseModel):
    """The answer of /predict and /explain."""

    predictions: list[Prediction]
    model: ModelFacts


class ChangeAnswer(BaseModel):
    """The answer of /update, /relabel and /forget: the change is on disk."""

    model: ModelFacts


class ListAnswer(BaseModel):
    """The answer of /suggest, /audit and /corrections."""

    items: list[dict[str, Any]]
    model: ModelFacts


class Problem(BaseModel):
    """What is wrong with a request (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


# What Label Studio sends; of its many keys, those that are read.


class Numbered(BaseModel):
    """Anything with a number."""

    id: StrictInt = Field(ge=0)


class Task(Numbered):
    """A task with its data."""

    data: dict[str, Any]


class Project(Numbered):
    """The project of an event."""

    label_config: StrictStr = ""


class Annotation(Numbered):
    """The answer of an annotator."""

    result: list[Any] | None = None
    was_cancelled: bool = False
    updated_at: StrictStr = ""
    task: StrictInt | None = None


class SetupRequest(BaseModel):
    """A project that uses the model: its number, with a time after a point."""

    project: StrictStr | StrictInt
    label_config: StrictStr = Field(alias="schema")


class TasksRequest(BaseModel):
    """Tasks to predict."""

    tasks: list[Task] = Field(min_length=1)
    project: StrictStr | StrictInt
    label_config: StrictStr


class Event(BaseModel):
    """An event: one or several annotations with their tasks, or the numbers of those that were deleted."""

    action: StrictStr
    project: Project | None = None
    annotation: Annotation | list[Annotation] = Field(default_factory=list)
    task: Task | list[Task] = Field(default_factory=list)
    annotations: list[Numbered] = Field(default_factory=list)
    tasks: list[Numbered] = Field(default_factory=list)
