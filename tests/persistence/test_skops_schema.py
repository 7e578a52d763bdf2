from functools import partial

import pytest
from skops.io._audit import NODE_TYPE_MAPPING
from skops.io._protocol import PROTOCOL
from skops.io._utils import SaveContext

from nearlabel.lazy import BRkNN
from nearlabel.persistence import _allow_list, load_model, save_model

TRUSTED = {"__module__": "nearlabel.rivals._label_powerset", "__class__": "LabelPowerset"}
JSON = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "3"}


def schema(part=None, **fields):
    """A valid schema with a part of one's own."""
    whole = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "protocol": 2, "__id__": 1}
    return whole | {"content": [JSON | {"__id__": 2}, part or JSON]} | fields


def check_schema(schema, newest=2):
    """Check a schema where skops writes this protocol."""
    _allow_list.check_schema(schema, newest)


def test_a_valid_schema():
    """Passes; so does one whose parts are written more than once."""
    check_schema(schema())
    check_schema(schema({"__loader__": "ListNode"} | schema()["content"][0]))
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "file": "5.npy", "__id__": 5}
    check_schema(schema(content=[array, array]))


@pytest.mark.parametrize("protocol", [0, 1, -1, "2", 2.0, True, None, [2], {}])
def test_an_older_protocol(protocol):
    """It takes names from other places, whatever the installed skops writes."""
    for newest in (2, 3):
        with pytest.raises(ValueError, match=r"its skops protocol must be at least 2, got "):
            check_schema(schema(protocol=protocol), newest)


def test_protocols_up_to_the_installed_one():
    """Each from 2 on."""
    for protocol in (2, 3, 4):
        check_schema(schema(protocol=protocol), 4)
    for protocol in (5, 99, 10**100):
        with pytest.raises(_allow_list.NewerProtocolError, match=r"skops protocol \d+.*, where the installed one is 4"):
            check_schema(schema(protocol=protocol), 4)


@pytest.mark.parametrize("protocol", [0, 1])
def test_names_where_older_loaders_look_for_them(saved, rewrite, protocol):
    """A class that is trusted to be built is not handed out because a file says it is an old one."""
    function = {"module_path": TRUSTED["__module__"], "function": TRUSTED["__class__"]}
    node = {"__module__": "builtins", "__class__": "function", "__loader__": "FunctionNode", "content": function}

    def ask(schema):
        schema["content"]["content"]["weights"] = node
        return schema | {"protocol": protocol}

    with pytest.raises(ValueError, match="got a damaged one: its skops protocol must be at least 2"):
        load_model(rewrite(saved, "schema.json", ask))


@pytest.mark.parametrize(
    "node",
    [
        {"__loader__": "QuantileForestNode"},
        {"__loader__": "NoSuchNode"},
        {"__loader__": ["JsonNode"]},
        {"__loader__": {"a": 1}},
        {"__loader__": None},
        {"__loader__": ""},
        {"__class__": ["str"]},
        {"__class__": None},
        {"__module__": 3},
        {"__module__": {"a": "b"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("deep", [False, True])
def test_loaders_and_names_of_other_types(node, deep):
    """Whatever skops would make of them, and wherever they stand."""
    wrong = JSON | node
    with pytest.raises(ValueError, match=r"must not be built by|must be text"):
        check_schema(schema(schema({"any": [[{"thing": wrong}]]}) if deep else wrong))


@pytest.mark.parametrize("missing", ["__loader__", "__class__", "__module__"])
def test_half_a_node(missing):
    """What says only in part how it is built is none, also if its number is known."""
    half = {name: value for name, value in (JSON | {"__id__": 2}).items() if name != missing}
    with pytest.raises(ValueError, match=r"must not be built by|must be text"):
        check_schema(schema(half))


@pytest.mark.parametrize("number", ["2", 2.0, True, 0, -1, [2], {}])
def test_numbers_that_are_none(number):
    """Skops takes any key of a dict, and falsy ones for none at all."""
    with pytest.raises(ValueError, match="an object in its schema has the id "):
        check_schema(schema(JSON | {"__id__": number}))


@pytest.mark.parametrize("other", [TRUSTED | {"__loader__": "ObjectNode"}, JSON | {"__loader__": "CachedNode"}])
def test_two_objects_of_one_number(other):
    """The first would be built in place of the second, which was looked at."""
    with pytest.raises(ValueError, match="two objects in its schema have the id 2"):
        check_schema(schema(other | {"__id__": 2}))


@pytest.mark.parametrize("number", [{"__id__": 4}, {}])
def test_a_member_that_many_objects_read(number):
    """A thousand arrays of one member are in memory a thousand times."""
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": "1"}
    with pytest.raises(ValueError, match="two objects in its schema are read from '1'"):
        check_schema(schema(content=[array | {"__id__": 3}, array | number]))


def test_a_trusted_name_in_two_halves():
    """A name is what its parts make together, wherever the dot between them is."""
    module, kind = "nearlabel.rivals", "_label_powerset.LabelPowerset"
    node = {"__module__": module, "__class__": kind, "__loader__": "ConstructorFromReduceNode"}
    with pytest.raises(ValueError, match="LabelPowerset must not be built by ConstructorFromReduceNode"):
        check_schema(schema(node))


def outcome(file):
    """What is loaded, or why it is not."""
    try:
        return type(load_model(file)).__name__
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("field", ["content", "key_types", "file", "type", "shape", "__reduce__"])
@pytest.mark.parametrize("value", [None, 3, "x", [], [3], {}, {"content": None}])
def test_fields_of_other_types(tmp_path, rewrite, field, value):
    """In the object itself and in its attributes: an error of one line, or a model that does not need the field."""
    file = save_model(BRkNN(1).fit([[0.0], [1.0]], [[1], [0]]), tmp_path / "m")

    def change(schema):
        for node in (schema["content"], schema["content"]["content"]["_labels"]):
            node[field] = value
        return schema

    said = outcome(rewrite(file, "schema.json", change))
    assert said == "BRkNN" or (said.startswith(f"{file} must ") and "\n" not in said)


def test_an_object_that_holds_itself(saved, rewrite):
    """By its number."""

    def ask(schema):
        schema["content"]["content"]["n_neighbors"] = {name: schema[name] for name in schema if name[:2] == "__"}
        return schema

    with pytest.raises(ValueError, match="got a damaged one: maximum recursion depth exceeded"):
        load_model(rewrite(saved, "schema.json", ask))


def test_a_type_that_is_not_built_is_not_written(tmp_path):
    """Who saves a class beside an object of it is told, not who loads."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.kind_ = BRkNN
    with pytest.raises(
        ValueError, match=r"one that load_model accepts, got BRkNN: .*BRkNN must not be built by TypeNode"
    ):
        save_model(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def write_protocol(monkeypatch, number):
    """Make skops one of another protocol, with the present loaders."""
    monkeypatch.setattr("skops.io._utils.PROTOCOL", number)
    monkeypatch.setattr("skops.io._persist.SaveContext", partial(SaveContext, protocol=number))
    for (loader, protocol), node in list(NODE_TYPE_MAPPING.items()):
        if protocol == PROTOCOL:
            monkeypatch.setitem(NODE_TYPE_MAPPING, (loader, number), node)


def test_a_newer_skops(monkeypatch, tmp_path):
    """It saves and loads by its own protocol, and loads older files; the present one says that a file is newer."""
    here = save_model(BRkNN(1).fit([[0.0], [1.0]], [[1], [0]]), tmp_path / "here")
    with monkeypatch.context() as newer:
        write_protocol(newer, PROTOCOL + 1)
        there = save_model(BRkNN(1).fit([[0.0], [1.0]], [[1], [0]]), tmp_path / "there")
        for path in (here, there):
            assert load_model(path).predict([[0.9]]).tolist() == [[0]]
    with pytest.raises(
        ValueError, match=r"that the installed skops reads, got one of a newer skops \(skops protocol \d"
    ):
        load_model(there)


def test_an_older_skops(monkeypatch, tmp_path):
    """Can neither save nor load, and nothing is written."""
    monkeypatch.setattr("nearlabel.persistence._archive.OLDEST_PROTOCOL", 99)
    with pytest.raises(ImportError, match=r"^Models need a skops of protocol 99 or newer, got skops .*Hint: pip "):
        save_model(BRkNN(1).fit([[0.0], [1.0]], [[1], [0]]), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
