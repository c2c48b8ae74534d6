"""The values of what questions are asked with, and of what is kept of them:
templates and their parameters, entries of the log, jobs of claw map, and
those that are scheduled.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from claw.cli.complete.line import Line
from claw.core.minutes import format_minute

Rows = Iterator[tuple[str, str]]

BUSY_S = 0.2
_MOST_ENTRIES = 200
_ID_CHARS = 8  # as claw log list shows them
_TITLE_CHARS = 2_000


def list_templates(line: Line) -> Rows:
    """The owner's and claw's own, with what they say of themselves."""
    from claw.wiring import templates
    for found in templates.list_templates(line.places):
        yield found.name, (found.template.description if found.template
                           else "it can't be read") or "template"


def list_parameters(line: Line) -> Rows:
    """The parameters of the template on the line that have no value yet,
    with their defaults."""
    from claw.wiring.templates import load_template
    name = line.option("-T", "--template")
    if name is None:
        return
    given = {word.removeprefix("--parameter=").removeprefix("-P").partition(
        "=")[0] for word in line.words if "=" in word}
    for key, default in load_template(line.places, name).parameters.items():
        if key not in given:
            yield key + "=", ("needs a value" if default is None
                              else f"default: {default}")


def list_entries(line: Line) -> Rows:
    """The latest entries of the log that begin so."""
    from claw.text.titles import make_title
    from claw.wiring.workspace.place_names import log_path
    where, values = ("WHERE id >= ? AND id < ?",
                     (line.prefix, line.prefix + "\U0010ffff")
                     ) if line.prefix else ("", ())
    for id, at, prompt in read_rows(
            line, log_path(line.places), "SELECT id, at, substr(prompt, 1,"
            f" {_TITLE_CHARS}) FROM entries {where} ORDER BY at DESC"
            f" LIMIT {_MOST_ENTRIES}", values):
        shown = id if len(line.prefix) > _ID_CHARS else id[:_ID_CHARS]
        yield shown, f"{format_minute(at)}  {make_title(prompt)}"


def list_jobs(line: Line) -> Rows:
    """What claw map keeps answers of, the last used first."""
    from claw.text.titles import make_title
    from claw.wiring.workspace.place_names import map_path
    for id, title, used_at in read_rows(
            line, map_path(line.places), "SELECT id, title, used_at FROM"
            " jobs ORDER BY used_at DESC"):
        yield id, f"{format_minute(used_at)}  {make_title(title)}"
    yield "all", "every job"


def list_scheduled(line: Line) -> Rows:
    """Scheduled jobs by their names, and by their ids where those have none
    or are begun."""
    from claw.text.titles import make_title
    from claw.wiring.workspace.place_names import jobs_path
    for id, name, what in read_rows(
            line, jobs_path(line.places), "SELECT id, COALESCE(name, ''),"
            f" substr(COALESCE(prompt, command, ''), 1, {_TITLE_CHARS})"
            " FROM cron_jobs ORDER BY seq"):
        if name:
            yield name, make_title(what)
        if not name or (line.prefix and id.startswith(line.prefix)):
            yield id, make_title(what)


def read_rows(line: Line, path: Path, query: str,
              values: tuple[object, ...] = ()) -> list[tuple[str, ...]]:
    """Rows of text from a database of the workspace, where there is one
    and the workspace counts."""
    if not line.places.trusted or not os.path.lexists(path):
        return []
    from claw.storage.sqlite import connect, translated
    with closing(connect(path, readonly=True, busy_timeout_s=BUSY_S)
                 ) as connection, translated(path):
        rows = connection.execute(query, values).fetchall()
    return [row for row in rows
            if all(isinstance(value, str) for value in row)]
