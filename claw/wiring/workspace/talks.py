"""Conversations of the owner's that can be gone on with."""

from claw.config.tree import Tree
from claw.core.errors import NotFoundError
from claw.core.value import Value
from claw.storage.log.reader import Talk, open_reader
from claw.text.titles import make_title
from claw.wiring.workspace.log import read_log_settings
from claw.wiring.workspace.place_names import log_path
from claw.wiring.workspace.sessions import open_sessions, read_title

_MOST = 100


class KeptTalk(Value):
    """A conversation: gone on with by its session, or from an entry of the
    log. `at` is the time of its last message."""

    title: str
    at: str
    session: str | None = None
    cid: str | None = None


def list_talks(tree: Tree) -> list[KeptTalk]:
    """The latest first: those of ask and agent in the log, and sessions
    that are kept in a file alone. Raises StorageError."""
    found: list[KeptTalk] = []
    known: set[str] = set()
    store = open_sessions(tree.places)
    files = {info.key for info in store.list()}
    for talk in _read_log(tree):
        session = talk.last.session
        # The file of a session holds its latest conversation alone.
        is_latest = session in files and session not in known
        if session is not None:
            known.add(session)
        if talk.last.origin not in ("ask", "agent"):
            continue
        found.append(KeptTalk(
            make_title(talk.first_prompt), talk.last.at,
            *((session, None) if is_latest else (None, talk.last.id))))
    found += [KeptTalk(read_title(store, info.key), info.updated_at,
                       info.key)
              for info in store.list() if info.key not in known]
    return sorted(found, key=lambda talk: talk.at, reverse=True)[:_MOST]


def _read_log(tree: Tree) -> list[Talk]:
    if not read_log_settings(tree).enabled:
        return []
    try:
        with open_reader(log_path(tree.places)) as reader:
            return reader.talks(_MOST)
    except NotFoundError:
        return []
