"""What the agent may do in a channel or a job, for whom it asks there, and
where each limit comes from. The same settings and rules as the gate's."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from msgspec import to_builtins

from claw.config.tree import Tree
from claw.core.tool import Tool
from claw.security.approval import needs_approval
from claw.security.narrower import EffectiveSettings, combine, read_policy
from claw.security.policy import SecurityPolicy
from claw.security.settings import (
    AUTO_APPROVE,
    AutonomySettings,
    NarrowerSettings,
)
from claw.storage.jobs.model import Job
from claw.wiring.channels.names import check_channel

Fate: TypeAlias = Literal["runs", "asks", "refused", "not offered"]


def list_excluded(tree: Tree) -> list[str]:
    """The tools that no channel may use."""
    autonomy = tree.decode("autonomy", AutonomySettings)
    return ([] if autonomy.level == "full"
            else autonomy.non_cli_excluded_tools)


def describe_rules(tree: Tree, policy: SecurityPolicy, tools: Iterable[Tool],
                   offered: Collection[str], channel: str | None,
                   job: Job | None) -> dict[str, Any]:
    """The rules of a turn of this channel (None: the owner's own) or of a
    run of this job; `offered` are the names of those tools that the settings
    switch on. Raises UsageError for an unknown channel."""
    if channel is not None:
        check_channel(channel)
    own = policy.base.channels.get(channel or "")
    narrowed = None
    if job is not None and job.spec.policy is not None:
        narrowed = read_policy(job.spec.policy)
    settings = policy.find_settings(channel, narrowed)
    excluded = [] if channel is None else list_excluded(tree)
    only = None if job is None else job.spec.allowed_tools
    fates: dict[str, list[str]] = {
        "runs": [], "asks": [], "refused": [], "not offered": []}
    for tool in tools:
        is_on = tool.name in offered and tool.name not in excluded and (
            only is None or tool.name in only)
        fate = _find_fate(tool, settings, asks=job is None)
        fates[fate if is_on else "not offered"].append(tool.name)
    return {
        "channel": channel, "job": job and job.id, "level": settings.level,
        "runs_unasked": fates["runs"], "asks": fates["asks"],
        "refused": fates["refused"], "not_offered": fates["not offered"],
        "allowed_commands": settings.allowed_commands,
        "workspace": str(policy.workspace),
        "workspace_only": settings.workspace_only,
        "allowed_roots": settings.allowed_roots,
        "forbidden_paths": settings.forbidden_paths,
        "max_actions_per_hour": settings.max_actions_per_hour,
        "max_cost_per_turn_cents": settings.max_cost_per_turn_cents,
        "own": to_builtins(combine(own, narrowed) or NarrowerSettings()),
        "permissions": [] if job is not None else [
            one.shape for one in settings.permissions.values()
            if one.channel == (channel or "")
            and one.workspace == str(policy.workspace)
            and not one.is_over(datetime.now(UTC))]}


def _find_fate(tool: Tool, settings: EffectiveSettings, *, asks: bool
               ) -> Fate:
    """What becomes of a call while the turn has read no foreign text. A
    job has nobody to ask."""
    if not settings.offers(tool.name):
        return "not offered"
    reads = getattr(tool, "reads", False) is True
    if settings.level == "readonly" and not (
            reads or tool.name in AUTO_APPROVE):
        return "refused"
    if needs_approval(tool.name, settings, interactive=True, reads=reads,
                      asks=getattr(tool, "asks", False) is True) is None:
        return "runs"
    return "asks" if asks else "refused"
