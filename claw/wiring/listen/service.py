"""Settings -> the channel service: what `claw listen` runs."""

import asyncio
import os
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import (
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from typing import Any

from claw.agent.hooks.runner import HookRunner
from claw.agent.settings import PacingSettings, QueryClassificationSettings
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.config.watch import changes, stamp
from claw.core.channel import SendMessage
from claw.core.errors import (
    ClawError,
    StorageError,
)
from claw.core.log import Log, Tap
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.gateway.settings import GatewaySettings, check_exposure
from claw.memory.settings import MemorySettings
from claw.providers.catalog.aliases import resolve_model
from claw.providers.catalog.vendors import vendors
from claw.providers.factory import Providers
from claw.providers.settings import ReliabilitySettings, RouteSettings
from claw.runtime.live import Live, Route
from claw.runtime.message.parts import split_parts
from claw.runtime.message.voice import VoiceReplies
from claw.runtime.people.approvals import ChannelApprover
from claw.runtime.people.carry_over import CarryOver
from claw.runtime.process.health import Health
from claw.runtime.process.instance_lock import InstanceLock, runtime_folder
from claw.runtime.process.notify import Notifier
from claw.runtime.process.supervisor import Backoff
from claw.runtime.service import Parts as ServiceParts
from claw.runtime.service import Service
from claw.runtime.settings import (
    ChannelsSettings,
    HeartbeatSettings,
    StrangersSettings,
)
from claw.runtime.turn.desk import Desk
from claw.runtime.turn.histories import Histories
from claw.security.estop import EmergencyStop
from claw.security.redact.redactor import Redactor
from claw.storage.disk_use import note_sample
from claw.storage.forgotten import read_stamp
from claw.storage.jobs.store import SqliteJobs
from claw.storage.log.writer import LogWriter
from claw.storage.marks import MarksFile
from claw.storage.names import PeopleFile
from claw.storage.queue.model import Lease, NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore
from claw.wiring.channels.build import (
    Opened,
    list_entries,
    open_channels,
    select_channels,
)
from claw.wiring.channels.moves import release_ids, relist
from claw.wiring.channels.names import CONSOLE, list_all
from claw.wiring.channels.people import open_people
from claw.wiring.compose import AgentOptions, Parts, open_parts
from claw.wiring.listen.after_turns import AfterTurns
from claw.wiring.listen.around_turns import (
    LateApprover,
    build_enricher,
    build_synthesizer,
)
from claw.wiring.listen.gateway import ListenGateway
from claw.wiring.listen.jobs import ListenJobs, build_parts, runs_alone
from claw.wiring.listen.outgoing_files import tidy_outgoing
from claw.wiring.listen.received_files import tidy_received
from claw.wiring.memory import open_backend
from claw.wiring.memory.hygiene import maintain_memory
from claw.wiring.models.ledger import CostLedger
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.effective import list_excluded
from claw.wiring.workspace.log import ChannelLog, open_log
from claw.wiring.workspace.place_names import (
    jobs_path,
    people_path,
    private_chats_path,
    queue_path,
    state_path,
)
from claw.wiring.workspace.sessions import open_sessions


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
        self._models: dict[str, tuple[Provider, str]] = {}
        self._channels: dict[str, Opened] = {}
        self._memory_settings = MemorySettings()
        self._stamp = stamp(places.config_file)
        self._reloading = asyncio.Lock()
        self._redactor = Redactor()
        self.queue = SqliteQueue(
            queue_path(places),
            clean=lambda value: self._redactor.record(value))
        self.after_turns = AfterTurns(self.queue, lambda: self.live,
                                      lambda: self._memory_settings, log)
        self.health = Health()
        self.gateway = ListenGateway(lambda: self.tree, log, self.health,
                                     self)
        self.jobs = ListenJobs(self, log, self.health)
        self.approver: ChannelApprover | None = None
        self.live: Live
        self._ledger: CostLedger
        self._turn_log: LogWriter | None = None
        self._tree: Tree

    async def build(self, tree: Tree) -> Live:
        """The parts of these settings, open until the service ends: turns
        under way go on with theirs. Raises ConfigError, AuthError and what
        opening the provider raises; then nothing stays open."""
        gateway = tree.decode("gateway", GatewaySettings)
        if gateway.enabled:
            check_exposure(gateway)
        async with AsyncExitStack() as opened:
            parts = await opened.enter_async_context(
                open_parts(tree, await asyncio.to_thread(
                    self._choose_options, tree)))
            release_ids(tree, self._log)
            unusable: dict[str, ClawError] = {}
            channels = open_channels(
                tree, select_channels(tree, self._only,
                                      alone=runs_alone(tree)), self._log,
                {CONSOLE: self._console}, self._channels, unusable=unusable)
            parts.agent.estop = None  # the service looks, and ends all
            hooks = parts.agent.hooks or HookRunner((), self._log)
            voice = self._build_voice(tree)
            if voice is not None:
                opened.push_async_callback(voice.aclose)
            live = self._build_live(tree, parts, hooks, voice)
            live.channels = {name: opened_channel.live for
                             name, opened_channel in channels.items()}
            jobs = build_parts(
                tree, parts, partial(self._open_model, parts.providers),
                self._log, turn_s=live.budget_s())
            self._stack.push_async_exit(opened.pop_all())
        if parts.choice.model is None:
            self._log("provider", text=f"{parts.choice.shown} does not say "
                      "which models it has; it is asked again with each "
                      "message until it does")
        self._channels = channels
        self._note_channels(channels, unusable)
        self._redactor = parts.redactor
        self._tree = tree
        if self._turn_log is not None:
            self._turn_log.close()
        self._turn_log = open_log(tree, parts.redactor)
        self._ledger = parts.ledger
        self._memory_settings = tree.decode("memory", MemorySettings)
        self.jobs.take(jobs)
        return live

    def _note_channels(self, channels: Mapping[str, Opened],
                       unusable: Mapping[str, ClawError]) -> None:
        """Keep in mind what can't be used; of others nothing is left."""
        for part in list(self.health.parts):
            kind, _, name = part.partition(":")
            if kind == "channel" and name not in (*channels, *unusable):
                del self.health.parts[part]
        for name, channel in channels.items():
            self.health.part(f"channel:{name}").rejected = channel.rejected
        for name, error in unusable.items():
            self.health.error(f"channel:{name}",
                              f"left out: {error.message}", error.hint)

    def _choose_options(self, tree: Tree) -> AgentOptions:
        """What a channel's turn gets: no command tools where a command
        would see the machine's own tree."""
        sandbox = build_policy(tree).sandbox
        commands = sandbox is None or not sandbox.shelter().is_fallback
        if not commands:
            self._log("sandbox.warning", text="no command tools: this "
                      "machine has only the fallback sandbox",
                      hint="claw doctor prints the steps to a whole one")
        approver = LateApprover(lambda: self.approver)
        return AgentOptions(
            *self._asked, tools=None, excluded_tools=list_excluded(tree),
            commands=commands, post=self.post,
            approver=approver, asks=approver, reacts=approver,
            log=self._log,
            notify=lambda text: self._log("provider", text=text),
            note_memory=lambda text: self._log("memory", text=text))

    def _build_live(self, tree: Tree, parts: Parts, hooks: HookRunner,
                    voice: VoiceReplies | None) -> Live:
        settings = tree.decode("memory", MemorySettings)
        choice, people = parts.choice, open_people(tree, self._log)
        if parts.policy is not None:
            parts.policy.one_person = people.is_one()
        return Live(
            settings=tree.decode("channels_config", ChannelsSettings),
            channels={}, agent=parts.agent,
            route=Route(choice.provider_name, choice.model or ""),
            open_provider=self._build_opener(parts.providers), hooks=hooks,
            workspace=tree.places.workspace,
            provider_names=list(dict.fromkeys([
                *parts.providers.list_configured(),
                *(vendor.name for vendor in vendors())])),
            routes=[*parts.providers.routes, *_alias_routes(parts)],
            classification=tree.decode("query_classification",
                                       QueryClassificationSettings),
            memory=parts.memory if settings.backend != "none" else None,
            auto_save=settings.auto_save,
            enrich=build_enricher(tree, parts.agent, self._log),
            strangers=tree.decode("strangers", StrangersSettings),
            heartbeat=tree.decode("heartbeat", HeartbeatSettings),
            voice=voice, timeout_scale=tree.decode(
                "pacing", PacingSettings).message_timeout_scale_max,
            secrets=parts.redactor.secrets, policy=parts.policy,
            people=people)

    def _build_voice(self, tree: Tree) -> VoiceReplies | None:
        speaker = build_synthesizer(tree, self._log)
        return (None if speaker is None else
                VoiceReplies(speaker, tree.places.workspace / "voice_files",
                             self.post, self._log))

    async def post(self, source: str, channel: str,
                    message: SendMessage) -> None:
        """Put a message of the service itself into the outbox."""
        live = self.live.channels.get(channel)
        await self.queue.post([NewSend(
            source, channel, message,
            split_parts(live.channel if live else None, message))])

    def _build_opener(self, providers: Providers
                      ) -> Callable[[str, str | None], Awaitable[Provider]]:
        """Opens the provider of a conversation that asked for another one,
        once for each name and key."""
        async def open_provider(name: str, key: str | None) -> Provider:
            found = self._opened.get((name, key))
            if found is None:
                found = providers.create_resilient(name, key)
                self._opened[name, key] = found
                self._stack.push_async_callback(found.aclose)
            return found
        return open_provider

    async def _open_model(self, providers: Providers, model: str
                          ) -> tuple[Provider, str]:
        """Another model for a job, opened once."""
        found = self._models.get(model)
        if found is None:
            provider, choice = await providers.open(None, model)
            self._stack.push_async_callback(provider.aclose)
            found = self._models[model] = provider, choice.model or ""
        return found

    def open_sessions(self) -> SessionStore:
        """The session files, whether or not channels keep theirs there."""
        return open_sessions(self._places, self._redactor)

    @property
    def tree(self) -> Tree:
        """The settings in force."""
        return self._tree

    def close_log(self) -> None:
        """Close the log of turns."""
        if self._turn_log is not None:
            self._turn_log.close()

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
                self._models.clear()
                self.live = await self.build(tree)
            except (ClawError, OSError) as error:
                hint = getattr(error, "hint", None)
                self.health.error("config", str(error), hint)
                self.health.settings_tried = now.digest
                self._log("config.rejected", error=str(error), hint=hint
                          or "the settings from before stay in force")
                return False
            self.gateway.renew()
            self.health.parts.pop("config", None)
            self.note_settings()
            for warning in tree.warnings:
                self._log("config.warning", text=warning)
            self._log("config.reloaded",
                      channels=",".join(self.live.channels))
            return True

    def note_settings(self) -> None:
        """Tell other processes which config.toml is in force."""
        if self._stamp is not None:
            self.health.settings = self._stamp.digest
            self.health.settings_tried = self._stamp.digest

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
        maintain_memory(
            self._tree, lambda text: self._log("memory", text=text),
            who="log", protected=in_use)

    # -- parts of a term

    def desk(self, lease: Callable[[], Lease],
             posted: Callable[[str], None],
             reload: Callable[[], Awaitable[object]]) -> Desk:
        """The desk of one term of the leader lease. Before each message it
        is seen whether config.toml changed, and whether something was
        forgotten."""
        forgotten = read_stamp(self._places.workspace)

        async def refresh() -> None:
            nonlocal forgotten
            if self.looks_changed():
                await reload()
            if (now := read_stamp(self._places.workspace)) != forgotten:
                forgotten = now
                histories.drop_all()
        self.approver = ChannelApprover(
            self.queue, lease, self._log, posted,
            redact=lambda text: self._redactor.for_approval()(text),
            people=lambda: self.live.people)
        store = (open_sessions(self._places, self._redactor)
                 if self.live.settings.session_persistence else None)
        histories = Histories(self.queue, store, self._log)
        return Desk(
            live=lambda: self.live, refresh=refresh, queue=self.queue,
            lease=lease, approver=self.approver, wake_sender=posted,
            histories=histories, build_notes=self.after_turns.build_notes,
            carry_over=CarryOver(
                self.queue, lease, histories, store,
                PeopleFile(people_path(self._places), self._log), self._log,
                channels=lambda: [live.channel for live
                                  in self.live.channels.values()],
                listed=lambda name: list_entries(self._tree, name),
                open_memory=self._open_memory,
                chats=MarksFile(private_chats_path(self._places), self._log),
                jobs=SqliteJobs(jobs_path(self._places)),
                is_free=lambda one: not self.live.people.find_bearers(one),
                relist=partial(relist, self._places, self._log)),
            log_turn=ChannelLog(
                lambda: self._turn_log,
                lambda text: self._log("log.unwritten", error=text)).write,
            estop=EmergencyStop(self._places.home),
            log=self._log, stop_jobs=self.jobs.stop,
            spent=lambda key: self._ledger.session_cost(key),
            turn_cost=lambda turn_id: self._ledger.turn_cost(turn_id))

    @contextmanager
    def _open_memory(self, readonly: bool) -> Iterator[Memory | None]:
        """The memory of these settings, None where none is kept."""
        if self.live.memory is None:
            yield None
            return
        with open_backend(self._tree, readonly=readonly) as memory:
            yield memory

    async def tidy_files(self) -> None:
        """Copies of what was sent, old files that people sent, the day's
        sample of the disk, and turns that wait for the memory."""
        await tidy_outgoing(self._places, self.queue)
        await asyncio.to_thread(
            tidy_received, self._places.workspace,
            list_all(self._tree), self.live.settings.files_keep_days,
            time.time(), self._log)
        await asyncio.to_thread(self._note_disk)
        await self.after_turns.flush()

    def _note_disk(self) -> None:
        """Raises StorageError."""
        places, now = self._places, time.time()
        try:
            note_sample(places.home, places.workspace, now)
        except OSError as error:
            raise StorageError(f"{places.workspace}: {error.strerror}"
                               ) from error


@asynccontextmanager
async def open_service(places: Places, only: Sequence[str], log: Log, *,
                       console: Mapping[str, Any] | None = None,
                       provider: str | None = None, model: str | None = None,
                       env: Mapping[str, str] = os.environ
                       ) -> AsyncIterator[Service]:
    """The service of these places, ready to `run`."""
    tree = load(places)
    log = Tap(log)  # /v1/events
    async with AsyncExitStack() as stack:
        runtime = Runtime(places, only, log, console=console or {},
                          stack=stack, provider=provider, model=model)
        stack.push_async_callback(runtime.queue.aclose)
        stack.callback(runtime.close_log)
        stack.callback(runtime.gateway.close)
        runtime.live = await runtime.build(tree)
        runtime.note_settings()
        for warning in tree.warnings:
            log("config.warning", text=warning)
        tree.warnings.clear()
        yield Service(ServiceParts(
            queue=runtime.queue, live=lambda: runtime.live,
            build_desk=runtime.desk, after=runtime.after_turns.run,
            reload=runtime.reload, watch=runtime.watch,
            health=runtime.health, log=log,
            state_file=state_path(places),
            backoff=Backoff.of(tree.decode("reliability",
                                           ReliabilitySettings)),
            notifier=Notifier(env, log), estop=EmergencyStop(places.home),
            instance_lock=InstanceLock(runtime_folder(dict(env)), log,
                        str(queue_path(places).absolute())),
            tidy=runtime.tidy,
            tidy_files=runtime.tidy_files,
            ends=(CONSOLE,) if only == [CONSOLE] else (),
            gateway=runtime.gateway, jobs=runtime.jobs))


def _alias_routes(parts: Parts) -> Iterator[RouteSettings]:
    """The aliases of models, for /model NAME."""
    aliases = parts.providers.aliases
    for name in aliases:
        provider, model = resolve_model(aliases, name)
        yield RouteSettings(hint=name, model=model, provider=provider
                            or parts.choice.provider_name)
