"""Checks: gradients against differences, and the doctor for other people's engines."""

from .doctor import diagnose
from .gradcheck import gradcheck
from .report import Finding, Report

__all__ = ["Finding", "Report", "diagnose", "gradcheck"]
