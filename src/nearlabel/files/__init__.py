"""Files of rows, stores of matrices, and files that are written whole or not at all. Not public."""
