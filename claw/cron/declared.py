"""[[cron.jobs]] -> jobs. Pure."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from claw.core.errors import UsageError
from claw.security.narrower import read_policy
from claw.storage.jobs.model import JobSpec, check_job, parse_delivery
from claw.storage.jobs.schedule import parse_schedule
from claw.storage.jobs.settings import DeclaredJob

if TYPE_CHECKING:
    from claw.cron.parts import Declared


def read_declared(rows: Iterable[DeclaredJob]
                  ) -> "tuple[Declared, list[tuple[int, str]]]":
    """The jobs by id, and what is wrong with them: the number of the row
    and a sentence. One that is wrong is left as it was."""
    found: dict[str, tuple[str, JobSpec | None]] = {}
    wrong: list[tuple[int, str]] = []
    for number, row in enumerate(rows):
        if not row.id.strip() or row.id in found:
            wrong.append((number, "its id is missing, or of another one, "
                          "too"))
            continue
        spec = None
        try:
            spec = build_spec(row)
        except UsageError as error:
            wrong.append((number, f"{row.id!r:.80}: {error.message}"))
        found[row.id] = json.dumps(msgspec.to_builtins(row),
                                   sort_keys=True), spec
    return found, wrong


def build_spec(row: DeclaredJob) -> JobSpec:
    """Raises UsageError for what can't be a job."""
    if row.policy is not None:
        read_policy(dict(row.policy))
    kind = row.job_type or ("agent" if row.prompt is not None else "shell")
    # the reference's rows have the other kind's keys too
    others = ("prompt", "model", "allowed_tools") if kind == "shell" \
        else ("command",)
    fields: dict[str, Any] = {
        name: None if name in others else getattr(row, name) for name in (
            "name", "command", "prompt", "enabled", "model", "allowed_tools",
            "session_target", "missed", "precheck", "max_silence_s",
            "timeout_s", "monthly_cents", "policy")}
    spec = JobSpec(
        parse_schedule(msgspec.to_builtins(row.schedule) | {
            "kind": row.schedule.kind}),
        kind,
        delivery=parse_delivery(msgspec.to_builtins(row.delivery)),
        source="declarative", **fields)
    check_job(spec)
    return spec
