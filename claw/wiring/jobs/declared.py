"""[[cron.jobs]] and [heartbeat] -> declared jobs, and what is wrong with
those that can't be."""

from collections.abc import Iterator

from claw.config.keys import Path, join_key
from claw.config.tree import SettingError, Tree
from claw.config.validate import Finding
from claw.cron.declared import read_declared
from claw.cron.parts import Declared
from claw.storage.jobs.settings import DeclaredJob
from claw.wiring.jobs.heartbeat import declare_heartbeat

_PATH: Path = ("cron", "jobs")


def read_jobs(tree: Tree) -> tuple[Declared, list[tuple[Path, str]]]:
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
    """What `config check` says of jobs that would not run."""
    try:
        wrong = read_jobs(tree)[1]
    except SettingError:
        return  # the wrong value is reported by itself
    for path, text in wrong:
        yield Finding(join_key(path), tree.line(path), text,
                      "such a job is left as it was")
