"""[heartbeat] -> a declared job whose prompt is HEARTBEAT.md as it is when
the job runs."""

import json
from typing import TYPE_CHECKING

import msgspec

from claw.agent.identity import read_own_file
from claw.config.keys import Path
from claw.config.tree import Tree
from claw.core.log import Log
from claw.cron.heartbeat import FILE, ID, NOTHING, list_tasks, write_prompt
from claw.runtime.settings import HeartbeatSettings
from claw.storage.jobs.model import Delivery, Job, JobSpec
from claw.storage.jobs.schedule import LEAST_MS, Schedule

if TYPE_CHECKING:
    from claw.cron.parts import Declared

# What the store keeps, and the agent's own tool runs.
_PROMPT = (f'Look after the tasks of {FILE} in the workspace: its lines that '
           f'begin with "- ". When there is nothing to tell, answer {NOTHING} '
           "and no other word.")


def declare_heartbeat(tree: Tree) -> "Declared":
    """The job by its id; none where [heartbeat] is off. Raises
    ConfigError."""
    settings = tree.decode("heartbeat", HeartbeatSettings)
    if not settings.enabled:
        return {}
    told = settings.target and settings.to
    spec = JobSpec(
        Schedule("every", every_ms=max(LEAST_MS, round(
            settings.interval_s * 1000))),
        "agent", ID, prompt=_PROMPT, missed="skip", source="declarative",
        delivery=Delivery("announce", settings.target, settings.to)
        if told else Delivery())
    return {ID: (json.dumps(msgspec.to_builtins(settings), sort_keys=True),
                 spec)}


def find_lack(tree: Tree) -> Path | None:
    """What of where it is told is not set, where the other half is."""
    settings = tree.decode("heartbeat", HeartbeatSettings)
    if not settings.enabled or bool(settings.target) == bool(settings.to):
        return None
    return "heartbeat", "to" if settings.target else "target"


def find_prompt(tree: Tree, log: Log, job: Job) -> str | None:
    """What a job asks now; None where HEARTBEAT.md holds no task. A link in
    its place is no file, and a change that waits for the owner's yes does
    not count."""
    if job.id != ID or job.spec.source != "declarative":
        return job.spec.prompt

    def notify(text: str) -> None:
        log("heartbeat", text=text)
    text = read_own_file(tree.places.workspace, FILE, notify) or ""
    message = tree.decode("heartbeat", HeartbeatSettings).message or ""
    tasks = list_tasks(text) or [message] * bool(message.strip())
    return write_prompt(tasks) if tasks else None
