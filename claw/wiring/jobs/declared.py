"""[[cron.jobs]] and [heartbeat] -> declared jobs, and what is wrong with
those that can't be."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from claw.channels import REGISTRY
from claw.config.keys import Path, join_key
from claw.config.tree import SettingError, Tree
from claw.config.validate import Finding
from claw.cron.declared import read_declared
from claw.cron.heartbeat import ID as HEARTBEAT
from claw.storage.jobs.settings import DeclaredJob
from claw.wiring.channels.names import list_configured
from claw.wiring.jobs.heartbeat import declare_heartbeat, find_lack

if TYPE_CHECKING:
    from claw.cron.parts import Declared

_PATH: Path = ("cron", "jobs")


def read_jobs(tree: Tree) -> "tuple[Declared, list[tuple[Path, str]]]":
    """The jobs by id, and where what is wrong. Raises ConfigError for a
    value of a wrong type in a table."""
    rows = tree.node_or(_PATH, [])
    if not isinstance(rows, list) \
            or not all(isinstance(row, dict) for row in rows):
        return declare_heartbeat(tree), [
            (_PATH, "it must be tables, each under [[cron.jobs]]")]
    declared, told = read_declared(
        tree.decode((*_PATH, str(number)), DeclaredJob)
        for number in range(len(rows)))
    wrong: list[tuple[Path, str]] = [
        ((*_PATH, str(number)), text) for number, text in told]
    heartbeat = declare_heartbeat(tree)
    wrong += [(_PATH, f"{id!r}: [heartbeat] has this id")
              for id in heartbeat if id in declared]
    return {**declared, **heartbeat}, wrong


def job_findings(tree: Tree) -> Iterator[Finding]:
    """What `config check` says of jobs that would not run, or that nobody
    would hear of."""
    try:
        declared, wrong = read_jobs(tree)
    except SettingError:
        return  # the wrong value is reported by itself
    for path, text in wrong:
        yield Finding(join_key(path), tree.line(path), text,
                      "such a job is left as it was")
    if (lack := find_lack(tree)) is not None:
        yield Finding(join_key(lack), tree.line(lack[:1]), "it is not set, so "
                      "nobody hears of the tasks: it takes the channel "
                      "(target) and the chat (to)", level="warning")
    known = list_configured(tree)
    for id, (_, spec) in declared.items():
        told = spec.delivery if spec is not None else None
        if told is not None and told.mode == "announce" \
                and told.channel not in known:
            path = ("heartbeat", "target") if id == HEARTBEAT else _PATH
            yield Finding(
                join_key(path), tree.line(path), f"{id}: {told.channel} is "
                "not set up, so nobody hears what comes of it",
                f"claw channel setup {told.channel}"
                if told.channel in REGISTRY.names() else None, "warning")
