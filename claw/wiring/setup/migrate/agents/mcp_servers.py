"""MCP servers as other agents name them, as [[mcp.servers]]. Pure.

They come like those of `claw mcp add`: none is started before the owner has
seen its tools (claw mcp accept).
Source: the mcpServers form of desktop clients: {name: {command, args, env}
or {url, headers}}.
"""

from collections.abc import Iterator
from typing import Any

from claw.wiring.setup.migrate import Setting


def list_servers(held: Any, source: str) -> Iterator[Setting]:
    """The servers; those switched off are left out."""
    servers = []
    for name, entry in held.items() if isinstance(held, dict) else ():
        row = _read_server(str(name), entry) \
            if isinstance(entry, dict) else None
        if row is None:
            yield Setting(f"{source}.{name}", None, None,
                          "it names neither a program nor an address")
        elif entry.get("enabled") is False or entry.get("disabled") is True:
            yield Setting(f"{source}.{name}", None, None,
                          "it is switched off")
        else:
            servers.append(row)
    if servers:
        yield Setting(source, ("mcp", "servers", "+"), servers)


def _read_server(name: str, entry: dict[str, Any]) -> dict[str, Any] | None:
    row: dict[str, Any] = {"name": name}
    if isinstance(entry.get("command"), str) and entry["command"]:
        row |= {"transport": "stdio", "command": entry["command"],
                "args": [str(each) for each in entry.get("args") or ()]}
        env = entry.get("env")
        if isinstance(env, dict) and env:
            row["env"] = {str(k): str(v) for k, v in env.items()
                          if v is not None}
        return row
    if isinstance(entry.get("url"), str) and entry["url"]:
        row |= {"transport": "http", "url": entry["url"]}
        headers = entry.get("headers")
        if isinstance(headers, dict) and headers:
            row["headers"] = {str(k): str(v) for k, v in headers.items()
                              if v is not None}
        return row
    return None
