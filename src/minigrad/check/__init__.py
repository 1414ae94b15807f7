"""Checks: gradients against differences, and the doctor for other people's engines."""

from .doctor import diagnose, diagnose_here
from .doctor.report import Finding, Report
from .gradcheck import gradcheck

__all__ = ["Finding", "Report", "diagnose", "diagnose_here", "gradcheck"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show
