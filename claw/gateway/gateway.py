"""The gateway as a service: opens when its settings say so, opens anew when
they change, and lends its rows to channels.

A port that is taken ends nothing: the log and /health of the other parts
say so, and it is tried again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from msgspec.structs import replace

from claw.core.abilities import HearsServing, ReceivesWebhook
from claw.core.channel import Channel, Inbox
from claw.core.errors import ClawError, ConfigError
from claw.core.log import Log
from claw.gateway.app import App, FindsKeys
from claw.gateway.endpoint import Endpoint
from claw.gateway.room import Limits
from claw.gateway.server import Server
from claw.gateway.settings import GatewaySettings, check_exposure
from claw.gateway.webhooks import WebhookRow

RETRY_S = 5.0

BuildTables = Callable[[App, "Gateway", AsyncExitStack],
                       Awaitable[Sequence[Endpoint]]]
NoteState = Callable[[ClawError | None], None]


class Gateway:
    """One for a process. `read` gives the settings in force, None where it
    is not to be opened; `note` hears how it stands: an error, or None when
    it serves."""

    def __init__(self, read: Callable[[], GatewaySettings | None],
                 build_tables: BuildTables, keys: FindsKeys, log: Log, *,
                 note: NoteState = lambda _: None,
                 limits: Limits | None = None) -> None:
        self._read = read
        self._build_tables = build_tables
        self._keys = keys
        self._log = log
        self._note = note
        self._limits = limits or Limits()
        self._news = asyncio.Event()  # the settings may be others
        self._lent: list[Endpoint] = []
        self._app: App | None = None
        self._server: Server | None = None

    def renew(self) -> None:
        """The settings may be others."""
        self._news.set()
        self._news = asyncio.Event()

    def count_connections(self) -> int:
        return self._server.connections if self._server else 0

    async def run(self, heard: HearsServing | None = None) -> None:
        """Serve until cancelled. What keeps it from that is told once,
        however often it is tried."""
        told = None
        while True:
            news, settings = self._news, self._read()
            if settings is None:
                await news.wait()
                continue
            try:
                async with self.open(settings, heard):
                    told = None
                    while self._read() == settings:
                        await self._news.wait()
            except ClawError as error:
                self._note(error)
                if error.message != told:
                    told = error.message
                    self._log("gateway.error", error=told, hint=error.hint)
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await news.wait()

    @asynccontextmanager
    async def open(self, settings: GatewaySettings,
                   heard: HearsServing | None = None
                   ) -> AsyncIterator[tuple[str, int]]:
        """Serve meanwhile; host and port. Raises ConfigError,
        UnavailableError and what building the tables raises."""
        check_exposure(settings)
        app = App(settings, self._keys, self._log)
        server = Server(app, self._limits)
        async with AsyncExitStack() as stack:
            app.mount(await self._build_tables(app, self, stack))
            app.mount(self._lent)
            self._app = app  # from here on channels mount theirs by it
            stack.callback(setattr, self, "_app", None)
            port = await server.start(settings.host, settings.port)
            self._server = server
            self._note(None)
            self._log("gateway.listening", host=settings.host, port=port)
            if heard is not None:
                heard.serving(settings.host, port)
            try:
                yield settings.host, port
            finally:
                self._server = None
                app.closing.set()
                await server.close()
                if heard is not None:
                    heard.stopped_serving()

    async def receive(self, channel: ReceivesWebhook, inbox: Inbox) -> None:
        """Serve a channel's webhook until cancelled: at the gateway's
        address while that is open, and at the channel's own. Raises
        ConfigError, UnavailableError."""
        name = channel.name if isinstance(channel, Channel) else "webhook"
        row = WebhookRow(channel, name, inbox, self._log).endpoint
        place = channel.webhook
        if place.address is None and self._read() is None:
            raise ConfigError(
                f"{name}: its platform posts to the gateway, which is off",
                hint="claw config set gateway.enabled true")
        self._lent.append(row)
        if self._app is not None:
            self._app.mount([row])
        try:
            while True:
                if place.address is not None and self._is_apart(
                        place.address):
                    async with self._open_door(name, row, place.address,
                                               self._read(), inbox):
                        while self._is_apart(place.address):
                            await self._news.wait()
                self._log("channel.listening", channel=name)
                while not self._is_apart(place.address):
                    await self._news.wait()
        finally:
            self._lent.remove(row)
            if self._app is not None:
                self._app.unmount(row)

    @asynccontextmanager
    async def _open_door(self, name: str, row: Endpoint,
                         address: tuple[str, int],
                         settings: GatewaySettings | None, inbox: Inbox
                         ) -> AsyncIterator[None]:
        """A channel's own address, where nothing but its row is."""
        app = App(replace(settings or GatewaySettings(), path_prefix=None),
                  self._keys, self._log)
        app.mount([row])
        server = Server(app, self._limits, f"channels_config.{name}")
        port = await server.start(*address)
        self._log("channel.listening", channel=name, host=address[0],
                  port=port, path=row.path)
        heard = inbox if isinstance(inbox, HearsServing) else None
        if heard is not None:
            heard.serving(address[0], port)
        try:
            yield
        finally:
            app.closing.set()
            await server.close()
            if heard is not None:
                heard.stopped_serving()

    def _is_apart(self, address: tuple[str, int] | None) -> bool:
        """Whether a channel's address is another than the gateway's."""
        settings = self._read()
        return address is not None and (
            settings is None or address != (settings.host, settings.port))
