"""Vectors, ids and tags in tables of vector databases: a search, and a classifier that follows their changes."""

from nearlabel.databases._lance_table import LanceTable
from nearlabel.databases._pgvector_table import PgVectorTable
from nearlabel.databases._qdrant_table import QdrantTable
from nearlabel.databases._table_classifier import TableChanges, TableClassifier, TaggedRows
from nearlabel.databases._table_neighbors import TableNeighbors
from nearlabel.databases._vector_table import Candidates, TableChangedError, TableRows, VectorTable

__all__ = [
    "Candidates",
    "LanceTable",
    "PgVectorTable",
    "QdrantTable",
    "TableChangedError",
    "TableChanges",
    "TableClassifier",
    "TableNeighbors",
    "TableRows",
    "TaggedRows",
    "VectorTable",
]
