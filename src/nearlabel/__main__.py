"""The command ``nearlabel``, also as ``python -m nearlabel``."""

import importlib
import signal
import sys
from types import ModuleType
from typing import NoReturn


def main() -> int:
    """Run the command line and return its exit code."""
    cli = _imported()
    signal.signal(signal.SIGTERM, _stop)
    try:
        code: int = cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("nearlabel: interrupted.\n")
        return 130
    return code


def _imported() -> ModuleType:
    """Import the command line, which takes a second; whoever interrupts that ends the process at once.

    As an exception an interruption could come out of a library as a fault of its own.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # and not ignored, as in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    cli = importlib.import_module("nearlabel.cli")
    signal.signal(signal.SIGINT, handler)
    return cli


def _stop(*_: object) -> NoReturn:
    """End as other errors do, so that no half-written file stays."""
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
