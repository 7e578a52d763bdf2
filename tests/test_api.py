"""What the last release offered is still there, or the change log says what became of it."""

import re
from pathlib import Path

import pytest

import nearlabel
from api import FILE, as_text, offered, released, taken_away

ROOT = Path(__file__).parents[1]
NOW = offered()


def unreleased():
    """Return what the change log says of the next release."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.search(r"^## \[Unreleased\]\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]


def untold(lost, text):
    """Return the sentences of what is taken away without a word of it; the last part of its name must occur."""
    words = set(re.findall(r"\w+", text))
    return [sentence for name, sentence in lost.items() if name.rpartition(".")[2].strip("*") not in words]


def test_the_snapshot_is_of_this_version():
    """Whoever makes a release writes it: `make api`."""
    version, names = released()
    assert version == nearlabel.__version__
    assert len(names) > 1000


def test_what_the_last_release_offered_is_there():
    """Names, parameters, their order and their defaults; what is new needs no word."""
    version, names = released()
    found = "\n".join(untold(taken_away(names, NOW), unreleased()))
    assert not found, (
        f"{found}\nUsers of {version} notice. Hint: keep it and warn (docs/versions.md), or name it in CHANGELOG.md"
        f" under Unreleased; {FILE.name} is written anew by `make api` when a release is made."
    )


def test_names_that_are_known():
    """A class, a method, a function, a property and a module of this library; not what scikit-learn defines."""
    assert NOW["lazy.MLkNN"].startswith("(n_neighbors=10, *, ")
    assert NOW["lazy.MLkNN.fit"] == "(X, y, sample_weight=None)"
    assert NOW["metrics.hamming_loss"].startswith("(y_true, y_pred, ")
    assert NOW["experiments.MethodSpec.is_lazy"] == NOW["lazy"] == NOW["MLkNN"] == ""
    assert not {"lazy.MLkNN.get_params", "lazy.MLkNN.set_fit_request"} & set(NOW)


def test_it_reads_what_it_writes(tmp_path, monkeypatch):
    """Signatures come back as they were."""
    monkeypatch.setattr("api.FILE", tmp_path / "api.txt")
    (tmp_path / "api.txt").write_text(as_text(NOW), encoding="utf-8")
    assert released() == (nearlabel.__version__, NOW)


@pytest.mark.parametrize(
    ("before", "now", "sentences"),
    [
        ("(X)", None, ["f is gone"]),
        ("(X, y=1)", "(X)", ["f: the parameter y is gone"]),
        ("(X, y=1)", "", ["f: the parameter X is gone", "f: the parameter y is gone"]),
        ("(X, y=1)", "(X, y=2)", ["f: the default of y is 2, was 1"]),
        ("(X, y=1)", "(X, y)", ["f: the default of y is None, was 1"]),
        ("(X, y=1)", "(X, *, y=1)", ["f: y can no longer be passed by position"]),
        ("(X, y)", "(y, X)", ["f: y stands in the place of X", "f: X stands in the place of y"]),
        ("(X)", "(X, y)", ["f: the parameter y is new and has no default"]),
        ("(X, *, a=1)", "(X, b=2, *, a=1)", []),
        ("(X, y)", "(X, y=None)", []),
        ("(X, *, y=1)", "(X, y=1)", []),
        ("(X, *others, **more)", "(X)", ["f: the parameter *others is gone", "f: the parameter **more is gone"]),
        ("", "(X)", []),
    ],
)
def test_what_callers_notice(before, now, sentences):
    """By hand; None: the name is not there."""
    found = taken_away({"f": before}, {} if now is None else {"f": now})
    assert list(found.values()) == sentences


def test_a_word_in_the_change_log_is_enough():
    """The name, or of a parameter its name; part of a word is not."""
    lost = taken_away({"a.f": "(X, ties=1)", "a.g": ""}, {"a.f": "(X)"})
    assert untold(lost, "### Removed\n- `g`, and the argument `ties` of `f`") == []
    assert untold(lost, "- `ties_by`") == ["a.f: the parameter ties is gone", "a.g is gone"][::-1]
