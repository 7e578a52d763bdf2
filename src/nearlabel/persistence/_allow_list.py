"""The types that are trusted by default in a file, each for one use only.

skops trusts a list of names, and a file may use a listed name in any way: build an object from attributes, call a class
or function with arguments from the file, or return it for a later call. So a name may be listed only if an object of
that type, with attributes chosen by an attacker, can do nothing but compute; `check_schema` rejects every use but the
listed one. Whole modules are never listed, because a module also contains everything that it imports. A test fits every
estimator and compares the types in its file with this list.
"""

from __future__ import annotations

# Built from attributes, without a call of the constructor; named tuples from their items.
_OBJECTS = (
    "nearlabel.statistics.label_probabilities.LabelProbabilities",
    "nearlabel.statistics.label_probabilities.Platt",
    "nearlabel.statistics.score_maps.Interpolation",
    "nearlabel.statistics.score_maps.Logistic",
    "nearlabel.statistics.temperature.Temperature",
    "nearlabel.utils.validation.LabelContainer",
    "nearlabel.adaptation._adaboost_mh.AdaBoostMH",
    "nearlabel.adaptation._adaboost_mh._Table",
    "nearlabel.adaptation._adtboost_mh.ADTBoostMH",
    "nearlabel.adaptation._bp_mll.BPMLL",
    "nearlabel.adaptation._bp_mll.InputScale",
    "nearlabel.adaptation._cbm.ConditionalBernoulliMixture",
    "nearlabel.adaptation._clustering_tree.PredictiveClusteringTree",
    "nearlabel.adaptation._kernel.Kernel",
    "nearlabel.adaptation._rank_svm.RankSVM",
    "nearlabel.adaptation._ranking_network.RankingNetwork",
    "nearlabel.ensemble._binary_relevance.EnsembleOfBinaryRelevance",
    "nearlabel.ensemble._chains.EnsembleOfClassifierChains",
    "nearlabel.ensemble._forest.RandomForestPCT",
    "nearlabel.ensemble._homer.HOMER",
    "nearlabel.ensemble._interpolation.NeighborInterpolation",
    "nearlabel.ensemble._label_tree.Node",
    "nearlabel.ensemble._rakel.RAkELd",
    "nearlabel.ensemble._rakel.RAkELo",
    "nearlabel.ensemble._soft_vote.SoftVote",
    "nearlabel.preprocessing._color_moments.ColorMoments",
    "nearlabel.preprocessing._feature_scaler.FeatureScaler",
    "nearlabel.feature_selection.InformationGainSelector",
    "nearlabel.lazy._boxes.VoteVectors",
    "nearlabel.lazy._brknn.BRkNN",
    "nearlabel.lazy._brknn.BRkNNa",
    "nearlabel.lazy._brknn.BRkNNb",
    "nearlabel.lazy._cmlknn.CMLkNN",
    "nearlabel.lazy._dmlknn.DMLkNN",
    "nearlabel.neighbors.double_distances.CertifiedPairs",
    "nearlabel.neighbors.double_distances.SearchedPairs",
    "nearlabel.lazy._iblr.IBLR",
    "nearlabel.statistics.newton_logistic.NewtonLogistic",
    "nearlabel.lazy._lpknn.LPkNN",
    "nearlabel.lazy._cmlknn.Memberships",
    "nearlabel.lazy._mlknn.MLkNN",
    "nearlabel.lazy._unknown.KnownCells",
    "nearlabel.lazy._unknown.LabelGroup",
    "nearlabel.lazy._distance_regression.DistanceRegression",
    "nearlabel.lazy._mlmlm.MLMLM",
    "nearlabel.neighbors.all_distances.AllDistances",
    "nearlabel.lazy._nldd.NLDD",
    "nearlabel.statistics.feature_scaling.FeatureScaling",
    "nearlabel.model_selection._neighbors_classifier_cv.NeighborsClassifierCV",
    "nearlabel.model_selection._neighbors_per_label.NeighborsPerLabel",
    "nearlabel.neighbors._distances.AnyMetric",
    "nearlabel.neighbors._distances.Cosine",
    "nearlabel.neighbors._distances.Euclidean",
    "nearlabel.neighbors._distances.Manhattan",
    "nearlabel.neighbors._distances.Rows",
    "nearlabel.neighbors._distances.SquaredEuclidean",
    "nearlabel.neighbors._novelty.NoveltyDetector",
    "nearlabel.neighbors._precomputed.NeighborGraph",
    "nearlabel.neighbors._precomputed.PrecomputedNeighbors",
    "nearlabel.neighbors._training_lists.TrainingLists",
    "nearlabel.neighbors._transformer.TransformerNeighbors",
    "nearlabel.persistence._searches.SavedSearch",
    "nearlabel.preprocessing._apart.OverlapEncoder",
    "nearlabel.preprocessing._apart.TextEncoder",
    "nearlabel.preprocessing._columns.ColumnReader",
    "nearlabel.preprocessing._mixed_features.MixedFeaturesEncoder",
    "nearlabel.preprocessing._range_scaler.RangeScaler",
    "nearlabel.preprocessing._stem_analyzer.StemAnalyzer",
    "nearlabel.resampling._cleaning.MLTL",
    "nearlabel.resampling._cleaning.MLeNN",
    "nearlabel.resampling._mlsmote.MLSMOTE",
    "nearlabel.resampling._mrhc.MRHC",
    "nearlabel.resampling._random.MLROS",
    "nearlabel.resampling._random.MLRUS",
    "nearlabel.resampling._remedial.REMEDIAL",
    "nearlabel.resampling._resampled_classifier.ResampledClassifier",
    "nearlabel.resampling._space_partitioning.MChen",
    "nearlabel.resampling._space_partitioning.MRSP1",
    "nearlabel.resampling._space_partitioning.MRSP2",
    "nearlabel.resampling._space_partitioning.MRSP3",
    "nearlabel.streams._drift.Drift",
    "nearlabel.streams._drift.Watch",
    "nearlabel.streams._kept_rows.KeptRows",
    "nearlabel.streams._prequential.Prequential",
    "nearlabel.streams._stream_classifier.StreamClassifier",
    "nearlabel.calibration.CalibratedLabels",
    "nearlabel.thresholds._cross_val.OneClass",
    "nearlabel.thresholds._cyclic.CyclicAscent",
    "nearlabel.thresholds._expected_f.ExpectedF",
    "nearlabel.thresholds._fbr.FBR",
    "nearlabel.thresholds._fixed.FixedThresholdsClassifier",
    "nearlabel.thresholds._global.GlobalCut",
    "nearlabel.thresholds._mcut.MCut",
    "nearlabel.thresholds._micro_f.MicroFOptimum",
    "nearlabel.thresholds._pcut.PCut",
    "nearlabel.thresholds._pillai.PillaiAscent",
    "nearlabel.thresholds._rcut.RCut",
    "nearlabel.thresholds._risk_control.RiskControl",
    "nearlabel.thresholds._scut.SCut",
    "nearlabel.thresholds._tuned.TunedThresholdsClassifierCV",
    "nearlabel.transformation._binary_relevance.BinaryRelevance",
    "nearlabel.transformation._binary_relevance.SMBR",
    "nearlabel.transformation._classifier_chain.ClassifierChain",
    "nearlabel.transformation._label_powerset.LabelPowerset",
)
# Called by the models that contain them, with label sets and similarities.
_FUNCTIONS = (
    "nearlabel.lazy._cmlknn.averaged",
    "nearlabel.lazy._cmlknn.clipped",
    "nearlabel.lazy._cmlknn.largest",
    "nearlabel.lazy._cmlknn.settled",
)
# Built as matrices, and named as the container type of y.
_CONTAINERS = (
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
)

# Not trusted by name: compiled code follows its indices. `load_model` builds it only if `_validate_trees` checks it.
TREE = "sklearn.tree._tree.Tree"

_TRUSTED: dict[str, frozenset[str]] = (
    dict.fromkeys(_OBJECTS, frozenset({"ObjectNode", "TupleNode"}))
    | dict.fromkeys(_FUNCTIONS, frozenset({"FunctionNode"}))
    | dict.fromkeys(_CONTAINERS, frozenset({"SparseMatrixNode", "TypeNode"}))
    | {"numpy.dtype": frozenset({"DTypeNode"})}
)
# For each type, the names of the skops loaders that may build it.
USES = _TRUSTED | {TREE: frozenset({"TreeNode"})}
TRUSTED_TYPES = tuple(_TRUSTED)
