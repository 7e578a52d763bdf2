"""Atomic files, stores of matrices, and rows in files shared with other processes. Not public."""
