"""What PostgreSQL and its client complain of, as errors of ours.

By SQLSTATE where the server gave one (PostgreSQL 16, appendix A); a refused
connection has none, and its text is looked at. No message shows the
password: it is taken out of whatever the server says.
"""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

import psycopg

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    StorageError,
    UnavailableError,
    UsageError,
)

_SET_URL = "set it with: claw config set storage.provider.config.db_url"
_AGAIN = "try again in a moment; nothing was changed"
_UP = "check that the server runs, and storage.provider.config.db_url"


_preamble = re.compile(
    "(connection failed: )?(connection to server .*? failed: )?")


class TableGoneError(StorageError):
    """The table was there and is no longer."""


class Place(NamedTuple):
    """Which server: `name` as errors call it ("host:port"), the names in
    its address, and what must never be shown."""

    name: str
    user: str
    database: str
    table: str
    secret: str = ""

    def hidden(self, text: str) -> str:
        """The text in one line, without the password."""
        for form in {self.secret, quote(self.secret),
                     quote(self.secret, safe="")} - {""}:
            text = text.replace(form, "***")
        return " ".join(text.split())


class _Rule(NamedTuple):
    kind: type[ClawError]
    sentence: str
    hint: str | None = None


# SQLSTATE or its beginning -> error; the longest one that fits counts.
_STATES = {
    "08": _Rule(UnavailableError, "PostgreSQL at {name}: the connection was "
                "lost", _UP),
    "22001": _Rule(UsageError, "a text is too large for {table}"),
    "22021": _Rule(ConfigError, "the database {database!r} can't hold this "
                   "text: {detail}", "make one with the encoding UTF8"),
    "22P05": _Rule(ConfigError, "the database {database!r} can't hold this "
                   "text: {detail}", "make one with the encoding UTF8"),
    "25006": _Rule(StorageError, "PostgreSQL at {name} can only be read "
                   "(a standby?)", "name its primary in db_url"),
    "28": _Rule(AuthError, "PostgreSQL at {name} refused the user {user!r}",
                _SET_URL),
    "3D": _Rule(ConfigError, "PostgreSQL at {name} has no database "
                "{database!r}", "make it: createdb {database}"),
    "40": _Rule(UnavailableError, "PostgreSQL at {name}: others wrote the "
                "same memories", _AGAIN),
    "42501": _Rule(ConfigError, "PostgreSQL at {name}: the user {user!r} may "
                   "not do this: {detail}",
                   "let the owner of the database GRANT it"),
    "42P01": _Rule(TableGoneError, "PostgreSQL at {name}: {table} is gone",
                   "the next command makes it anew"),
    "53100": _Rule(StorageError, "the disk of PostgreSQL at {name} is full",
                   "free some space there; nothing stored before is lost"),
    "53200": _Rule(StorageError, "PostgreSQL at {name} is out of memory"),
    "53300": _Rule(UnavailableError, "PostgreSQL at {name} has too many "
                   "connections", "raise its max_connections, or try again"),
    "54": _Rule(UsageError, "a key or text is too large for PostgreSQL: "
                "{detail}", "keys are indexed, up to about 2,700 bytes"),
    "55": _Rule(UnavailableError, "PostgreSQL at {name}: {table} is locked",
                _AGAIN),
    "57014": _Rule(UnavailableError, "PostgreSQL at {name} took too long",
                   _AGAIN),
    "57P": _Rule(UnavailableError, "PostgreSQL at {name} is going down or "
                 "coming up", "try again in a moment"),
    "58": _Rule(StorageError, "the disk of PostgreSQL at {name} failed: "
                "{detail}", "look at the server's log"),
    "XX001": _Rule(StorageError, "PostgreSQL at {name}: {table} is damaged: "
                   "{detail}", "export what can be read: claw memory export"),
    "XX002": _Rule(StorageError, "PostgreSQL at {name}: an index of {table} "
                   "is damaged", "repair it: REINDEX TABLE {table}"),
}

# What a refused connection says -> its SQLSTATE.
_REFUSALS = (
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("authentication failed", "28000"),
    ("no pg_hba.conf entry", "28000"),
    ("is not permitted to log in", "28000"),
    ("too many connections", "53300"),
    ("too many clients", "53300"),
    ("connection slots are reserved", "53300"),
    ("the database system is", "57P03"),
)


def translate(error: psycopg.Error, place: Place) -> ClawError:
    """The client's error as one of ours."""
    text = str(error)
    state = error.sqlstate or _guess_state(text, place)
    detail = place.hidden(_preamble.sub("", text.partition("\n")[0], 1))
    rule = next((_STATES[state[:size]] for size in (5, 3, 2)
                 if state and state[:size] in _STATES), None)
    if rule is None:
        if isinstance(error, psycopg.OperationalError) and not error.sqlstate:
            return UnavailableError(
                f"PostgreSQL at {place.name} can't be reached: {detail}",
                hint=_UP)
        return StorageError(f"PostgreSQL at {place.name}: {detail}")
    known: dict[str, Any] = {**place._asdict(), "detail": detail}
    return rule.kind(rule.sentence.format(**known),
                     hint=rule.hint.format(**known) if rule.hint else None)


def _guess_state(text: str, place: Place) -> str | None:
    if f'database "{place.database}" does not exist' in text:
        return "3D000"
    return next((state for words, state in _REFUSALS if words in text), None)
