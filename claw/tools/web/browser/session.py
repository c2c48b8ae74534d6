"""One Chromium with one page, and what stands around it."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from claw.core.errors import (
    ClawError,
    ConfigError,
    DeniedError,
    MissingPartError,
    UnavailableError,
    UsageError,
)
from claw.core.installed import install_command
from claw.core.tool import Arguments
from claw.core.value import replace
from claw.net.guarded import GuardedClient
from claw.net.tunnel import Tunnel
from claw.security.hosts import ANY, HostRules
from claw.tools.web.browser.actions import Action
from claw.tools.web.foreign import to_line
from claw.tools.web.settings import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Request, Route

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome",
             "google-chrome-stable", "microsoft-edge", "brave-browser")
# Nothing leaves beside the tunnel: no name is asked for here, no datagram
# is sent, and the browser's own services are quiet.
_ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-domain-reliability",
    "--disable-sync", "--no-pings", "--disable-gpu")
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY",
                "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XAUTHORITY")
_START_S = 30.0
_CLOSE_S = 10.0
_ACTION_MS = 10_000
_SCHEMES = ("data:", "blob:", "about:")
_BLANK = "about:blank"
NO_PAGE = "no page is open; open one with action=open and its url"


class Session:
    """Starts with its first action. `is_alive` says whether the browser
    can go on."""

    def __init__(self, settings: BrowserSettings, rules: HostRules,
                 http: GuardedClient) -> None:
        self._settings = settings
        self._rules = rules
        # Parts of a page come from any public host.
        self._parts = replace(rules, allowed=(ANY,))
        self._http = http
        self._stack = AsyncExitStack()
        self._tunnel = Tunnel(self._find)
        self._starting: asyncio.Future[None] | None = None
        self._page: Page | None = None
        self.lock = asyncio.Lock()

    @property
    def is_alive(self) -> bool:
        return self._page is not None and not self._page.is_closed()

    async def act(self, action: Action, args: Arguments) -> str | bytes:
        """Do it; text, or the bytes of an image. Raises ClawError."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        # Cancelled half-way it would leave processes that nobody knows.
        await asyncio.shield(self._starting)
        refused = len(self._tunnel.refused)
        async with self._translated(refused):
            await self._check_page(refused)
            page = self._page
            assert page is not None
            if page.url == _BLANK and "url" not in action.needs:
                raise UsageError(NO_PAGE)
            output = await action.do(page, args)
            await self._check_page(refused)
        new = self._tunnel.refused[refused:]
        if new and isinstance(output, str):
            output += f"\n[{new[-1]}]"
        return output

    async def _check_page(self, refused: int) -> None:
        """Redirects and scripts may have led elsewhere: nothing is read or
        done there. Raises DeniedError."""
        page = self._page
        if page is None or page.url in ("", _BLANK):
            return
        try:
            self._rules.check(page.url)
        except DeniedError as error:
            await page.goto(_BLANK)
            new = self._tunnel.refused[refused:]
            raise DeniedError(new[-1] if new else error.message) from error

    async def close(self) -> None:
        """End the browser and all that belongs to it."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
            if not self._starting.cancelled():
                self._starting.exception()  # told already, or cancelled
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._stack.aclose()

    async def _start(self) -> None:
        program = find_program(self._settings.native_chrome_path)
        try:
            from playwright.async_api import Error, async_playwright
        except ModuleNotFoundError as error:
            raise MissingPartError(
                "the browser needs Playwright, which is not installed; the "
                f"owner installs it with: {install_command('browser')}"
            ) from error
        port = await self._tunnel.start()
        self._stack.push_async_callback(self._tunnel.close)
        try:
            async with asyncio.timeout(_START_S):
                driver = await self._stack.enter_async_context(
                    async_playwright())
                browser = await driver.chromium.launch(
                    executable_path=program, args=_ARGUMENTS,
                    headless=self._settings.native_headless,
                    chromium_sandbox=os.geteuid() != 0,
                    proxy={"server": f"socks5://127.0.0.1:{port}",
                           "bypass": "<-loopback>"},
                    handle_sigint=False, handle_sigterm=False,
                    handle_sighup=False,
                    env={name: os.environ[name] for name in _ENVIRONMENT
                         if name in os.environ})
                self._stack.push_async_callback(_close_quietly, browser)
                context = await browser.new_context(
                    accept_downloads=False, service_workers="block")
                await self._prepare(context)
        except (Error, OSError, TimeoutError) as error:
            raise UnavailableError(
                f"{program} did not start: {_first_line(error)}; is it a "
                "Chromium? see browser.native_chrome_path") from error

    async def _prepare(self, context: "BrowserContext") -> None:
        context.set_default_timeout(
            min(_ACTION_MS, self._settings.timeout_secs * 1000))
        context.set_default_navigation_timeout(
            self._settings.timeout_secs * 1000)
        await context.route("**/*", self._judge)
        self._page = await context.new_page()
        context.on("page", self._follow)

    async def _follow(self, page: "Page") -> None:
        """A window that opens is the page from now on, where its host is
        allowed."""
        from playwright.async_api import Error
        with suppress(Error):  # it is closed again already
            await page.wait_for_load_state("domcontentloaded")
            try:
                self._rules.check(page.url)
                self._page = page
            except DeniedError:
                await page.close()

    async def _judge(self, route: "Route") -> None:
        """Refuse early and by name what the tunnel would refuse anyway,
        and pages of hosts that are not allowed."""
        from playwright.async_api import Error
        request = route.request
        with suppress(Error):  # the page is gone
            try:
                if not request.url.startswith(_SCHEMES):
                    rules = self._rules if _is_page(request) else self._parts
                    rules.check(request.url)
            except DeniedError as error:
                self._tunnel.note_refusal(error.message)
                await route.abort("blockedbyclient")
            else:
                await route.continue_()

    async def _find(self, host: str, port: int) -> Sequence[str]:
        name = f"[{host}]" if ":" in host else host
        target = self._parts.check(f"http://{name}:{port}/")
        return await self._http.find_addresses(target)

    @asynccontextmanager
    async def _translated(self, refused: int) -> AsyncIterator[None]:
        """Errors of the driver as those of claw; so many hosts had been
        `refused` before."""
        from playwright.async_api import Error, TimeoutError
        try:
            yield
        except ClawError:
            raise
        except TimeoutError as error:
            raise UnavailableError(
                f"{_first_line(error)}; look at the page with "
                "action=snapshot") from error
        except Error as error:
            if new := self._tunnel.refused[refused:]:
                raise DeniedError(new[-1]) from error
            raise UnavailableError(_first_line(error)) from error


def find_program(path: str | None) -> str:
    """The browser's program. Raises ConfigError and MissingPartError."""
    if path:
        if shutil.which(path) is None:
            raise ConfigError(f"browser.native_chrome_path: {path} is no "
                              "program")
        return path
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        raise MissingPartError(
            "no Chromium is installed; the owner installs one (apt install "
            "chromium) or names it in browser.native_chrome_path")
    return found


def _is_page(request: "Request") -> bool:
    """Whether a request is for a page, not for a part or a frame of one.
    That of a new window has no frame yet."""
    from playwright.async_api import Error
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:
        return True


async def _close_quietly(browser: Any) -> None:
    from playwright.async_api import Error
    with suppress(Error):  # it has gone already
        await browser.close()


def _first_line(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    line = to_line(text.strip().partition("\n")[0], 300)
    return line.replace("net::ERR_SOCKS_CONNECTION_FAILED",
                        "the server can't be reached")


