"""Run the tests of the kernels under AddressSanitizer and UndefinedBehaviorSanitizer: ``make sanitize``.

All levels that the processor runs, and bf16 by the emulation of its tiles. A report of a sanitizer ends the program.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
TESTS = """
import sys
from pathlib import Path
from nearlabel.neighbors.exact import kernels as _kernels
_kernels.LIBRARY = Path(sys.argv[1])
assert "bf16" in _kernels.level_numbers()
import pytest
of_neighbors = ["neighbors/test_kernels.py", "neighbors/test_sparse_kernel.py"]
tests = [*of_neighbors, "rivals/test_boosting.py", "lazy/test_left_out_kernel.py"]
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *(f"tests/{test}" for test in tests)]))
"""


def main() -> int:
    """Build with sanitizers and run; return the exit code of the tests."""
    spec = importlib.util.spec_from_file_location("build_kernels", ROOT / "build_kernels.py")
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    with tempfile.TemporaryDirectory() as folder:
        library = builder.build(Path(folder), flags=FLAGS, emulate_tiles=True)
        if library is None:
            return 1
        names = ("libasan.so", "libubsan.so")
        runtimes = [
            subprocess.check_output([*builder.find_compiler(), f"-print-file-name={name}"], text=True).strip()
            for name in names
        ]
        environment = {**os.environ, "LD_PRELOAD": " ".join(runtimes), "ASAN_OPTIONS": "detect_leaks=0"}
        command = [sys.executable, "-c", TESTS, str(library)]  # Python itself leaks at its end
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
