"""Shared infrastructure: types, validation, blocks of rows, optional libraries. Not public."""
