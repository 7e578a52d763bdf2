"""The library's names, where they are read without loading it; written by `make names`.

A name keeps its place, which is its place in help pages, and new names come last: move a line to change the order.
"""

# fmt: off
# Rooms, and what `import nearlabel` offers of them: estimators, searches, splitters and tables of vectors.
OFFERED = {
    "audit": (),
    "comparison": (),
    "datasets": (),
    "experiments": ("show_versions",),
    "labels": (),
    "lazy": (
        "BRkNN", "BRkNNa", "BRkNNb", "CMLkNN", "DMLkNN", "IBLR", "LPkNN", "MLkNN", "MLMLM", "NLDD", "StreamClassifier",
    ),
    "metrics": (),
    "models": (),
    "neighbors": (
        "DaskNeighbors", "ExactNeighbors", "FaissHNSWNeighbors", "FaissIVFNeighbors", "GaussianWeights", "LanceTable",
        "NoveltyDetector", "PgVectorTable", "PrecomputedNeighbors", "QdrantTable", "SimilarityWeights",
        "TableClassifier", "TableNeighbors", "TransformerNeighbors", "UsearchNeighbors",
    ),
    "papers": (),
    "persistence": (),
    "plots": (),
    "preprocessing": (
        "FeatureScaler", "InformationGainSelector", "MChen", "MixedFeaturesEncoder", "MLSMOTE", "MRHC", "MRSP1",
        "MRSP2", "MRSP3", "NeighborhoodComponentsWeights", "ResampledClassifier",
    ),
    "report": (),
    "rivals": (
        "AdaBoostMH", "ADTBoostMH", "BinaryRelevance", "BPMLL", "ClassifierChain", "ConditionalBernoulliMixture",
        "EnsembleOfBinaryRelevance", "EnsembleOfClassifierChains", "HOMER", "LabelPowerset", "NeighborInterpolation",
        "PredictiveClusteringTree", "RAkELd", "RAkELo", "RandomForestPCT", "RankSVM", "SMBR", "SoftVote",
    ),
    "selection": (
        "IterativeStratifiedKFold", "MixtureClassifierCV", "NeighborsClassifierCV", "NeighborsPerLabel",
    ),
    "serve": (),
    "testing": (),
    "thresholds": ("CalibratedLabels", "FixedThresholdsClassifier", "TunedThresholdsClassifierCV"),
}

# Names in specifications: declared by `nearlabel.utils.naming.registered`.
METHODS = (
    "brknn", "brknn-a", "brknn-b", "lpknn", "mlknn", "dmlknn", "cmlknn", "iblr", "nldd", "mlmlm", "br", "smbr", "cc",
    "lp", "ebr", "ecc", "rakelo", "rakeld", "homer", "pct", "rfpct", "interpolation", "cbm", "ranksvm", "adaboostmh",
    "adtboostmh", "bpmll", "svm",
)
NEIGHBOR_METHODS = ("brknn", "brknn-a", "brknn-b", "lpknn", "mlknn", "dmlknn", "cmlknn", "iblr")
SELECTIONS = ("igs", "ig")
SAMPLERS = ("mlsmote", "mrhc", "mrsp1", "mrsp2", "mrsp3", "mchen")
THRESHOLDS = (
    "micro-f", "pillai", "macro-f", "fbr0", "fbr1", "global-f", "examples-f", "expected-f", "rcut", "pcut",
    "cardinality", "mcut", "risk",
)
SEARCHES = ("exact", "faiss-ivf", "faiss-hnsw", "usearch")
CATALOGUE = (
    "hamming_loss", "subset_accuracy", "jaccard_examples", "precision_examples", "recall_examples", "f1_examples",
    "f1_of_means", "micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1",
    "one_error", "coverage", "ranking_loss", "average_precision",
)
METRICS_ON_REQUEST = (
    "fbeta_examples", "micro_fbeta", "macro_fbeta", "precision_at_k", "recall_at_k", "ndcg_at_k",
    "propensity_scored_precision_at_k", "roc_auc", "mean_average_precision", "log_loss", "brier_score",
)

# Further values of arguments, each declared in its room.
LEADERBOARD_METHODS = (
    "brknn@micro-f", "brknn:weights=distance@micro-f", "mlknn@micro-f", "br:estimator=logistic@micro-f",
    "svm:C=0.25@micro-f", "mlmlm@micro-f", "iblr@micro-f", "nldd:estimator=logistic", "rfpct@micro-f",
    "ecc:estimator=logistic@micro-f", "interpolation:estimator=logistic",
)
ESTIMATORS = ("svm", "svm-hinge", "svm-rbf", "knn", "logistic", "tree")
IMPUTATIONS = ("mean", "median", "most_frequent")
CALIBRATIONS = ("sigmoid", "isotonic", "beta")
PROMISED_MEASURES = ("recall", "all_labels", "precision")
SCALES = ("none", "minmax", "standard", "tfidf")
TESTS = ("t", "corrected-t", "wilcoxon", "bayes", "friedman")
OVER = ("folds", "datasets")
POST_HOC = ("nemenyi", "holm")
STRATEGIES = ("representative", "random")
LOSSES = ("labels", "subset", "f1")
PAPERS = ("chaudhari2016", "gweon2019", "pillai2012", "spyromitros2008", "zhang2007")

# Classes that these names make, which `load_model` builds from attributes.
BUILT = (
    "nearlabel.lazy._brknn.BRkNN", "nearlabel.lazy._brknn.BRkNNa", "nearlabel.lazy._brknn.BRkNNb",
    "nearlabel.lazy._cmlknn.CMLkNN", "nearlabel.lazy._dmlknn.DMLkNN", "nearlabel.lazy._iblr.IBLR",
    "nearlabel.lazy._lpknn.LPkNN", "nearlabel.lazy._mlknn.MLkNN", "nearlabel.lazy._mlmlm.MLMLM",
    "nearlabel.lazy._nldd.NLDD", "nearlabel.preprocessing._feature_selection.InformationGainSelector",
    "nearlabel.preprocessing._mlsmote.MLSMOTE", "nearlabel.preprocessing._mrhc.MRHC",
    "nearlabel.preprocessing._space_partitioning.MChen", "nearlabel.preprocessing._space_partitioning.MRSP1",
    "nearlabel.preprocessing._space_partitioning.MRSP2", "nearlabel.preprocessing._space_partitioning.MRSP3",
    "nearlabel.rivals._binary_relevance.BinaryRelevance",
    "nearlabel.rivals._binary_relevance.EnsembleOfBinaryRelevance", "nearlabel.rivals._binary_relevance.SMBR",
    "nearlabel.rivals._boosting.ADTBoostMH", "nearlabel.rivals._boosting.AdaBoostMH", "nearlabel.rivals._bp_mll.BPMLL",
    "nearlabel.rivals._cbm.ConditionalBernoulliMixture", "nearlabel.rivals._chains.ClassifierChain",
    "nearlabel.rivals._chains.EnsembleOfClassifierChains", "nearlabel.rivals._homer.HOMER",
    "nearlabel.rivals._interpolation.NeighborInterpolation", "nearlabel.rivals._label_powerset.LabelPowerset",
    "nearlabel.rivals._label_powerset.RAkELd", "nearlabel.rivals._label_powerset.RAkELo",
    "nearlabel.rivals._rank_svm.RankSVM", "nearlabel.rivals.clustering_trees.PredictiveClusteringTree",
    "nearlabel.rivals.clustering_trees.RandomForestPCT", "nearlabel.thresholds._cyclic.CyclicAscent",
    "nearlabel.thresholds._expected_f.ExpectedF", "nearlabel.thresholds._global.GlobalCut",
    "nearlabel.thresholds._micro_f.MicroFOptimum", "nearlabel.thresholds._micro_f.PillaiAscent",
    "nearlabel.thresholds._per_label.FBR", "nearlabel.thresholds._per_label.SCut",
    "nearlabel.thresholds._risk_control.RiskControl", "nearlabel.thresholds._simple_cuts.MCut",
    "nearlabel.thresholds._simple_cuts.PCut", "nearlabel.thresholds._simple_cuts.RCut",
)
