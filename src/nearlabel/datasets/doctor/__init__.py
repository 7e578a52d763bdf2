"""The doctor: problems of a data set that make neighbours worse, and remedies."""

from nearlabel.datasets.doctor._columns import describe_columns
from nearlabel.datasets.doctor._examine import examine
from nearlabel.datasets.doctor._finding import Examination, Finding
from nearlabel.datasets.doctor._tables import duplicate_groups

__all__ = ["Examination", "Finding", "describe_columns", "duplicate_groups", "examine"]
