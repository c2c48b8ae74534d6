"""Settings of the tools."""

from typing import Annotated, Literal

import msgspec


class ShellToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[shell_tool]

    timeout_secs: seconds that one command may run
    """

    timeout_secs: int = 60

    def __post_init__(self) -> None:
        if self.timeout_secs < 1:
            raise ValueError("timeout_secs must be 1 or more")


class SwarmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[swarms.<name>]: several agents of [agents] that do a task together.

    agents: their names
    strategy: sequential (each gets the answer of the one before), parallel,
        or router (a model chooses one of them)
    router_prompt: what that model is told
    description: what it is for; the agent that asks reads it
    timeout_secs: seconds for the whole task
    """

    agents: tuple[str, ...] = ()
    strategy: Literal["sequential", "parallel", "router"] = "sequential"
    router_prompt: str | None = None
    description: str = ""
    timeout_secs: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 300
