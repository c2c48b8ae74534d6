"""The [log] table of config.toml."""

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[log]

    enabled: keep every question and turn of ask, agent and listen
    keep_days: days until an entry is removed (0: never)
    max_mb: the oldest entries go when the log is larger, in MiB (0: no limit)
    """

    enabled: bool = True
    keep_days: Count = 365
    max_mb: Count = 500
