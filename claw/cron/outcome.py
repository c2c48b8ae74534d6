"""What came of a run, and the words that tell it. Pure."""

from claw.channels.markers import inert
from claw.core.channel import SendMessage
from claw.cron.heartbeat import says_nothing
from claw.security.redact.leaks import guard
from claw.storage.jobs.model import Job, Run

NO_TEXT = {"agent": "agent job executed", "shell": "done; it said nothing"}
_TROUBLE = {"error": "failed", "denied": "was not allowed what it wanted",
            "interrupted": "was interrupted"}


def is_told(job: Job, status: str, text: str = "") -> bool:
    """Whether the delivery target hears of it: what its precheck skipped
    is what it is for, and an answer may say that there is nothing to
    tell."""
    return job.spec.delivery.mode == "announce" and status != "skipped" \
        and not (status == "ok" and says_nothing(text))


def name_job(job: Job) -> str:
    return job.spec.name or job.id


def name_source(run: Run) -> str:
    """What the outbox knows the outcome by: it goes out once."""
    return f"job:{run.job_id}:{run.slot}"


def write_message(job: Job, run: Run, links: tuple[str, ...] | None,
                  secrets: tuple[str, ...]) -> SendMessage:
    """What the delivery target is told of a run. Text of commands and
    pages sends no file, and nothing in it is a link but `links`."""
    text = (run.output or "").strip() or NO_TEXT[job.spec.job_type]
    if run.status in _TROUBLE:
        text = (f"⚠️ Job {name_job(job)} {_TROUBLE[run.status]} "
                f"(due {run.slot}): {text}")
    return SendMessage(inert(guard(text, secrets)), job.spec.delivery.to or "",
                       files=False, links=links)
