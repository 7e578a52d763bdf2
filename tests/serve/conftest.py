import numpy as np
import pytest

from serve.tickets import tickets

pytest.importorskip("fastapi")

from nearlabel.datasets import from_frame
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.persistence import save_model
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.serve import LiveModel, make_app


@pytest.fixture
def path(tmp_path):
    """A model of tickets: texts, categories and numbers; its samples have ids."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(tickets())
    data = from_frame(frame.drop(columns="id"), labels_column="tags", text=("text",), categorical=("product",))
    from sklearn.pipeline import make_pipeline

    encoder = MixedFeaturesEncoder(categorical=[1], text=[0], feature_names=data.feature_names)
    model = make_pipeline(encoder, BRkNN(5)).fit(data.X, data.Y)
    return save_model(
        model, tmp_path / "tickets.skops", data=data, keep={"id": frame["id"].tolist()}, labels_column=("tags",)
    )


@pytest.fixture
def numeric(tmp_path):
    """A model of an array without names."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    return save_model(MLkNN(5).fit(X, (X[:, :3] > 0).astype(int)), tmp_path / "numbers.skops")


@pytest.fixture
def client_of():
    """A function that returns a client of an application in this process, by the models' files."""
    from starlette.testclient import TestClient

    def made(*paths, read_only=False, **options):
        served = {path.name.removesuffix(".skops"): LiveModel(path, read_only=read_only) for path in paths}
        headers = {"Authorization": f"Bearer {options['token']}"} if options.get("token") else {}
        return TestClient(
            make_app(served, **options), base_url="http://localhost", headers=headers, raise_server_exceptions=False
        )

    return made
