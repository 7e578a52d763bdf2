"""``nearlabel compare``: test which methods differ significantly, in results of nearlabel and other programs."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.cli._compared_rows import show_rows
from nearlabel.cli._comparison import print_order
from nearlabel.comparison import Comparison, FriedmanTest, PairedTest, compare
from nearlabel.metrics.evaluation import title_of
from nearlabel.plots import CriticalDifferenceDisplay, check_figure_file

_OVER = {"folds": "folds", "datasets": "data sets"}


def main(arguments: argparse.Namespace) -> None:
    """Compare the results, draw the diagrams and print the outcome; or compare two methods row by row."""
    if arguments.rows:
        show_rows(arguments)
        return
    if arguments.figure is not None:
        check_figure_file(arguments.figure, name="--figure")
    comparison = compare(
        arguments.results,
        test=arguments.test,
        over=arguments.over,
        post_hoc=arguments.post_hoc,
        alpha=arguments.alpha,
        metrics=arguments.metrics,
        methods=arguments.methods,
        greater_is_better=dict.fromkeys(arguments.greater_is_better, True)
        | dict.fromkeys(arguments.lower_is_better, False),
    )
    drawn = comparison.friedman if arguments.figure is not None else ()
    files = [_draw(of, arguments.figure, comparison) for of in drawn]
    if arguments.format == "json":
        _console.print_json(comparison.as_dict())
    elif arguments.format == "csv":
        _console.print_csv([_flat(test) for test in comparison.tests])
        _console.print_notes(comparison.notes)
    else:
        _print(comparison)
        for file in files:
            _console.print_text(f"Figure: {file}")


def _flat(test: PairedTest) -> dict[str, object]:
    row: dict[str, object] = asdict(test)
    row.pop("methods")
    first, second = test.methods
    return {"dataset": row.pop("dataset"), "metric": row.pop("metric"), "first": first, "second": second} | row


def _print(comparison: Comparison) -> None:
    for of in comparison.friedman:
        _print_friedman(of, comparison.over)
    test = f"{comparison.test} over {_OVER[comparison.over]}, level {comparison.alpha:g}"
    if comparison.order.relations:
        _print_relations(comparison, f"Significant differences: {test}")
        print_order(comparison.order, "Ranking: significant wins minus losses", every=True)
    else:
        _console.print_text(f"No significant difference: {test}.")
    for note in comparison.notes:
        _console.print_text(f"Note: {note}")


def _print_relations(comparison: Comparison, heading: str) -> None:
    """Print a line for each significant difference; the data sets only where there are several."""
    several = len({test.dataset for test in comparison.tests}) > 1
    names = ("data set", "metric", "better", "worse")
    figures = ("difference of ranks" if comparison.friedman else "difference", "p", _OVER[comparison.over])
    rows = [
        (relation.dataset, title_of(relation.metric), relation.better, relation.worse,
         f"{relation.difference:+.4f}", f"{relation.p_value:.2g}", str(relation.n_pairs))
        for relation in comparison.order.relations
    ]  # fmt: skip
    first = 0 if several else 1
    columns = (*names, *figures)[first:]
    _console.print_table(heading, columns, [row[first:] for row in rows], left=len(names) - first)


def _print_friedman(of: FriedmanTest, over: str) -> None:
    rows = [(method, f"{rank:.2f}") for method, rank in sorted(of.mean_ranks.items(), key=lambda item: item[1])]
    where = f"{of.n_pairs} {_OVER[over]}" + (f" of {of.dataset}" if over == "folds" else "")
    heading = (
        f"{title_of(of.metric)}, {where}: Friedman's chi-squared {of.statistic:.2f}, p = {of.p_value:.2g};"
        f" F {of.f_statistic:.2f}, p = {of.f_p_value:.2g}"
    )
    _console.print_table(heading, ("method", "mean rank"), rows)
    if of.post_hoc == "nemenyi":
        _console.print_text(f"Critical difference of mean ranks (Nemenyi): {of.critical_difference:.2f}")


def _draw(of: FriedmanTest, file: Path, comparison: Comparison) -> Path:
    """Draw a diagram into a file named after the metric, and after the data set where folds are ranked."""
    of_one = f"-{of.dataset}" if comparison.over == "folds" else ""
    diagram = CriticalDifferenceDisplay.of(of, alpha=comparison.alpha)
    return diagram.write(file.with_name(f"{file.stem}-{of.metric}{of_one}{file.suffix}"))
