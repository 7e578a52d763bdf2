import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "nearlabel"

# The layer table of the design: level of each module, and what is not offered to whom.
LEVELS = {
    "utils": 0,
    "files": 1, "labels": 1, "metrics": 1, "solvers": 1,
    "neighbors": 2, "testing": 2,
    "models": 3,
    "lazy": 4, "thresholds": 4, "preprocessing": 4,
    "datasets": 5, "rivals": 5,
    "audit": 6, "selection": 6,
    "experiments": 7,
    "comparison": 8, "persistence": 8,
    "papers": 9, "plots": 9,
    "report": 10,
    "cli": 11, "client": 0,
    "serve": 11,
    "__main__": 11,
}  # fmt: skip
NOT_EACH_OTHER = {4}  # siblings of this level do not know each other
NOT_DATASETS = {"rivals"}  # these, too, never read files
OPTIONAL_HOME = {
    "IPython": "utils/progress.py",
    "dask": "neighbors/optional/_dask_cluster.py",
    "distributed": "neighbors/optional/_dask_cluster.py",
    "matplotlib": "plots/_figure.py",
    "openpyxl": "datasets/_excel_file.py",
    "pooch": "datasets/_fetch.py",
    "pyarrow": ("datasets/_parquet_file.py", "datasets/_table_file.py", "neighbors/optional/_lance_table.py"),
    "rich": ("cli/_console.py", "utils/progress.py"),
    "shtab": "cli/_completion.py",
    "fastapi": ("serve/__init__.py", "serve/_app.py", "serve/_label_studio.py"),
    "prometheus_client": ("serve/__init__.py", "serve/_metrics.py"),
    "pydantic": ("serve/_app.py", "serve/_shapes.py"),
    "skops": "persistence/_archive.py",
    "uvicorn": ("serve/__init__.py", "serve/_process.py"),
    "snowballstemmer": "preprocessing/_stem_analyzer.py",
    "pandas": ("datasets/_dataset.py", "testing/_classifiers.py", "utils/frames.py", "utils/tables.py"),
    "polars": "utils/frames.py",
    "faiss": "neighbors/optional/_faiss.py",
    "lancedb": "neighbors/optional/_lance_table.py",
    "pgvector": "neighbors/optional/_pgvector_table.py",
    "psycopg": "neighbors/optional/_pgvector_table.py",
    "qdrant_client": "neighbors/optional/_qdrant_table.py",
    "torch": "neighbors/optional/_torch.py",
    "usearch": "neighbors/optional/_approximate.py",
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
    if imported == "datasets" and importer in NOT_DATASETS:
        return False
    return low < high or (low == high and high not in NOT_EACH_OTHER)


@cache
def files():
    """Return (name, syntax tree) of all modules but the package's own `__init__`."""
    paths = sorted(set(SOURCE.rglob("*.py")) - {SOURCE / "__init__.py"})
    return [(str(path.relative_to(SOURCE)), ast.parse(path.read_text())) for path in paths]


def faults_of_layers(name, tree):
    """Yield what is wrong with the imports of one module, our modules only."""
    importer = name.split("/")[0].removesuffix(".py")
    top_level = set(tree.body)
    for module, node in imports(tree):
        imported = module.removeprefix("nearlabel.").split(".")[0]
        if not module.startswith("nearlabel.") or imported == "__version__":
            continue
        if imported not in LEVELS:
            yield f"{name}: {module} is in no layer"
        elif not allowed(importer, imported):
            yield f"{name}: must not import {module}"
        if node not in top_level and importer != "cli":  # a help page loads no room and no library
            yield f"{name}: {module} is imported inside a function"


def faults_of_homes(name, tree):
    """Yield the optional libraries that a module imports and that belong to another one."""
    for module, _ in imports(tree):
        home = OPTIONAL_HOME.get(module.split(".")[0], name)
        if name not in ((home,) if isinstance(home, str) else home):
            yield f"{name}: {module} belongs to {home}"


def test_imports_go_down_only():
    """Each module imports lower layers only, and never one of ours inside a function."""
    assert [fault for file in files() for fault in faults_of_layers(*file)] == []


def test_optional_libraries_have_one_home():
    """An optional library is imported in its one file only; pandas in one for each use of its frames."""
    assert [fault for file in files() for fault in faults_of_homes(*file)] == []


def test_the_checks_find_faults():
    """What breaks a rule is listed, each breach once."""
    tree = ast.parse("import faiss\nfrom nearlabel import lazy\ndef f():\n    import nearlabel.utils.typing\n")
    assert list(faults_of_layers("neighbors/_new.py", tree)) == [
        "neighbors/_new.py: must not import nearlabel.lazy",
        "neighbors/_new.py: nearlabel.utils.typing is imported inside a function",
    ]
    assert list(faults_of_homes("neighbors/_new.py", tree)) == [
        "neighbors/_new.py: faiss belongs to neighbors/optional/_faiss.py"
    ]
    assert list(faults_of_homes("neighbors/optional/_faiss.py", tree)) == []


def test_the_table_catches_violations():
    """The rules themselves: what the table forbids is forbidden."""
    assert allowed("lazy", "neighbors")
    assert not allowed("neighbors", "lazy")
    assert not allowed("lazy", "thresholds")
    assert not allowed("lazy", "datasets")
    assert not allowed("rivals", "datasets")
    assert not allowed("plots", "report")
    assert allowed("report", "utils")
    assert allowed("cli", "report")
