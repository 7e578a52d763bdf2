"""The shapes of requests and answers, version 1: as pydantic checks them, and as OpenAPI shows them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

VERSION = "1"


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RowsRequest(_Request):
    """Rows without labels: exactly one of the three."""

    rows: list[dict[str, Any]] | None = Field(None, description="an object for each row, with the table's columns")
    texts: list[StrictStr] | None = Field(None, description="a text for each row, for a model with one text column")
    arrays: list[list[Any]] | None = Field(None, description="the features of each row, in the order of the model")


class PredictRequest(RowsRequest):
    """Rows to predict."""

    top: StrictInt | None = Field(None, ge=1, description="scores of the best labels, and not of the predicted ones")
    proba: StrictBool = Field(False, description="scores of all labels")
    explain: StrictBool = Field(False, description="the neighbours and their votes, too")


class UpdateRequest(_Request):
    """Rows with their labels, as `nearlabel update` reads them."""

    rows: list[dict[str, Any]] = Field(min_length=1)
    existing: Literal["raise", "skip", "replace", "add"] = Field("raise", description="what happens to known ids")


class ForgetRequest(_Request):
    """Samples to remove."""

    ids: list[StrictStr] = Field(min_length=1)


class RelabelRequest(_Request):
    """Labels of a sample of the model to change; its features stay unchanged."""

    id: StrictStr
    labels: dict[str, StrictBool] = Field(min_length=1, description="whether each applies; the others stay")


class SuggestRequest(RowsRequest):
    """Rows without labels, of which the best to label next are wanted."""

    n: StrictInt = Field(20, ge=1)
    purpose: Literal["labels", "review"] = Field("labels", description="to label next, or predictions to check")


class AuditRequest(_Request):
    """Suspects among the training samples."""

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
