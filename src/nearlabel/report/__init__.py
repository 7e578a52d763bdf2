"""Records to pictures."""

from nearlabel.report._figures import Series, draw_panels

__all__ = ["Series", "draw_panels"]
