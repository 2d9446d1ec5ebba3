"""Circuit + test rows -> one HTML file that explains, measures and runs the circuit."""

from dln.report.data_note import DataNote
from dln.report.report import Report, make_report

__all__ = ["DataNote", "Report", "make_report"]
