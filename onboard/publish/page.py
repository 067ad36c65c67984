"""The summary as one HTML page: no script, no request to anywhere, readable in print and without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.results import EXECUTIONS, OUTCOMES
from onboard.console import visible

if TYPE_CHECKING:
    from conformance.report import Report


def render_page(report: Report) -> str:
    """The page; every text of a backend is escaped by Jinja, whatever the template's file name."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("onboard.publish", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    template = environment.get_template("summary.html")
    seen = [outcome for outcome in OUTCOMES if report.outcomes[outcome]]
    unseen = [outcome for outcome in OUTCOMES if not report.outcomes[outcome]]
    return template.render(report=report, outcomes=seen, unseen=unseen, executions=EXECUTIONS)
