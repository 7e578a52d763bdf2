"""Infrastructure that every room uses: types, validation, blocks of rows, optional libraries. Not public."""
