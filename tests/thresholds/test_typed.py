"""Fitted attributes are declared with their types, for mypy, pyright and editors."""

import runpy
from pathlib import Path
from typing import get_origin, get_type_hints

import pytest

from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

PROGRAM = Path(__file__).parents[1] / "typed" / "thresholds.py"  # `make types` checks it


@pytest.mark.parametrize(
    ("name", "cls"), [("tuned", TunedThresholdsClassifierCV), ("fixed", FixedThresholdsClassifier)]
)
def test_every_fitted_attribute_is_declared_with_its_type(name, cls):
    """The typed program runs, and what it fits has the attributes of the declared types and no others."""
    fitted, declared = runpy.run_path(str(PROGRAM))[name], get_type_hints(cls)
    attributes = [attribute for attribute in vars(fitted) if attribute.endswith("_") and attribute[0] != "_"]
    assert {"thresholds_", "estimator_", "n_features_in_"} <= set(attributes)
    for attribute in attributes:
        kind = get_origin(declared[attribute]) or declared[attribute]
        kind = get_origin(getattr(kind, "__value__", None)) or kind  # numpy 2.5 declares NDArray as a type alias
        assert isinstance(getattr(fitted, attribute), object if attribute == "estimator_" else kind), attribute
