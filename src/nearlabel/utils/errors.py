"""Errors about parameters that another program can show with its own parameter names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class ParameterError(ValueError):
    """A ValueError whose message contains parameter names or settings.

    Most messages begin with the name of the wrong parameter; for these a ValueError is enough. This class is for
    messages that name parameters elsewhere.

    Parameters
    ----------
    template : str
        The message, with ``{name}`` for each parameter and each value.
    parameters : mapping of str to object
        The parameters; None to show the name alone, or else the value that a hint recommends.
    values : mapping of str to object, default={}
        Other values in the template.

    Examples
    --------
    >>> error = ParameterError("x must be a number. Hint: {ignore} skips it.", {"ignore": ["x"]})
    >>> str(error)
    "x must be a number. Hint: ignore=['x'] skips it."
    >>> error.message(lambda name, value: f"--{name} {','.join(value)}")
    'x must be a number. Hint: --ignore x skips it.'
    """

    def __init__(self, template: str, parameters: Mapping[str, Any], values: Mapping[str, object] | None = None):
        self._parts = template, parameters, values or {}
        super().__init__(self.message(_in_python))

    def message(self, show: Callable[[str, Any], str]) -> str:
        """Return the message with ``show(name, value)`` for each parameter."""
        template, parameters, values = self._parts
        return template.format(**values, **{name: show(name, value) for name, value in parameters.items()})

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._parts  # by default exceptions are pickled with their message only


def _in_python(name: str, value: Any) -> str:
    return name if value is None else f"{name}={value!r}"
