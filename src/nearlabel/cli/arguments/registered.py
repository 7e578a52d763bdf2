"""The library's names that help pages list and arguments are checked by; a test compares them with the library."""

NEIGHBOR_METHODS = ("brknn", "brknn-a", "brknn-b", "lpknn", "mlknn", "dmlknn", "cmlknn", "iblr")
METHODS = (
    *NEIGHBOR_METHODS, "nldd", "mlmlm", "br", "smbr", "cc", "lp", "ebr", "ecc", "rakelo", "rakeld", "homer", "pct",
    "rfpct", "interpolation", "cbm", "ranksvm", "adaboostmh", "adtboostmh", "bpmll",
)  # fmt: skip
LEADERBOARD_METHODS = (
    "brknn@micro-f", "brknn:weights=distance@micro-f", "mlknn@micro-f", "br:estimator=logistic@micro-f",
    "mlmlm@micro-f", "iblr@micro-f", "nldd:estimator=logistic", "rfpct@micro-f", "ecc:estimator=logistic@micro-f",
    "interpolation:estimator=logistic",
)  # fmt: skip
ESTIMATORS = ("svm", "svm-hinge", "svm-rbf", "knn", "logistic", "tree")
SELECTIONS = ("igs", "ig")
SAMPLERS = (
    "mlros", "mlrus", "mlsmote", "mlenn", "mltl", "remedial", "mrhc", "mrsp1", "mrsp2", "mrsp3", "mchen",
)  # fmt: skip
THRESHOLDS = (
    "micro-f", "pillai", "macro-f", "fbr0", "fbr1", "global-f", "examples-f", "expected-f", "rcut", "pcut",
    "cardinality", "mcut", "risk",
)  # fmt: skip
CALIBRATIONS = ("sigmoid", "isotonic", "beta")
PROMISED_MEASURES = ("recall", "all_labels", "precision")
SEARCHES = ("exact", "faiss-ivf", "faiss-hnsw", "usearch")
SCALES = ("none", "minmax", "standard", "tfidf")
IMPUTATIONS = ("mean", "median", "most_frequent")
TESTS = ("t", "corrected-t", "wilcoxon", "bayes", "friedman")
OVER = ("folds", "datasets")
POST_HOC = ("nemenyi", "holm")
PAPERS = ("chaudhari2016", "gweon2019", "pillai2012", "spyromitros2008", "zhang2007")
STRATEGIES = ("representative", "random")
LOSSES = ("labels", "subset", "f1")
