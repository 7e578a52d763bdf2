"""Let atheris, Google's fuzzer for Python, guide the inputs of one target by the code that they reach.

    python -m fuzz.with_atheris csv -max_total_time=60

It needs `pip install atheris`, which no extra of nearlabel brings. An input that breaks the contract ends the program.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

READERS = ["nearlabel.datasets", "nearlabel.files", "nearlabel.persistence", "nearlabel.experiments.records"]


def main() -> int:
    """Fuzz the target that the command line names; other arguments are those of libFuzzer."""
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: nothing was fuzzed. Hint: pip install atheris, or make fuzz.")
        return 2
    import atheris

    with atheris.instrument_imports(include=READERS):  # not all: that takes minutes
        targets = importlib.import_module("fuzz.readers").all_targets()
    outcome_of = importlib.import_module("fuzz.target").outcome_of
    name = sys.argv.pop(1)
    (target,) = [target for target in targets if target.name == name]
    file, *others = target.corpus[0]
    scratch, numbers = Path(tempfile.mkdtemp(prefix="nearlabel-atheris-")), itertools.count()
    corpus = scratch / "corpus"
    corpus.mkdir()
    for number, files in enumerate(target.corpus):
        (corpus / str(number)).write_bytes(files[file])

    def read(content: bytes) -> None:
        folder = scratch / str(next(numbers))
        outcome = outcome_of(target, target.corpus[0] | {file: content}, folder)
        shutil.rmtree(folder)
        if outcome.failed:
            raise AssertionError(f"{outcome.signature}\n{outcome.detail}")

    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UserWarning)
    if others:
        print(f"only {file} is damaged, not {', '.join(others)}")
    atheris.Setup([*sys.argv, str(corpus)], read)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
