"""What the folders of several agents have alike."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claw.core.errors import UsageError
from claw.storage.jobs.model import (
    Delivery,
    JobSpec,
    check_job,
    clean_name,
    parse_delivery,
)
from claw.storage.jobs.schedule import parse_schedule
from claw.wiring.setup.migrate import (
    HeldFile,
    HeldJob,
    HeldMemories,
    HeldSession,
    HeldSkill,
)
from claw.wiring.setup.migrate.reading.source import Source

IDENTITY = ("AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md",
            "MEMORY.md", "HEARTBEAT.md")
_MOST_IDENTITY = 1 << 20
_MOST_JOBS = 2_000


def open_workspace(path: Path, home: Path, notes: list[str]) -> Source:
    """A workspace below an agent's home, or beside it; no link leads to
    it."""
    base = home if path.is_relative_to(home) else home.parent
    if not path.is_relative_to(base):  # named by a way that has links
        path, base = path.resolve(), base.resolve()
    return Source(path, notes, base=base)


def read_files(source: Source) -> Iterator[HeldFile]:
    """The files of a workspace that are part of the prompt, those with
    something in them."""
    there = source.names(".")
    for name in IDENTITY:
        if name in there and (data := source.read(name, _MOST_IDENTITY)) \
                and data.strip():
            yield HeldFile(name, data)


def list_memories(source: Source) -> Iterator[HeldMemories]:
    """MEMORY.md and memory/**/*.md of a workspace."""
    there = source.names(".")
    name = next((name for name in ("MEMORY.md", "memory.md")
                 if name in there), None)
    if name:
        yield HeldMemories(source.root, name, "MEMORY")
    for path in source.walk("memory", ".md"):
        yield HeldMemories(source.root, path, path.removeprefix(
            "memory/").removesuffix(".md").replace("/", "_"))


def list_skills(source: Source, folder: str) -> Iterator[HeldSkill]:
    """The skills in a folder, and in the folders of it."""
    for name in source.names(folder, folders=True):
        below = f"{folder}/{name}"
        files = source.names(below)
        if "SKILL.md" in files or "SKILL.toml" in files:
            yield HeldSkill(name, source.root / folder)
        elif not name.startswith("."):
            for inner in source.names(below, folders=True):
                if "SKILL.md" in source.names(f"{below}/{inner}"):
                    yield HeldSkill(inner, source.root / below)


def list_transcripts(source: Source, folder: str, form: str
                     ) -> Iterator[HeldSession]:
    """The *.jsonl files of a folder."""
    for name in source.names(folder):
        if name.endswith(".jsonl"):
            yield HeldSession(name.removesuffix(".jsonl"), source.root,
                              f"{folder}/{name}", form)


def build_job(name: Any, schedule: Any, *, command: Any = None,
              prompt: Any = None, delivery: Any = None,
              enabled: bool = True, **more: Any) -> HeldJob:
    """A job of what another agent says of it; what claw can't have keeps
    its reason. A command comes switched off: claw's policy has not seen
    it."""
    label = clean_name(name if isinstance(name, str) else "") \
        or clean_name(str(prompt or command or "job"))[:40]
    try:
        spec = JobSpec(
            parse_schedule(_without_none(schedule)),
            "agent" if prompt else "shell", label, command or None,
            prompt or None, enabled=enabled and not command,
            delivery=_read_delivery(delivery), origin="file", **more)
        check_job(spec)
    except (UsageError, TypeError, ValueError, OverflowError) as error:
        return HeldJob(label, None, getattr(error, "message", str(error)))
    why = "it is a command: it comes switched off" if command else (
        "it was switched off" if not enabled else "")
    return HeldJob(label, spec, why)


def limit_jobs(jobs: list[HeldJob], source: Source) -> tuple[HeldJob, ...]:
    """Not more of them than anybody has."""
    if len(jobs) > _MOST_JOBS:
        source.note(f"{len(jobs):,} jobs: the first {_MOST_JOBS:,} were "
                    "looked at")
    return tuple(jobs[:_MOST_JOBS])


def get(tree: Any, *path: str) -> Any:
    """A value inside nested tables; None where there is none."""
    for part in path:
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()
           ) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of nested tables with its path; a list is one value, an
    empty table none."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, str(key)))
        elif value is not None:
            yield (*path, str(key)), value


def texts(value: Any) -> list[str]:
    """A list of texts and numbers as texts; also one with commas."""
    if isinstance(value, str):
        value = value.split(",")
    found = value if isinstance(value, list) else []
    return [str(each).strip() for each in found
            if isinstance(each, str | int) and str(each).strip()]


def _read_delivery(given: Any) -> Delivery:
    if not isinstance(given, Mapping):
        return Delivery()
    fields = {key: value for key, value in given.items() if value}
    if "best_effort" in given:
        fields["best_effort"] = bool(given["best_effort"])
    if fields.get("mode") == "none" or not (
            fields.get("channel") and fields.get("to")):
        return Delivery()
    return parse_delivery({**fields, "to": str(fields["to"])})


def _without_none(given: Any) -> Any:
    return {key: value for key, value in given.items()
            if value is not None} if isinstance(given, Mapping) else given


def local_zone(link: Path = Path("/etc/localtime"),
               env: Mapping[str, str] = os.environ) -> str | None:
    """This machine's time zone by its IANA name, None where it is not
    told. Agents whose jobs name no zone mean this one."""
    named = env.get("TZ", "").lstrip(":")
    if not named:
        try:
            named = os.readlink(link).partition("zoneinfo/")[2]
        except OSError:
            named = ""
    return named if "/" in named and not named.startswith("/") else None
