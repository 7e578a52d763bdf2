"""Compare methods by statistical tests on the values that they reached on the same folds or data sets."""

from nearlabel.comparison._compare import TESTS, Comparison, compare, read_runs, run_folders
from nearlabel.comparison._orders import Order, Relation, order_methods
from nearlabel.comparison._paired import OVER, PairedValues, paired_values, rounded
from nearlabel.comparison._significance import (
    POST_HOC,
    FriedmanTest,
    OverlappingFoldsWarning,
    PairedTest,
    friedman_test,
    paired_tests,
    warnings_as_notes,
)

__all__ = [
    "OVER",
    "POST_HOC",
    "TESTS",
    "Comparison",
    "FriedmanTest",
    "Order",
    "OverlappingFoldsWarning",
    "PairedTest",
    "PairedValues",
    "Relation",
    "compare",
    "friedman_test",
    "order_methods",
    "paired_tests",
    "paired_values",
    "read_runs",
    "rounded",
    "run_folders",
    "warnings_as_notes",
]
