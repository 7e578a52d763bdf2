"""Compare methods by statistical tests on their results on the same folds or data sets.

`compare` accepts the records of `nearlabel.experiments.run`, the folders that it wrote, and results of other programs
(`read_results` describes the format). Its steps can be called one by one: `paired_values`, then `paired_tests` or
`friedman_test`, then `order_methods`. `compare_rows` compares the predictions for single samples.
"""

from nearlabel.comparison._compare import TESTS as TESTS  # these three: for the command line
from nearlabel.comparison._compare import (
    ComparedRow,
    Comparison,
    Order,
    Relation,
    RowComparison,
    compare,
    compare_rows,
    order_methods,
)
from nearlabel.comparison._paired import OVER as OVER
from nearlabel.comparison._paired import PairedValues, paired_values
from nearlabel.comparison._results import read_results
from nearlabel.comparison._significance import POST_HOC as POST_HOC
from nearlabel.comparison._significance import (
    FriedmanTest,
    OverlappingFoldsWarning,
    PairedTest,
    friedman_test,
    paired_tests,
)

__all__ = [
    "ComparedRow", "Comparison", "FriedmanTest", "Order", "OverlappingFoldsWarning", "PairedTest", "PairedValues",
    "Relation", "RowComparison", "compare", "compare_rows", "friedman_test", "order_methods", "paired_tests",
    "paired_values", "read_results",
]  # fmt: skip
