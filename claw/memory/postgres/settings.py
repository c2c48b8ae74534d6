"""The [storage.provider.config] table of config.toml."""

import re
import typing
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from claw.core.errors import ConfigError

SECTION = "storage.provider.config"
CONNECT_TIMEOUT_CAP_S = 300
DEFAULT_CONNECT_TIMEOUT_S = 10
MAX_NAME = 63  # what PostgreSQL keeps of a name
_ALIASES = ("dbURL", "database_url", "databaseUrl")
_ADDRESS = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
_name = re.compile("[A-Za-z_][A-Za-z0-9_]*")

Positive = Annotated[int, msgspec.Meta(ge=1)]
_KINDS = {str: "text", int: "a whole number from 1", bool: "true or false"}


class PostgresSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[storage.provider.config]

    provider: postgres; where it is set it wins over memory.backend
    db_url: the server, as postgresql://USER:PASSWORD@HOST:5432/DATABASE
    schema: the schema that the table is in
    table: the table that memories are kept in
    connect_timeout_secs: seconds to wait for the server, at most 300
    pgvector_enabled: compare meanings too, with the extension pgvector
    pgvector_dimensions: known; the embedding model's own length counts
    """

    provider: str = ""
    db_url: str | None = None
    schema: str = "public"
    table: str = "memories"
    connect_timeout_secs: Positive | None = None
    pgvector_enabled: bool = False
    pgvector_dimensions: Positive = 1536

    def __post_init__(self) -> None:
        for key in ("schema", "table"):
            problem = _wrong_name(getattr(self, key))
            if problem:
                raise ValueError(f"{key} {problem}")

    @property
    def timeout_s(self) -> int:
        """Seconds to wait for the server."""
        return min(self.connect_timeout_secs or DEFAULT_CONNECT_TIMEOUT_S,
                   CONNECT_TIMEOUT_CAP_S)


def decode(storage: Mapping[str, Any]) -> PostgresSettings:
    """The table as it stands in the file; what is none of ours in it is
    left alone. Raises ConfigError, which never shows the address."""
    kinds = typing.get_type_hints(PostgresSettings, include_extras=True)
    values = {key: _value(key, storage[key], kind)
              for key, kind in kinds.items()
              if storage.get(key) is not None}
    if not (values.get("db_url") or "").strip():
        values["db_url"] = next(
            (_value(alias, storage[alias], kinds["db_url"])
             for alias in _ALIASES if storage.get(alias)), None)
    if not (values["db_url"] or "").strip():
        raise ConfigError(
            f"{SECTION}.db_url is not set: the memory backend \"postgres\" "
            "needs the address of a server",
            hint=f"set it with: claw config set {SECTION}.db_url; it is like "
                 f"{_ADDRESS}")
    values["db_url"] = values["db_url"].strip()
    try:
        return PostgresSettings(**values)
    except ValueError as error:
        raise ConfigError(f"{SECTION}.{error}",
                          hint='as in: table = "memories"') from error


def wrong_address() -> ConfigError:
    """For an address that can't be read. What was written is not shown:
    it holds a password."""
    return ConfigError(f"{SECTION}.db_url is no address of PostgreSQL",
                       hint=f"write it like {_ADDRESS}; special characters "
                       "of a password as in %40 for @")


def _value(key: str, value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):
        pass
    wanted = next(words for plain, words in _KINDS.items()
                  if plain in _plain(kind))
    shown = ("" if key in ("db_url", *_ALIASES)
             else f", not {str(value)[:40]!r}")
    # Without the cause: it may quote the address.
    raise ConfigError(f"{SECTION}.{key} must be {wanted}{shown}",
                      hint="correct it, or: claw config unset "
                           f"{SECTION}.{key}")


def _plain(kind: Any) -> set[Any]:
    """The plain types inside a type."""
    if typing.get_origin(kind) is None:
        return {kind}
    return {plain for inner in typing.get_args(kind)
            for plain in _plain(inner)
            if not isinstance(inner, msgspec.Meta)}


def _wrong_name(name: str) -> str | None:
    if not name or not re.match("[A-Za-z_]", name):
        return f"must start with a letter or an underscore, not {name[:1]!r}"
    if not _name.fullmatch(name):
        return ("can only contain the letters a to z, digits and "
                f"underscores, not {name[:MAX_NAME]!r}")
    return (f"must not have more than {MAX_NAME} characters"
            if len(name) > MAX_NAME else None)
