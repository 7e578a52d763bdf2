"""Save fitted models to files and load them without running code from the file.

`save_model` saves a fitted estimator with its card, and `load_model` loads it. `read_card` reads the card without
building the model, and `read_kept` reads saved columns of the training data for people, such as ids and titles.
`update_model` adds samples to the model in a file, and `forget_rows` removes samples, one process at a time.
`export_arrays` writes a vote method for programs without nearlabel.
`TRUSTED_TYPES` are the names of the types that `load_model` builds by default. ``docs/keeping_models.md`` describes the
contents of a file.
"""

from nearlabel.files.check_sums import Finding
from nearlabel.persistence._allow_list import TRUSTED_TYPES
from nearlabel.persistence._card import ModelCard, ModelChanges
from nearlabel.persistence._data_summary import DataSummary
from nearlabel.persistence._exported_arrays import export_arrays
from nearlabel.persistence._model_file import (
    ModelVersionWarning,
    check_can_save,
    load_model,
    read_card,
    read_kept,
    save_model,
)
from nearlabel.persistence._model_file import load_pyfunc as _load_pyfunc  # noqa: F401 - mlflow calls it by name
from nearlabel.persistence._service_files import has_changes as has_changes
from nearlabel.persistence._service_files import journal_of as journal_of
from nearlabel.persistence._update_file import OpenFile as OpenFile
from nearlabel.persistence._update_file import forget_rows, update_model
from nearlabel.persistence._verify import Checked, Verification, verify

__all__ = [
    "TRUSTED_TYPES", "Checked", "DataSummary", "Finding", "ModelCard", "ModelChanges", "ModelVersionWarning",
    "Verification", "check_can_save", "export_arrays", "forget_rows", "load_model", "read_card", "read_kept",
    "save_model", "update_model", "verify",
]  # fmt: skip
