import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from conftest import CONTAINERS
from nearlabel.lazy import NLDD, BRkNN, MLkNN
from nearlabel.metrics import hamming_loss
from nearlabel.neighbors import ExactNeighbors, TransformerNeighbors

RNG = np.random.default_rng(0)
X, QUERIES = RNG.normal(size=(30, 3)), RNG.normal(size=(8, 3))
Y = (X @ RNG.normal(size=(3, 4)) > 0).astype(int)


class GraphTransformer(TransformerMixin, BaseEstimator):
    """As those of sklearn-ann: no `kneighbors`, n_neighbors + 1 entries a row, here in no order at all."""

    def __init__(self, n_neighbors=5, metric="euclidean"):
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit(self, X, y=None):
        """Fit the exact search."""
        self.exact_ = ExactNeighbors(self.metric).fit(X)
        return self

    def transform(self, X):
        """Return the graph, farthest first."""
        distances, indices = (a[:, ::-1] for a in self.exact_.kneighbors(X, self.n_neighbors + 1))
        ends = np.arange(0, indices.size + 1, indices.shape[1])
        shape = len(indices), self.exact_.n_samples_fit_
        return sparse.csr_array((distances.ravel(), indices.ravel(), ends), shape=shape)


@pytest.mark.parametrize("rows", [X, np.round(X)], ids=["spread", "ties"])
@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_the_answer_is_that_of_the_search_behind(rows, store):
    """Sorted, self left out by its number; one more neighbour is known of a query than of a training row."""
    search, exact = TransformerNeighbors(GraphTransformer(6)).fit(store(rows)), ExactNeighbors().fit(rows)
    for theirs, ours in zip(search.kneighbors(store(QUERIES)), exact.kneighbors(QUERIES, 7), strict=True):
        assert (theirs == ours).all()
    distances, indices = search.kneighbors(n_neighbors=4)
    assert (distances == exact.kneighbors(n_neighbors=4)[0]).all()
    assert (indices != np.arange(30)[:, np.newaxis]).all()
    assert search.kneighbors(return_distance=False).shape == (30, 6)


def test_duplicates_push_a_row_out_of_its_own_list():
    """Where more rows are equal than the graph has room for, a row missing from its own list loses nothing."""
    search = TransformerNeighbors(GraphTransformer(3)).fit(np.zeros((9, 2)))
    indices = search.kneighbors(n_neighbors=3, return_distance=False)
    assert indices[0].tolist() == [1, 2, 3]
    assert indices[2].tolist() == [0, 1, 3]
    assert indices[8].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "transformer",
    [
        GraphTransformer(10),
        KNeighborsTransformer(n_neighbors=10),
        KNeighborsTransformer(n_neighbors=10, mode="connectivity"),  # has kneighbors, which tells the distances
        make_pipeline(FunctionTransformer(), KNeighborsTransformer(n_neighbors=10)),
        make_pipeline(FunctionTransformer(), GraphTransformer(10)),
        RadiusNeighborsTransformer(radius=50.0),
    ],
    ids=["bare", "sklearn", "connectivity", "pipeline", "pipeline of bare", "radius"],
)
@pytest.mark.parametrize("method", [BRkNN(5), MLkNN(5), NLDD(random_state=0)], ids=["brknn", "mlknn", "nldd"])
def test_every_classifier_takes_a_transformer(method, transformer):
    """As `search`, as it is; scores are those of the exact search."""
    if isinstance(method, NLDD):
        transformer = transformer if isinstance(transformer, RadiusNeighborsTransformer) else None
    model = clone(method).set_params(search=transformer).fit(X, Y)
    assert model.predict_proba(QUERIES) == pytest.approx(clone(method).fit(X, Y).predict_proba(QUERIES), abs=1e-12)
    assert model.search is transformer


def test_leave_one_out():
    """Leave-one-out scores need one neighbour more, and get it."""
    model = MLkNN(5, search=GraphTransformer(6)).fit(X, Y)
    assert (model.loo_predict_proba() == MLkNN(5).fit(X, Y).loo_predict_proba()).all()


def test_the_graph_of_the_training_rows_is_made_once(monkeypatch):
    """However often a method asks; another fit makes another one."""
    made, transform = [], GraphTransformer.transform
    monkeypatch.setattr(GraphTransformer, "transform", lambda self, X: made.append(len(X)) or transform(self, X))
    model = MLkNN(5, search=GraphTransformer(5)).fit(X, Y)
    assert model.search_.n_neighbors_known == 5
    assert made == [30]
    search = model.search_
    assert (search.fit(X[:9]).kneighbors(n_neighbors=2)[1] == ExactNeighbors().fit(X[:9]).kneighbors(None, 2)[1]).all()


def test_clone_and_grid_search():
    """The parameters of the transformer are those of the classifier, behind search__."""
    model = clone(BRkNN(2, search=GraphTransformer(3)))
    assert model.set_params(search__metric="cosine").get_params()["search__metric"] == "cosine"
    scorer = make_scorer(hamming_loss, greater_is_better=False)
    grid = {"search__metric": ["euclidean", "cosine"], "n_neighbors": [1, 4]}
    found = GridSearchCV(model, grid, scoring=scorer, cv=3).fit(X, Y)
    exact = GridSearchCV(BRkNN(search=ExactNeighbors()), grid, scoring=scorer, cv=3).fit(X, Y)
    assert (found.cv_results_["mean_test_score"] == exact.cv_results_["mean_test_score"]).all()


def test_too_few_neighbours():
    """The message says how many there are and what to do."""
    with pytest.raises(ValueError, match=r"at most the 3 that the graph of GraphTransformer has .* got 4. Hint"):
        MLkNN(4, search=GraphTransformer(3)).fit(X, Y)
    model = BRkNN(4, search=GraphTransformer(3)).fit(X, Y)
    assert model.predict(QUERIES).shape == (8, 4)
    with pytest.raises(ValueError, match="must have a neighbour of every row, got none of row"):
        MLkNN(1, search=RadiusNeighborsTransformer(radius=1e-9)).fit(X, Y)


def test_what_gives_no_graph():
    """Other transformers, graphs without distances and classes are refused."""
    with pytest.raises(TypeError, match="the graph of StandardScaler must be a sparse graph of distances, got ndarray"):
        MLkNN(2, search=StandardScaler()).fit(X, Y)
    with pytest.raises(ValueError, match="transformer must have mode='distance'"):
        BRkNN(2, search=RadiusNeighborsTransformer(mode="connectivity")).fit(X, Y)
    with pytest.raises(TypeError, match="search must be an object with the methods fit and kneighbors"):
        BRkNN(2, search=GraphTransformer).fit(X, Y)
    with pytest.raises(TypeError, match="transformer must be an object with the methods fit and transform, got 3"):
        TransformerNeighbors(3).fit(X)
