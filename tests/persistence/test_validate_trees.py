import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from nearlabel.persistence import load_model, read_card, save_model
from nearlabel.rivals import BinaryRelevance, EnsembleOfClassifierChains, PredictiveClusteringTree, RandomForestPCT

TREE = "sklearn.tree._tree.Tree"
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
Y = (X[:, :3] + rng.normal(size=(80, 3)) > 0).astype(int)


def tree_with(**changes):
    """A tree of scikit-learn with changes to its nodes (field: (node, value)) or to its state."""
    model = DecisionTreeClassifier(random_state=0, max_depth=4).fit(X, Y[:, 0])
    tree = model.tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    for name, change in changes.items():
        if name in state["nodes"].dtype.names:
            node, value = change
            state["nodes"][name][node] = value
        elif name in state:
            state[name] = change
    forged = type(tree)(changes.get("n_features", tree.n_features), tree.n_classes, tree.n_outputs)
    forged.__setstate__(state)
    model.tree_ = forged
    return model


@pytest.mark.parametrize(
    "model",
    [
        RandomForestPCT(n_estimators=4, random_state=0),
        PredictiveClusteringTree(2, random_state=0),
        BinaryRelevance(DecisionTreeClassifier(random_state=0)),
        BinaryRelevance(RandomForestClassifier(3, random_state=0)),
        EnsembleOfClassifierChains(DecisionTreeClassifier(max_leaf_nodes=6), n_estimators=2, random_state=0),
        make_pipeline(RandomForestPCT(n_estimators=2, bootstrap=False, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_forests_are_loaded_unasked(tmp_path, model, container):
    """The same answers, without a list of types; leaf-wise and pruned trees, too."""
    model = model.fit(container(X), Y)
    file = save_model(model, tmp_path / "m.skops")
    assert read_card(file).foreign_types == ()
    loaded = load_model(file)
    assert np.array_equal(loaded.predict(container(X)), model.predict(container(X)))


@pytest.mark.parametrize("options", [{"ccp_alpha": 0.01}, {"max_leaf_nodes": 7}, {"max_depth": 1}, {}])
def test_trees_however_they_grew(tmp_path, options):
    """Pruned, best first, of a single split, deep; one that is a leaf only."""
    for labels in (Y[:, 0], np.zeros(80, dtype=int)):
        model = DecisionTreeClassifier(random_state=0, **options).fit(X, labels)
        loaded = load_model(save_model(model, tmp_path / "m.skops"))
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left_child": (0, 10**9)}, "leads to a node that does not exist"),
        ({"right_child": (0, -7)}, "leads to a node that does not exist"),
        ({"left_child": (1, 0)}, "does not exist or has another parent"),
        ({"left_child": (0, 0)}, "does not exist or has another parent"),
        ({"right_child": (0, 2)}, "does not exist or has another parent"),
        ({"feature": (0, 5)}, "a feature that does not exist"),
        ({"feature": (0, -2)}, "a feature that does not exist"),
        ({"max_depth": 1}, "longer paths than its depth, 1"),
        ({"max_depth": -1}, "longer paths than its depth, -1"),
        ({"n_features": 10**6}, "a tree is of 1000000 features, its estimator of 5"),
        ({"n_features": 2}, "a tree is of 2 features, its estimator of 5"),
    ],
)
def test_forged_trees_are_damage(tmp_path, changes, message):
    """Whatever compiled code would follow: an error on loading, not a crash later."""
    file = save_model(make_pipeline(tree_with(**changes)), tmp_path / "m.skops")
    with pytest.raises(ValueError, match=f"must be the file of a model, got a damaged one: .*{message}"):
        load_model(file)


@pytest.mark.parametrize("n_nodes", [0, -3])
def test_nodes_that_are_not_there(tmp_path, rewrite, n_nodes):
    """The number of nodes is checked before any array of that length is looked at.

    scikit-learn itself cuts a number that is too large to that of the nodes in the file.
    """

    def claim(schema):
        schema["content"]["content"]["tree_"]["content"]["content"]["node_count"]["content"] = str(n_nodes)
        return schema

    file = rewrite(save_model(tree_with(), tmp_path / "m.skops"), "schema.json", claim)
    with pytest.raises(ValueError, match=f"got a damaged one: a tree has {n_nodes} nodes of"):
        load_model(file)


@pytest.mark.parametrize("n_features", [None, 4, "5", 5.0, True])
def test_the_estimator_must_look_at_the_features(tmp_path, n_features):
    """scikit-learn skips the check of X where the attribute is missing."""
    model = tree_with()
    if n_features is None:
        del model.n_features_in_
    else:
        model.n_features_in_ = n_features
    with pytest.raises(ValueError, match=r"a tree is of 5 features, its estimator of "):
        load_model(save_model(model, tmp_path / "m.skops"))


@pytest.mark.parametrize("place", ["attribute", "list", "dict", "bound"])
def test_trees_outside_of_estimators(tmp_path, place):
    """Where nobody compares the features of X with those of the tree, there is no tree."""
    model = RandomForestPCT(n_estimators=2, random_state=0).fit(X, Y)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, Y[:, 0]).tree_
    model.part_ = {"attribute": tree, "list": [tree], "dict": {"a": (tree,)}, "bound": [tree, tree]}[place]
    with pytest.raises(ValueError, match="it has 3 trees, but 2 in estimators"):
        load_model(save_model(model, tmp_path / "m.skops"))


def test_something_else_in_place_of_the_tree(tmp_path):
    """An estimator is asked for what it has, so it must have a tree."""
    model = tree_with()
    model.tree_ = [1, 2]
    with pytest.raises(ValueError, match="a decision tree contains a list"):
        load_model(save_model(model, tmp_path / "m.skops"))


def test_a_tree_of_another_name(tmp_path, rewrite):
    """Skops builds a tree wherever its loader is named: no other type may name it."""

    def rename(schema):
        schema["content"]["content"]["tree_"]["__class__"] = "list"
        schema["content"]["content"]["tree_"]["__module__"] = "builtins"
        return schema

    file = rewrite(save_model(tree_with(), tmp_path / "m.skops"), "schema.json", rename)
    with pytest.raises(ValueError, match="list must not be built by TreeNode"):
        load_model(file)


@pytest.mark.parametrize("loader", ["ObjectNode", "TypeNode", "ConstructorFromReduceNode", "FunctionNode"])
def test_a_tree_built_in_another_way(tmp_path, rewrite, loader):
    """By its own loader only."""

    def rewritten(schema):
        schema["content"]["content"]["tree_"]["__loader__"] = loader
        return schema

    file = rewrite(save_model(tree_with(), tmp_path / "m.skops"), "schema.json", rewritten)
    with pytest.raises(ValueError, match=f"Tree must not be built by {loader}"):
        load_model(file)


@pytest.mark.filterwarnings("ignore:.* contains types that load_model")
def test_other_holders_must_be_trusted(tmp_path):
    """Gradient boosting passes X to its trees without a look; whoever trusts its trees gets them unchecked."""
    model = BinaryRelevance(GradientBoostingClassifier(n_estimators=2)).fit(X, Y)
    file = save_model(model, tmp_path / "m.skops")
    assert TREE in read_card(file).foreign_types
    with pytest.raises(ValueError, match=r"must contain trusted types only, got .*Tree"):
        load_model(file)
    loaded = load_model(file, trusted=read_card(file).foreign_types)
    assert np.array_equal(loaded.predict(X), model.predict(X))
