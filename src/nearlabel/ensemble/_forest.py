"""Random forest of predictive clustering trees (Kocev, Vens, Struyf and Džeroski 2007, 2013)."""

from __future__ import annotations

from numpy.random import RandomState
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

from nearlabel.adaptation.clustering_trees import ClusteringTrees
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import check_flag, check_integer


class RandomForestPCT(ClusteringTrees):
    """Random forest of predictive clustering trees, which split on the variance of all labels at once.

    Each split reduces the variance, summed over the labels, as much as possible, among a few features drawn at each
    node. Trees grow until each leaf has one label set; a leaf predicts the mean label vector of its training samples.
    The score is the mean over the trees, each grown on a bootstrap sample.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features drawn at each node, as in scikit-learn, where a float is a share. None: a tenth of the
        features, rounded down, plus 1, as in Madjarov et al. (2012).
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample; otherwise on all samples.
    random_state : int, RandomState or None, default=None
        Draws samples and features.
    n_jobs : int, default=None
        Number of trees grown in parallel.

    Attributes
    ----------
    forest_ : RandomForestClassifier
        The forest of the labels that have both classes, fitted to features minus `shift_`, divided by `scale_`. These
        three attributes are missing if no label has both classes.
    shift_ : ndarray of shape (n_features,)
        The limit of each feature's training range that is nearer to 0; 0 if the range contains 0.
    scale_ : ndarray of shape (n_features,)
        Largest distance of training values from `shift_`; 1 for a constant feature.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The forest is scikit-learn's `RandomForestClassifier` with a label matrix. Its Gini impurity is the mean over labels
    of 1 - p² - (1 - p)² = 2 p (1 - p), where p is the share of positive samples, and p (1 - p) is the label's variance:
    the impurity is 2 / n_labels times the summed variance, so the same splits are best. Ties between splits are broken
    by the order in which features are drawn.

    scikit-learn's trees convert features to single precision and treat a feature with a range below 1e-7 as constant.
    So features are first scaled to [-1, 1] in double precision, which keeps the order of their values.

    `nearlabel.adaptation.PredictiveClusteringTree` is a single such tree.

    CLUS, the authors' program, can weight the labels; here all labels have weight 1.

    y is converted to a dense array, and each node stores two counts per label: the method is suited to a few hundred
    labels.

    References
    ----------
    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Ensembles of multi-objective decision trees. ECML 2007.

    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Tree ensembles for predicting structured outputs. Pattern Recognition
    46(3), 2013.

    G. Madjarov, D. Kocev, D. Gjorgjevikj, S. Džeroski. An extensive experimental comparison of methods for multi-label
    learning. Pattern Recognition 45(9), 2012.

    Examples
    --------
    >>> from nearlabel.ensemble import RandomForestPCT
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> RandomForestPCT(random_state=0).fit(X, y).predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_features: float | str | None = None,
        bootstrap: bool = True,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)
        check_flag("bootstrap", self.bootstrap)
        check_random_state(self.random_state)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        forest = RandomForestClassifier(
            self.n_estimators,
            max_features=X.shape[1] // 10 + 1 if self.max_features is None else self.max_features,
            bootstrap=self.bootstrap,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        # A forest sums its trees in the order in which the threads finish; with one thread the sum is reproducible.
        self.forest_ = self._grown(forest, X, labels, sample_weight).set_params(n_jobs=None)

    def _score(self, X: Matrix) -> FloatArray:
        return self._shares(self.forest_, X)
