"""Settings -> the channel service: what `claw listen` runs."""

import asyncio
import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

from claw.agent.channel_recall import said_in
from claw.agent.consolidate import consolidate
from claw.agent.hooks import HookRunner
from claw.agent.settings import PacingSettings, QueryClassificationSettings
from claw.agent.turn import Agent, local_now
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.config.watch import changes, stamp
from claw.core.channel import SendMessage
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.memory.settings import MemorySettings
from claw.providers.choice import Choice
from claw.providers.factory import Providers
from claw.providers.settings import ReliabilitySettings
from claw.providers.vendors import vendors
from claw.runtime.alone import Alone, runtime_folder
from claw.runtime.approvals import ChannelApprover
from claw.runtime.desk import Desk
from claw.runtime.health import Health
from claw.runtime.histories import Histories
from claw.runtime.keys import history_key
from claw.runtime.live import Live, Route
from claw.runtime.notify import Notifier
from claw.runtime.outcomes import Finished
from claw.runtime.parts import parts_of
from claw.runtime.service import Parts, Service
from claw.runtime.settings import ChannelsSettings
from claw.runtime.supervisor import Backoff
from claw.runtime.voice import VoiceReplies
from claw.security.leaks import guard
from claw.security.settings import AutonomySettings
from claw.storage.queue.model import Lease, NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.tools import REGISTRY as TOOLS
from claw.wiring.agent import AgentParts, build_agent
from claw.wiring.channel_names import CONSOLE
from claw.wiring.channels import (
    open_channels,
    secrets_of,
    wanted,
)
from claw.wiring.enrich import enricher_of, synthesizer
from claw.wiring.hooks import hooks_of
from claw.wiring.hygiene import tend_memory
from claw.wiring.ledger import Book, book_of
from claw.wiring.memory import memory_on_demand
from claw.wiring.place_names import queue_path, state_path
from claw.wiring.prompt import prompt_of
from claw.wiring.providers import providers_of
from claw.wiring.response_cache import cached
from claw.wiring.sessions import sessions_of
from claw.wiring.tools import policy_of


class Runtime:
    """Builds the live parts, and builds them anew when settings change."""

    def __init__(self, places: Places, only: Sequence[str], log: Log, *,
                 console: Mapping[str, Any], stack: AsyncExitStack,
                 provider: str | None = None,
                 model: str | None = None) -> None:
        self._places = places
        self._only = only
        self._log = log
        self._console = console
        self._stack = stack
        self._asked = (provider, model)
        self._opened: dict[tuple[str, str | None], Provider] = {}
        self._rooms: dict[str, Any] = {}
        self._conflict_threshold = MemorySettings().conflict_threshold
        self._stamp = stamp(places.config_file)
        self._reloading = asyncio.Lock()
        self.queue = SqliteQueue(queue_path(places))
        self.health = Health()
        self.approver: ChannelApprover | None = None
        self.live: Live
        self._providers: Providers
        self._book: Book
        self._tree: Tree

    async def build(self, tree: Tree) -> Live:
        """The parts of these settings. Raises ConfigError, AuthError and
        what opening the provider raises."""
        provider, choice = await self._provider(tree)
        memory = self._memory(tree)
        rooms = open_channels(
            tree, wanted(tree, self._only), self._log,
            {CONSOLE: self._console}, self._rooms)
        policy = policy_of(tree)
        hooks = hooks_of(tree, self._log)
        agent = build_agent(tree, AgentParts(
            provider, choice.model or "", self._tools(tree), memory,
            approver=_Late(lambda: self.approver),
            providers=self._providers), policy)
        agent.prompt = prompt_of(tree, policy, agent)
        agent.hooks = hooks
        live = self._live(tree, agent, choice, hooks, memory)
        live.rooms = {name: room for name, (_, room) in rooms.items()}
        self._rooms = rooms
        self._tree = tree
        return live

    def _live(self, tree: Tree, agent: Agent, choice: Choice,
              hooks: HookRunner, memory: Memory) -> Live:
        settings = tree.decode("memory", MemorySettings)
        self._conflict_threshold = settings.conflict_threshold
        scale = tree.decode("pacing",
                            PacingSettings).message_timeout_scale_max
        return Live(
            settings=tree.decode("channels_config", ChannelsSettings),
            rooms={}, agent=agent,
            route=Route(choice.provider_name, choice.model or ""),
            open_provider=self._opener(), hooks=hooks,
            workspace=tree.places.workspace,
            provider_names=_provider_names(self._providers),
            routes=self._providers.routes,
            classification=tree.decode("query_classification",
                                       QueryClassificationSettings),
            memory=memory if settings.backend != "none" else None,
            auto_save=settings.auto_save,
            enrich=enricher_of(tree, agent.provider, self._log),
            voice=self._voice(tree), timeout_scale=scale or 4.0,
            secrets=secrets_of(tree))

    async def _provider(self, tree: Tree) -> tuple[Provider, Choice]:
        self._book = book_of(tree, self._tell)
        self._stack.callback(self._book.close)
        self._providers = providers_of(tree, around=self._book.around,
                                       notify=self._tell)
        opened, choice = await self._providers.open(*self._asked)
        provider = cached(tree, opened, self._tell)
        self._stack.push_async_callback(provider.aclose)
        return provider, choice

    def _tell(self, text: str) -> None:
        self._log("provider", text=text)

    def _memory(self, tree: Tree) -> Memory:
        memory = memory_on_demand(
            tree, lambda text: self._log("memory", text=text))
        self._stack.callback(memory.close)
        return memory

    def _voice(self, tree: Tree) -> VoiceReplies | None:
        speaker = synthesizer(tree, self._log)
        if speaker is None:
            return None
        voice = VoiceReplies(speaker, tree.places.workspace / "voice_files",
                             self._post, self._log)
        self._stack.push_async_callback(voice.aclose)
        return voice

    async def _post(self, source: str, channel: str,
                    message: SendMessage) -> None:
        """Put a message of the service itself into the outbox."""
        room = self.live.rooms.get(channel)
        await self.queue.post([NewSend(
            source, channel, message,
            parts_of(room.channel if room else None, message))])

    def _tools(self, tree: Tree) -> list[str] | None:
        """All tools, without those that channels may not use."""
        autonomy = tree.decode("autonomy", AutonomySettings)
        excluded = set(tree.get("autonomy.non_cli_excluded_tools") or ())
        if autonomy.level == "full" or not excluded:
            return None
        return [name for name in TOOLS.names() if name not in excluded]

    def _opener(self) -> Callable[[str, str | None], Awaitable[Provider]]:
        providers = self._providers

        async def opened(name: str, key: str | None) -> Provider:
            found = self._opened.get((name, key))
            if found is None:
                found = providers.resilient(name, key)
                self._opened[name, key] = found
                self._stack.push_async_callback(found.aclose)
            return found
        return opened

    # -- reload

    async def reload(self) -> bool:
        """Take changed settings over; False where nothing changed or what
        is there can't be used (then the old ones stay, and it is told)."""
        async with self._reloading:
            now = await asyncio.to_thread(stamp, self._places.config_file)
            before, self._stamp = self._stamp, now or self._stamp
            if now is None or (before and now.digest == before.digest):
                return False
            try:
                tree = load(self._places)
                self._opened.clear()
                self.live = await self.build(tree)
            except (ClawError, OSError) as error:
                self._log("config.rejected", error=str(error),
                          hint=getattr(error, "hint", None)
                          or "the settings from before stay in force")
                return False
            for warning in tree.warnings:
                self._log("config.warning", text=warning)
            self._log("config.reloaded",
                      channels=",".join(self.live.rooms))
            return True

    def looks_changed(self) -> bool:
        """Whether time or size of config.toml are others: cheap enough
        for every message."""
        try:
            seen = os.stat(self._places.config_file)
        except OSError:
            return False
        known = self._stamp
        return known is None or (seen.st_mtime_ns, seen.st_size) != (
            known.mtime_ns, known.size)

    async def watch(self, reload: Callable[[], Awaitable[object]]) -> None:
        """Call `reload` whenever config.toml changes."""
        async with aclosing(changes(self._places.config_file, self._stamp,
                                    log=self._log)) as seen:
            async for _ in seen:
                await reload()

    def tidy(self, in_use: Collection[str]) -> None:
        """Hygiene of the memory where it is due, on a thread."""
        tend_memory(self._tree, lambda text: self._log("memory", text=text),
                    protected=in_use)

    # -- parts of a term

    def desk(self, lease: Callable[[], Lease],
             posted: Callable[[str], None],
             reload: Callable[[], Awaitable[object]]) -> Desk:
        """The desk of one term of office. Before each message it is seen
        whether config.toml changed."""
        async def refresh() -> None:
            if self.looks_changed():
                await reload()
        self.approver = ChannelApprover(self.queue, lease, self._log, posted)
        store = (sessions_of(self._places)
                 if self.live.settings.session_persistence else None)
        return Desk(
            live=lambda: self.live, refresh=refresh, queue=self.queue,
            lease=lease, approver=self.approver, posted=posted,
            histories=Histories(self.queue, store, self._log),
            log=self._log, spent=lambda key: self._book.session_cost(key))

    async def after(self, finished: Finished) -> None:
        """Extract what is worth remembering, once the answer is safe."""
        live, result = finished.live, finished.result
        if result is not None and live.voice is not None:
            for send in finished.completion.sends:
                live.voice.answered(result.turn_id, finished.message,
                                    send.message)
        if result is None or live.memory is None or not live.auto_save \
                or live.route.provider == "offline" \
                or finished.foreign:  # other people's words
            return
        try:
            await consolidate(
                live.agent.provider, live.route.model, live.memory,
                finished.message.content,
                guard(result.text, live.secrets), now=local_now(),
                session_id=history_key(finished.message),
                source=said_in(finished.message),
                conflict_threshold=self._conflict_threshold)
        except (ClawError, TimeoutError) as error:
            self._log("consolidation.error", error=str(error),
                      turn=result.turn_id)


class _Late:
    """The approver of the running term: the agent is built before it."""

    def __init__(self, approver: Callable[[], ChannelApprover | None]
                 ) -> None:
        self._approver = approver

    async def approve(self, request: Any) -> Any:
        approver = self._approver()
        return "no" if approver is None else await approver.approve(request)


@asynccontextmanager
async def open_service(places: Places, only: Sequence[str], log: Log, *,
                       console: Mapping[str, Any] | None = None,
                       provider: str | None = None, model: str | None = None,
                       env: Mapping[str, str] = os.environ
                       ) -> AsyncIterator[Service]:
    """The service of these places, ready to `run`."""
    tree = load(places)
    async with AsyncExitStack() as stack:
        runtime = Runtime(places, only, log, console=console or {},
                          stack=stack, provider=provider, model=model)
        stack.push_async_callback(runtime.queue.aclose)
        runtime.live = await runtime.build(tree)
        for warning in tree.warnings:
            log("config.warning", text=warning)
        tree.warnings.clear()
        yield Service(Parts(
            queue=runtime.queue, live=lambda: runtime.live,
            desk_of=runtime.desk, after=runtime.after,
            reload=runtime.reload, watch=runtime.watch,
            health=runtime.health, log=log,
            state_file=state_path(places),
            backoff=Backoff.of(tree.decode("reliability",
                                           ReliabilitySettings)),
            notifier=Notifier(env, log),
            alone=Alone(runtime_folder(dict(env)), log,
                        str(queue_path(places).absolute())),
            tidy=runtime.tidy,
            ends=(CONSOLE,) if only == [CONSOLE] else ()))


def _provider_names(providers: Providers) -> list[str]:
    names = [*providers.configured(),
             *(vendor.name for vendor in vendors())]
    return list(dict.fromkeys(names))
