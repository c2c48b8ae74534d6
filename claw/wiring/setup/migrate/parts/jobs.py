"""Jobs: compared by what they do, and kept switched off.

The other agent may still run them, a month of them costs money, and a
command is what its folder says: the owner switches each one on, and sees
the forecast then.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from claw.config.places import Places
from claw.core.errors import UsageError
from claw.core.value import Value, replace
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import next_run
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.setup.migrate import HeldJob, Item, Part
from claw.wiring.workspace.place_names import jobs_path

_SHOWN = 60  # characters of a prompt


class _Decided(Value):
    item: Item
    spec: JobSpec | None = None


def look(held: Iterable[HeldJob], places: Places,
         channels: Collection[str], now: datetime) -> Part:
    """What would become of each job."""
    store = SqliteJobs(jobs_path(places))
    return Part("jobs", tuple(each.item for each in _decide(
        held, store, channels, now)))


def carry(held: Iterable[HeldJob], places: Places,
          channels: Collection[str], now: datetime) -> Part:
    """Keep those that are new, all or none."""
    store = SqliteJobs(jobs_path(places), channels=lambda: channels)
    items, new = [], []
    for each in _decide(held, store, channels, now):
        item = each.item
        if each.spec is not None:
            try:
                store.check_new(each.spec)
                new.append(each.spec)
            except UsageError as error:
                item = replace(item, fate="left", why=error.message)
        items.append(item)
    added = store.add_all(new) if new else []
    return Part("jobs", tuple(items), undo="claw cron remove "
                + " ".join(job.id for job in added) if added else "")


def _decide(held: Iterable[HeldJob], store: SqliteJobs,
            channels: Collection[str], now: datetime) -> list[_Decided]:
    there = {_key(job.spec) for job in store.list_jobs()}
    found = []
    for each in held:
        one = _decide_one(each, there, channels, now)
        if one.spec is not None:
            there.add(_key(one.spec))
        found.append(one)
    return found


def _decide_one(each: HeldJob, there: set[object],
                channels: Collection[str], now: datetime) -> _Decided:
    spec = each.spec
    if spec is None:
        return _Decided(Item(each.name, "left", why=each.why))
    shown = _show(spec)
    if _key(spec) in there:
        return _Decided(Item(each.name, "same", shown=shown))
    if next_run(spec.schedule, now, now) is None:
        return _Decided(Item(each.name, "left", shown=shown,
                             why="its time has passed"))
    why = each.why
    delivery = spec.delivery
    if spec.enabled:
        missing = delivery.mode == "announce" \
            and delivery.channel not in channels
        why = (f"claw has no channel {delivery.channel} yet: " if missing
               else "") + "it comes switched off (claw cron resume)"
    return _Decided(Item(each.name, "new", shown=shown, why=why),
                    replace(spec, enabled=False))


def _key(spec: JobSpec) -> object:
    return (spec.name, spec.schedule, spec.job_type, spec.command,
            spec.prompt)


def _show(spec: JobSpec) -> str:
    when = spec.schedule
    text = " ".join((spec.prompt or spec.command or "").split())
    if spec.prompt and len(text) > _SHOWN:  # a command is shown whole
        text = text[:_SHOWN - 1] + "…"
    return f"{when.expr or when.at or _spell_ms(when.every_ms)}: {text}"


def _spell_ms(millis: int | None) -> str:
    return f"every {(millis or 0) / 1000:g} s"


def utc_now() -> datetime:
    return datetime.now(UTC)
