"""What a user is told of an error: the names that the library gives to parameters become those of options."""

from __future__ import annotations

import argparse
import ast
import csv
import errno
import io
import re
import shlex
from collections.abc import Mapping

# A parameter of the library, and the arguments of commands that stand for it, of which a command has one at most. What
# may also stand within the specification of a method or a search, as `metric` and `thresholds`, keeps its name.
_ARGUMENTS_OF = {
    "cv": ("cv", "validate"),
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
    "n_neighbors": ("k",),
    "n_rows": ("rows",),
    "n_workers": ("jobs",),
    "path": ("model", "source", "file"),
    "scale": ("scale", "scales"),
    "trusted": ("trusted",),
}
_SUBJECT = re.compile(r"\A(?:one of )?\w+(?:(?:, | and )\w+)*(?= must )")
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_SETTING = re.compile(rf"\b(\w+)=({_QUOTED}|\[{_QUOTED}(?:, {_QUOTED})*\])")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def argument_names(command: argparse.ArgumentParser) -> dict[str, str]:
    """Return by parameter of the library what the user of a command knows it by."""
    shown = {
        action.dest: next((option for option in action.option_strings if option.startswith("--")), str(action.metavar))
        for action in command._actions  # the parser has no public list of them
    }
    return {
        parameter: next(shown[name] for name in arguments if name in shown)
        for parameter, arguments in _ARGUMENTS_OF.items()
        if shown.keys() & set(arguments)
    }


def message_of(error: Exception, arguments: argparse.Namespace) -> str:
    """Return what an error of a command says; of a file that cannot be opened or filled its name comes first."""
    if isinstance(error, OSError) and error.strerror:
        file = error.filename
        if file is None and error.errno in _NO_SPACE:  # what is written goes to --out or to the screen
            file = getattr(arguments, "file", None) or getattr(arguments, "out", None) or "standard output"
        if file is not None:
            return f"{file}: {error.strerror}."
    return _in_arguments(str(error), arguments.names) or "not enough memory."


def _in_arguments(message: str, names: Mapping[str, str]) -> str:
    """Return a message in which parameters, as what must be so or as ``name=value`` in a hint, are arguments."""
    problem, hint, advice = message.partition(" Hint: ")
    problem = _SUBJECT.sub(lambda subject: _words(subject[0], names), problem)
    return problem + hint + _SETTING.sub(lambda setting: _option(setting, names), advice)


def _words(subject: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), subject)


def _option(setting: re.Match[str], names: Mapping[str, str]) -> str:
    """Return ``--ignore a,b`` for ``ignore=['a', 'b']``, as a shell takes it."""
    if setting[1] not in names:
        return setting[0]
    value = ast.literal_eval(setting[2])
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value if isinstance(value, list) else [value])
    return f"{names[setting[1]]} {shlex.quote(text.getvalue())}"
