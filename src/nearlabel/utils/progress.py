"""How far long work is: a bar in a notebook or a terminal, a few lines elsewhere, of commands and of Python's calls.

One bar is shown at a time: within another one, and where progress is hidden, nothing is. What long work reports
(`nearlabel.utils.messages.tell`) moves the bar.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from nearlabel.utils.characters import escape_line, escape_markup
from nearlabel.utils.messages import Progress, is_heard, listening, print_notes
from nearlabel.utils.naming import import_optional

PATIENCE = 10.0  # seconds without a word, except for a bar of a command in a terminal
_REDRAWN_EVERY = 0.2  # seconds, in a notebook
_RICH = {"extra": "cli", "purpose": "A progress bar"}
_HIDDEN = ContextVar("_HIDDEN", default=False)


@contextmanager
def hiding_progress(hidden: bool = True) -> Iterator[None]:
    """Show no progress of the work in a block, if `hidden`."""
    token = _HIDDEN.set(hidden or _HIDDEN.get())
    try:
        yield
    finally:
        _HIDDEN.reset(token)


@contextmanager
def progress_bar(what: str, *, patience: float = 0.0) -> Iterator[Progress]:
    """Show the progress of a block and the time left; in a terminal on standard error, after some seconds of patience.

    The block calls the function that it gets with the finished and the whole work.
    """
    if _HIDDEN.get() or sys.stderr is None:  # a program without a console has none
        with listening(None):  # the outer bar must not show the end of an inner part
            yield lambda done, total: None
        return
    shown = _view(what, patience)
    bar = _Bar(shown.show)
    try:
        with listening(bar.hear, shown.expect), hiding_progress():
            yield bar.tell
    finally:
        shown.close()


@contextmanager
def reported(what: str, verbose: int) -> Iterator[Progress]:
    """The same for a call with the argument `verbose`: after ten seconds, and unless somebody listens already."""
    if verbose and not is_heard():
        with progress_bar(what, patience=PATIENCE) as tell:
            yield tell
    else:
        with hiding_progress(not verbose):
            yield lambda done, total: None


class _Bar:
    """A progress bar over parts of the work; the current part counts by the search or reading that is farthest."""

    def __init__(self, show: Callable[..., Any]) -> None:
        self._show = show
        self._done, self._total, self._share = 0.0, 1.0, 0.0

    def tell(self, done: float, total: float) -> None:
        """Show the finished and the whole work."""
        self._done, self._total, self._share = done, total, 0.0
        self._show(completed=done, total=total)

    def hear(self, share: float) -> None:
        """Show the progress of a search or a reading in the present part, which has other work after it."""
        self._share = max(self._share, 0.99 * share)
        self._show(completed=min(self._done + self._share, self._total), total=self._total)


# What is shown where.


class _View(Protocol):
    """A place to show progress."""

    def show(self, completed: float, total: float) -> None:
        """Show how much is finished."""

    def expect(self, seconds: float) -> None:
        """Take the work's own estimate of the seconds left."""

    def close(self) -> None:
        """End."""


def _view(what: str, patience: float) -> _View:
    """Return what suits the place: a bar of IPython or rich if they are here, else lines."""
    if _is_notebook():
        return _InNotebook(what)
    if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
        return _InTerminal(what, patience)
    return _Lines(what)


def _is_notebook() -> bool:
    """Return whether a kernel of Jupyter runs this program: it has loaded IPython."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")


def _after(seconds: float, call: Callable[[], None]) -> threading.Timer:
    """Call a function after some seconds, if the work continues: its next report may be far."""
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), call)
    timer.daemon = True
    timer.start()
    return timer


class _Lines:
    """Progress where there is no terminal: a line after ten seconds, and ever more rarely in long work."""

    def __init__(self, what: str) -> None:
        self._what, self._begin, self._next = what, time.monotonic(), PATIENCE
        self._reported, self._lock = (0.0, 1.0), threading.Lock()
        self._timer = _after(PATIENCE, lambda: self.show(*self._reported))

    def show(self, completed: float, total: float) -> None:
        """Print how much is finished, if it is time to."""
        with self._lock:
            self._reported = completed, total
            seconds = time.monotonic() - self._begin
            if 0 < completed < total and self._is_time(seconds):
                left = dt.timedelta(seconds=math.ceil(seconds * (total - completed) / completed))
                share = completed / total
                self._draw(f"{self._what}: {100 * share:.0f} % after {seconds:.0f} s, about {left} left.", share)

    def expect(self, seconds: float) -> None:
        """Nothing: the line estimates by the time so far."""

    def close(self) -> None:
        """End; lines stay."""
        self._timer.cancel()
        self._timer.join()

    def _is_time(self, seconds: float) -> bool:
        """Return whether to draw after some seconds, and wait twice as long for the next time."""
        if seconds < self._next:
            return False
        self._next = 2 * seconds
        return True

    def _draw(self, line: str, share: float) -> None:
        print_notes([line])


class _InNotebook(_Lines):
    """A bar below a notebook's cell, from the tenth second on; at the end it gives way to the time that it took."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._handle: Any = None

    def close(self) -> None:
        """Replace the bar by the time."""
        super().close()
        if self._handle is not None:
            line = f"{self._what}: {time.monotonic() - self._begin:.0f} s."
            self._handle.update({"text/plain": line, "text/html": escape_markup(line)}, raw=True)

    def _is_time(self, seconds: float) -> bool:
        if seconds < self._next:
            return False
        self._next = seconds + _REDRAWN_EVERY
        return True

    def _draw(self, line: str, share: float) -> None:
        bar = f'<progress max="100" value="{100 * share:.0f}"></progress> {escape_markup(line)}'
        bundle = {"text/plain": line, "text/html": bar}
        if self._handle is None:
            display = import_optional("IPython.display", extra="docs", purpose="A bar in a notebook").display
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


class _InTerminal:
    """A bar of rich that is erased at the end."""

    def __init__(self, what: str, patience: float) -> None:
        progress_module = import_optional("rich.progress", **_RICH)
        escape = import_optional("rich.markup", **_RICH).escape
        console, left = import_optional("rich.console", **_RICH).Console(stderr=True), time_left_column(progress_module)
        columns = (*progress_module.Progress.get_default_columns()[:-1], left)
        self._bars, self.expect = progress_module.Progress(*columns, console=console, transient=True), left.expect
        self._task = self._bars.add_task(escape(escape_line(what)), total=None)
        self._timer = _after(patience, self._bars.start) if patience else None
        if not patience:
            self._bars.start()

    def show(self, completed: float, total: float) -> None:
        """Move the bar."""
        self._bars.update(self._task, completed=completed, total=total)

    def close(self) -> None:
        """Erase the bar, if it was drawn."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._bars.live.is_started:
            self._bars.stop()


def time_left_column(progress_module: Any) -> Any:
    """Return rich's column of the remaining time, or of the work's own estimate, which runs down until the next one.

    rich extrapolates the pace of the last half minute. In a long run no part may end in that time, and parts differ.
    """
    text = import_optional("rich.text", **_RICH).Text

    class TimeLeft(progress_module.TimeRemainingColumn):
        end: float | None = None

        def expect(self, seconds: float) -> None:
            self.end = time.monotonic() + seconds

        def render(self, task: Any) -> Any:
            if self.end is None:
                return super().render(task)
            left = dt.timedelta(seconds=math.ceil(max(self.end - time.monotonic(), 0.0)))
            return text(f"{left} left", style="progress.remaining")

    return TimeLeft()
