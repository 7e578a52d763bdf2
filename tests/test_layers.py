import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "nearlabel"

# The layer table of the design: level of each module, and what is not offered to whom.
LEVELS = {
    "utils": 0,
    "statistics": 1, "files": 1, "labels": 1, "decision": 1, "base": 1,
    "datasets": 2,
    "neighbors": 2, "metrics": 2, "feature_selection": 2,
    "lazy": 3, "transformation": 3, "adaptation": 3, "thresholds": 3,
    "ensemble": 4, "testing": 4, "model_selection": 4,
    "experiments": 5, "persistence": 5,
    "plots": 6, "report": 6,
    "cli": 7,
    "__main__": 7,
}  # fmt: skip
NOT_EACH_OTHER = {3, 6}  # siblings of these levels do not know each other
NOT_DATASETS = {2, 3}  # estimators and measures never read files
ONLY_INFRASTRUCTURE = {"report"}  # sees records, plain dicts
OPTIONAL_HOME = {
    "dask": "neighbors/_dask.py",
    "distributed": "neighbors/_dask.py",
    "matplotlib": "plots/_figure.py",
    "pooch": "datasets/_download.py",
    "pyarrow": "datasets/_arrow.py",
    "rich": "cli/_console.py",
    "skops": "persistence/_archive.py",
    "pandas": ("testing.py", "lazy/_explanation_frames.py"),
    "faiss": "neighbors/_faiss.py",
    "usearch": "neighbors/_usearch.py",
}


def imports(tree):
    """Yield (module, node) for every import, wherever it stands, `import_optional` included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module, node
            if node.module == "nearlabel":
                yield from ((f"nearlabel.{alias.name}", node) for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_optional":
            yield node.args[0].value, node


def allowed(importer, imported):
    """Tell whether one module of the layer table may import another."""
    low, high = LEVELS[imported], LEVELS[importer]
    if importer == imported:
        return True
    if importer in ONLY_INFRASTRUCTURE:
        return imported in {"utils", "files"}
    if imported == "datasets" and high in NOT_DATASETS:
        return False
    return low < high or (low == high and high not in NOT_EACH_OTHER)


def files():
    """All modules but the package's own `__init__`."""
    return [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    """Each module imports lower layers only, and never one of ours inside a function."""
    importer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    tree = ast.parse(path.read_text())
    top_level = set(tree.body)
    for module, node in imports(tree):
        if module.startswith("nearlabel."):
            imported = module.split(".")[1]
            assert imported in ("__version__", *LEVELS), f"{module} is in no layer"
            if imported != "__version__":
                assert allowed(importer, imported), f"{importer} must not import {module}"
            assert node in top_level, f"{module} is imported inside a function"


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_optional_libraries_have_one_home(path):
    """An optional library is imported in its one file only; pandas in one for each use of its frames."""
    for module, _ in imports(ast.parse(path.read_text())):
        home = OPTIONAL_HOME.get(module.split(".")[0])
        homes = (home,) if isinstance(home, str) else home
        assert homes is None or str(path.relative_to(SOURCE)) in homes, f"{module} belongs to {homes}"


def test_the_table_catches_violations():
    """The rules themselves: what the table forbids is forbidden."""
    assert allowed("lazy", "neighbors")
    assert not allowed("neighbors", "lazy")
    assert not allowed("lazy", "thresholds")
    assert not allowed("lazy", "datasets")
    assert not allowed("metrics", "datasets")
    assert not allowed("report", "metrics")
    assert allowed("report", "utils")
    assert allowed("cli", "report")


def test_the_package_imports_nothing_heavy():
    """`import nearlabel` loads neither numpy nor scikit-learn."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    assert list(imports(tree)) == []
