"""How large is the file of a model, and how long does it take to save and load it?

ML-kNN, fitted to 20,000 x 100 Gaussian features (float64, 16 MB) and 50 labels, saved by `save_model` and by joblib,
plain and compressed. CPU seconds, the least of the rounds.

Run: ``python benchmarks/saving.py``; half a minute. ``--quick`` for 2,000 samples. ``docs/keeping_models.md`` has the
figures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.lazy import MLkNN
from nearlabel.persistence import load_model, save_model

N_SAMPLES, N_FEATURES, N_LABELS = 20_000, 100, 50
WAYS: Mapping[str, tuple[Callable[[Any, Path], Any], Callable[[Path], Any]]] = {
    "save_model": (save_model, load_model),
    "save_model(compress=True)": (lambda model, file: save_model(model, file, compress=True), load_model),
    "joblib.dump": (joblib.dump, joblib.load),
    "joblib.dump(compress=3)": (lambda model, file: joblib.dump(model, file, compress=3), joblib.load),
}


def fitted(n_samples: int) -> MLkNN:
    """Return the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, N_FEATURES))
    return MLkNN().fit(X, (X[:, :N_LABELS] + rng.normal(size=(n_samples, N_LABELS)) > 2).astype(int))


def figures_of(model: MLkNN, way: str, folder: Path) -> tuple[float, float, float]:
    """Return the MB of the file, and the seconds to save and to load it."""
    write, read = WAYS[way]
    file = folder / "model.skops"
    file.unlink(missing_ok=True)
    start = time.process_time()
    write(model, file)
    between = time.process_time()
    read(file)
    return file.stat().st_size / 1e6, between - start, time.process_time() - between


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "saving", repeats=5).parse_args(arguments)
    print_facts()
    model = fitted(2_000 if options.quick else N_SAMPLES)
    with tempfile.TemporaryDirectory() as folder:
        rounds = [{way: figures_of(model, way, Path(folder)) for way in WAYS} for _ in range(options.repeats)]
    results = {way: np.min([one[way] for one in rounds], axis=0).tolist() for way in WAYS}
    tables = [Table("Size and time", ("", "MB", "save, s", "load, s"), [(way, *of) for way, of in results.items()])]
    show(tables)
    save(options, __doc__ or "", results, tables)


if __name__ == "__main__":
    main()
