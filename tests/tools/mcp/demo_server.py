"""A server made with the `mcp` package, for our client.

demo_server.py [--legacy] [--http PORT] [--redirect URL]: over stdio, or over
HTTP on 127.0.0.1; --legacy knows the handshake of 2025-11-25 alone.
"""

import argparse
import asyncio
import sys
from contextlib import suppress
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Elicit,
    ElicitationResult,
    Image,
    Resolve,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import InputRequiredResult
from pydantic import BaseModel

server = MCPServer("demo", version="1.0", log_level="ERROR")


class Sure(BaseModel):
    ok: bool


class Form(BaseModel):
    name: str
    age: int


async def ask_sure() -> Elicit[Sure]:
    return Elicit("Really delete it?", Sure)


async def ask_form() -> Elicit[Form]:
    return Elicit("Who are you?", Form)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def confirm(sure: Annotated[ElicitationResult[Sure],
                                  Resolve(ask_sure)]) -> str:
    """Delete, after a question."""
    return (f"deleted: {sure.data.ok}"
            if isinstance(sure, AcceptedElicitation) else "kept")


@server.tool()
async def form(who: Annotated[ElicitationResult[Form],
                              Resolve(ask_form)]) -> str:
    """Wants to know more than a yes."""
    return "told" if isinstance(who, AcceptedElicitation) else "not told"


@server.tool()
async def nag() -> InputRequiredResult:
    """Never has enough."""
    return InputRequiredResult(request_state="more")


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("out of tea")


@server.tool()
def picture() -> Image:
    """An image."""
    return Image(data=b"\x89PNG", format="png")


async def serve_legacy() -> None:
    low = server._lowlevel_server
    async with stdio_server() as (read, write), low.lifespan(low) as state:
        await serve_loop(low, read, write, lifespan_state=state,
                         init_options=low.create_initialization_options())


class LegacyOnly:
    """Answers all that knows the newer revision as an older server does."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        headers = dict(scope.get("headers") or ())
        if headers.get(b"mcp-protocol-version") == b"2026-07-28":
            from starlette.responses import PlainTextResponse
            await PlainTextResponse("Bad Request", 400)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def serve_http(port: int, *, legacy: bool, redirect: str | None) -> None:
    import uvicorn
    app = server.streamable_http_app()
    if redirect:
        from starlette.responses import RedirectResponse

        async def app(scope, receive, send):
            if scope["type"] == "http":
                await RedirectResponse(redirect, 307)(scope, receive, send)
    uvicorn.run(LegacyOnly(app) if legacy else app, host="127.0.0.1",
                port=port, log_level="error", lifespan="off"
                if redirect else "on")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--http", type=int)
    parser.add_argument("--redirect")
    args = parser.parse_args()
    with suppress(KeyboardInterrupt):
        if args.http:
            serve_http(args.http, legacy=args.legacy,
                       redirect=args.redirect)
        elif args.legacy:
            asyncio.run(serve_legacy())
        else:
            server.run("stdio")


if __name__ == "__main__":
    sys.exit(main())
