"""HTML reports on runs, models and audits: first the facts as plain data, then the page."""

from nearlabel.report._facts import audit_facts
from nearlabel.report._model_facts import model_facts
from nearlabel.report._page import report_page, write_report
from nearlabel.report._run_facts import run_facts

__all__ = ["audit_facts", "model_facts", "report_page", "run_facts", "write_report"]
