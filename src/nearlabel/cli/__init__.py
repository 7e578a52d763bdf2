"""The command line: thin commands over the library, one file each.

A command's file has its summary, examples, arguments and work. Help pages import all of them, so none imports
numpy, scikit-learn or a room of the library at the top: ``nearlabel.room.name`` loads a room when it is first used, and
``LOADS`` names the rooms that are loaded before the command starts.

Exit codes: 0 success; 1 broken pipe, or damage that verify found; 2 invalid arguments, options or data, or no room for
the output (one line on standard error names it); 129 hung up; 130 interrupted, also if fit or tune then saved the best
so far; 143 terminated.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import itertools
import logging
import signal
import sys
import threading
import traceback
from collections.abc import Container, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import ModuleType
from typing import Any, NoReturn

import nearlabel
from nearlabel import __version__
from nearlabel.cli import _console, _option_names, _streams
from nearlabel.utils import characters

# The files of the commands, in the order of the help page.
_COMMANDS = {
    name: importlib.import_module(f"nearlabel.cli._{name}")
    for name in (
        "describe", "examine", "audit", "evaluate", "resample", "compare", "fit", "tune", "predict", "explain",
        "suggest", "update", "forget", "serve", "verify", "card", "report", "demo", "reproduce", "versions",
        "completion",
    )
}  # fmt: skip

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Parser(argparse.ArgumentParser):
    """Reports invalid arguments in one line, like every other error."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and store them for `error`."""
        self._words = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """Return the options that begin with a text; two names of one option are not ambiguous."""
        found: list[Any] = super()._get_option_tuples(option_string)
        return found[:1] if len({match[0].dest for match in found}) == 1 else found

    def print_help(self, file: object = None) -> None:
        """Print the help page, or raise OSError: argparse's own method ignores a full disk."""
        _print_out(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Report an error; if a command or option is mistyped, report that: argparse would report a missing one."""
        command = next((word for word in self._words if not word.startswith("-")), None)
        if self._subparsers and command is not None and command not in _COMMANDS:
            self._stop(f"unrecognized command: {command}{_meant(command, _COMMANDS)}")
        words = itertools.takewhile(lambda word: word != "--", self._words)
        unknown = [] if self._subparsers else [word for word in words if _is_option(word) and not self._known(word)]
        if unknown:
            self.refuse(unknown)
        self._stop(message)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Report unknown arguments, and what the first option among them may mean."""
        first = next(filter(_is_option, unknown), None)
        meant = "" if first is None else _option_names.meant(first, _long_options(self), _options_of_commands())
        self._stop(f"unrecognized arguments: {' '.join(unknown)}{meant}")

    def _stop(self, message: str) -> NoReturn:
        self.exit(2, f"nearlabel: {characters.shown(message)}. Hint: {self.prog} --help.\n")

    def _known(self, word: str) -> bool:
        """Return whether an argument is an option or the beginning of one."""
        name = word.partition("=")[0]
        return any(option.startswith(name) for option in self._option_string_actions)


class _Version(argparse.Action):
    """Prints the version, or raises OSError: argparse's own action ignores a full disk."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002 (argparse's name)
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the version and exit."""
        _print_out(f"nearlabel {__version__}\n")
        parser.exit()


def _print_out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _is_option(word: str) -> bool:
    """Return whether an argument looks like an option, such as ``--folds`` or ``-k``, and not like a number."""
    return word.startswith("-") and word.lstrip("-")[:1].isalpha()


def _long_options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for option in parser._option_string_actions if option[:2] == "--"]


def _options_of_commands() -> dict[str, list[str]]:
    """Return the options of each command."""
    (commands,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {name: _long_options(parser) for name, parser in commands.choices.items()}


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.8)
    return f" (did you mean {near[0]}?)" if near else ""


def build_parser(asked: Container[str] = _COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of all commands; only those that are asked for get their arguments."""
    parser = _Parser(
        prog="nearlabel",
        description="Multi-label classification by nearest neighbours.",
        epilog=__doc__.split("\n\n")[2],
    )
    parser.add_argument("--version", action=_Version, help="show program's version number and exit")
    _add_common_options(parser, default=False)
    parser.set_defaults(command=None, parser=parser, needs_rich=True)  # `nearlabel` alone
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=f"{module.SUMMARY.capitalize()}.",
            epilog="\n  ".join([f"example{'s' if len(module.EXAMPLES) > 1 else ''}:", *module.EXAMPLES]),
            formatter_class=argparse.RawDescriptionHelpFormatter,  # keeps an example on one line, to be copied
        )
        if name in asked:
            module.add_arguments(command)
        _add_common_options(command, default=argparse.SUPPRESS)
        command.set_defaults(command=name, parser=command)
    return parser


def _add_common_options(parser: argparse.ArgumentParser, *, default: object) -> None:
    """Add the options that are allowed before or after the command.

    After the command their `default` is SUPPRESS: an option not given there must not reset one given before it.
    """
    group = parser.add_argument_group("global options")
    group.add_argument("--quiet", action="store_true", default=default, help="hide progress bars and advice on data")
    group.add_argument("--debug", action="store_true", default=default, help="show the traceback of an error")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    with _streams.usable_streams():
        try:
            arguments = _parsed(argv)
        except BrokenPipeError:  # a broken pipe: the reader of a help page has ended
            return 1
        except OSError as error:
            return _fail(f"{error.filename}: {error.strerror}.", 2)
        if arguments.command is None:
            return 0
        logging.basicConfig(format="%(message)s", level=logging.WARNING)
        with _console.quietly(arguments.quiet), _console.warnings_in_one_line(arguments):
            return _run(arguments)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments; without a command, print the help."""
    words = sys.argv[1:] if argv is None else argv
    command = next((word for word in words if not word.startswith("-")), "")
    arguments, unknown = build_parser({command}).parse_known_args(words)
    if unknown:
        arguments.parser.refuse(unknown)  # of the command, whose help page lists its options
    if arguments.command is None:
        arguments.parser.print_help()
    return arguments


def _sheet_of(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    """Return the context in which workbooks are read at the sheet of the option."""
    sheet = getattr(arguments, "sheet", None)
    if sheet is None:
        return nullcontext()
    if not str(arguments.data).lower().endswith(".xlsx"):
        raise ValueError(f"--sheet must go with an Excel workbook, got {arguments.data}.")
    return nearlabel.datasets.tables.reading_sheet(sheet)


def _run(arguments: argparse.Namespace) -> int:
    path = [*sys.path]  # a command adds the folder of the user's own code
    try:
        if "check" in arguments:
            arguments.check(arguments)
        if "format" in arguments and arguments.needs_rich:
            _console.check_format(arguments.format)
        command = _loaded(arguments.command)
        with _console.spooled(arguments), _sheet_of(arguments):
            code = command.main(arguments) or 0
        sys.stdout.flush()  # a full disk is found here, where the error becomes a line and an exit code
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        resumes = getattr(arguments, "out", None) is not None
        return _fail("interrupted." + (" The same command resumes." if resumes else ""), _console.INTERRUPTED)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        message = _console.without_folder(_console.message_of(error, arguments), arguments)
        return _fail(message, 2, debug=arguments.debug)
    except Exception as error:  # noqa: BLE001 - bugs, too, are reported in one line
        hint = "Hint: --debug shows the traceback."
        return _fail(f"{type(error).__name__}: {error}. {hint}", 2, debug=arguments.debug)
    finally:
        sys.path[:] = path
    return code


def _loaded(name: str) -> ModuleType:
    """Load the rooms that a command needs, which takes a second; a signal meanwhile ends the process at once.

    As an exception it could come out of a library as a fault of its own.
    """
    handlers = {sign: signal.getsignal(sign) for sign in _ENDING}
    told = {sign: handler for sign, handler in handlers.items() if callable(handler)}  # others are ignored, or end it
    if threading.current_thread() is not threading.main_thread():
        told = {}
    for sign in told:
        signal.signal(sign, signal.SIG_DFL)
    command = _COMMANDS[name]
    try:
        for room in command.LOADS:
            importlib.import_module(f"nearlabel.{room}")
    finally:
        for sign, handler in told.items():
            signal.signal(sign, handler)
    return command


def _fail(message: str, code: int, *, debug: bool = False) -> int:
    if debug:
        with suppress(OSError):  # a full disk behind standard error changes no exit code
            traceback.print_exc()
    _console.print_notes([message])
    return code
