"""Checks of the fields of a `plan.json` that readers of records need, since a file may be untrusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_MOST_FOLDS = 1_000_000


def check_plan(plan: Mapping[str, Any], file: Path) -> None:
    """Raise ValueError unless a plan has the fields that readers of its records need."""
    if not isinstance(plan.get("problems"), dict):
        raise ValueError(f"{file} must be a plan that nearlabel wrote, got one without problems.")
    for name, (is_right, expected) in _FIELDS.items():
        if name in plan and not is_right(plan[name]):
            raise ValueError(f"{file} must be a plan that nearlabel wrote, with {expected} as {name}, got another.")
    missing = [name for name in ("methods", *(() if "n_parts" in plan else ("cv", "seeds"))) if name not in plan]
    if missing:
        raise ValueError(f"{file} must be a plan that nearlabel wrote, got one without {', '.join(missing)}.")
    if "seeds" in plan and len(plan["seeds"]) * plan.get("cv", 1) > _MOST_FOLDS:
        raise ValueError(f"{file} must be a plan of at most {_MOST_FOLDS:,} folds, got more.")


def _is_number_of_folds(value: object) -> bool:
    return type(value) is int and 1 <= value <= _MOST_FOLDS


def _is_text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_texts_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _are_seeds(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_FOLDS and all(type(each) is int for each in value)


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "problems": (_are_texts_by_name, "digests"),
    "methods": (_are_texts, "a list of names"),
    "cv": (_is_number_of_folds, f"a number of folds up to {_MOST_FOLDS:,}"),
    "n_parts": (_is_number_of_folds, f"a number of folds up to {_MOST_FOLDS:,}"),
    "first_folds": (lambda value: value is None or _is_number_of_folds(value), "a number of folds or null"),
    "seeds": (_are_seeds, "a list of numbers"),
    "scale": (_is_text_or_null, "a name or null"),
    "impute": (_is_text_or_null, "a name or null"),
    "stratify": (lambda value: value is None or type(value) is int, "an order or null"),
    "kinds": (lambda value: isinstance(value, dict) and all(map(_are_texts_by_name, value.values())), "kinds"),
}
