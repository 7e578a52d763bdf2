"""The backend of Label Studio: what it answers, and what becomes of annotations; and doccano's template."""

import base64
import json

import numpy as np
import pytest

from _pages import blocks
from nearlabel.audit import suggest
from nearlabel.persistence import load_model, read_kept
from nearlabel.serve import LiveModel, make_app
from nearlabel.serve._live import end

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
CONFIG = """<View>
  <Text name="body" value="$text"/><Header value="Product: $product"/>
  <Choices name="topic" toName="body" choice="multiple">
    <Choice value="login"/><Choice value="billing"/><Choice value="bug"/><Choice value="A zoo" alias="zoo"/>
  </Choices>
  <TextArea name="why" toName="body"/>
</View>"""
TABLE = """<View><Table name="row" value="$ticket"/><Choices name="topic" toName="row" choice="multiple">
<Choice value="login"/><Choice value="billing"/><Choice value="bug"/></Choices></View>"""
ZEBRA = {"text": "zebra stripes", "product": "web", "priority": 1}


def post(client, where, body, status=200):
    """Return the answer, which has this status."""
    answer = client.post(f"/label-studio/{where}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json() if status < 400 else answer.json()["detail"]


def predict(client, *data, config=CONFIG, first=7, project="3.1764000000"):
    """Return the predictions for tasks of these data, sent as the tool sends them."""
    tasks = [
        {"id": first + number, "data": one, "project": 3, "meta": {}, "overlap": 1} for number, one in enumerate(data)
    ]
    params = {"login": None, "password": None, "context": None}
    body = {"tasks": tasks, "project": project, "label_config": config, "params": params}
    return post(client, "predict", body)["results"]


def event(client, number, labels, *, task=7, data=ZEBRA, at="10:00", cancelled=False, status=200, **changed):
    """Send the annotation of a task, and return the answer."""
    result = [
        {"from_name": "topic", "to_name": "body", "type": "choices", "value": {"choices": labels}, "id": "x1"},
        {"from_name": "why", "to_name": "body", "type": "textarea", "value": {"text": ["stripes"]}, "id": "x2"},
    ]
    annotation = {"id": number, "task": task, "project": 3, "completed_by": 1, "result": result, "lead_time": 4.2}
    annotation |= {"was_cancelled": cancelled, "ground_truth": False, "updated_at": f"2026-03-02T{at}Z"}
    body = {
        "action": "ANNOTATION_CREATED",
        "annotation": annotation,
        "task": {"id": task, "data": data, "is_labeled": True},
        "project": {"id": 3, "title": "Tickets", "label_config": CONFIG},
    }
    return post(client, "webhook", body | changed, status)


def deleted(client, *numbers, what="annotations", project=3):
    """Send that annotations or tasks are deleted: the tool sends their numbers only."""
    body = {"action": f"{what.upper()}_DELETED", what: [{"id": number} for number in numbers]}
    return post(client, "webhook", body | ({"project": {"id": project}} if project else {}))


def samples(client):
    """Return the ids of the samples that are annotations, and the labels of the nearest neighbour of their task."""
    found = client.post("/explain", json={"rows": [ZEBRA]}).json()["predictions"][0]["explanation"]
    (model,) = client.app.state.app.served.values()
    ids = [name for name in model.state.file.kept["id"] if name.startswith("ls-")]
    return ids, found["neighbors"][0]["names"] if ids else None


def test_a_prediction_is_choices_with_scores_and_neighbours(path, client_of):
    """Named as the model, so that Label Studio finds it by the backend's title."""
    client = client_of(path)
    assert client.get("/label-studio/health").json()["status"] == "UP"
    setup = {"project": "3.1764000000", "schema": CONFIG, "hostname": "http://localhost:8080", "access_token": "t"}
    assert post(client, "setup", setup) == {"model_version": "tickets 0"}
    data = {"text": "invoice refund card", "product": "app", "priority": 2, "other": {"a": [1]}}
    (one,) = predict(client, data)
    ours = client.post("/explain", json={"rows": [{k: data[k] for k in ("text", "product", "priority")}]})
    ours = ours.json()["predictions"][0]
    neighbors = [neighbor["id"] for neighbor in ours["explanation"]["neighbors"]]
    (result,) = one.pop("result")
    assert one == {
        "model_version": "tickets",
        "score": pytest.approx(ours["scores"]["billing"]),
        "neighbors": neighbors,
    }
    assert result.pop("score") == one["score"]
    assert result.pop("meta")["text"][1:] == [f"neighbours: {', '.join(neighbors)}", "model: tickets 0"]
    assert result == {"from_name": "topic", "to_name": "body", "type": "choices", "value": {"choices": ["billing"]}}


def test_predictions_pass_the_checks_of_the_tools_own_package(path, client_of):
    """Its LabelInterface refuses other names, choices and scores; its request of a prediction has our fields."""
    interface = pytest.importorskip("label_studio_sdk.label_interface").LabelInterface(CONFIG)
    request = pytest.importorskip("label_studio_sdk.types.prediction_request").PredictionRequest
    found = predict(client_of(path), *[ZEBRA | {"text": text} for text in ("card refund", "crash", "zebra", "reset")])
    assert any(one["result"] for one in found)
    for one in found:
        assert interface.validate_prediction(one, return_errors=True) == []
        read = request.model_validate(one | {"task": 7})
        assert (read.neighbors, read.score, read.model_version) == (one["neighbors"], one["score"], "tickets")
    wrong = found[0] | {"score": 1.5}
    assert interface.validate_prediction(wrong, return_errors=True) != []


def test_the_lowest_scores_come_first_in_the_order_of_suggest(path, client_of):
    """As Label Studio takes tasks by their scores."""
    texts = ["password locked", "card", "zebra stripes", "crash freeze", "zebra", "error card", "lion", "crash freeze"]
    data = [{"text": text, "product": ["app", "web"][at % 2], "priority": at % 5} for at, text in enumerate(texts)]
    found = predict(client_of(path), *data)
    X = np.array([[one["text"], one["product"], float(one["priority"])] for one in data], dtype=object)
    expected = [one.row for one in suggest(load_model(path), X, len(data))]
    assert np.argsort([one["score"] for one in found]).tolist() == expected
    assert [found[row]["score"] for row in expected] == [place / 8 for place in range(8)]


def test_each_annotation_is_in_the_next_prediction(path, client_of):
    """With a label that is new to the model, on disk before it is acknowledged, in place of the task's earlier one."""
    client = client_of(path)
    assert event(client, 41, ["zoo"]) == {"model_version": "tickets 1"}
    (one,) = predict(client, ZEBRA)
    assert (one["neighbors"][0], samples(client)) == (7, (["ls-3-7-41"], ["zoo"]))
    assert predict(client, ZEBRA, project="4.17")[0]["neighbors"][0] == "ls-3-7-41"
    event(client, 41, ["bug", "zoo"], action="ANNOTATION_UPDATED", at="10:01")
    assert samples(client) == (["ls-3-7-41"], ["bug", "zoo"])
    event(client, 42, [])  # of another annotator, without a choice: no label
    assert samples(client) == (["ls-3-7-42"], [])
    again = client_of(path)
    assert samples(again) == (["ls-3-7-42"], [])
    deleted(again, 41)
    assert samples(again)[0] == ["ls-3-7-42"]
    deleted(again, 42)
    assert samples(again)[0] == []


@pytest.mark.parametrize("labels", [["1", "None"], ["0"], ["a|b", "c, d"], ["bug", "Bug"], ["null", "true"]], ids=str)
def test_choices_are_labels_as_they_are_written(path, client_of, labels):
    """Whatever else they could mean in a table; other columns of the task are no labels."""
    client = client_of(path)
    data = ZEBRA | {"labels": ["login"], "tags": "login", "predicted": ["bug"], "id": "T1", "row": 3, "none": None}
    event(client, 41, labels, data=data)
    assert samples(client) == (["ls-3-7-41"], labels)
    assert {"T0", "T1", "T59"} <= set(read_kept(path)["id"])


def test_a_deleted_annotation_is_found_after_the_changes_are_in_the_file(path, client_of):
    """Its number is part of the sample's id."""
    event(client_of(path), 41, ["zoo"])
    LiveModel(path).compact()
    assert "ls-3-7-41" in read_kept(path)["id"]
    deleted(client_of(path), 41)
    LiveModel(path).compact()
    assert "ls-3-7-41" not in read_kept(path)["id"]


def test_deleted_tasks_take_their_annotations_along(path, client_of):
    """Those of the same project; if all tasks of a project are deleted, the tool sends no project."""
    client = client_of(path)
    for number, task in ((41, 7), (42, 8), (43, 9)):
        event(client, number, ["zoo"], task=task)
    deleted(client, 7, 9, what="tasks", project=4)
    assert len(samples(client)[0]) == 3
    deleted(client, 7, what="tasks")
    assert samples(client)[0] == ["ls-3-8-42", "ls-3-9-43"]
    deleted(client, 8, 9, 41, what="tasks", project=None)
    assert samples(client)[0] == []


def test_what_is_repeated_skipped_or_of_other_kinds_changes_nothing(path, client_of):
    """A repeated event neither brings back what was deleted meanwhile."""
    client = client_of(path)
    event(client, 41, ["zoo"])
    assert event(client, 41, ["zoo"]) == {"model_version": "tickets 1"}
    event(client, 42, ["bug"], cancelled=True)
    for action in ("TASKS_CREATED", "PROJECT_UPDATED", "START_TRAINING", "REVIEW_CREATED", "DRAFT_CREATED"):
        event(client, 43, ["bug"], action=action)
    post(client, "webhook", {"action": "LABEL_LINK_CREATED", "label_link": [{"id": 1}]})
    deleted(client, 999)
    assert samples(client) == (["ls-3-7-41"], ["zoo"])
    deleted(client, 41)
    event(client, 41, ["zoo"])
    assert samples(client)[0] == []


def test_an_event_that_is_repeated_after_a_new_start_doubles_nothing(path, client_of):
    """The keys of its changes are forgotten, but its sample has an id, and takes the place of the one that is there."""
    client = client_of(path)
    event(client, 41, ["zoo"])
    client.app.state.app.served["tickets"].compact()
    end(path)
    again = client_of(path)
    event(again, 41, ["zoo"])
    assert samples(again) == (["ls-3-7-41"], ["zoo"])
    assert again.get("/ready").json()["models"][0]["samples"] == 61


def test_an_annotation_that_is_skipped_later_is_withdrawn(path, client_of):
    """It is changed to one that does not count."""
    client = client_of(path)
    event(client, 41, ["zoo"])
    event(client, 41, ["zoo"], action="ANNOTATION_UPDATED", at="10:01", cancelled=True)
    assert samples(client)[0] == []


def test_several_annotations_in_one_event(path, client_of):
    """Each goes with its task."""
    client = client_of(path)
    both = [{"id": 50 + at, "task": at, "updated_at": "1", "result": [], "was_cancelled": False} for at in (1, 2)]
    tasks = [{"id": at, "data": ZEBRA} for at in (2, 1)]
    body = {"action": "ANNOTATIONS_CREATED", "project": {"id": 3, "label_config": CONFIG}, "task": tasks}
    post(client, "webhook", body | {"annotation": both})
    assert samples(client)[0] == ["ls-3-1-51", "ls-3-2-52"]
    assert "task" in post(client, "webhook", body | {"annotation": both[0] | {"task": 9}}, 422)


def test_tables_and_single_choices(path, client_of):
    """Columns are in the field that is shown; of several labels the best is the choice; unknown ones are left out."""
    client = client_of(path)
    row = {"text": "invoice card crash error", "product": "web", "priority": "3"}
    (flat,), (nested,) = predict(client, row), predict(client, {"ticket": row}, config=TABLE)
    assert flat["neighbors"] == nested["neighbors"]
    assert nested["result"][0]["to_name"] == "row"
    (single,) = predict(client, row, config=CONFIG.replace('choice="multiple"', ""))
    scores = client.post("/predict", json={"rows": [row | {"priority": 3}], "proba": True})
    scores = scores.json()["predictions"][0]["scores"]
    assert single["result"][0]["value"]["choices"] == [max(scores, key=scores.get)]
    best = next(iter(scores))
    (without,) = predict(client, row, config=CONFIG.replace(f'<Choice value="{best}"/>', ""))
    assert best not in [label for one in without["result"] for label in one["value"]["choices"]]
    (dynamic,) = predict(client, row, config=CONFIG.replace('toName="body" ', 'toName="body" value="$options" '))
    assert dynamic["result"][0]["value"] == flat["result"][0]["value"]


def test_a_model_of_one_text_column_reads_the_field_that_is_shown(tmp_path, client_of):
    """Whatever its name."""
    from sklearn.pipeline import make_pipeline

    from nearlabel.datasets import from_frame
    from nearlabel.lazy import BRkNN
    from nearlabel.persistence import save_model
    from nearlabel.preprocessing import MixedFeaturesEncoder

    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"said": ["goal team", "bank loan", "goal", "loan"], "tags": [["s"], ["m"], ["s"], ["m"]]})
    data = from_frame(frame, labels_column="tags", text=("said",))
    encoder = MixedFeaturesEncoder(text=[0], feature_names=data.feature_names)
    model = make_pipeline(encoder, BRkNN(1)).fit(data.X, data.Y)
    path = save_model(model, tmp_path / "one.skops", data=data, keep={"nr": ["1", "2", "3", "4"]})
    client = client_of(path)
    config = CONFIG.replace('"login"', '"s"').replace('"bug"', '"m"')
    (one,) = predict(client, {"text": "goal goal", "nr": "2"}, config=config)
    assert (one["result"][0]["value"]["choices"], one["neighbors"]) == (["s"], ["row 2"])
    assert "ids" in event(client, 1, ["s"], status=422)
    setup = {"project": "3.17", "schema": config}
    assert "--id" in post(client, "setup", setup, 422)
    assert post(client_of(path, read_only=True), "setup", setup) == {"model_version": "one 0"}


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><View>&c;</View>'


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("<View>", "must be XML"),
        ("", "must be XML"),
        (BOMB, "without a document type"),
        ("<View>&b;</View>", "must be XML"),
        ("<View/>", "got none"),
        ('<View><Choices name="a" toName="t"/><Choices name="b" toName="t"/></View>', "'a' and 'b'"),
        ('<View><Choices name="a" toName="t"/></View>', "the object 't'"),
        (f"<View>{' ' * 2**20}</View>", "at most 1048576 characters"),
    ],
    ids=str.split,
)
def test_labelling_configurations_that_are_refused(path, client_of, config, words):
    """With what must be there; entities are not expanded."""
    assert words in post(client_of(path), "setup", {"project": "3.17", "schema": config}, 422)


def test_of_several_controls_that_of_our_tasks_is_read(path, client_of):
    """It is named as in the files of `predict --format label-studio`."""
    other = '<Choices name="mood" toName="body"><Choice value="good"/></Choices></View>'
    config = CONFIG.replace('name="topic"', 'name="tags"').replace("</View>", other)
    (one,) = predict(client_of(path), ZEBRA | {"text": "card refund"}, config=config)
    assert one["result"][0]["from_name"] == "tags"


def test_requests_that_are_refused(path, client_of):
    """They say what is missing."""
    client = client_of(path)
    task = {"id": 1, "data": {"text": "card"}}
    body = {"tasks": [task], "project": "3.17", "label_config": CONFIG}
    assert "'product'" in post(client, "predict", body, 422)
    assert "tasks" in post(client, "predict", body | {"tasks": []}, 422)
    assert "tasks.0.id" in post(client, "predict", body | {"tasks": [task | {"id": "x"}]}, 422)
    assert "payload" in post(client, "webhook", {"action": "ANNOTATION_CREATED"}, 422)
    assert "list of texts" in event(client, 1, [3], status=422)
    from nearlabel.serve import Limits

    few = client_of(path, limits=Limits(rows=2))
    assert "at most 2" in post(few, "predict", body | {"tasks": [task] * 3}, 413)
    assert "--read-only" in event(client_of(path, read_only=True), 1, ["bug"], status=403)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (base64.b64encode(b"anyone:secret of 16 or more").decode(), 200),
        (base64.b64encode(b"anyone:secret").decode(), 401),
        (base64.b64encode(b"secret of 16 or more").decode(), 401),
        ("secret of 16 or more", 401),
        ("\xff", 401),
    ],
)
def test_a_token_may_be_the_password_of_basic_authorization(path, header, status):
    """As Label Studio sends it to a backend."""
    from starlette.testclient import TestClient

    client = TestClient(make_app({"tickets": LiveModel(path)}, token="secret of 16 or more"))
    headers = {"authorization": f"Basic {header}".encode("latin1")}
    assert client.get("/label-studio/health", headers=headers).status_code == status


def test_doccano_reads_our_answers_by_the_template_of_the_page(path, client_of):
    """As its pipeline does: the text replaces a value of the body, and the rendered template is JSON."""
    template = pytest.importorskip("jinja2").Template
    page = {block.file: block.text for block in blocks("howto/annotation_tools")}
    body, client = json.loads(page["body.json"]), client_of(path)
    (place,) = (name for name, value in body.items() if value == "{{ text }}")
    many = {"predictions": [{"labels": ["a", 'say "b" <c>', "d"]}]}
    for answer in (many, {"predictions": [{"labels": []}]}):
        rendered = json.loads(template(page["mapping.jinja"]).render(input=answer))
        assert [one["label"] for one in rendered] == answer["predictions"][0]["labels"]
    one = client.post("/predict", json=body | {place: "card"})
    assert one.json() == client.post("/predict", json=body | {place: ["card"]}).json()
    assert "'product'" in one.json()["detail"]  # this model has more columns
