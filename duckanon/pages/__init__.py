"""Something to look at, and to hand over: pages that tell of a release."""

from duckanon.pages.file import ReportFile
from duckanon.pages.report import Report

__all__ = ["Report", "ReportFile"]
