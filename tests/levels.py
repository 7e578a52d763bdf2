"""Run the tests of neighbours with all levels of the kernels but the default, and without: ``make test-kernels``.

The ordinary tests run with the default, the fastest.
Fails where a C++ compiler is found but the kernels were not built: slow for no reason that anybody sees.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

from nearlabel.neighbors import kernel_levels
from nearlabel.neighbors.exact.kernels import kernel_in_use, kernels_state

ROOT = Path(__file__).parents[1]
# The first chooses levels itself, the second is about numpy's engine; the others are about other searches.
NOT_AT_EACH_LEVEL = (
    *("kernels", "float32_candidates", "approximate", "dask", "device_search", "torch", "usefulness"),
    *("tables", "table_neighbors", "table_classifier"),
)
IGNORED = [f"--ignore=tests/neighbors/test_{name}.py" for name in NOT_AT_EACH_LEVEL]


def main() -> int:
    """Return 0 if the kernels are built, or cannot be here, and all tests pass at these levels."""
    state = kernels_state()
    print("Kernels:", state)
    if state != "built" and compiler() is not None:
        print("There is a C++ compiler, so they should be. Hint: pip install -v, or python build_kernels.py FOLDER.")
        return 1
    default = kernel_in_use()
    return max((tested(level) for level in kernel_levels() if level != default), default=0)


def compiler() -> list[str] | None:
    """Return the compiler that an installation would use."""
    spec = importlib.util.spec_from_file_location("build_kernels", ROOT / "build_kernels.py")
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    return builder.find_compiler()


def tested(level: str) -> int:
    """Run the tests with a level; return the exit code."""
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--each-value", *IGNORED, *sys.argv[1:], "tests/neighbors"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NEARLABEL_KERNELS": level}, check=False)
    print(f"NEARLABEL_KERNELS={level}: {'passed' if done.returncode == 0 else 'FAILED'} in", end=" ")
    print(f"{time.monotonic() - start:.0f} s", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
