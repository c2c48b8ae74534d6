"""Settings of the tools."""

import msgspec


class ShellToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[shell_tool]

    timeout_secs: seconds that one command may run
    """

    timeout_secs: int = 60

    def __post_init__(self) -> None:
        if self.timeout_secs < 1:
            raise ValueError("timeout_secs must be 1 or more")
