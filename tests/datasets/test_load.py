import pytest

from nearlabel.datasets import load_dataset, read_mulan

ARFF = "@relation 'toy: -C 1'\n@attribute y {0,1}\n@attribute z {0,1}\n@data\n1,0\n"


def test_xml_decides_over_the_option(write, write_xml):
    """An XML file beside the ARFF decides, even where the relation's name says otherwise."""
    path = write("toy.arff", ARFF)
    write_xml("toy.xml", "z")
    assert load_dataset(path).label_names == ("z",)


def test_option_decides_without_xml(write, write_xml):
    """Without an XML file that fits, -C decides."""
    path = write("toy.arff", ARFF)
    write_xml("other.xml", "w")
    assert load_dataset(str(path)).label_names == ("y",)


@pytest.mark.parametrize("name", ["toy.svm", "toy.svmlight", "toy.libsvm", "toy.TXT", "toy.svm.gz"])
def test_svmlight_by_its_suffix(write, name):
    """The suffix, below one of a compression, says svmlight."""
    data = load_dataset(write(name, "0 1:2\n"))
    assert (data.X.shape, data.name) == ((1, 2), "toy")


def test_nothing_says_which_are_labels(write):
    """An ARFF file with neither is refused with both ways named."""
    path = write("toy.arff", ARFF.replace(": -C 1", ""))
    with pytest.raises(ValueError, match=r"in an XML file next to it or by -C in the relation's name, got neither"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("name", "got"),
    [("toy.xls", "'.xls'"), ("toy.npz.gz", "'.npz'"), ("toy", "'no suffix'"), ("toy.gz", "'no suffix'")],
)
def test_unknown_suffix(write, name, got):
    """Any other suffix is refused."""
    with pytest.raises(ValueError, match=rf"must end in one of \.arff, \.csv, .*, got {got}\."):
        load_dataset(write(name, ""))


@pytest.mark.parametrize("text", ['<?xml version="1.0" encoding="foo-9"?><labels/>', "<labels", "no xml"])
def test_other_xml_files_are_passed_over(write, text):
    """A file or folder beside the ARFF that is no list of labels disturbs nothing."""
    path = write("toy.arff", "@relation 'toy: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@data\n1,2\n")
    write("stray.xml", text)
    (path.parent / "folder.xml").mkdir()
    (path.parent / "dangling.xml").symlink_to(path.parent / "nothing")
    assert load_dataset(path).Y.tolist() == [[1]]


@pytest.mark.parametrize("name", ["emotions", "emotions.arff", "emotions-train.arff"])
def test_names_of_the_catalogue_are_no_paths(tmp_path, monkeypatch, name):
    """The error says who gets the data set; a file of that name is read."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((FileNotFoundError, ValueError)) as raised:
        load_dataset(name)
    hint = "Hint: fetch_dataset('emotions') gets the data set of the catalogue."
    assert getattr(raised.value, "__notes__", []) == ([hint] if name != "emotions-train.arff" else [])


def test_an_xml_file_elsewhere(tmp_path):
    """The error says what to do with it, and that works."""
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "pets.xml").write_text('<labels><label name="cat"></label></labels>')
    file = tmp_path / "pets.arff"
    file.write_text("@relation pets\n@attribute weight numeric\n@attribute cat {0,1}\n@data\n3.5,1\n20,0\n")
    with pytest.raises(ValueError, match=r"Hint: copy its XML file there, or in Python read_mulan\(file, xml_path\)\."):
        load_dataset(file)
    expected = read_mulan(file, tmp_path / "labels" / "pets.xml")
    (tmp_path / "pets.xml").write_text((tmp_path / "labels" / "pets.xml").read_text())
    assert load_dataset(file).label_names == expected.label_names == ("cat",)
