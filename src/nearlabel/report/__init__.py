"""Records to pictures."""

from nearlabel.report._figures import draw_panels

__all__ = ["draw_panels"]
