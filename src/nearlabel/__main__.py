"""The command ``nearlabel``, also as ``python -m nearlabel``."""

import importlib
import signal
import sys
from typing import NoReturn


def main() -> int:
    """Run the command line and return its exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        code: int = importlib.import_module("nearlabel.cli").main()
    except KeyboardInterrupt:
        sys.stderr.write("nearlabel: interrupted.\n")
        return 130
    return code


def _stop(*_: object) -> NoReturn:
    """End as other errors do, so that no half-written file stays."""
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
