"""The card of a model: metadata in its file that can be read without building the model."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np
import scipy
import sklearn

from nearlabel import __version__
from nearlabel.models import updates, way_to_update
from nearlabel.persistence._data_summary import DataSummary

FORMAT = 5  # version of the file format; increased if an older nearlabel cannot read new files
OLDEST_FORMAT = 4  # of those that can be read
_LONGEST_PARAMETER = 300


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Metadata of a saved model.

    Parameters
    ----------
    format : int
        Version of the file format.
    created : str
        Date and time in ISO 8601.
    versions : dict of str to str
        Versions of nearlabel, numpy, scipy and scikit-learn at the time of saving.
    method : str
        Class of the model, with the classes of its steps or of its classifier in brackets.
    parameters : dict of str to str
        Parameters of the model and of its parts, as text.
    data : DataSummary
        Summary of the training data.
    thresholds : tuple of float, default=None
        Decision threshold of each label, on the scale of `predict_proba`, infinite for a label that is never predicted;
        None for a model without thresholds.
    scores : dict of str to float
        Values of metrics at training time, by name.
    measured : str, default=""
        How the scores were measured.
    foreign_types : tuple of str, default=()
        Types in the file that `load_model` builds only if they are listed in its argument `trusted`.
    notes : str, default=""
        Free text.
    kept : tuple of str, default=()
        Names of the columns of the training data that are saved in the file; `read_kept` returns them.
    changes : ModelChanges, default=None
        Samples and labels that were added or removed since the model was fitted; None without changes.
    guarantee : str, default=""
        The guarantee for new samples of a model with thresholds from `nearlabel.thresholds.RiskControl`.
    updatable : {"yes", "by refit", "no", ""}
        How samples can be added and removed: `nearlabel.models.way_to_update`; empty in older files.
    id_column : str, default=""
        The one of `kept` whose values identify the samples, one sample each; empty if there is none.
    fit_options : str, default=""
        The options of ``nearlabel fit`` that make such a model again; empty for a model made in Python.
    labels_column : tuple of str, default=()
        The columns of the table whose tags are the labels, as ``--labels-column`` names them; empty if unknown.
    journal : int, default=0
        The number of the last change of ``nearlabel serve`` that the file contains.
    lineage : str, default=""
        Names the files that ``nearlabel serve`` has written one after the other, and their journal.

    Examples
    --------
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.persistence import ModelCard
    >>> model = MLkNN(n_neighbors=1).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 1], [1, 1]])
    >>> card = ModelCard.of(model, scores={"micro_f1": 0.9}, measured="leave-one-out")
    >>> card.method, card.parameters["n_neighbors"], card.data.labels
    ('MLkNN', '1', 2)
    """

    format: int
    created: str
    versions: dict[str, str]
    method: str
    parameters: dict[str, str]
    data: DataSummary
    thresholds: tuple[float, ...] | None = None
    scores: dict[str, float]
    measured: str = ""
    foreign_types: tuple[str, ...] = ()
    notes: str = ""
    kept: tuple[str, ...] = ()
    changes: ModelChanges | None = None
    guarantee: str = ""
    updatable: str = ""
    id_column: str = ""
    fit_options: str = ""
    labels_column: tuple[str, ...] = ()
    journal: int = 0
    lineage: str = ""

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        data: Any = None,
        scores: Mapping[str, float] | None = None,
        measured: str = "",
        notes: str = "",
        date: datetime | None = None,
    ) -> Self:
        """Describe a fitted model.

        Parameters
        ----------
        model : fitted estimator
            The model.
        data : Dataset or tuple (X, Y), default=None
            Training data; missing names are taken from the model. None: the facts that are stored in the model.
        scores : mapping of str to float, default=None
            Values of metrics, by name.
        measured : str, default=""
            How the scores were measured.
        notes : str, default=""
            Free text.
        date : datetime, default=None
            Date and time of the model. None: now, in UTC.

        Returns
        -------
        ModelCard
            The card.

        Raises
        ------
        TypeError
            If an argument is of the wrong type.
        ValueError
            If the data are malformed, or not those to which the model was fitted: their number of samples, features or
            labels, or their names, differ.
        """
        known = DataSummary.of_model(model)
        return cls(
            format=FORMAT,
            created=_time(date),
            versions=versions(),
            method=_name(model),
            parameters=_parameters(model),
            data=known if data is None else DataSummary.of_data(data).completed_by(known),
            thresholds=_thresholds(model),
            scores=_scores(scores),
            measured=_text("measured", measured),
            notes=_text("notes", notes),
            changes=ModelChanges.of(model),
            guarantee=getattr(_last_step(model), "promise_", ""),
            updatable=way_to_update(model),
        )

    def to_json(self) -> str:
        """Return the card as standard JSON.

        Returns
        -------
        str
            An object with the fields of the card. The fields from `kept` on and the number of unknown cells are left
            out if empty; numbers that are not finite are strings.
        """
        content = {name: value for name, value in asdict(self).items() if value or name not in _OPTIONAL[ModelCard]}
        if self.data.unknown_cells is None:
            del content["data"]["unknown_cells"]
        return json.dumps(_finite(content), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the JSON that `to_json` wrote.

        Parameters
        ----------
        text : str or bytes
            The JSON.

        Returns
        -------
        ModelCard
            The card.

        Raises
        ------
        ValueError
            If the text is not a card.
        """
        try:
            content = json.loads(text, parse_constant=_refuse_constant)
            number = _read_format(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"text must be the card of a model, got {error}.") from error
        if number > FORMAT:
            raise ValueError(
                f"format must be at most {FORMAT}, got {number}. Hint: a newer nearlabel wrote it, and reads it."
            )
        try:
            card: Self = _record(cls, content)
            return card
        except ValueError as error:
            raise ValueError(f"text must be the whole card of a model, got {error}.") from error


def versions() -> dict[str, str]:
    """Return the versions of the libraries that a model depends on."""
    return {
        "nearlabel": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _time(date: datetime | None) -> str:
    if date is not None and not isinstance(date, datetime):
        raise TypeError(f"date must be a datetime, got {date!r}. Hint: None is now.")
    return (datetime.now(UTC) if date is None else date).isoformat(timespec="seconds")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r} of type {type(value).__name__}.")
    return value


def _scores(scores: Mapping[str, float] | None) -> dict[str, float]:
    if scores is None:
        return {}
    try:
        return {_text("a name in scores", name): float(value) for name, value in scores.items()}
    except (AttributeError, ValueError, TypeError) as error:
        raise TypeError(f"scores must map names of metrics to numbers, got {scores!r}.") from error


def _name(model: Any) -> str:
    """Return the class of a model and of the estimators in it, such as ``Pipeline(StandardScaler, MLkNN)``."""
    inner = [step for _, step in model.steps] if hasattr(model, "steps") else [getattr(model, "estimator", None)]
    names = ", ".join(_name(one) for one in inner if hasattr(one, "get_params"))
    return type(model).__name__ + (f"({names})" if names else "")


def _parameters(model: Any) -> dict[str, str]:
    if not hasattr(model, "get_params"):
        return {}
    parameters = model.get_params()
    return {
        name: _name(value) if hasattr(value, "get_params") else _in_one_line(value)
        for name, value in parameters.items()
        if not (name.rpartition("__")[2] == "steps" or _is_unused(name, parameters))
    }


def _is_unused(name: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether it is the number of neighbours of a search that a method overrides with its own number.

    A transformer computes its graph with the search's number.
    """
    holder, _, last = name.rpartition("__")
    is_of_search = last == "n_neighbors" and holder.rpartition("__")[2] == "search"
    return is_of_search and not hasattr(parameters[holder], "transform")


def _in_one_line(value: object) -> str:
    return textwrap.shorten(repr(value), _LONGEST_PARAMETER, placeholder=" ...")


def _thresholds(model: Any) -> tuple[float, ...] | None:
    """Return the thresholds of a model, or of the last step of a pipeline, on the scale of its probabilities."""
    last = _last_step(model)
    thresholds = getattr(last, "mapped_thresholds_", getattr(last, "thresholds_", None))
    return None if thresholds is None else tuple(np.asarray(thresholds, dtype=np.float64).ravel().tolist())


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name}, which is no JSON")


def _finite(value: Any) -> Any:
    """Return numbers that JSON cannot represent, such as an infinite threshold, as text that `float` reads."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


# Changes of a model's training samples since it was fitted, for its card.


@dataclass(frozen=True, kw_only=True)
class ModelChanges:
    """Samples and labels added or removed since a model was fitted, and settings that are stale since then.

    Parameters
    ----------
    added : int
        Number of samples added.
    forgotten : int
        Number of samples removed.
    new_labels : tuple of str
        Labels added.
    thresholds_stale : bool
        Whether the thresholds were tuned before the last change.
    n_neighbors_stale : bool
        Whether the number of neighbours was tuned before the last change.
    power_stale : bool
        Whether the power of an `MLMLM` was selected before the last change.
    """

    added: int
    forgotten: int
    new_labels: tuple[str, ...]
    thresholds_stale: bool
    n_neighbors_stale: bool
    power_stale: bool = False

    @classmethod
    def of(cls, model: Any) -> ModelChanges | None:
        """Describe the changes of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            Any fitted model.

        Returns
        -------
        ModelChanges or None
            None if the samples have not changed, or cannot change.
        """
        if not updates.can_be_updated(model):
            return None
        part, lazy = updates.updated_part(model), updates.lazy_part(model)
        known = part.changes_
        if not (known["added"] or known["forgotten"] or known["new_labels"]):
            return None
        return cls(
            added=known["added"],
            forgotten=known["forgotten"],
            new_labels=tuple(map(str, known["new_labels"])),
            thresholds_stale=getattr(part, "thresholds_stale_", getattr(lazy, "power_stale_", False)),
            n_neighbors_stale=getattr(lazy, "n_neighbors_stale_", False),
            power_stale=getattr(lazy, "power_stale_", False),
        )


# Read a card from untrusted JSON: the dataclasses declare the type of each field.

_OPTIONAL: Mapping[type, Mapping[str, Any]] = {  # fields that are left out if empty, or that older files lack
    ModelCard: {
        "kept": [],
        "changes": None,
        "guarantee": "",
        "updatable": "",
        "id_column": "",
        "fit_options": "",
        "labels_column": [],
        "journal": 0,
        "lineage": "",
    },
    DataSummary: {"label_counts": None, "unknown_cells": None},
    ModelChanges: {"power_stale": False},
}
_NOT_FINITE = ("inf", "-inf", "nan")


def _read_format(content: Any) -> int:
    """Return the format version, which is read first, since the other fields depend on it."""
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError("what has no format number")
    number: int = _named("format", int, content["format"])
    return number


def _named(name: str, kind: Any, value: Any) -> Any:
    try:
        return _read(kind, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _read(kind: Any, value: Any) -> Any:
    """Return JSON as a value of this type; raise a ValueError that describes the first invalid part."""
    if is_dataclass(kind):
        return _record(kind, value)
    inner = get_args(kind)
    if isinstance(kind, UnionType):  # the other type is None
        return None if value is None else _read(inner[0], value)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError("no list")
        return tuple(_read(inner[0], one) for one in value)
    if get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise ValueError("no table")
        return {name: _read(inner[1], one) for name, one in value.items()}
    return _number(value) if kind is float else _scalar(kind, value)


def _record(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("no table of fields")
    value, kinds = {**_OPTIONAL.get(kind, {}), **value}, get_type_hints(kind)
    if value.keys() != kinds.keys():
        raise ValueError(f"fields that lack or exceed: {', '.join(sorted(value.keys() ^ kinds.keys()))[:200]}")
    record = kind(**{name: _named(name, of_field, value[name]) for name, of_field in kinds.items()})
    if kind is DataSummary:
        _check_lengths(record)
    return record


def _check_lengths(summary: DataSummary) -> None:
    for each, number, what in (
        (summary.feature_names, summary.features, "names"),
        (summary.label_names, summary.labels, "names"),
        (summary.label_counts, summary.labels, "counts"),
    ):
        if each is not None and number is not None and len(each) != number:
            raise ValueError(f"{len(each)} {what} of {number}")


def _scalar(kind: Any, value: Any) -> Any:
    """Return a text, a truth value or a whole number from 0."""
    if type(value) is not kind or (kind is int and value < 0):  # True is not a number
        raise ValueError({str: "no text", bool: "neither true nor false", int: "no whole number from 0"}[kind])
    return value


def _number(value: Any) -> float:
    """Read a number, or the text of a number that JSON cannot represent."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise ValueError("no number")
    return float(value)
