"""The last errors in the status: turns and questions that failed, messages
that could not be sent."""

import time
from collections.abc import Iterator

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import NotFoundError
from claw.core.minutes import format_span
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.storage.log.reader import Filters
from claw.storage.log.reader import open_reader as open_log
from claw.storage.queue.reader import open_reader as open_queue
from claw.wiring.channels.states import age_s
from claw.wiring.checks.check import Check
from claw.wiring.status.part import Part
from claw.wiring.workspace.place_names import log_path, queue_path

_MOST = 3
_SINCE_S = 86_400.0
_CHARS = 200


class Failure(Value):
    """`at` is RFC 3339, `where` the origin of a turn or the target of a
    message, `hint` the command that shows more."""

    at: str
    where: str
    text: str
    hint: str


def read_errors(places: Places, _: Tree | None) -> Part:
    """The newest of the last day."""
    since = rfc3339(time.time() - _SINCE_S)
    found = sorted((failure for failure in (
        *_read_log(places, since), *_read_queue(places))
        if failure.at >= since), key=lambda one: one.at)[-_MOST:]
    return Part("errors", [
        {"at": one.at, "where": one.where, "error": one.text}
        for one in found], tuple(map(_describe, reversed(found))))


def _describe(one: Failure) -> Check:
    age = age_s(one.at)
    text = " ".join(one.text.split())
    if len(text) > _CHARS:
        text = text[:_CHARS - 1] + "…"
    return Check("error", "warn", f"{format_span(age or 0)} ago, "
                 f"{one.where}: {text}", one.hint)


def _read_log(places: Places, since: str) -> Iterator[Failure]:
    try:
        reader = open_log(log_path(places))
    except NotFoundError:
        return
    with reader:
        for entry in reader.page(Filters(since=since, failed=True), _MOST):
            yield Failure(entry.at, entry.origin, entry.error or "failed",
                          f"claw log show {entry.id[:12]}")


def _read_queue(places: Places) -> Iterator[Failure]:
    try:
        reader = open_queue(queue_path(places))
    except NotFoundError:
        return
    with reader:
        for part in reader.outbox_rows(states=("failed",), limit=_MOST):
            yield Failure(
                rfc3339(part.sent_at or part.created_at),
                f"{part.channel}:{part.message.recipient}",
                part.error or "could not be sent",
                "claw queue list --failed, then: claw queue retry")
