import numpy as np
import pytest

from nearlabel.datasets import read_mulan

ARFF = "@relation toy\n@attribute a numeric\n@attribute y {0,1}\n@attribute b numeric\n@attribute z {0,1}\n@data\n"


def test_xml_decides_labels_and_their_order(write, write_xml):
    """Labels stand in the order of the XML, features in that of the file, wherever the labels are."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n3,1,4,1\n")
    write_xml("toy.xml", "z", "y")
    data = read_mulan(arff)
    assert (data.label_names, data.feature_names) == (("z", "y"), ("a", "b"))
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])


def test_label_order_in_sparse_rows(write, write_xml):
    """The XML's order gives canonical sparse labels too."""
    arff = write("toy.arff", ARFF + "{1 1,3 1}\n{0 5,3 1}\n")
    write_xml("toy.xml", "z", "y")
    data = read_mulan(arff)
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [1, 0]])
    assert data.Y.has_canonical_format


def test_inverted_label_among_others(write, write_xml):
    """Only the label that declares 1 first is 1 where a sparse row leaves it out."""
    arff = write("toy.arff", ARFF.replace("z {0,1}", "z {1,0}") + "{1 1}\n{3 0}\n{3 ?}\n")
    write_xml("toy.xml", "z", "y")
    np.testing.assert_array_equal(read_mulan(arff).Y.toarray(), [[1, 1], [0, 0], [np.nan, 0]])


def test_only_fitting_xml_is_found(write, write_xml):
    """Without a namesake the only XML whose labels all occur belongs to the file; others do not matter."""
    arff = write("toy-train.arff", ARFF + "1,1,2,0\n")
    write_xml("toy.xml", "y")
    write_xml("other.xml", "y", "absent")
    write("broken.xml", "<labels")
    write("settings.xml", "<settings/>")
    assert read_mulan(arff).label_names == ("y",)


def test_given_xml_goes_first(write, write_xml):
    """A path that is given is the one that is read."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    write_xml("toy.xml", "y")
    assert read_mulan(arff, write_xml("other.xml", "z")).label_names == ("z",)


def test_nested_labels_are_flattened(write):
    """A hierarchy gives its labels one by one, parents first; the namespace may be missing."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    write("toy.xml", '<?xml version="1.0"?><labels><label name="z"><label name="y"/></label></labels>')
    assert read_mulan(arff).label_names == ("z", "y")


def test_escaped_names_match(write, write_xml):
    """A label's name may keep its backslashes in the XML or not."""
    arff = write("toy.arff", ARFF.replace("@attribute y", r"@attribute 'it\'s y'") + "1,1,2,0\n")
    plain = write_xml("plain.xml", "it's y")
    escaped = write_xml("escaped.xml", r"it\'s y")
    assert read_mulan(arff, plain).label_names == read_mulan(arff, escaped).label_names == ("it's y",)


def test_label_that_is_no_attribute(write, write_xml):
    """A label the header lacks is named."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    write_xml("toy.xml", "y", "w")
    message = r"toy\.xml: every label must be an attribute of .*toy\.arff, got 'w' \(1 of 2 labels are missing\)\."
    with pytest.raises(ValueError, match=message):
        read_mulan(arff)


def test_label_named_twice(write, write_xml):
    """The same label twice in the XML is refused."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    write_xml("toy.xml", "y", "y")
    with pytest.raises(ValueError, match=r"every label must be named once, got 'y' 2 times\."):
        read_mulan(arff)


def test_label_of_two_attributes(write, write_xml):
    """A label whose name two attributes bear is refused."""
    arff = write("toy.arff", ARFF.replace("@attribute z", "@attribute y") + "1,1,2,0\n")
    write_xml("toy.xml", "y")
    with pytest.raises(ValueError, match=r"a label must be one attribute, got two of the name 'y'\."):
        read_mulan(arff)


def test_no_xml(write):
    """Without any XML the message says what to do."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    with pytest.raises(ValueError, match=r"must have an XML file next to it .*, got none\. Hint: pass xml_path"):
        read_mulan(arff)


def test_two_fitting_xml_files(write, write_xml):
    """Two candidates are not guessed between."""
    arff = write("toy-train.arff", ARFF + "1,1,2,0\n")
    write_xml("one.xml", "y")
    write_xml("two.xml", "z")
    with pytest.raises(ValueError, match=r"must have one XML file next to it .*, got one\.xml, two\.xml\. Hint"):
        read_mulan(arff)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels", r"toy\.xml must be well-formed XML, got: .*line 1"),
        ("<settings/>", r"toy\.xml must have the root element <labels>, got <settings>\."),
        ("<labels/>", r"toy\.xml must contain elements <label name=\.\.\.>, got 0"),
        (
            "<labels><label/></labels>",
            r"toy\.xml must contain elements <label name=\.\.\.>, got 1 elements or one without",
        ),
    ],
)
def test_malformed_xml(write, xml, message):
    """A namesake XML that cannot be read is an error, not a reason to look elsewhere."""
    arff = write("toy.arff", ARFF + "1,1,2,0\n")
    write("toy.xml", xml)
    with pytest.raises(ValueError, match=message):
        read_mulan(arff)
