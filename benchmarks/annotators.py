"""How good does a model become while people label the tasks that the service puts first, beside tasks by chance?

A simulated annotator of Label Studio, against the service's own application in this process, by the requests that the
tool sends. Of each data set 30 % are a test part and 50 rows the first samples, drawn anew for each of 5 seeds; the
others are tasks. Their predictions are requested once, all together; the annotator takes the 200 tasks of lowest score,
lowest first, as the tool does, or 200 by chance, from the same first samples. Each task is predicted when it is
opened, then annotated with its true labels. "in the next prediction": how many of the annotated tasks were among the
neighbours, at distance 0, when the same task was predicted next; the run ends with an error if one is not. Micro F1 of
the test part after every 10 annotations; ML-kNN with 10 neighbours, features scaled by the first samples, thresholds
1/2. "difference" is that of the areas under the two curves, over the seeds: mean, and range in brackets.

Run: ``python benchmarks/annotators.py``; a quarter of an hour; ``--quick`` for a look; ``--page`` writes
``docs/howto/annotators_loop.md``. Data sets where ``NEARLABEL_DATA`` has them. Needs the extra ``serve``, and httpx.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from _harness import Goal, Table, lines_of, parser_for, print_facts, save, show, write_figures
from nearlabel.datasets import Dataset, fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.persistence import save_model
from nearlabel.serve import LiveModel, make_app
from nearlabel.utils.validation import as_dense

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "annotators_loop.md"
SETS = {"emotions": "music", "scene": "pictures", "medical": "texts"}
START, BUDGET, EVERY, K, N_SEEDS, FIRST_SEED = 50, 200, 10, 10, 5, 0
PROJECT = 1
ORDERS = ("order of the service", "by chance")


class Project:
    """A project of Label Studio with its tasks, one for each row outside the first samples, and their true labels."""

    def __init__(self, folder: Path, data: Dataset, seed: int) -> None:
        rows = np.random.default_rng(seed).permutation(data.Y.shape[0])
        n_test = round(0.3 * len(rows))
        self.test, first, self.tasks = rows[:n_test], rows[n_test : n_test + START], rows[n_test + START :]
        self.X, self.Y, self.label_names = as_dense(data.X), as_dense(data.Y), data.label_names
        self.feature_names = [str(name) for name in data.feature_names]
        choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in data.label_names)
        control = f'<Choices name="tags" toName="row" choice="multiple">{choices}</Choices>'
        self.config = f'<View><Table name="row" value="$row"/>{control}</View>'
        model = make_pipeline(MinMaxScaler(), MLkNN(K)).fit(self.X[first], self.Y[first])
        of_start = Dataset(
            self.X[first], self.Y[first], feature_names=self.feature_names, label_names=self.label_names, name=data.name
        )
        path = save_model(model, folder / "pool.skops", data=of_start, keep={"id": [str(row) for row in first]})
        self.n_annotations = 0
        self.client = _client(path)

    def cells(self, row: int) -> dict[str, float]:
        """Return the data of a row."""
        return dict(zip(self.feature_names, self.X[row].tolist(), strict=True))

    def labels(self, row: int) -> list[str]:
        """Return the true labels of a row."""
        return [name for name, is_on in zip(self.label_names, self.Y[row], strict=True) if is_on]

    def predict(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return the predictions of tasks, as the tool asks for them."""
        tasks = [{"id": int(row), "data": {"row": self.cells(row)}} for row in rows]
        body = {"tasks": tasks, "project": f"{PROJECT}.1764000000", "label_config": self.config, "params": {}}
        found: list[dict[str, Any]] = self.ask("/label-studio/predict", body)["results"]
        return found

    def annotate(self, row: int) -> None:
        """Send what the tool sends when a task is submitted, then check that the very next prediction knows it."""
        self.n_annotations += 1
        value = {"choices": self.labels(row)}
        result = (
            [{"from_name": "tags", "to_name": "row", "type": "choices", "value": value}] if value["choices"] else []
        )
        annotation = {"id": self.n_annotations, "task": int(row), "result": result, "was_cancelled": False}
        body = {
            "action": "ANNOTATION_CREATED",
            "project": {"id": PROJECT, "label_config": self.config},
            "task": {"id": int(row), "data": {"row": self.cells(row)}},
            "annotation": annotation | {"updated_at": f"2026-01-01T00:00:{self.n_annotations}Z"},
        }
        self.ask("/label-studio/webhook", body)
        (explained,) = self.ask("/explain", {"rows": [self.cells(row)]})["predictions"]
        sample = f"ls-{PROJECT}-{row}-{self.n_annotations}"
        nearest = [one["id"] for one in explained["explanation"]["neighbors"] if one["distance"] <= 1e-9]
        (predicted,) = self.predict([row])
        if sample not in nearest or int(row) not in predicted["neighbors"]:
            raise AssertionError(f"{sample} must be in the next prediction, got {nearest} and {predicted['neighbors']}")

    def micro_f1(self) -> float:
        """Return micro F1 of the test part, as the service predicts it now."""
        found = self.ask("/predict", {"rows": [self.cells(row) for row in self.test]})["predictions"]
        predicted = np.array([[name in one["labels"] for name in self.label_names] for one in found])
        return float(micro_f1(self.Y[self.test].astype(int), predicted.astype(int)))

    def ask(self, where: str, body: Mapping[str, Any]) -> Any:
        """Return an answer of the service."""
        answer = self.client.post(where, json=body)
        answer.raise_for_status()
        return answer.json()


def _client(path: Path) -> Any:
    from starlette.testclient import TestClient

    return TestClient(make_app({"pool": LiveModel(path)}), base_url="http://localhost")


def curve(data: Dataset, seed: int, order: str, budget: int) -> list[float]:
    """Return micro F1 before the first annotation and after every 10."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), data, seed)
        scores = [one["score"] for one in project.predict(project.tasks)]
        places = np.argsort(scores, kind="stable")
        if order != ORDERS[0]:
            places = np.random.default_rng(1000 + seed).permutation(len(scores))
        values = [project.micro_f1()]
        for number, row in enumerate(project.tasks[places[:budget]], start=1):
            project.predict([row])  # the tool asks when the task is opened
            project.annotate(row)
            if number % EVERY == 0:
                values.append(project.micro_f1())
    return values


def area(values: Any) -> Any:
    """Return the area under each curve, as a mean of micro F1."""
    return np.trapezoid(np.asarray(values), axis=-1) / (np.asarray(values).shape[-1] - 1)


def differences(of_set: Mapping[str, Any]) -> Any:
    """Return the difference of the areas, by seed."""
    return area(of_set[ORDERS[0]]) - area(of_set[ORDERS[1]])


def tables_of(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield a table of the curves of each data set, and the summary."""
    rows = []
    for name, of_set in results.items():
        n_annotations = sum(EVERY * (len(one) - 1) for order in ORDERS for one in of_set[order])
        by_seed = differences(of_set)
        rows.append(
            [
                f"{name} ({SETS[name]})",
                f"{n_annotations} of {n_annotations}",
                *(f"{area(of_set[order]).mean():.3f}" for order in ORDERS),
                f"{by_seed.mean():+.3f} [{by_seed.min():+.3f}, {by_seed.max():+.3f}]",
                f"{int((by_seed > 0).sum())} of {len(by_seed)}",
            ]
        )
    headers = ("", "in the next prediction", *(f"area, {order}" for order in ORDERS), "difference", "seeds above 0")
    yield Table("Area under micro F1 over 200 annotations", headers, rows)
    for name, of_set in results.items():
        lines = []
        for place in range(len(of_set[ORDERS[0]][0])):
            values = [np.array(of_set[order])[:, place] for order in ORDERS]
            lines.append(
                [str(EVERY * place), *(f"{one.mean():.3f} [{one.min():.3f}, {one.max():.3f}]" for one in values)]
            )
        yield Table(f"Micro F1 of {name}: mean and range of the seeds", ("annotations", *ORDERS), lines)


def goals_of(results: Mapping[str, Mapping[str, Any]]) -> list[Goal]:
    """Return in how many sets the proposed order is better on the mean."""
    better = sum(bool(differences(of_set).mean() > 0) for of_set in results.values())
    return [Goal("sets of three where the order of the service has the larger area", "at least", 3, better)]


def main() -> None:
    """Simulate, print and save."""
    warnings.simplefilter("ignore")
    parser = parser_for(__doc__ or "", "annotators", repeats=1)
    parser.add_argument("--page", action="store_true", help="write docs/howto/annotators_loop.md")
    options = parser.parse_args()
    n_seeds, budget, sets = (1, 20, ["emotions"]) if options.quick else (N_SEEDS, BUDGET, list(SETS))
    results: dict[str, dict[str, Any]] = {}
    for name in sets:
        data = fetch_dataset(name)
        seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
        results[name] = {order: [curve(data, seed, order, budget) for seed in seeds] for order in ORDERS}
        save(options, __doc__ or "", results, [*tables_of(results)], goals_of(results))
    print_facts()
    show([*tables_of(results)], goals_of(results))
    if options.page:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
