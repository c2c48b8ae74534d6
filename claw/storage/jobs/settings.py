"""The [cron] table of config.toml."""

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]


class CronSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[cron]

    enabled: whether there are scheduled jobs; without them the cron tools
        refuse
    max_run_history: runs that are kept of each job
    """

    enabled: bool = True
    max_run_history: Count = 50
