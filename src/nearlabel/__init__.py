"""Multi-label classification by nearest neighbours, in the scikit-learn idiom.

The one rule: a lazy multi-label classifier is a function from neighbours to labels. *Search* gives
``(distances, indices)``, *score* gives ``(n_queries, n_labels)`` numbers, *decide* gives the label sets.

Import classifiers, searches, selectors and splitters from here or from their sub-package, functions from their
sub-package:

- `nearlabel.lazy` (classifiers by nearest neighbours, also of streams) and `nearlabel.neighbors` (searches, votes,
  vector databases);
- `nearlabel.thresholds` (from scores to label sets, calibration);
- `nearlabel.selection` (folds, numbers of neighbours, the best method);
- `nearlabel.models` (base classes; functions of any fitted model: explanations, names of labels, added and removed
  samples);
- `nearlabel.rivals` (other multi-label classifiers, and mixtures);
- `nearlabel.audit` (labels that are probably wrong, samples to label next, predictions to check);
- `nearlabel.metrics`, `nearlabel.labels` (statistics of y), `nearlabel.preprocessing` (features and samples before a
  method);
- `nearlabel.datasets`, `nearlabel.persistence` (models in files, checks for damage);
- `nearlabel.experiments`, `nearlabel.comparison`, `nearlabel.papers`;
- `nearlabel.plots`, `nearlabel.report`;
- `nearlabel.testing` (checks for your own estimators).

Python loads a sub-package when it is first used: ``import nearlabel`` alone loads neither numpy nor scikit-learn.

Examples
--------
>>> import nearlabel
>>> nearlabel.MLkNN is nearlabel.lazy.MLkNN
True
"""

import importlib

from nearlabel.utils.names import OFFERED as _OFFERED  # sub-packages, and what the top offers of each

__version__ = "1.0.0rc1"

_HOME = {name: sub_package for sub_package, names in _OFFERED.items() for name in names}

__all__ = sorted({*_OFFERED, *_HOME} - {"serve"})  # for `import *`: without what needs further libraries


def __getattr__(name: str) -> object:
    """Load a sub-package, or a class from its sub-package, when it is first used."""
    if name in _OFFERED:
        return importlib.import_module(f"nearlabel.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"nearlabel.{_HOME[name]}"), name)
    raise AttributeError(f"module 'nearlabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, not the helpers of this file."""
    return [*__all__, "serve", "__version__"]
