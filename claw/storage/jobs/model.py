"""A job, what it is made of, and one run of it. Times are RFC 3339, UTC."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.storage.jobs.schedule import Schedule

JOB_TYPES = ("shell", "agent")
SESSION_TARGETS = ("isolated", "main", "own")
MISSED = ("skip", "once", "all")
RUN_STATUSES = ("running", "ok", "error", "skipped", "denied", "interrupted")
DELIVERY_MODES = ("none", "announce")
SOURCES = ("imperative", "declarative")
_DELIVERY = {"mode": str, "channel": str, "to": str, "best_effort": bool}
_DELIVERY_FORM = ('{"channel": "chat", "to": "<chat>"}, perhaps with '
                  '"best_effort": false, or {"mode": "none"}')

_NAME_CHARS = 200
_COMMAND_CHARS = 10_000
_PROMPT_CHARS = 100_000
_MOST_TOOLS = 200
# What ends a line, moves a cursor or turns the direction of writing.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                     "\u2066-\u2069]")
MOST_S = 366 * 86_400
_MOST_CENTS = 1_000_000.0


class Delivery(Value):
    """Where what came of a run is sent. With `best_effort` false a failure
    to send it is one of the run."""

    mode: str = "none"
    channel: str | None = None
    to: str | None = None
    best_effort: bool = True


class JobSpec(Value):
    """What its maker says of a job: a command of the shell, or a prompt
    for the agent.

    `allowed_tools` are those of an agent's run (None: its usual ones, empty:
    none). `origin` are the labels of the turn that made it (core/labels.py),
    since its text may repeat what that turn had read; `policy` is what its
    runs may not do, as [autonomy.channels.NAME] says it, in JSON types;
    `made_in` is the memory session of the turn that made it (None: the
    owner's, for all to see).

    `session_target`: a conversation of no other run (isolated), the one of
    its delivery chat or the owner's (main), or one that goes on from run to
    run (own). `missed` is what becomes of times that passed while nobody
    ran: none is made up for (skip), one (once), each (all). `precheck` is a
    command of the shell that runs first: exit 0 goes on, 1 to 125 skips the
    run. After `max_silence_s` without a run that succeeded a notice is sent.
    `timeout_s` is a run's time limit, `monthly_cents` what the runs of a
    calendar month (UTC) may cost together.
    """

    schedule: Schedule
    job_type: str = "shell"
    name: str | None = None
    command: str | None = None
    prompt: str | None = None
    model: str | None = None
    session_target: str = "isolated"
    allowed_tools: tuple[str, ...] | None = None
    delivery: Delivery = Delivery()
    delete_after_run: bool = False
    enabled: bool = True
    source: str = "imperative"
    origin: str | None = None
    policy: Mapping[str, Any] | None = None
    made_in: str | None = None
    missed: str = "once"
    precheck: str | None = None
    max_silence_s: int | None = None
    timeout_s: int | None = None
    monthly_cents: float | None = None

    def hash_work(self) -> str:
        """Another one where its command, prompt or model is another: what
        its runs cost so far says nothing of the next."""
        words = json.dumps([self.command, self.prompt, self.model])
        return hashlib.sha256(words.encode()).hexdigest()[:16]


class Job(Value):
    """A kept job. `next_run` is None where it will not run again, `last_*`
    where it never ran; `begun` are spans (first, last) of its schedule of
    which each time was run, the latest last. `quiet_since` is its last
    success, or when it was made or resumed; `silent`: the notice of
    `max_silence_s` went out. Its runs cost `month_usd` in the `month`
    ("2026-11"). `declared` is the text of its table in config.toml."""

    id: str
    spec: JobSpec
    created_at: str
    next_run: str | None = None
    last_run: str | None = None
    last_status: str | None = None
    begun: tuple[tuple[str, str], ...] = ()
    quiet_since: str | None = None
    silent: bool = False
    month: str | None = None
    month_usd: float = 0.0
    declared: str | None = None

    def count_month_usd(self, now: float) -> float:
        """What its runs cost in the month of `now` (Unix time, UTC)."""
        return self.month_usd if self.month == rfc3339(now)[:7] else 0.0


class Run(Value):
    """One run of a job, for the time `slot`.

    `status` is one of RUN_STATUSES: what did not start for want of a yes or
    of money is denied, what its precheck stopped, or `missed`, is skipped,
    what ended with its process is interrupted. A running one is its
    runner's until `lease_until`. `delivery` is None where nothing is to be
    told, else owed; posted (it is in the outbox), or first awaited there,
    where a failure to send is one of the run: then sent or failed.
    `work_hash` is of what it was to do (JobSpec.hash_work); None where that
    is not known.
    """

    id: int
    job_id: str
    slot: str
    started_at: str
    status: str
    finished_at: str | None = None
    output: str | None = None
    duration_ms: int | None = None
    cost_usd: float | None = None
    turn_id: str | None = None
    lease_until: str | None = None
    delivery: str | None = None
    work_hash: str | None = None


def parse_delivery(given: Any) -> Delivery:
    """A delivery of a JSON object; one that names a place announces unless
    it says otherwise. Raises UsageError."""
    if not isinstance(given, Mapping) or not all(
            name in _DELIVERY and isinstance(value, _DELIVERY[name])
            for name, value in given.items() if value is not None):
        raise UsageError(f"the delivery must be {_DELIVERY_FORM}")
    fields = {name: value for name, value in given.items()
              if value is not None}
    if fields.keys() & {"channel", "to"}:
        fields = {"mode": "announce", **fields}
    return Delivery(**fields)


def clean_name(text: str) -> str:
    """A text as a name may be: one line of what is shown."""
    return " ".join(_UNSEEN.sub(" ", text).split())[:_NAME_CHARS]


def check_job(spec: JobSpec) -> None:
    """Raise UsageError for a job that can't be run as it is."""
    _check_choices(spec)
    _check_texts(spec)
    _check_limits(spec)
    given, other = (("command", "prompt") if spec.job_type == "shell"
                    else ("prompt", "command"))
    if not (getattr(spec, given) or "").strip():
        raise UsageError(f"a job of type {spec.job_type} needs {given!r}")
    if getattr(spec, other) is not None:
        raise UsageError(f"a job of type {spec.job_type} has no {other!r}")
    if spec.job_type == "shell" and (
            spec.model or spec.allowed_tools is not None
            or spec.monthly_cents is not None):
        raise UsageError("'model', 'allowed_tools' and 'monthly_cents' are "
                         "of jobs of type agent")
    if spec.precheck is not None and not spec.precheck.strip():
        raise UsageError("'precheck' must be a command")
    delivery = spec.delivery
    if delivery.mode == "announce" and not (
            (delivery.channel or "").strip() and (delivery.to or "").strip()):
        raise UsageError("the delivery needs 'channel' and 'to': "
                         + _DELIVERY_FORM)


def _check_choices(spec: JobSpec) -> None:
    for name, value, choices in (
            ("job_type", spec.job_type, JOB_TYPES),
            ("session_target", spec.session_target, SESSION_TARGETS),
            ("delivery mode", spec.delivery.mode, DELIVERY_MODES),
            ("missed", spec.missed, MISSED),
            ("source", spec.source, SOURCES)):
        if value not in choices:
            raise UsageError(f"{name} must be one of: {', '.join(choices)}")


def _check_limits(spec: JobSpec) -> None:
    for name, value, most in (
            ("max_silence_s", spec.max_silence_s, MOST_S),
            ("timeout_s", spec.timeout_s, MOST_S),
            ("monthly_cents", spec.monthly_cents, _MOST_CENTS)):
        if value is not None and not 0 < value <= most:
            raise UsageError(f"{name!r} must be above 0, and at most "
                             f"{most:,.0f}")


def _check_texts(spec: JobSpec) -> None:
    tools = spec.allowed_tools or ()
    for name, text, most in (
            ("name", spec.name, _NAME_CHARS),
            ("command", spec.command, _COMMAND_CHARS),
            ("prompt", spec.prompt, _PROMPT_CHARS),
            ("precheck", spec.precheck, _COMMAND_CHARS),
            ("model", spec.model, _NAME_CHARS),
            ("channel", spec.delivery.channel, _NAME_CHARS),
            ("to", spec.delivery.to, _NAME_CHARS),
            *(("allowed_tools", tool, _NAME_CHARS) for tool in tools)):
        if text is None:
            continue
        if len(text) > most:
            raise UsageError(f"{name!r} is longer than {most:,} characters")
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            raise UsageError(f"{name!r} holds what is no text")
    if _UNSEEN.search(spec.name or ""):
        raise UsageError("'name' must be one line, without signs that are "
                         "not shown")
    if len(tools) > _MOST_TOOLS:
        raise UsageError(f"'allowed_tools' names more than {_MOST_TOOLS}")
