"""What the calls of the gateway stand on, by the settings in force.

Opened with the first call that needs it, and closed when the settings have
changed and its last call has ended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing

from claw.config.tree import Tree
from claw.core.log import Log
from claw.core.provider import Provider
from claw.gateway.settings import GatewaySettings
from claw.providers.factory import Providers
from claw.security.estop import EmergencyStop
from claw.storage.log.writer import LogWriter
from claw.wiring.compose import AgentOptions, Parts, open_parts
from claw.wiring.gateway.target import Place, find_place
from claw.wiring.models.ledger import open_ledger
from claw.wiring.models.providers import build_providers
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.effective import list_excluded
from claw.wiring.workspace.log import open_log
from claw.wiring.workspace.secrets import build_redactor

_PLACES = 1_000


class Opened:
    """The parts of one state of the settings."""

    def __init__(self, tree: Tree, log: Log) -> None:
        self.tree = tree
        self.users = 0
        self.log: LogWriter | None = None
        self._note = log
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._agent: Parts | None = None
        self._providers: Providers | None = None
        self._made: dict[str, Provider] = {}
        self._places: dict[str, Place] = {}

    @property
    def day_limit_usd(self) -> float | None:
        """The most that the calls of one key may cost in a day."""
        return self.tree.decode("gateway", GatewaySettings
                                ).daily_limit_usd or None

    def check_stop(self) -> None:
        """Raises StoppedError while claw is stopped."""
        EmergencyStop(self.tree.places.home).check()

    @property
    def providers(self) -> Providers:
        """Those of the settings. Each endpoint and key is asked once: a
        client asks again by itself."""
        if self._providers is None:
            ledger = open_ledger(self.tree, self._tell,
                                 build_redactor(self.tree))
            self._stack.callback(ledger.close)
            self._providers = build_providers(
                self.tree, around=ledger.meter, notify=self._tell,
                retries=False)
        return self._providers

    def open_provider(self, name: str) -> Provider:
        """The provider of that name, made once. Raises ConfigError,
        AuthError."""
        if name not in self._made:
            self._made[name] = made = self.providers.create_resilient(name)
            self._stack.push_async_callback(made.aclose)
        return self._made[name]

    async def find_place(self, name: str) -> Place:
        """See target.find_place; it may look for a server of this machine,
        once for each name."""
        found = self._places.get(name)
        if found is None:
            found = await asyncio.to_thread(find_place, self.providers, name)
            if len(self._places) < _PLACES:
                self._places[name] = found
        return found

    async def open_agent(self) -> Parts:
        """The agent as programs have it: nobody can be asked, and no
        command tools where a command would see the machine's own tree."""
        async with self._opening:
            if self._agent is None:
                options = await asyncio.to_thread(self._choose_options)
                self._agent = await self._stack.enter_async_context(
                    open_parts(self.tree, options))
                self._agent.agent.auto_save = False
                self.log = open_log(self.tree, self._agent.redactor)
                if self.log is not None:
                    self._stack.enter_context(closing(self.log))
        return self._agent

    def _choose_options(self) -> AgentOptions:
        sandbox = build_policy(self.tree).sandbox
        return AgentOptions(
            tools=None, excluded_tools=list_excluded(self.tree),
            commands=sandbox is None or not sandbox.shelter().is_fallback,
            keep=False, log=self._note, notify=self._tell,
            note_memory=lambda text: self._note("memory", text=text))

    def _tell(self, text: str) -> None:
        self._note("provider", text=text)

    async def aclose(self) -> None:
        await self._stack.aclose()


class Opener:
    """Gives each call what the settings in force say."""

    def __init__(self, tree: Callable[[], Tree], log: Log) -> None:
        self._tree = tree
        self._log = log
        self._current: Opened | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Opened]:
        opened, before = self._find()
        opened.users += 1  # before anything waits: no other call closes it
        try:
            if before is not None and not before.users:
                await before.aclose()
            yield opened
        finally:
            opened.users -= 1
            if opened is not self._current and not opened.users:
                await opened.aclose()

    def _find(self) -> tuple[Opened, Opened | None]:
        """What the settings say, and what it takes the place of."""
        tree, before = self._tree(), self._current
        if before is not None and before.tree is tree:
            return before, None
        self._current = Opened(tree, self._log)
        return self._current, before

    async def aclose(self) -> None:
        """Close what no call uses; a call under way closes the rest."""
        last, self._current = self._current, None
        if last is not None and not last.users:
            await last.aclose()
