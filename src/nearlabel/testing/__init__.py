"""The requirements for multi-label classifiers, searches, metrics and samplers, as checks for any estimator.

scikit-learn's checks apply too: `sklearn.utils.estimator_checks.check_estimator`, with the few exceptions that
`expected_failed_checks` lists with reasons. All public classifiers pass it with default parameters.

Examples
--------
>>> from nearlabel.lazy import MLkNN
>>> from nearlabel.testing import check_multilabel_estimator
>>> check_multilabel_estimator(MLkNN(n_neighbors=3))
"""

from nearlabel.testing import _classifiers, _parts
from nearlabel.testing._classifiers import *  # noqa: F403 (what its __all__ declares)
from nearlabel.testing._parts import *  # noqa: F403 (the same)

__all__: list[str] = []
__all__ += _classifiers.__all__
__all__ += _parts.__all__
