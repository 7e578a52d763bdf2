"""The command ``nearlabel``, also as ``python -m nearlabel``."""

import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> int:
    """Run the command line and return its exit code."""
    _open_closed_descriptors()
    for sign in _ENDING:
        if signal.getsignal(sign) is signal.SIG_DFL:  # nohup, for one, ignores SIGHUP, and so it stays
            signal.signal(sign, _stop)
    try:
        code: int = importlib.import_module("nearlabel.cli").main()
    except KeyboardInterrupt:
        with suppress(OSError, AttributeError):  # standard error may be full, or closed
            sys.stderr.write("nearlabel: interrupted.\n")
        return 130
    return code


def _open_closed_descriptors() -> None:
    """Open the null device where standard streams are closed: else a file gets their number, and what others print."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        os.set_inheritable(descriptor, True)
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _stop(number: int, _: object) -> NoReturn:
    """End as other errors do, so that no half-written file stays, and let nothing end that."""
    for sign in _ENDING:
        signal.signal(sign, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
