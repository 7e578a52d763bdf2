import pytest

from nearlabel.datasets import read_meka

ATTRIBUTES = "@attribute y {0,1}\n@attribute z {0,1}\n@attribute a {0,1}\n@attribute b {0,1}"


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("'toy: -C 2'", ("y", "z")),
        ("'toy: -C -1'", ("b",)),
        ("'toy: -C 1 -R'", ("y",)),
        ("'toy: -split-number 3000 -C 2'", ("y", "z")),
        ("'toy-C 3: -C 1'", ("y",)),
        ('"toy: -C 1"', ("y",)),
        ("toy: -C 1 % unquoted", ("y",)),
        ("'T: -C 1 -I 0-weka.filters.Remove-R1-45'", ("y",)),
    ],
)
def test_option_says_which_attributes_are_labels(write_meka, relation, labels):
    """The first n or the last n attributes, whatever stands around the option."""
    assert read_meka(write_meka(ATTRIBUTES, "1,0,1,0\n", relation=relation)).label_names == labels


@pytest.mark.parametrize("relation", ["toy", "'toy -Classes'", "'toy: -C x'"])
def test_option_is_missing(write_meka, relation):
    """Without -C nothing says which attributes are labels."""
    with pytest.raises(ValueError, match=r"toy\.arff: the relation's name must contain -C n, got"):
        read_meka(write_meka(ATTRIBUTES, "1,0,1,0\n", relation=relation))


@pytest.mark.parametrize("count", [0, 4, -9])
def test_option_out_of_range(write_meka, count):
    """There must be a label and a feature."""
    with pytest.raises(ValueError, match=rf"-C must be from 1 to 3 for 4 attributes, got {count}\."):
        read_meka(write_meka(ATTRIBUTES, "1,0,1,0\n", relation=f"'toy: -C {count}'"))
