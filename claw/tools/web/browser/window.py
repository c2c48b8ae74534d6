"""browser_open: a page in the owner's own browser, on his screen.

Nothing comes back of it. The page opens with whatever the browser is logged
in to, so a call asks, and only hosts of browser.allowed_domains open.
"""

import asyncio
import os
import shutil
import sys
from asyncio import subprocess

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    string,
)
from claw.tools.web.foreign import WebTool, build_rules
from claw.tools.web.settings import BrowserSettings

_TIMEOUT_S = 15.0
_SCREENS = ("WAYLAND_DISPLAY", "DISPLAY")


class BrowserOpen(WebTool):
    """Opens one page."""

    name = "browser_open"
    table = "browser"
    description = ("Open a page in the user's own browser, for the user to "
                   "see; you do not see it. Only https and allowed hosts.")

    def __init__(self, deps: ToolDeps,
                 settings: BrowserSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or BrowserSettings()

    def parameters_schema(self) -> Schema:
        return closed_object(url=string("The https address", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._refuse_unless(self._settings.enabled)
        rules = build_rules(self.table, self._settings.allowed_domains,
                            private=self._settings.allowed_private_hosts)
        url = args["url"].strip()
        if not url.lower().startswith("https://"):
            raise UsageError("only https addresses open")
        await asyncio.to_thread(rules.check, url)
        self._policy.enforce("act")
        await _start(_find_program(), url)
        return ToolResult(f"{url} was handed to the browser")


def _find_program() -> str:
    """What opens an address here. Raises UnavailableError."""
    name = "open" if sys.platform == "darwin" else "xdg-open"
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"this machine has no {name} to open it with")
    if name != "open" and not any(map(os.environ.get, _SCREENS)):
        raise UnavailableError("there is no screen here to open it on")
    return found


async def _start(program: str, url: str) -> None:
    """Raises UnavailableError where it ends with an error, or not at
    all."""
    running = await subprocess.create_subprocess_exec(
        program, url, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            code = await running.wait()
    except TimeoutError:
        return  # some stay as the browser itself
    except asyncio.CancelledError:
        running.kill()
        await running.wait()
        raise
    if code:
        raise UnavailableError(f"the browser did not open it (exit {code})")
