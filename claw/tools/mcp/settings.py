"""Settings of MCP servers: [mcp] and [[mcp.servers]].

`transport = "sse"` of the reference stands for the transport that MCP gave
up in 2026; such a server is reported, and not used.
"""

from typing import Literal

import msgspec


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[mcp]

    enabled: whether the tools of MCP servers are offered
    deferred_loading: whether tool_search finds them, rather than that they
        all stand in every prompt
    """

    enabled: bool = True
    deferred_loading: bool = True


class McpServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[[mcp.servers]]: a server whose tools the agent may use.

    name: what claw calls it; its tools are named NAME__TOOL
    transport: stdio (a program on this machine) or http
    command: the program, where the transport is stdio
    args: its arguments
    env: variables that it may see; kept encrypted where the name says
        that it is a secret
    url: its address, where the transport is http
    headers: those of each request, such as Authorization
    tool_timeout_secs: seconds that one call may take, starting included
    network: whether the program may use the network: off or on
    folders: folders that the program may read and change
    readable: folders that the program may read
    reads: tools that only read, by your word: they run unasked; "*" stands
        for any text
    private: whether a public name may lead to an address inside
    """

    name: str = ""
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    tool_timeout_secs: int = 180
    network: Literal["off", "on"] = "off"
    folders: list[str] = []
    readable: list[str] = []
    reads: list[str] = []
    private: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.tool_timeout_secs <= 600:
            raise ValueError("tool_timeout_secs must be from 1 to 600")
