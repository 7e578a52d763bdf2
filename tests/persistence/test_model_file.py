import sys
import threading
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import nearlabel.persistence._archive as archive
from nearlabel.datasets import load_multidigits
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import FaissIVFNeighbors
from nearlabel.persistence import ModelVersionWarning, load_model, read_card, save_model


def small():
    """A small fitted model."""
    return BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])


@pytest.mark.parametrize("read", [load_model, read_card])
class TestWhatIsNoModel:
    """One line says what is wrong, whatever it is."""

    def test_no_file(self, read, tmp_path):
        """The name is told."""
        with pytest.raises(FileNotFoundError, match=r"none must be the file of a model, but does not exist"):
            read(tmp_path / "none")

    def test_a_folder(self, read, tmp_path):
        """Not taken for a file."""
        with pytest.raises(IsADirectoryError, match="must be the file of a model, got a folder"):
            read(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"PK", b"@relation x\n", bytes(1000)])
    def test_another_format(self, read, tmp_path, content):
        """Empty, too short, text, zeros."""
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ValueError, match="m must be the file of a model, got another format or an incomplete file"):
            read(tmp_path / "m")

    @pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
    def test_truncated(self, read, saved, share):
        """However much is left."""
        content = saved.read_bytes()
        saved.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ValueError, match="must be the file of a model, got another format or an incomplete file"):
            read(saved)

    def test_another_archive(self, read, tmp_path):
        """A zip of something else."""
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as target:
            target.writestr("a.txt", "b")
        with pytest.raises(ValueError, match=r"must be a file that save_model wrote, got another archive\.$"):
            read(tmp_path / "m.zip")

    def test_a_file_of_skops_itself(self, read, tmp_path):
        """A hint names what reads it."""
        skops.io.dump(LogisticRegression(), tmp_path / "m.skops")
        with pytest.raises(ValueError, match=r"got another archive\. Hint: skops\.io\.load reads it"):
            read(tmp_path / "m.skops")

    def test_a_newer_format(self, read, saved, rewrite):
        """Found before the rest of the card is looked at."""
        with pytest.raises(ValueError, match=r"format must be at most 5, got 6\. Hint: a newer nearlabel wrote it"):
            read(rewrite(saved, "nearlabel.json", lambda card: {"format": 6, "models": []}))

    @pytest.mark.parametrize(
        "change",
        [
            lambda card: [],
            lambda card: {},
            lambda card: card | {"format": "new"},
            lambda card: card | {"format": "1"},
            lambda card: card | {"format": True},
            lambda card: card | {"format": 1.0},
            lambda card: card | {"format": -5},
            lambda card: card | {"format": np.inf},
            lambda card: card | {"format": None},
            lambda card: card | {"created": 5},
            lambda card: card | {"versions": [1]},
            lambda card: card | {"versions": None},
            lambda card: card | {"versions": {"numpy": 3}},
            lambda card: card | {"method": ["MLkNN"]},
            lambda card: card | {"parameters": [1, 2]},
            lambda card: card | {"parameters": {"n_neighbors": 1}},
            lambda card: card | {"thresholds": "abc"},
            lambda card: card | {"thresholds": ["1"]},
            lambda card: card | {"thresholds": [True]},
            lambda card: card | {"scores": {"f1": "good"}},
            lambda card: card | {"scores": {"f1": np.nan}},
            lambda card: card | {"scores": {"f1": 10**400}},
            lambda card: card | {"measured": None},
            lambda card: card | {"foreign_types": "abc"},
            lambda card: card | {"notes": {}},
            lambda card: card | {"data": card["data"] | {"rows": "3"}},
            lambda card: card | {"data": card["data"] | {"rows": -1}},
            lambda card: card | {"data": card["data"] | {"labels": True}},
            lambda card: card | {"data": card["data"] | {"label_names": "ab"}},
            lambda card: card | {"data": card["data"] | {"label_names": [0, 1]}},
            lambda card: card | {"data": card["data"] | {"label_names": ["a", "b", "c"]}},
            lambda card: card | {"data": card["data"] | {"colour": "red"}},
            lambda card: card | {"data": {}},
            lambda card: card | {"colour": "red"},
            lambda card: card | {"data": None},
            lambda card: card | {"scores": [1]},
            lambda card: {name: value for name, value in card.items() if name != "method"},
        ],
    )
    def test_a_card_that_is_none(self, read, saved, rewrite, change, monkeypatch):
        """Fields of the wrong type, missing, or more than there are; the model is not built."""
        monkeypatch.setattr(archive, "with_searches", pytest.fail)
        with pytest.raises(ValueError, match=r"text must be the (whole )?card of a model, got ") as wrong:
            read(rewrite(saved, "nearlabel.json", change))
        assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: None,
        lambda schema: [],
        lambda schema: {},
        lambda schema: schema | {"protocol": 99},
        lambda schema: schema | {"__loader__": "NoSuchNode"},
        lambda schema: schema | {"content": {}},
        lambda schema: schema | {"__class__": "NoSuchModel"},
    ],
)
def test_a_damaged_schema(saved, rewrite, change):
    """What skops stumbles over, in one line, as an error of this library; the card can still be read or is missed."""
    with pytest.raises(ValueError, match=r"must (be|contain)") as wrong:
        load_model(rewrite(saved, "schema.json", change))
    assert "\n" not in str(wrong.value)
    assert read_card(saved).method == "MLkNN"


def test_a_changed_byte_is_noticed(saved):
    """The archive has check sums."""
    with zipfile.ZipFile(saved) as source:
        member = max(source.infolist(), key=lambda one: one.file_size if one.filename.endswith(".npy") else 0)
        place = member.header_offset + 30 + len(member.filename) + member.file_size - 1
    content = bytearray(saved.read_bytes())
    content[place] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="got a damaged one: Bad CRC-32"):
        load_model(saved)


class TestWriting:
    """Files appear whole or not at all."""

    def test_the_path_comes_back(self, tmp_path):
        """As a Path, also if it went in as a text, relative to where one is."""
        assert save_model(small(), str(tmp_path / "m.skops")) == tmp_path / "m.skops"

    def test_in_the_current_folder(self, tmp_path, monkeypatch):
        """A name alone is a file here."""
        monkeypatch.chdir(tmp_path)
        save_model(small(), "m")
        assert [file.name for file in tmp_path.iterdir()] == ["m"]

    def test_an_older_file_is_replaced(self, saved):
        """By the new one, whole."""
        save_model(small(), saved)
        assert type(load_model(saved)) is BRkNN

    @pytest.mark.parametrize("step", ["_dump", "_foreign_types", "_check_will_be_read"])
    def test_where_writing_fails_the_older_file_stays(self, saved, monkeypatch, step):
        """And nothing else is left in the folder."""
        before = saved.read_bytes()

        def fail(*_):
            raise OSError("No space left on device")

        monkeypatch.setattr(archive, step, fail)
        with pytest.raises(OSError, match="No space"):
            save_model(small(), saved)
        assert saved.read_bytes() == before
        assert list(saved.parent.iterdir()) == [saved]

    def test_an_interruption_leaves_nothing(self, tmp_path, monkeypatch):
        """Also where it is the user who stops it."""

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(archive, "_check_will_be_read", stop)
        with pytest.raises(KeyboardInterrupt):
            save_model(small(), tmp_path / "m.skops")
        assert list(tmp_path.iterdir()) == []

    def test_bad_places(self, tmp_path):
        """A folder, and a folder that is not there."""
        with pytest.raises(IsADirectoryError, match="path must be a file, got the folder "):
            save_model(small(), tmp_path)
        with pytest.raises(FileNotFoundError, match="path must be in a folder that exists, got "):
            save_model(small(), tmp_path / "none" / "m.skops")

    def test_a_link_stays_a_link(self, tmp_path):
        """What it leads to is written, where that is, whole; also if it is not there yet."""
        (tmp_path / "kept").mkdir()
        link, target = tmp_path / "latest.skops", tmp_path / "kept" / "1.skops"
        link.symlink_to(target.relative_to(tmp_path))
        for model in (small(), MLkNN(1).fit([[0.0], [1.0], [2.0]], [[1], [0], [1]])):
            assert save_model(model, link) == link
            assert link.is_symlink()
            assert not target.is_symlink()
            assert type(load_model(link)) is type(load_model(target)) is type(model)
        assert [file.name for file in target.parent.iterdir()] == ["1.skops"]

    def test_links_that_lead_nowhere(self, tmp_path):
        """To themselves, to a folder, to one that is not there."""
        (tmp_path / "a").symlink_to(tmp_path / "b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        with pytest.raises(OSError, match=r"path must be a file, got the link .*, which leads to itself"):
            save_model(small(), tmp_path / "a")
        (tmp_path / "folder").symlink_to(tmp_path)
        with pytest.raises(IsADirectoryError, match="path must be a file, got the folder "):
            save_model(small(), tmp_path / "folder")
        (tmp_path / "none").symlink_to(tmp_path / "gone" / "m")
        with pytest.raises(FileNotFoundError, match="path must be in a folder that exists, got "):
            save_model(small(), tmp_path / "none")

    def test_compression(self, tmp_path):
        """A smaller file, the same model."""
        model = MLkNN().fit(*(lambda digits: (digits.X, digits.Y))(load_multidigits()))
        plain = save_model(model, tmp_path / "plain")
        small = save_model(model, tmp_path / "small", compress=True)
        assert small.stat().st_size < 0.5 * plain.stat().st_size
        queries = load_multidigits().X[:50]
        assert np.array_equal(load_model(small).predict_proba(queries), model.predict_proba(queries))

    @pytest.mark.parametrize("model", [3, "m", None, MLkNN, [small()], np.ones(2)])
    def test_what_is_no_model(self, tmp_path, model):
        """Numbers, classes, lists."""
        with pytest.raises(TypeError, match="model must be a fitted estimator, got "):
            save_model(model, tmp_path / "m")

    def test_a_model_that_is_not_fitted(self, tmp_path):
        """In scikit-learn's words."""
        with pytest.raises(NotFittedError, match="not fitted yet"):
            save_model(MLkNN(), tmp_path / "m")

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            (lambda row: row, r"consist of importable types and functions, got .*<lambda>\. Hint"),
            (
                threading.Lock(),
                r"consist of .*, got (_thread\.lock\. Hint|BRkNN: cannot pickle .*lock)",
            ),  # 3.13: the latter
            (memoryview(b"rows"), "consist of parts that skops can save, got BRkNN: "),
        ],
        ids=["lambda", "lock", "view"],
    )
    def test_parts_that_cannot_be_kept(self, tmp_path, part, message):
        """Found before a file is there, and in one line."""
        model = small()
        model.part_ = part
        with pytest.raises(ValueError, match=message) as wrong:
            save_model(model, tmp_path / "m.skops")
        assert "\n" not in str(wrong.value)
        assert list(tmp_path.iterdir()) == []

    def test_a_circle_cannot_be_kept(self, tmp_path):
        """An object that holds itself."""
        model = small()
        model.itself_ = model
        with pytest.raises(ValueError, match="model must consist of parts that skops can save, got BRkNN"):
            save_model(model, tmp_path / "m.skops")

    def test_compress_must_be_a_flag(self, tmp_path):
        """Not a level."""
        with pytest.raises(TypeError, match="compress must be True or False, got 9"):
            save_model(small(), tmp_path / "m", compress=9)


class TestVersions:
    """A model of other versions is loaded, with a warning."""

    def test_all_that_differ_are_named(self, saved, rewrite):
        """In one warning, with what is installed here; what is unknown is no matter."""
        others = {"nearlabel": "0.0.1", "numpy": "1.0", "fortran": "77"}
        rewrite(saved, "nearlabel.json", lambda card: card | {"versions": card["versions"] | others})
        with pytest.warns(
            ModelVersionWarning, match=r"saved with nearlabel 0\.0\.1 \(here .*\), numpy 1\.0 \(here"
        ) as all_:
            load_model(saved)
        assert len(all_) == 1
        assert "scipy" not in str(all_[0].message)
        assert all_[0].filename == __file__

    def test_the_same_versions_are_quiet(self, saved):
        """Warnings are errors here."""
        assert load_model(saved).n_neighbors == 1


class TestWithoutLibraries:
    """What is not installed is named, with what installs it."""

    def test_skops(self, saved, tmp_path, monkeypatch):
        """Neither saving nor loading; but the card can be read."""
        monkeypatch.setitem(sys.modules, "skops.io", None)
        with pytest.raises(ImportError, match=r"needs skops: pip install 'nearlabel\[persistence\]'"):
            save_model(small(), tmp_path / "m")
        with pytest.raises(ImportError, match=r"needs skops: pip install 'nearlabel\[persistence\]'"):
            load_model(saved)
        assert read_card(saved).method == "MLkNN"

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the import of faiss
    def test_faiss(self, tmp_path, monkeypatch):
        """A library that the model needs."""
        pytest.importorskip("faiss")
        X = np.random.default_rng(0).normal(size=(20, 2))
        file = save_model(MLkNN(1, search=FaissIVFNeighbors()).fit(X, (X > 0).astype(int)), tmp_path / "m")
        monkeypatch.setitem(sys.modules, "faiss", None)
        with pytest.raises(
            ImportError, match=r"m needs a library that is not installed: .*pip install 'nearlabel\[ann\]'"
        ):
            load_model(file)


def test_a_model_of_an_older_format_is_refused(saved, rewrite):
    """It lacks what methods now learn; its card can be read."""
    older = rewrite(saved, "nearlabel.json", lambda card: card | {"format": 3})
    assert read_card(older).format == 3
    with pytest.raises(ValueError, match=r"must have the format 4 to 5, got 3: an older nearlabel wrote it\. Hint"):
        load_model(older)
