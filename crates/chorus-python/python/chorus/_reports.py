"""Results of checks, litmus tests and observations: dictionaries whose parts are tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ._tables import Table

if TYPE_CHECKING:
    from ._native import Report

__all__ = ["CheckReport", "LitmusReport", "TransitionTable", "WhyReport"]


class ReportTable(Table, Mapping[str, Any]):
    """A result as a mapping, whose main part is a table."""

    #: The part that is the table.
    PART = ""

    def __init__(self, report: Report) -> None:
        super().__init__(report.table(self.PART))
        self._report = report
        self._values: dict[str, Any] = report.to_dict()

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class CheckReport(ReportTable):
    """The result of `check`: a row for each configuration. As a mapping it is what `chorus check --json` prints.

    >>> import chorus
    >>> broken = chorus.check("gpu-vi", fault="stale-refill")
    >>> broken.passed, "chart" in broken.column_names
    (False, True)
    """

    PART = "configurations"

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and every search came to its end."""
        return self._values["passed"]

    @property
    def chart(self) -> Optional[str]:
        """The shortest sequence of messages to the first violation, as text."""
        found = [row["chart"] for row in self._values["configurations"] if row["chart"] is not None]
        elsewhere = self._values["caught_elsewhere"]
        return found[0] if found else elsewhere and elsewhere["chart"]

    def tables(self) -> Table:
        """A row for each configuration of a Chiplet Coherence Table with the L2s that it commands."""
        return Table(self._report.table("tables"))

    def _shape(self) -> str:
        verdict = "passed" if self.passed else "not passed"
        return f"{self._values['protocol']} {verdict}, {self.num_rows} configurations"


class LitmusReport(ReportTable):
    """The result of `litmus`: a row for each test. As a mapping it has the lines that `chorus litmus --json` prints.

    >>> import chorus
    >>> report = chorus.litmus("gpu-vi", ["MP", "SB"])
    >>> report.passed, report["summary"]["tests"]
    (True, 2)
    """

    PART = "tests"

    @property
    def passed(self) -> bool:
        """Whether every test that was run passed, and every file could be read."""
        return self._values["summary"]["passed"]

    def _shape(self) -> str:
        summary = self._values["summary"]
        return f"{summary['protocol']}: {summary['passing']} of {summary['tests']} tests pass"


class WhyReport(ReportTable):
    """The result of `why`. As a mapping it is what `chorus why --json` prints.

    The table has a row for each interval of each access that was asked for. With `aggregate` or `against` it has a
    row for each cause of the time of all accesses: of the run, where `kernel` and `buffer` are missing, and of each
    kernel and each buffer.
    """

    def __init__(self, report: Report, aggregate: bool) -> None:
        self.PART = "layers" if aggregate else "accesses"
        super().__init__(report)


class TransitionTable(ReportTable):
    """A protocol's transition table: a row for each state and event that were met, with the reactions that were seen.

    >>> import chorus
    >>> table = chorus.table("gpu-vi")
    >>> table.column_names
    ['controller', 'event', 'reactions', 'state']
    """

    PART = "cells"

    def to_text(self) -> str:
        """The table as `chorus table` prints it."""
        return self._values["text"]

    def to_markdown(self) -> str:
        """The table for Markdown documents."""
        return self._values["markdown"]

    def _repr_html_(self) -> str:
        return self._values["html"]
