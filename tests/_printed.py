"""Our figures beside printed ones."""


def too_far(cells, tolerance):
    """The cells whose difference from the printed figure exceeds their tolerance."""
    return [cell for cell in cells if abs(cell.difference) > tolerance(cell)]
