"""An audit of prompt injection from its plan to what it measured, as the command carries it out."""

from __future__ import annotations

from pathlib import Path

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.injection import (
    AuditPlan,
    InjectionAudit,
    audited,
    injection_job,
)
from persona_panel.models.event_loops import run_in_loop
from persona_panel.planning.panel_plan import PanelPlan


def audit_injection(
    panel: PanelPlan, plan: AuditPlan, *, out: str | Path, caps: Caps = NO_CAPS
) -> InjectionAudit:
    """Score all responses of the plan, and write the run and injection.json."""
    return audited(panel, plan, run_in_loop(injection_job(panel, plan, out).run(caps)))
