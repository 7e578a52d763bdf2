"""Multi-label classification by nearest neighbours, in the scikit-learn idiom.

The one rule: a lazy multi-label classifier is a function from neighbours to labels. *Search* gives
``(distances, indices)``, *score* gives ``(n_queries, n_labels)`` numbers, *decide* gives the label sets.

Import classifiers, searches, selectors and splitters from here or from their sub-package, functions from their
sub-package:

- `nearlabel.neighbors` (searches, votes) and `nearlabel.lazy` (classifiers by nearest neighbours);
- `nearlabel.transformation`, `nearlabel.ensemble` and `nearlabel.adaptation` (other multi-label classifiers);
- `nearlabel.inspection` (explanations and names of labels, through pipelines and searches);
- `nearlabel.audit` (labels that are probably wrong), `nearlabel.active` (samples to label next, predictions to check);
- `nearlabel.decision` and `nearlabel.thresholds` (from scores to label sets), `nearlabel.calibration` (probabilities),
  `nearlabel.metrics`;
- `nearlabel.model_selection` (folds, number of neighbours), `nearlabel.feature_selection`, `nearlabel.labels`;
- `nearlabel.resampling` (more samples of rare labels, or fewer samples);
- `nearlabel.preprocessing` (mixed columns), `nearlabel.datasets`, `nearlabel.databases` (vector databases);
- `nearlabel.experiments`, `nearlabel.comparison`, `nearlabel.papers`;
- `nearlabel.streams` (streams of samples, in bounded memory), `nearlabel.updates` (adding and removing samples);
- `nearlabel.persistence`, `nearlabel.plots`, `nearlabel.report`;
- `nearlabel.testing` (checks for your own estimators);
- `nearlabel.verification` (checks that files are undamaged);
- `nearlabel.environment` (versions of libraries, the compiled kernels).

Python loads a sub-package when it is first used: ``import nearlabel`` alone loads neither numpy nor scikit-learn.

Examples
--------
>>> import nearlabel
>>> nearlabel.MLkNN is nearlabel.lazy.MLkNN
True
"""

import importlib

__version__ = "1.0.0rc1"

# Each sub-package with the classes that it offers at the top. Type checkers read __init__.pyi; a test compares them.
_OFFERED = {
    "active": "",
    "adaptation": "ADTBoostMH AdaBoostMH BPMLL ConditionalBernoulliMixture PredictiveClusteringTree RankSVM",
    "audit": "",
    "calibration": "CalibratedLabels",
    "comparison": "",
    "databases": "LanceTable PgVectorTable QdrantTable TableClassifier TableNeighbors",
    "datasets": "",
    "decision": "",
    "ensemble": (
        "EnsembleOfBinaryRelevance EnsembleOfClassifierChains HOMER NeighborInterpolation RAkELd RAkELo "
        "RandomForestPCT SoftVote"
    ),
    "environment": "show_versions",
    "experiments": "",
    "feature_selection": "InformationGainSelector",
    "inspection": "",
    "labels": "",
    "lazy": "BRkNN BRkNNa BRkNNb CMLkNN DMLkNN IBLR LPkNN MLMLM MLkNN NLDD",
    "metrics": "",
    "model_selection": "IterativeStratifiedKFold NeighborsClassifierCV NeighborsPerLabel",
    "neighbors": (
        "DaskNeighbors ExactNeighbors FaissHNSWNeighbors FaissIVFNeighbors NoveltyDetector PrecomputedNeighbors "
        "TransformerNeighbors UsearchNeighbors"
    ),
    "papers": "",
    "persistence": "",
    "plots": "",
    "preprocessing": "ColorMoments FeatureScaler MixedFeaturesEncoder",
    "report": "",
    "resampling": "MChen MLROS MLRUS MLSMOTE MLTL MLeNN MRHC MRSP1 MRSP2 MRSP3 REMEDIAL ResampledClassifier",
    "streams": "StreamClassifier",
    "testing": "",
    "thresholds": "FixedThresholdsClassifier TunedThresholdsClassifierCV",
    "transformation": "BinaryRelevance ClassifierChain LabelPowerset SMBR",
    "updates": "",
    "verification": "",
}
_HOME = {name: sub_package for sub_package, names in _OFFERED.items() for name in names.split()}

__all__ = sorted((*_OFFERED, *_HOME))


def __getattr__(name: str) -> object:
    """Load a sub-package, or a class from its sub-package, when it is first used."""
    if name in _OFFERED:
        return importlib.import_module(f"nearlabel.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"nearlabel.{_HOME[name]}"), name)
    raise AttributeError(f"module 'nearlabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, not the helpers of this file."""
    return [*__all__, "__version__"]
