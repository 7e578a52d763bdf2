"""A paper of a user's own: its data are found beside it, and what is wrong with its file is said before any run."""

import pytest

from nearlabel.lazy import BRkNN
from nearlabel.papers import Paper

CUBE = '[cubes.1]\ntitle = "t"\nprobabilities = [0.1, 0.2, 0.3]\nlabelsets = [[1, 0, 0]]\n'
PAIRS = '[pairs.2]\ntitle = "t"\ndataset = "pets"\nn_samples = 4\nseed = 0\nrow = 1\n'
TOP = 'name = "mine"\ntitle = "t"\nreference = "r"\n'
EXPERIMENT = (
    '[experiments.main]\ndatasets = ["pets"]\nmethods = ["brknn"]\nn_neighbors = [1]\ncv = 2\nmetrics = ["micro_f1"]\n'
)
TABLE = '[tables.1]\ntitle = "t"\nexperiments = ["main"]\nprinted = [["pets", "brknn", 1, "micro_f1", 0.5]]\n'
STATISTICS = '[tables.A]\ntitle = "t"\nstatistics = ["pets"]\nprinted = [["pets", "instances", 8]]\n'
RANKING = '[rankings.1]\ntitle = "t"\nexperiments = ["main"]\nclaims = { agreeing = "it is first" }\n'


@pytest.fixture
def write(tmp_path):
    """Write a paper, and a data set beside it; return its path."""
    (tmp_path / "pets.csv").write_text("weight,cat,dog\n" + "3,1,0\n30,0,1\n" * 4)

    def _write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return _write


def test_tables_are_sorted_by_number(write):
    """Names that are not numbers, or are of thousands of digits, which Python does not convert, come first."""
    long = "9" * 5000
    tables = [TABLE.replace("tables.1", f"tables.{name}") for name in ("10", "A", "2", long)]
    assert Paper(write("\n".join([TOP, EXPERIMENT, *tables]))).tables == [long, "A", "2", "10"]


def test_data_lie_beside_the_file(write):
    """Whatever the folder that nearlabel is started in; a path may be text or an object."""
    path = write(TOP + '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n' + EXPERIMENT + TABLE)
    for paper in (Paper(path), Paper(str(path))):
        (cell,) = paper.reproduce_table("1").cells
        assert (cell.ours, cell.difference) == (1.0, 0.5)
        assert next(paper.reproduce_table("1").rows())["dataset"] == "pets"


def test_data_with_a_published_split(write):
    """Training and test part have files of their own; the other part is asked for by its key."""
    data = '[data.pets]\ntrain = "pets.csv"\ntest = "pets.csv"\nlabels_prefix = "cat"\nignore = ["dog"]\n'
    given = EXPERIMENT.replace("datasets", "given_split")
    (cell,) = Paper(write(TOP + data + given + TABLE)).reproduce_table("1").cells
    assert (cell.ours, cell.std) == (1.0, None)
    with pytest.raises(ValueError, match=r"\[data\.pets\] must have the key file, got train, test, labels_prefix, ign"):
        Paper(write(TOP + data + EXPERIMENT + TABLE)).reproduce_table("1")


def test_statistics_of_ones_own_data(write):
    """A table of statistics needs no experiment to be run; an unknown statistic is refused."""
    data = '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n'
    paper = Paper(write(TOP + data + EXPERIMENT + STATISTICS))
    assert paper.tables == ["A"]
    assert [(cell.ours, cell.difference) for cell in paper.reproduce_table("A").cells] == [(8, 0)]
    with pytest.raises(ValueError, match=r"printed statistic must be one of .*, got 'rows' of pets"):
        Paper(write(TOP + data + EXPERIMENT + STATISTICS.replace("instances", "rows"))).reproduce_table("A")


def test_label_sets_of_ones_own_data(write):
    """Labels in brackets in the place of a statistic, by their names in the data."""
    data = '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n'
    table = STATISTICS.replace('"instances"', '["dog"]')
    (cell,) = Paper(write(TOP + data + EXPERIMENT + table)).reproduce_table("A").cells
    assert (cell.label_set, cell.printed, cell.ours) == (("dog",), 8, 4)


def test_cells_that_no_experiment_gives(write):
    """Another number of neighbours than those that are run."""
    data = '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n'
    paper = Paper(write(TOP + data + EXPERIMENT + TABLE.replace("1, ", "3, ")))
    with pytest.raises(ValueError, match=r"must give each printed cell, got none for \('pets', 'brknn', 3, 'micro_f1'"):
        paper.reproduce_table("1")


def agreement(y_true, y_pred):
    """The share of cells in which two label matrices agree."""
    return float((y_true == y_pred).mean())


def test_methods_and_metrics_of_a_user(write):
    """Names in the file stand for objects, and the figures of both are those of the same run without a file."""
    data = '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n'
    experiment = EXPERIMENT.replace("brknn", "mine").replace("micro_f1", "agreeing")
    table = TABLE.replace("brknn", "mine").replace("micro_f1", "agreeing")
    path = write(TOP + data + experiment + table + RANKING)
    paper = Paper(path, methods={"mine": BRkNN(weights="distance")}, metrics={"agreeing": agreement})
    assert [cell.ours for cell in paper.reproduce_table("1").cells] == [1.0]
    assert paper.reproduce_ranking("1").metrics[0].mean_ranks == {"mine": 1.0}


@pytest.mark.parametrize(
    "text",
    ["subprocess:Popen:args=['x']", "./mine.py:Mine", "br:estimator=sklearn.tree.ExtraTreeClassifier", "igs+a.b:C"],
)
def test_a_file_runs_no_code(write, text):
    """Neither a class nor a file nor an estimator of another module is imported because a paper's file names it."""
    data = '[data.pets]\nfile = "pets.csv"\nlabels = ["cat", "dog"]\n'
    paper = Paper(write((TOP + data + EXPERIMENT + TABLE).replace("brknn", text)))
    with pytest.raises(ValueError, match=r"methods of a paper's file must be names that nearlabel knows, got .* Hint:"):
        paper.reproduce_table("1")
    paper = Paper(write((TOP + data + EXPERIMENT + TABLE).replace("micro_f1", "os:getcwd")))
    with pytest.raises(ValueError, match=r"metrics of a paper's file must be names .* got 'os:getcwd'"):
        paper.reproduce_table("1")


BAD_FILES = {
    "no TOML": ("name = ", "mine.toml must be TOML in UTF-8, got an error: Invalid value"),
    "missing keys": (
        'name = "mine"\n',
        "the file must have the keys name, .*, got none of title, reference, exp",
    ),
    "unknown section": (
        TOP + EXPERIMENT + "[table.1]\n",
        r"the keys of the file must be of .*, got \['table'\]",
    ),
    "no sections": (TOP + "experiments = 3\n", r"experiments must be sections \[experiments.NAME\], got 3"),
    "unknown setting": (
        TOP + EXPERIMENT + "k = 3\n",
        r"the keys of \[experiments.main\] must be of methods, .*, got \['k'\]",
    ),
    "unknown setting of a quick look": (
        TOP + EXPERIMENT + "quick = { folds = 2 }\n",
        r"the keys of \[experiments.main\] quick must be of methods, .*, got \['folds'\]",
    ),
    "unknown protocol": (
        TOP + EXPERIMENT + 'protocol = "x"\n',
        r"\[experiments.main\] protocol must be of methods, ",
    ),
    "no list": (
        TOP + EXPERIMENT.replace('["brknn"]', '"brknn"'),
        r"\[experiments.main\] methods must be a list, got 'brknn'",
    ),
    "a name that leads elsewhere": (
        TOP.replace("mine", "../mine") + EXPERIMENT,
        "names must consist of letters, ",
    ),
    "unknown experiment": (
        TOP + EXPERIMENT + TABLE.replace('"main"', '"other"'),
        r"\[tables.1\] experiments must be of main, got \['other'\]",
    ),
    "a method that is not run": (
        TOP + EXPERIMENT + TABLE.replace("brknn", "mlknn"),
        r"\[tables.1\] printed\[0\], the method, must be of brknn, got \['mlknn'\]",
    ),
    "a row without a value": (
        TOP + EXPERIMENT + TABLE.replace(", 0.5", ""),
        r"\[tables.1\] printed\[0\] must be \[data set, method, n_neighbors, metric, value\], got \['pets'",
    ),
    "names of labels that are no lists": (
        TOP + EXPERIMENT + STATISTICS + "label_names = { pets = 2 }\n",
        r"\[tables.A\] label_names must be a table of lists of names, got {'pets': 2}",
    ),
    "a label that is no name": (
        TOP + EXPERIMENT + STATISTICS.replace('"instances"', '["cat", 2]'),
        r"\[tables.A\] printed\[0\] must be \[data set, statistic or \[labels\], value\], got \['pets', \['cat', 2",
    ),
    "wins that are no number": (
        TOP + EXPERIMENT + TABLE + 'wins = [["pets", "brknn", 1, "all"]]\n',
        r"\[tables.1\] wins\[0\] must be \[data set, method, n_neighbors, wins, better than base\], got \['pets'",
    ),
    "wins of what is not printed": (
        TOP + EXPERIMENT + TABLE + 'wins = [["pets", "brknn", 3, 1]]\n',
        r"\[tables.1\] wins\[0\] must be of printed values, got none of \['pets', 'brknn', 3\]",
    ),
    "better than nothing": (
        TOP + EXPERIMENT + TABLE + 'base = "mlknn"\nwins = [["pets", "brknn", 1, 1, 1]]\n',
        r"\[tables.1\] wins\[0\] must be of printed values, got none of \['pets', 'mlknn', 1\]",
    ),
    "unknown table": (
        TOP + EXPERIMENT + '[orders.2]\ntitle = "t"\ntables = ["9"]\nover = "folds"\nscores = {}\nrelations = []\n',
        r"\[orders.2\] tables must be of none, got \['9'\]",
    ),
    "figure of no experiment": (
        TOP + EXPERIMENT + '[figures.1]\ntitle = "t"\nexperiment = "x"\nmethod = "m"\nmetric = "m"\n',
        r"\[figures.1\] experiment must be of main, got \['x'\]",
    ),
    "no probability": (
        TOP + EXPERIMENT + CUBE.replace("0.3", "3"),
        r"\[cubes.1\] probabilities must be three numbers in \[0, 1\], got \[0.1, 0.2, 3\]",
    ),
    "a text for a probability": (
        TOP + EXPERIMENT + CUBE.replace("0.3", '"x"'),
        r"\[cubes.1\] probabilities must be three numbers",
    ),
    "a label set of two labels": (
        TOP + EXPERIMENT + CUBE.replace("1, 0, 0", "1, 0"),
        r"\[cubes.1\] labelsets must be lists of three labels, 0 or 1, got \[1, 0\]",
    ),
    "no label set": (TOP + EXPERIMENT + CUBE.replace("[1, 0, 0]", ""), "labelsets must contain at least one, got none"),
    "no seed": (
        TOP + EXPERIMENT + PAIRS.replace("seed = 0", "seed = true"),
        r"\[pairs.2\] seed must be an integer from 0 to 2\*\*32 - 1, got True",
    ),
    "an odd number of rows": (
        TOP + EXPERIMENT + PAIRS.replace("4", "3"),
        r"\[pairs.2\] n_samples must be even, and row below half of it, got 3 and 1",
    ),
    "a row that is not there": (TOP + EXPERIMENT + PAIRS.replace("row = 1", "row = 2"), "got 4 and 2"),
}


@pytest.mark.parametrize("fault", BAD_FILES)
def test_bad_files(write, fault):
    """The file, the section, what was expected and what stands there."""
    text, message = BAD_FILES[fault]
    with pytest.raises(ValueError, match=message):
        Paper(write(text))


def test_a_file_that_is_not_there(tmp_path):
    """The system's own error, which names it."""
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        Paper(tmp_path / "nowhere.toml")
