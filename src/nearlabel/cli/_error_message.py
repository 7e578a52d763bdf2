"""Errors of the library as messages of the command line, which name options instead of parameters."""

from __future__ import annotations

import argparse
import csv
import errno
import io
import shlex
from functools import partial
from typing import Any

from nearlabel.utils.messages import ParameterError

# Parameters of the library and the options for them, of which a command has at most one. Parameters that also occur in
# the specification of a method or search, such as `metric` and `thresholds`, keep their names.
_OPTIONS = {
    "categorical": ("categorical",),
    "corrections": ("apply",),
    "cv": ("cv", "validate"),
    "dates": ("date",),
    "decimal": ("decimal",),
    "file": ("figure",),
    "id_column": ("id",),
    "ignore": ("ignore",),
    "labels": ("labels",),
    "labels_column": ("labels_column",),
    "labels_prefix": ("labels_prefix",),
    "labels_separator": ("labels_separator",),
    "method": ("method", "methods"),
    "methods": ("methods", "method"),
    "metrics": ("metrics",),
    "n_cells": ("n",),
    "n_neighbors": ("k",),
    "n_rows": ("rows",),
    "n_workers": ("jobs",),
    "scale": ("scale", "scales"),
    "state": ("state",),
    "text": ("text",),
    "time_limit": ("time_limit",),
    "trusted": ("trusted",),
    "unknown": ("unknown",),
}
_OF_FIT = {"categorical": "fit --categorical", "dates": "fit --date", "text": "fit --text"}  # of hints elsewhere
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def message_of(error: Exception, arguments: argparse.Namespace) -> str:
    """Return the message for an error of a command; that of a file that cannot be opened or written begins with it."""
    if isinstance(error, OSError) and error.strerror:
        file = error.filename
        if file is None and error.errno in _NO_SPACE:  # the system does not name what was written
            file = getattr(arguments, "file", None) or getattr(arguments, "out", None) or "standard output"
        if file is not None:
            return f"{file}: {error.strerror}."
    if isinstance(error, MemoryError) and str(error):
        return f"not enough memory: {error}."
    if isinstance(error, ParameterError):
        return error.message(partial(_show, arguments))
    subject, must, rest = str(error).partition(" must ")  # every message begins with the parameter that must change
    return _option(subject, arguments) + must + rest or "not enough memory."


def _show(arguments: argparse.Namespace, name: str, value: Any) -> str:
    """Return ``--ignore a,b`` for the parameter `ignore` and the value ``["a", "b"]``, as a shell takes it."""
    option = _option(name, arguments)
    if value is None:
        return option
    if option == name:
        option = _OF_FIT.get(name, name)
    if isinstance(value, str):
        return f"{option} {shlex.quote(value)}"
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return f"{option} {shlex.quote(text.getvalue())}"


def _option(parameter: str, arguments: argparse.Namespace) -> str:
    """Return the option of the present command for a parameter, or the parameter if there is no option."""
    options = (option for option in _OPTIONS.get(parameter, ()) if option in arguments)
    return next((f"--{option.replace('_', '-')}" for option in options), parameter)
