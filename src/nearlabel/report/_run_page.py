"""The page of a run: data, comparison, orders, and each metric over the number of neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.plots import line_sample
from nearlabel.report import _sections
from nearlabel.report._tables import Column, Facts, Markup, element, join, notes, shown, shown_range, table, texts

_OVER = {"folds": "folds", "datasets": "data sets"}
_MOST_HEADLINES = 6
_TESTS = {
    "corrected-t": "t-test corrected for overlapping folds",
    "wilcoxon": "Wilcoxon's signed ranks",
    "friedman": "Friedman's test, then Nemenyi's",
}


def title(facts: Facts) -> str:
    """Return the title of the page."""
    names = [one["name"] for one in facts["datasets"]]
    methods = len(facts["methods"])
    where = names[0] if len(names) == 1 else f"{len(names)} data sets"
    return f"{methods} method{'s' if methods > 1 else ''} on {where}"


def verdict(facts: Facts) -> Markup:
    """Return the sentence, the headline figures and the notes below the title."""
    return join(_verdict(facts), notes(facts["notes"]))


def _verdict(facts: Facts) -> Markup:
    metric = _main_metric(facts["metrics"])
    if metric is None:
        return notes(["No metric has a direction, so the methods are not compared."])
    if not all(one["comparable"] for one in facts["datasets"]):
        return _as_verdict("Folds or numbers of neighbours differ between methods, so the methods are not compared.")
    ranked = {one["name"]: _ranked(facts, one, metric) for one in facts["datasets"]}
    ranked = {name: methods for name, methods in ranked.items() if methods}
    if not ranked:
        return notes([f"No method has a {metric['title']}."])
    if len(facts["datasets"]) > 1:
        return _as_verdict(_of_several(ranked, metric))
    ((name, methods),) = ranked.items()
    best = _sections.facts_list([(method, value) for method, value in methods[:_MOST_HEADLINES]])
    return join(_as_verdict(_of_one(facts, name, methods, metric)), element("div", best, class_="headline"))


def _as_verdict(words: str) -> Markup:
    return element("p", words, class_="verdict")


def _main_metric(metrics: Sequence[Facts]) -> Facts | None:
    """Return micro F1, or the first metric with a known direction."""
    directed = [one for one in metrics if one["greater_is_better"] is not None]
    return next((one for one in directed if one["name"] == "micro_f1"), directed[0] if directed else None)


def _ranked(facts: Facts, dataset: Facts, metric: Facts) -> list[tuple[str, float]]:
    """Return the methods with their means over folds and k, best first; ties in the order of the run."""
    means = [
        (cell["method"], cell["mean"])
        for cell in dataset["cells"]
        if cell["metric"] == metric["name"] and not isinstance(cell["n_neighbors"], int) and cell["mean"] is not None
    ]
    means.sort(key=lambda one: facts["methods"].index(one[0]))
    return sorted(means, key=lambda one: one[1], reverse=metric["greater_is_better"])


def _of_one(facts: Facts, dataset: str, ranked: Sequence[tuple[str, float]], metric: Facts) -> str:
    """Return the best method on one data set, and whether it is significantly better than the second."""
    (best, value), others = ranked[0], ranked[1:]
    if not others:
        return f"{best} has {metric['title']} {shown(value)} on {dataset}."
    second, its_value = others[0]
    if its_value == value:
        return f"{best} and {second} have the best {metric['title']} on {dataset}: {shown(value)}."
    words = f"{best} has the best {metric['title']} on {dataset}: {shown(value)}"
    return f"{words}, next is {second} with {shown(its_value)}{_significance(facts, dataset, metric, best, second)}."


def _significance(facts: Facts, dataset: str, metric: Facts, better: str, worse: str) -> str:
    """Return whether a difference over folds is significant, as text; empty if it was not tested."""
    tests = [test for test in facts["tests"] if test["over"] == "folds"]
    if not tests:
        return ""
    wanted = (dataset, metric["name"], better, worse)
    keys = ("dataset", "metric", "better", "worse")
    found = any(tuple(one[key] for key in keys) == wanted for one in tests[0]["relations"])
    return f"; the difference is {'' if found else 'not '}significant"


def _of_several(ranked: Mapping[str, Sequence[tuple[str, float]]], metric: Facts) -> str:
    """Return the method that is best on most data sets; methods with the same value are all best."""
    wins = Counter(method for methods in ranked.values() for method, value in methods if value == methods[0][1])
    most = max(wins.values())
    names = [method for method, count in wins.items() if count == most]
    have, each = ("has", "") if len(names) == 1 else ("have", " each")
    return f"{' and '.join(names)} {have} the best {metric['title']} on {most} of {len(ranked)} data sets{each}."


def sections(facts: Facts) -> list[tuple[str, Markup]]:
    """Return the headings and contents of the page."""
    datasets = facts["datasets"]
    several = len(datasets) > 1
    parts = [(f"Comparison on {one['name']}" if several else "Comparison", _comparison(facts, one)) for one in datasets]
    orders = [_order(facts, test) for test in facts["tests"]]
    parts += [("Order of the methods", join(*orders))] if orders else []
    ranked = [one for test in facts["tests"] for one in test["friedman"]]
    parts += [("Critical differences", _differences(ranked))] if ranked else []
    parts += [
        (f"Over k on {one['name']}" if several else "Over the number of neighbours", _curves(facts, one))
        for one in datasets
        if len(one["numbers"]) > 1
    ]
    for one in datasets:
        parts += [
            (f"Data {one['name']}" if several else "Data", _data(one)),
            (f"Findings in {one['name']}" if several else "Findings in the data", _findings(one)),
        ]
    return [*parts, ("The run", _settings(facts))]


def _settings(facts: Facts) -> Markup:
    plans: Sequence[Facts] = facts["plans"]
    scales = dict.fromkeys(str(plan.get("scale", "none")) for plan in plans)
    imputed = dict.fromkeys(str(plan["impute"]) for plan in plans if plan.get("impute"))
    versions = dict.fromkeys(str(plan.get("version")) for plan in plans)
    stratified = dict.fromkeys(str(plan["stratify"]) for plan in plans if plan.get("stratify"))
    return _sections.facts_list(
        [
            ("Methods", ", ".join(facts["methods"])),
            ("Data sets", ", ".join(one["name"] for one in facts["datasets"])),
            ("Folds", ", ".join(dict.fromkeys(_folds(one) for one in facts["datasets"]))),
            ("Stratified by", f"labels, order {', '.join(stratified)}" if stratified else None),
            ("Missing features", ", ".join(imputed) or None),
            ("Features scaled", ", ".join(scales)),
            ("nearlabel", ", ".join(versions)),
            ("Made with", _sections.shown_environments(facts["made_with"])),
        ]
    )


def _folds(dataset: Facts) -> str:
    """Return the number of folds, and the planned number if it is larger."""
    found, planned = dataset["folds"], dataset["planned_folds"]
    some = f"{found} of {planned}" if found < planned else str(found)
    return "the given split" if dataset["given_split"] and planned == 1 else some


def _data(dataset: Facts) -> Markup:
    if dataset["data"] is None:
        return notes([dataset["why_no_data"]])
    rows = [(one["name"], one["support"]) for one in dataset["labels"]]
    labels = table([*texts("label"), Column("samples")], rows, "Samples of each label", filtered="labels")
    parts = [_sections.data_figures(dataset["data"]), _sections.more(f"{len(rows):,} labels", labels)]
    pairs = dataset["co_occurrence"]
    if len(pairs["names"]) > 1:
        parts.append(
            _sections.more("Label co-occurrence", _sections.co_occurrence_figure("Label co-occurrence", pairs))
        )
    return join(*parts)


def _findings(dataset: Facts) -> Markup:
    if dataset["data"] is None:
        return notes([dataset["why_no_data"]])
    return _sections.examination_section(dataset["examination"])


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
    return _sections.more("Each method at its best k", join(words, best))


def _metric_table(facts: Facts, dataset: Facts, values: Mapping[tuple[str, str], float], caption: str) -> Markup:
    metrics = [one for one in facts["metrics"] if any(name == one["name"] for _, name in values)]
    columns = texts("method")
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
    columns = [*texts("method"), Column("total", show=_signed)]
    columns += [Column(titles[metric], show=_signed) for metric in metrics]
    rows = [
        (method, total, *(test["by_metric"][metric][method] for metric in metrics))
        for method, total in test["scores"].items()
    ]
    return join(
        table(columns, rows, f"Significant wins minus losses: {named}"),
        notes(test["notes"]),
        _sections.more(f"{len(test['relations'])} significant differences", _relations(titles, test)),
    )


def _signed(value: float | str | None) -> str:
    return f"{value:+d}".replace("-", "−") if isinstance(value, int) and value else "0"


def _relations(titles: Mapping[str, str], test: Facts) -> Markup:
    difference = "difference of mean ranks" if test["friedman"] else "difference"
    numbers = map(Column, (difference, "p", _OVER[test["over"]]))
    columns = [*texts("metric", "better", "worse", "data set"), *numbers]
    rows = [
        (titles[one["metric"]], one["better"], one["worse"], one["dataset"], one["difference"], one["p_value"],
         one["n_pairs"])
        for one in test["relations"]
    ]  # fmt: skip
    return table(columns, rows, "Significant differences", filtered="metrics or methods")


def _differences(ranked: Sequence[Facts]) -> Markup:
    words = "Mean ranks over the data sets, 1 the best. Methods joined by a bar do not differ significantly (Nemenyi)."
    return join(notes([words]), element("div", *map(_ranks, ranked), class_="grid"))


def _ranks(test: Facts) -> Markup:
    rows = sorted(test["mean_ranks"].items(), key=lambda item: item[1])
    numbers = table([*texts("method"), Column("mean rank")], rows, f"Mean ranks, {test['title']}")
    return _sections.figure(
        test["title"], _sections.draw_mean_ranks(test), numbers, f"{test['n_pairs']} data sets. {_friedman(test)}"
    )


def _friedman(test: Facts) -> str:
    if test["f"] is not None:
        return f"Friedman's F: p = {test['p_value']:.2g}"
    return f"All rankings are equal, so Friedman's F is infinite; its chi-squared: p = {test['chi2_p_value']:.2g}"


def _curves(facts: Facts, dataset: Facts) -> Markup:
    curves_of = {one["name"]: _curves_of(dataset, one["name"]) for one in facts["metrics"]}
    of_metrics = [(one, curves_of[one["name"]]) for one in facts["metrics"]]
    drawn = [_curve(one, curves, facts["methods"]) for one, curves in of_metrics if curves]
    methods = [name for name in facts["methods"] if any(name in curves for curves in curves_of.values())]
    words = "Lines are means over the folds, bands one standard deviation above and below."
    return join(notes([words]), _legend(methods, facts["methods"]), element("div", *drawn, class_="grid"))


def _curve(metric: Facts, curves: _sections.Curves, order: Sequence[str]) -> Markup:
    title = f"{metric['title']}{_arrow(metric)}"
    return _sections.figure(
        title, _sections.draw_curves(curves, order, title), _numbers_over_k(curves, title), _hidden_lines(curves)
    )


def _hidden_lines(curves: _sections.Curves) -> str:
    """Return the methods with equal values, whose lines coincide: only the last one is visible."""
    methods_of: dict[tuple[Any, ...], list[str]] = {}
    for method, line in curves.items():
        methods_of.setdefault(tuple((k, value) for k, value, _ in line), []).append(method)
    same = [f"{', '.join(methods)}." for methods in methods_of.values() if len(methods) > 1]
    return f"The same values, hence one line: {' '.join(same)}" if same else ""


def _curves_of(dataset: Facts, metric: str) -> _sections.Curves:
    curves: dict[str, list[tuple[int, float, float | None]]] = {}
    for cell in dataset["cells"]:
        if cell["metric"] == metric and isinstance(cell["n_neighbors"], int):
            curves.setdefault(cell["method"], []).append((cell["n_neighbors"], cell["mean"], cell["std"]))
    return {method: sorted(line, key=lambda point: point[0]) for method, line in curves.items()}


def _numbers_over_k(curves: _sections.Curves, title: str) -> Markup:
    numbers = sorted({k for line in curves.values() for k, _, _ in line})
    values = {method: {k: value for k, value, _ in line} for method, line in curves.items()}
    columns = [*texts("k"), *map(Column, curves)]
    return table(columns, [(str(k), *(values[m].get(k) for m in curves)) for k in numbers], f"{title} over k")


def _legend(methods: Sequence[str], order: Sequence[str]) -> Markup:
    items = [element("li", Markup(line_sample(order.index(method))), method) for method in methods]
    return element("ul", *items, class_="legend")
