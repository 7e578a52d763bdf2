"""The page of the routes: whole, without anything from elsewhere, and nothing in it is markup but its own."""

import json
import shutil
from html.parser import HTMLParser

import pytest

from nearlabel.serve import LiveModel, _shapes, make_app
from nearlabel.serve._docs import page

testclient = pytest.importorskip("fastapi.testclient")


class Parts(HTMLParser):
    """What a page has: its tags with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note it."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        """Note it."""
        self.text += data


@pytest.fixture
def client(path):
    """A client of two models, one of which has a name that is markup."""
    odd = shutil.copy(path, path.with_name("odd.skops"))
    served = {"tickets": LiveModel(path), "<img src=x onerror=alert(1)>": LiveModel(odd)}
    return testclient.TestClient(make_app(served), base_url="http://localhost")


def test_every_route_is_on_the_page_with_its_shape(client):
    """As in the document for programs."""
    parts, schema = Parts(client.get("/docs").text), client.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.")
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            assert f"{method.upper()} {path}\n" in parts.text
            for body in route.get("requestBody", {}).get("content", {}).values():
                assert json.dumps(body["schema"], indent=1) in parts.text
    for name, shape in schema["components"]["schemas"].items():
        assert f"{name}\n{json.dumps(shape, indent=1)}" in parts.text
    assert {"/predict", "/update", "/health", "/models/<img src=x onerror=alert(1)>/predict"} <= set(schema["paths"])


def test_every_request_has_an_example(client):
    """Which a program may send: of the model's columns and labels, after its ids are put in."""
    paths = client.get("/openapi.json").json()["paths"]
    for name in ("Predict", "Update", "Forget", "Relabel", "Suggest", "Audit"):
        body = paths[f"/{name.lower()}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        (example,) = body["examples"]
        getattr(_shapes, f"{name}Request").model_validate(example)
    body = paths["/relabel"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["examples"] == [{"id": "T9001", "labels": {"login": True, "billing": False}}]
    assert '"T9001"' in Parts(client.get("/docs").text).text


def test_it_loads_its_style_only_from_here(client):
    """And a name that is markup stays a text."""
    answer = client.get("/docs")
    tags = Parts(answer.text).tags
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert {tag for tag, _ in tags}.isdisjoint({"script", "img", "iframe", "object", "form", "style", "base"})
    places = [value for _, of_tag in tags for name, value in of_tag.items() if name in ("href", "src")]
    assert places == ["data:,", "workbench/page.css", "openapi.json"]
    assert not any(name.startswith("on") or name == "style" for _, of_tag in tags for name in of_tag)
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert not any("script" in one or "http" in one or "unsafe" in one for one in policy)
    assert client.get("/redoc").status_code == client.get("/docs/oauth2-redirect").status_code == 404


def test_texts_of_the_document_are_no_markup():
    """Whatever they are."""
    bad = "</pre><script>alert(1)</script>"
    route = {"summary": bad, "responses": {bad: {"description": bad}}}
    route["requestBody"] = {"content": {bad: {"schema": {bad: bad}}}}
    schema = {"info": {"title": bad, "version": bad}, "paths": {bad: {bad: route}}}
    tags = {tag for tag, _ in Parts(page(schema | {"components": {"schemas": {bad: {bad: bad}}}})).tags}
    assert "script" not in tags


def test_answers_that_are_no_page_allow_nothing(client):
    """Also those that are refused; the workbench has its own policy."""
    answers = [client.get(path) for path in ("/health", "/openapi.json", "/none", "/metrics", "/card")]
    answers += [client.post("/predict", json={}), client.post("/predict", content=b"x")]
    answers += [client.get("/health", headers={"host": "elsewhere"})]
    for answer in answers:
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "script-src 'self'" in client.get("/").headers["content-security-policy"]
