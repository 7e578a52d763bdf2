"""What does resampling gain, with thresholds tuned in every column, and how far does leaving one out leak after it?

ML-kNN with 10 neighbours; five folds, shuffled with seed 0; features scaled to [0, 1] by the training part; thresholds
of best micro F1 on leave-one-out scores of the original training rows, each left out with all that was made from it.
The samplers have their defaults, those that draw the seeds 0, 1 and 2. In brackets: cut at one half. "rows" are those
after resampling by those before, MeanIR the mean imbalance ratio of the training rows before and after.

The leak: micro F1 on the rows that thresholds were tuned on ("own"), and then on the test part, for thresholds of three
kinds: by leaving resampled rows out one by one, by leaving original rows out with all that was made from them, and by
five folds of the original rows, within which is resampled. Own figures are of rows that thresholds were tuned on, so
they are above those of test rows without any sampler, too.

Run: ``python benchmarks/resampling.py``; ``--quick`` for emotions alone. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import MinMaxScaler

from _harness import Goal, Table, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.labels import mean_imbalance_ratio
from nearlabel.lazy import MLkNN
from nearlabel.metrics import macro_f1, micro_f1
from nearlabel.models.decision import cut
from nearlabel.preprocessing import MLSMOTE, ResampledClassifier
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

NAMES = ("emotions", "scene", "yeast", "medical", "enron")
# The samplers that are recipes: the first program of their page.
PAGE = Path(__file__).parents[1] / "docs" / "howto" / "add_a_sampler.md"
RECIPES: dict[str, Any] = {}
exec(PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0], RECIPES)
SAMPLERS = {
    "ML-ROS 25 %": RECIPES["MLROS"](),
    "ML-RUS 25 %": RECIPES["MLRUS"](),
    "MLSMOTE": MLSMOTE(),
    **{name: RECIPES[name]() for name in ("MLeNN", "MLTL", "REMEDIAL")},
}
NONE = "none"
LEAKING = (NONE, "ML-ROS 25 %", "MLSMOTE")


def folds(name: str) -> Iterator[tuple[NDArray, NDArray, NDArray, NDArray]]:
    """Yield scaled training rows, their label sets, test rows and theirs."""
    data = fetch_dataset(name)
    X, Y = as_dense(data.X), as_dense(data.Y)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        scaler = MinMaxScaler().fit(X[train])
        yield scaler.transform(X[train]), Y[train], scaler.transform(X[test]), Y[test]


def seeded(sampler: Any, n_seeds: int) -> list[Any]:
    """Return the sampler with each of some seeds; itself if it draws nothing."""
    if "random_state" not in sampler.get_params():
        return [sampler]
    return [clone(sampler).set_params(random_state=seed) for seed in range(n_seeds)]


def reached(model: Any, X: NDArray, Y: NDArray) -> list[float]:
    """Return micro and macro F1 with the model's thresholds, and cut at one half."""
    tuned, at_half = model.predict(X), cut(model.predict_proba(X), 0.5)
    return [measure(Y, labels) for labels in (tuned, at_half) for measure in (micro_f1, macro_f1)]


def values_of(sampler: Any, parts: list[Any], n_seeds: int) -> list[float]:
    """Return what a sampler reaches, the rows it leaves, and MeanIR, means over folds and seeds."""
    found = []
    for X, Y, X_test, Y_test in parts:
        for one in [None] if sampler is None else seeded(sampler, n_seeds):
            inner = MLkNN() if one is None else ResampledClassifier(MLkNN(), one)
            model = TunedThresholdsClassifierCV(inner, cv="loo").fit(X, Y)
            made = Y if one is None else one.fit_resample(X, Y)[1]
            found.append([*reached(model, X_test, Y_test), len(made) / len(Y), mean_imbalance_ratio(made)])
    return [float(value) for value in np.mean(found, axis=0)]


def leak_of(sampler: Any, parts: list[Any], n_seeds: int) -> list[float]:
    """Return micro F1 on own rows and on test rows, by three ways to tune thresholds."""
    found = []
    for X, Y, X_test, Y_test in parts:
        for one in [None] if sampler is None else seeded(sampler, n_seeds):
            whole = MLkNN() if one is None else ResampledClassifier(MLkNN(), one)
            ways = [
                TunedThresholdsClassifierCV(MLkNN(), cv="loo").fit(
                    *((X, Y) if one is None else one.fit_resample(X, Y))
                ),
                TunedThresholdsClassifierCV(whole, cv="loo").fit(X, Y),
                TunedThresholdsClassifierCV(whole, cv=5, random_state=0).fit(X, Y),
            ]
            found.append([value for way in ways for value in (way.objective_, micro_f1(Y_test, way.predict(X_test)))])
    return [float(value) for value in np.mean(found, axis=0)]


def main() -> None:
    """Measure, print and save the figures."""
    options = parser_for(__doc__, "resampling", repeats=1).parse_args()
    names, n_seeds = (NAMES[:1], 1) if options.quick else (NAMES, 3)
    print_facts()
    gained, leaks = {}, {}
    for name in names:
        parts = list(folds(name))
        for sampler, made in {NONE: None, **SAMPLERS}.items():
            gained[name, sampler] = values_of(made, parts, n_seeds)
        for sampler in LEAKING:
            leaks[name, sampler] = leak_of(SAMPLERS.get(sampler), parts, n_seeds)
    tables = [
        Table(
            "ML-kNN after resampling",
            ("data set", "sampler", "rows", "MeanIR", "micro F1 (at ½)", "macro F1 (at ½)"),
            [(*key, *cells_of(values, gained[key[0], NONE][5])) for key, values in gained.items()],
        ),
        Table(
            "Own and test micro F1, by how thresholds were tuned",
            ("data set", "sampler", "resampled rows, one by one", "original rows, with descendants", "five folds"),
            [(*key, *(f"{own:.3f} / {test:.3f}" for own, test in pairs(values))) for key, values in leaks.items()],
        ),
    ]
    goals = list(goals_of(gained, leaks))
    show(tables, goals)
    results = {
        what: {" ".join(key): values for key, values in found.items()}
        for what, found in {"gained": gained, "leaks": leaks}.items()
    }
    save(options, __doc__, results, tables, goals)


def cells_of(values: list[float], before: float) -> Iterator[str]:
    """Yield the cells of a row of the first table."""
    micro, macro, micro_at_half, macro_at_half, share, after = values
    yield f"{share:.2f}"
    yield f"{before:.1f} → {after:.1f}"
    yield f"{micro:.3f} ({micro_at_half:.3f})"
    yield f"{macro:.3f} ({macro_at_half:.3f})"


def pairs(values: list[float]) -> list[tuple[float, float]]:
    """Return own and test micro F1 of each way."""
    return list(zip(values[::2], values[1::2], strict=True))


def goals_of(gained: dict[Any, list[float]], leaks: dict[Any, list[float]]) -> Iterator[Goal]:
    """Yield what was hoped for: no leak, and some gain."""
    one_by_one, together, _ = zip(*map(pairs, leaks.values()), strict=True)
    yield Goal("largest own less test, resampled rows one by one", "at least", 0.1, most_optimistic(one_by_one))
    yield Goal("largest own less test, descendants left out", "at most", 0.02, most_optimistic(together))
    names = dict.fromkeys(name for name, _ in gained)
    for place, measure in enumerate(("micro F1", "macro F1")):
        for sampler in SAMPLERS:
            gains = [gained[name, sampler][place] - gained[name, NONE][place] for name in names]
            yield Goal(f"{sampler}: gain of {measure}, mean over data sets", "at least", 0, round(np.mean(gains), 4))


def most_optimistic(found: Any) -> float:
    """Return the largest difference of own and test micro F1."""
    return round(max(own - test for own, test in found), 3)


if __name__ == "__main__":
    main()
