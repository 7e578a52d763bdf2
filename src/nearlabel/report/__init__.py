"""Records to pictures."""

from nearlabel.report._figures import Series, draw_frontier, draw_panels

__all__ = ["Series", "draw_frontier", "draw_panels"]
