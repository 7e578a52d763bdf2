"""The texts that users see: advice, errors about parameters, progress, and shortened names."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import count
from typing import Any, Self, TypeVar

from nearlabel.utils.characters import escape_line
from nearlabel.utils.memory import free_bytes

Item = TypeVar("Item")


class AdviceWarning(UserWarning):
    """Advice on data, which the command line hides with --quiet."""


@contextmanager
def kept_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of a block, each text once, instead of showing them."""
    kept: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield kept
    by_sentence = {str(w.message): w.message for w in caught if isinstance(w.message, Warning)}
    kept += by_sentence.values()


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Collect the texts of the warnings of a block, each once, instead of showing them."""
    notes: list[str] = []
    with kept_warnings() as kept:
        yield notes
    notes += [str(warning) for warning in kept]


# Warnings with advice on a single fit, which are hidden when many fits are compared.

_OF_ONE_FIT = (
    "formulas='printed' predicts almost no label",  # a comparison shows the effect in its table
    "Far too many labels are predicted",
    ".*which are never neighbours",  # samples without known labels, in every fold
)


@contextmanager
def without_advice() -> Iterator[None]:
    """Ignore warnings with advice for users who fit a single classifier."""
    with warnings.catch_warnings():
        for message in _OF_ONE_FIT:
            warnings.filterwarnings("ignore", message=message)
        yield


_WITHOUT_NOTES = ContextVar("_WITHOUT_NOTES", default=False)


@contextmanager
def without_notes() -> Iterator[None]:
    """Print no notes: those on rows that came from elsewhere."""
    token = _WITHOUT_NOTES.set(True)
    try:
        yield
    finally:
        _WITHOUT_NOTES.reset(token)


def print_notes(notes: Iterable[str]) -> None:
    """Print each note as one line on standard error; a full disk loses the note, and nothing else."""
    for note in () if _WITHOUT_NOTES.get() else notes:
        with suppress(OSError):
            sys.stderr.write(f"nearlabel: {escape_line(' '.join(line.strip() for line in note.splitlines()))}\n")


# Errors about parameters that another program can show with its own parameter names.


class _OfParameters(Exception):  # noqa: N818  # also of warnings
    """A message with the names of parameters, as `ParameterError` describes its arguments."""

    def __init__(self, template: str, parameters: Mapping[str, Any], values: Mapping[str, object] | None = None):
        self._parts = template, parameters, values or {}
        super().__init__(self.message(_in_python))

    def message(self, show: Callable[[str, Any], str]) -> str:
        """Return the message with ``show(name, value)`` for each parameter."""
        template, parameters, values = self._parts
        return template.format(**values, **{name: show(name, value) for name, value in parameters.items()})

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._parts  # by default exceptions are pickled with their message only


class ParameterError(_OfParameters, ValueError):
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


class ParameterWarning(_OfParameters, UserWarning):
    """The same for a warning of a guess, with the parameter that sets another value."""


_OF_COMMANDS = {"row_names": "ignore"}  # parameters for which only commands have an option of their own


def _in_python(name: str, value: Any) -> str:
    name = _OF_COMMANDS.get(name, name)
    return name if value is None else f"{name}={value!r}"


# Errors about memory: a library names an array or nothing; these name the task.


_WORTH_ASKING = 2**26  # bytes; the system is not asked for fewer


class TooLargeError(MemoryError):
    """A MemoryError with the name of the matrix or the file that was too large."""

    @classmethod
    def of(cls, what: str, got: str, hint: str) -> Self:
        """Make the message."""
        return cls(f"{what} must fit into memory, got {got}. Hint: {hint}.")


@contextmanager
def room_for(what: Callable[[], str], hint: str) -> Iterator[None]:
    """Name what needs more memory than there is, in the place of a library's MemoryError in a block.

    >>> with room_for(lambda: sized((10**6, 50_000), "queries", "labels"), "predict fewer"):
    ...     raise MemoryError
    Traceback (most recent call last):
        ...
    nearlabel.utils.messages.TooLargeError: 1,000,000 queries x 50,000 labels (373 GiB) must fit into memory, ...
    """
    try:
        yield
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError.of(what(), "too little of it", hint) from error


def require_room(what: str, shape: Sequence[int], names: Sequence[str], hint: str) -> None:
    """Raise TooLargeError if a matrix of float64, with the names of its sides, is larger than the free memory.

    To be called before the work: many systems promise memory that they do not have, and end a process that uses it.
    """
    n_bytes = 8.0 * math.prod(shape)
    if n_bytes >= _WORTH_ASKING and n_bytes > (free := free_bytes(unknown=sys.maxsize)):
        raise TooLargeError.of(f"{what} of {sized(shape, *names)}", f"{_in_bytes(free)} that are free", hint)


def sized(shape: Sequence[int], *names: str) -> str:
    """Return the lengths of a matrix by their names, and the memory of its numbers in float64."""
    lengths = " x ".join(f"{length:,} {name}" for length, name in zip(shape, names, strict=True))
    return f"{lengths} ({_in_bytes(8.0 * math.prod(shape))})"


def _in_bytes(n_bytes: float) -> str:
    """Return an amount of memory as text."""
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1000:
            break
        n_bytes, unit = n_bytes / 1024, larger
    return f"{n_bytes:.3g} {unit}"


# Progress of searches, of reading files and of runs, reported to a listener.

Listener = Callable[[float], None]
Progress = Callable[[float, float], None]  # called with the finished and the whole work, in parts or seconds

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_clock: ContextVar[Listener | None] = ContextVar("clock", default=None)
current_listener = _listener.get  # None: no one listens


@contextmanager
def listening(listener: Listener | None, clock: Listener | None = None) -> Iterator[None]:
    """Call a function with the finished share, in (0, 1], of each search or file read in the block; None: never.

    The function may be called from any thread. `clock` is called with the estimated seconds left, by work that
    estimates them.
    """
    tokens = _listener.set(listener), _clock.set(clock)
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _clock.reset(tokens[1])


@contextmanager
def as_part(start: float, end: float) -> Iterator[None]:
    """Report the finished share of a block as a part of the whole, from one share of it to another."""
    outer, clock = _listener.get(), _clock.get()
    is_all = (start, end) == (0, 1)
    with listening(outer and (lambda share: outer(start + share * (end - start))), clock if is_all else None):
        yield


def unheard(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items; listeners do not hear the searches in which they are made."""
    iterator = iter(items)
    while True:
        with listening(None):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def tell(share: float) -> None:
    """Report the finished share of the work."""
    listener = _listener.get()
    if listener is not None:
        listener(share)


def is_heard() -> bool:
    """Return whether anyone listens to shares or to the seconds left."""
    return _listener.get() is not None or _clock.get() is not None


def expect(seconds: float) -> None:
    """Report the estimated seconds left."""
    clock = _clock.get()
    if clock is not None:
        clock(seconds)


_stop: ContextVar[Callable[[], bool]] = ContextVar("stop", default=lambda: False)


@contextmanager
def stopping_if(is_asked: Callable[[], bool]) -> Iterator[None]:
    """Let a function end the choices in the block early, which then go on with the best so far."""
    token = _stop.set(is_asked)
    try:
        yield
    finally:
        _stop.reset(token)


def is_asked_to_stop() -> bool:
    """Return whether a choice should go on with the best so far."""
    return _stop.get()()


def counter(listener: Listener, n_tasks: int, start: float, end: float) -> Callable[[], None]:
    """Return a function to call after each of n tasks, from any thread, which are this part of the work."""
    done = count(1)
    return lambda: listener(start + next(done) / n_tasks * (end - start))


# Shortened names.


def shortened(name: object, longest: int) -> str:
    """Remove the middle of a long name: similar names often differ at their end.

    White space, including line ends, becomes one blank.

    Examples
    --------
    >>> shortened("binary relevance", 16), shortened("binary  relevance", 7)
    ('binary relevance', 'bin…nce')
    """
    text = " ".join(str(name).split())
    half = longest // 2
    return text if len(text) <= longest else f"{text[: longest - half - 1]}…{text[len(text) - half :]}"


def first_of(names: Sequence[object], most: int = 3) -> str:
    """Return the first names, in quotes, and how many others there are.

    Examples
    --------
    >>> first_of(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
