"""The page of a run: data, comparison, orders, and each metric over the number of neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.plots import line_sample
from nearlabel.report._examination_section import examination_section
from nearlabel.report._figures import Curves, draw_co_occurrence, draw_curves, draw_mean_ranks
from nearlabel.report._label_sections import CO_OCCURRENCE_NOTE, co_occurrence_table, data_figures
from nearlabel.report._made_with import shown_environments
from nearlabel.report._markup import Markup, element, join
from nearlabel.report._numbers import shown_range
from nearlabel.report._tables import Column, facts_list, figure, more, notes, table

Facts = Mapping[str, Any]

_OVER = {"folds": "folds", "datasets": "data sets"}
_TESTS = {
    "corrected-t": "t-test corrected for overlapping folds",
    "wilcoxon": "Wilcoxon's signed ranks",
    "friedman": "Friedman's test, then Nemenyi's",
}


def run_title(facts: Facts) -> str:
    """Return the title of the page."""
    names = [one["name"] for one in facts["datasets"]]
    methods = len(facts["methods"])
    where = names[0] if len(names) == 1 else f"{len(names)} data sets"
    return f"{methods} method{'s' if methods > 1 else ''} on {where}"


def run_sections(facts: Facts) -> list[tuple[str, Markup]]:
    """Return the headings and contents of the page."""
    datasets = facts["datasets"]
    several = len(datasets) > 1
    parts = [("The run", join(_settings(facts), notes(facts["notes"])))]
    for one in datasets:
        parts += [
            (f"Data {one['name']}" if several else "Data", _data(one)),
            (f"Findings in {one['name']}" if several else "Findings in the data", _findings(one)),
        ]
    parts += [
        (f"Comparison on {one['name']}" if several else "Comparison", _comparison(facts, one)) for one in datasets
    ]
    parts += (
        [("Order of the methods", join(*(_order(facts, test) for test in facts["tests"])))] if facts["tests"] else []
    )
    ranked = [one for test in facts["tests"] for one in test["friedman"]]
    parts += [("Critical differences", _differences(ranked))] if ranked else []
    return parts + [
        (f"Over k on {one['name']}" if several else "Over the number of neighbours", _curves(facts, one))
        for one in datasets
        if len(one["numbers"]) > 1
    ]


def _settings(facts: Facts) -> Markup:
    plans: Sequence[Facts] = facts["plans"]
    scales = dict.fromkeys(str(plan.get("scale", "none")) for plan in plans)
    imputed = dict.fromkeys(str(plan["impute"]) for plan in plans if plan.get("impute"))
    versions = dict.fromkeys(str(plan.get("version")) for plan in plans)
    stratified = dict.fromkeys(str(plan["stratify"]) for plan in plans if plan.get("stratify"))
    return facts_list(
        [
            ("Methods", ", ".join(facts["methods"])),
            ("Data sets", ", ".join(one["name"] for one in facts["datasets"])),
            ("Folds", ", ".join(dict.fromkeys(_folds(one) for one in facts["datasets"]))),
            ("Stratified by", f"labels, order {', '.join(stratified)}" if stratified else None),
            ("Missing features", ", ".join(imputed) or None),
            ("Features scaled", ", ".join(scales)),
            ("nearlabel", ", ".join(versions)),
            ("Made with", shown_environments(facts["made_with"])),
        ]
    )


def _folds(dataset: Facts) -> str:
    """Return how many folds there are, and of how many if there were to be more."""
    found, planned = dataset["folds"], dataset["planned_folds"]
    some = f"{found} of {planned}" if found < planned else str(found)
    return "the given split" if dataset["given_split"] and planned == 1 else some


def _data(dataset: Facts) -> Markup:
    if dataset["data"] is None:
        return notes([dataset["why_no_data"]])
    rows = [(one["name"], one["support"]) for one in dataset["labels"]]
    labels = table(
        [Column("label", numeric=False), Column("samples")], rows, "Samples of each label", filtered="labels"
    )
    parts = [data_figures(dataset["data"]), more(f"{len(rows):,} labels", labels)]
    pairs = dataset["co_occurrence"]
    if len(pairs["names"]) > 1:
        drawn = figure("Label co-occurrence", draw_co_occurrence(pairs), co_occurrence_table(pairs), CO_OCCURRENCE_NOTE)
        parts.append(more("Label co-occurrence", drawn))
    return join(*parts)


def _findings(dataset: Facts) -> Markup:
    return notes([dataset["why_no_data"]]) if dataset["data"] is None else examination_section(dataset["examination"])


def _arrow(metric: Facts) -> str:
    return {True: "\N{NO-BREAK SPACE}↑", False: "\N{NO-BREAK SPACE}↓", None: ""}[metric["greater_is_better"]]


def _comparison(facts: Facts, dataset: Facts) -> Markup:
    numbers = dataset["numbers"]
    over = [f"k = {shown_range(numbers)}"] if len(numbers) > 1 else []
    most = "" if dataset["comparable"] else "up to "
    over += [f"{most}{dataset['folds']} folds"] if dataset["folds"] > 1 else []
    at = f", k = {numbers[0]}" if len(numbers) == 1 else ""
    means = {(c["method"], c["metric"]): c["mean"] for c in dataset["cells"] if not isinstance(c["n_neighbors"], int)}
    caption = f"{dataset['name']}{at}{', mean over ' if over else ''}{' and '.join(over)}"
    best = "the best of each column is bold" if dataset["comparable"] else "no best is marked: folds or k differ"
    return join(
        notes([f"↑ higher is better, ↓ lower is better; {best}."]),
        _metric_table(facts, dataset, means, caption),
        _at_best_k(facts, dataset) if len(numbers) > 1 else None,
    )


def _at_best_k(facts: Facts, dataset: Facts) -> Markup:
    caption = f"{dataset['name']}, each method at its best k by each metric"
    words = notes(["Chosen on the same test folds, hence optimistic."])
    best = _metric_table(facts, dataset, _best_over_k(facts, dataset), caption)
    return more("Each method at its best k", join(words, best))


def _metric_table(facts: Facts, dataset: Facts, values: Mapping[tuple[str, str], float], caption: str) -> Markup:
    metrics = [one for one in facts["metrics"] if any(name == one["name"] for _, name in values)]
    columns = [Column("method", numeric=False)]
    best = {one["name"]: one["greater_is_better"] if dataset["comparable"] else None for one in metrics}
    columns += [Column(f"{one['title']}{_arrow(one)}", best=best[one["name"]]) for one in metrics]
    methods = [method for method in facts["methods"] if any(name == method for name, _ in values)]
    rows = [(method, *(values.get((method, one["name"])) for one in metrics)) for method in methods]
    return table(columns, rows, caption, filtered="methods")


def _best_over_k(facts: Facts, dataset: Facts) -> dict[tuple[str, str], float]:
    better = {one["name"]: one["greater_is_better"] for one in facts["metrics"]}
    best: dict[tuple[str, str], float] = {}
    for cell in dataset["cells"]:
        key, value = (cell["method"], cell["metric"]), cell["mean"]
        if cell["n_neighbors"] != "mean" and better[cell["metric"]] is not None:
            choose = max if better[cell["metric"]] else min
            best[key] = choose(best.get(key, value), value)
    return best


def _order(facts: Facts, test: Facts) -> Markup:
    named = f"{_TESTS[test['test']]}, over {_OVER[test['over']]}, level {test['alpha']:g}"
    if not test["relations"]:
        return notes([f"No method is significantly better than another: {named}.", *test["notes"]])
    titles = {one["name"]: one["title"] for one in facts["metrics"]}
    metrics = list(test["by_metric"])
    columns = [Column("method", numeric=False), Column("total", show=_signed)]
    columns += [Column(titles[metric], show=_signed) for metric in metrics]
    rows = [
        (method, total, *(test["by_metric"][metric][method] for metric in metrics))
        for method, total in test["scores"].items()
    ]
    return join(
        table(columns, rows, f"Significant wins minus losses: {named}"),
        notes(test["notes"]),
        more(f"{len(test['relations'])} significant differences", _relations(titles, test)),
    )


def _signed(value: float | str | None) -> str:
    return f"{value:+d}".replace("-", "−") if isinstance(value, int) and value else "0"


def _relations(titles: Mapping[str, str], test: Facts) -> Markup:
    words = [Column(name, numeric=False) for name in ("metric", "better", "worse", "data set")]
    difference = "difference of mean ranks" if test["friedman"] else "difference"
    columns = [*words, Column(difference), Column("p"), Column(_OVER[test["over"]])]
    rows = [
        (titles[one["metric"]], one["better"], one["worse"], one["dataset"], one["difference"], one["p_value"],
         one["n_pairs"])
        for one in test["relations"]
    ]  # fmt: skip
    return table(columns, rows, "Significant differences", filtered="metrics or methods")


def _differences(ranked: Sequence[Facts]) -> Markup:
    words = "Mean ranks over the data sets, 1 the best. Methods beside one bar do not differ significantly (Nemenyi)."
    return join(notes([words]), element("div", *map(_ranks, ranked), class_="grid"))


def _ranks(test: Facts) -> Markup:
    rows = sorted(test["mean_ranks"].items(), key=lambda item: item[1])
    numbers = table([Column("method", numeric=False), Column("mean rank")], rows, f"Mean ranks, {test['title']}")
    return figure(test["title"], draw_mean_ranks(test), numbers, f"{test['n_pairs']} data sets. {_friedman(test)}")


def _friedman(test: Facts) -> str:
    if test["f"] is not None:
        return f"Friedman's F: p = {test['p_value']:.2g}"
    return f"All rank the methods alike, so Friedman's F is infinite; its chi-squared: p = {test['chi2_p_value']:.2g}"


def _curves(facts: Facts, dataset: Facts) -> Markup:
    curves_of = {one["name"]: _curves_of(dataset, one["name"]) for one in facts["metrics"]}
    drawn = [
        _curve(one, curves_of[one["name"]], facts["methods"]) for one in facts["metrics"] if curves_of[one["name"]]
    ]
    methods = [name for name in facts["methods"] if any(name in curves for curves in curves_of.values())]
    words = "Lines are means over the folds, bands one standard deviation above and below."
    return join(notes([words]), _legend(methods, facts["methods"]), element("div", *drawn, class_="grid"))


def _curve(metric: Facts, curves: Curves, order: Sequence[str]) -> Markup:
    title = f"{metric['title']}{_arrow(metric)}"
    return figure(title, draw_curves(curves, order, title), _numbers_over_k(curves, title), _hidden_lines(curves))


def _hidden_lines(curves: Curves) -> str:
    """Return which methods have the same values: of their lines only the last one is seen."""
    methods_of: dict[tuple[Any, ...], list[str]] = {}
    for method, line in curves.items():
        methods_of.setdefault(tuple((k, value) for k, value, _ in line), []).append(method)
    same = [f"{', '.join(methods)}." for methods in methods_of.values() if len(methods) > 1]
    return f"The same values, hence one line: {' '.join(same)}" if same else ""


def _curves_of(dataset: Facts, metric: str) -> Curves:
    curves: dict[str, list[tuple[int, float, float | None]]] = {}
    for cell in dataset["cells"]:
        if cell["metric"] == metric and isinstance(cell["n_neighbors"], int):
            curves.setdefault(cell["method"], []).append((cell["n_neighbors"], cell["mean"], cell["std"]))
    return {method: sorted(line, key=lambda point: point[0]) for method, line in curves.items()}


def _numbers_over_k(curves: Curves, title: str) -> Markup:
    numbers = sorted({k for line in curves.values() for k, _, _ in line})
    values = {method: {k: value for k, value, _ in line} for method, line in curves.items()}
    columns = [Column("k", numeric=False), *(Column(method) for method in curves)]
    return table(columns, [(str(k), *(values[m].get(k) for m in curves)) for k in numbers], f"{title} over k")


def _legend(methods: Sequence[str], order: Sequence[str]) -> Markup:
    items = [element("li", Markup(line_sample(order.index(method))), method) for method in methods]
    return element("ul", *items, class_="legend")
