"""What a lot of cases came to: counts, failures in words, and figures such as the worst error."""

from __future__ import annotations

from dataclasses import dataclass, field

_KEPT = 20  # failures that are told in full: after so many, more do not help


@dataclass
class Tally:
    """Cases, how many of them failed, some of the failures, and the largest of each figure."""

    cases: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, failure: str | None) -> None:
        """Add a case: None if it was right, else a sentence."""
        self.cases += 1
        if failure is not None:
            self.failed += 1
            if len(self.failures) < _KEPT:
                self.failures.append(failure)

    def figure(self, name: str, value: float) -> None:
        """Keep the largest; nan is larger than any."""
        known = self.figures.get(name)
        if known is None or not value <= known:
            self.figures[name] = value

    def merge(self, other: Tally) -> None:
        """Add what another lot came to."""
        self.cases += other.cases
        self.failed += other.failed
        self.failures = (self.failures + other.failures)[:_KEPT]
        self.seconds += other.seconds
        for name, value in other.figures.items():
            self.figure(name, value)
