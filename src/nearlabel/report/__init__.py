"""Facts to a page of one file; nothing is computed here."""

from nearlabel.report._page import report_page, write_report

__all__ = ["report_page", "write_report"]
