"""What is kept, in the status: queue, memory, spending and jobs."""

import os
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import NotFoundError, StorageError
from claw.core.ledger import Spent, dollars, lowest
from claw.core.memory import ClosesMemory, Memory, MemoryDeps
from claw.core.minutes import format_minute, format_span
from claw.core.times import rfc3339
from claw.memory import REGISTRY
from claw.memory.settings import MemorySettings
from claw.security.files import nofollow
from claw.storage.jobs.lookup import describe_job
from claw.storage.jobs.model import Job
from claw.storage.jobs.store import SqliteJobs
from claw.storage.ledger_reader import open_reader as open_ledger
from claw.storage.queue.model import QueueCounts
from claw.storage.queue.reader import open_reader
from claw.text.plural import memories, plural
from claw.wiring.checks.check import Check, Status
from claw.wiring.memory import backend_name
from claw.wiring.models.ledger import (
    ledger_path,
    read_cost_settings,
    read_daily_cents,
)
from claw.wiring.status.part import Part
from claw.wiring.workspace.place_names import jobs_path, queue_path

_NEXT = 3  # jobs that are named
_LATE_S = 600.0  # a message that waits so long is worth a word
_JOB_LATE_S = 120.0


def read_queue(places: Places, _: Tree | None) -> Part:
    """What waits, what is in doubt, and what failed."""
    try:
        with open_reader(queue_path(places)) as reader:
            counts = reader.counts()
    except NotFoundError:
        counts = QueueCounts({}, {})
    data = {
        "waiting": counts.inbox.get("waiting", 0),
        "running": counts.inbox.get("running", 0),
        "to_send": counts.outbox.get("waiting", 0)
        + counts.outbox.get("sending", 0),
        "in_doubt": counts.outbox.get("uncertain", 0),
        "failed": counts.inbox.get("failed", 0)
        + counts.outbox.get("failed", 0),
        "oldest_seconds": counts.oldest_s}
    said = [f"{data[name]:,} {words}" for name, words in (
        ("waiting", "to answer"), ("running", "being answered"),
        ("to_send", "to send"), ("in_doubt", "in doubt"),
        ("failed", "failed")) if data[name]]
    late = (counts.oldest_s or 0) > _LATE_S
    if counts.oldest_s is not None:
        said.append(f"the oldest waits for {format_span(counts.oldest_s)}")
    odd = data["in_doubt"] or data["failed"] or late
    return Part("queue", data, (Check(
        "queue", "warn" if odd else "ok", ", ".join(said) or "empty",
        None if not odd else "claw queue list --failed, then: claw queue "
        + ("retry" if counts.outbox.get("failed") else "purge --failed")
        if data["failed"] else "claw queue list"),))


def read_memory(places: Places, tree: Tree | None) -> Part:
    """How much the memory holds, and which it is. One that is a server's is
    not asked."""
    if tree is None:
        return Part("memory", None, (Check(
            "memory", "skip", "not looked at: config.toml can't be read"),))
    name = backend_name(tree)
    plug_in = REGISTRY.load(name)
    data: dict[str, Any] = {"backend": name, "entries": None,
                            "size_bytes": None}
    if name not in REGISTRY.names() or getattr(plug_in, "is_remote", False):
        return Part("memory", data, (Check(
            "memory", "ok", f"{name}, not asked here (claw doctor asks)"),))
    # No embedder is loaded for a count, and no snapshot restored.
    settings = msgspec.structs.replace(
        tree.decode("memory", MemorySettings), auto_hydrate=False)
    notes: list[str] = []
    memory: Memory = plug_in.open(
        places.workspace, settings, readonly=True, notify=notes.append,
        deps=MemoryDeps(None, {}))
    try:
        data["entries"] = memory.count()
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()
    data["size_bytes"] = size = _measure(places)
    return Part("memory", data, (Check(
        "memory", "ok", f"{name}, {memories(data['entries'])}"
        + (f", {size / (1 << 20):,.1f} MiB" if size else "")),
        *(Check("memory.note", "warn", note, "claw memory check")
          for note in notes)))


def _measure(places: Places) -> int:
    """Bytes of the files in the memory's folder; nothing is opened."""
    try:
        with nofollow.hold_folder(
                places.workspace, places.workspace / "memory") as folder, \
                os.scandir(folder) as found:
            return sum(entry.stat(follow_symlinks=False).st_size
                       for entry in found
                       if entry.is_file(follow_symlinks=False))
    except (OSError, StorageError):
        return 0


def read_spending(places: Places, tree: Tree | None) -> Part:
    """What is spent today and in this month, and how much may be."""
    try:
        with open_ledger(ledger_path(places)) as reader:
            spent = reader.spent()
    except NotFoundError:
        spent = Spent()
    daily = monthly = 0.0
    warn_at = 100
    if tree is not None:
        settings = read_cost_settings(tree)
        daily = read_daily_cents(tree) / 100
        if settings.enabled:
            daily = lowest(settings.daily_limit_usd, daily)
            monthly = settings.monthly_limit_usd
            warn_at = settings.warn_at_percent or 100
    share = max((used / limit for used, limit in (
        (spent.day_usd, daily), (spent.month_usd, monthly)) if limit),
        default=0.0)
    status: Status = ("fail" if share >= 1 else
                      "warn" if share * 100 >= warn_at else "ok")
    data = {"today_usd": spent.day_usd, "daily_limit_usd": daily or None,
            "month_usd": spent.month_usd,
            "monthly_limit_usd": monthly or None}
    return Part("spending", data, (Check(
        "spending", status, f"{_compare(spent.day_usd, daily)} today, "
        f"{_compare(spent.month_usd, monthly)} this month",
        "claw cost --by model; the limits: claw config get cost"
        if status != "ok" else None),))


def _compare(spent: float, limit: float) -> str:
    return f"{dollars(spent)} of {dollars(limit)}" if limit \
        else dollars(spent)


def read_jobs(places: Places, _: Tree | None) -> Part:
    """The jobs that come next, and whether they come."""
    path = jobs_path(places)
    if not path.exists() or not places.trusted:
        return Part("jobs", {"total": 0, "late": 0, "failed": 0, "next": []},
                    (Check("jobs", "ok", "none"),))
    jobs = SqliteJobs(path).list_jobs()
    now = rfc3339(time.time() - _JOB_LATE_S)
    coming = sorted((job for job in jobs if job.spec.enabled
                     and job.next_run), key=lambda job: str(job.next_run))
    late = [job for job in coming if str(job.next_run) < now]
    failed = [job for job in jobs if job.last_status in (
        "error", "denied", "interrupted")]
    data = {"total": len(jobs), "late": len(late), "failed": len(failed),
            "next": [{"id": job.id, "name": job.spec.name,
                      "next_run": job.next_run} for job in coming[:_NEXT]]}
    said = [plural(len(jobs), "job") if jobs else "none"]
    if late:
        said.append(f"{len(late)} late")
    if failed:
        said.append(f"the last run of {_name_first(failed)} ended with "
                    f"{failed[0].last_status}")
    text = ", ".join(said) + (
        f"; next: {', '.join(map(_name_job, coming[:_NEXT]))}"
        if coming else "")
    return Part("jobs", data, (Check(
        "jobs", "warn" if late or failed else "ok", text,
        "claw cron runs" if failed else
        "claw listen runs them; see: claw doctor" if late else None),))


def _name_first(jobs: Sequence[Job]) -> str:
    first = describe_job(jobs[0])
    return first if len(jobs) == 1 else f"{first} and {len(jobs) - 1} more"


def _name_job(job: Job) -> str:
    when = format_minute(str(job.next_run))
    return f"{describe_job(job)} ({when})"
