"""The test of iterative-stratification, answered by `IterativeStratifiedKFold`."""

from __future__ import annotations

import sys
import types

from nearlabel.selection import IterativeStratifiedKFold
from strangers.outcomes import answered


class MultilabelStratifiedKFold(IterativeStratifiedKFold):
    """Ours, of any number of rows."""

    def split(self, X, y=None, groups=None):
        """Give the folds."""
        answered()
        return super().split(X, y, groups)


def pytest_configure():
    """Let the test import ours."""
    package, module = types.ModuleType("iterstrat"), types.ModuleType("iterstrat.ml_stratifiers")
    module.MultilabelStratifiedKFold = MultilabelStratifiedKFold
    package.ml_stratifiers = module
    sys.modules |= {"iterstrat": package, "iterstrat.ml_stratifiers": module}
