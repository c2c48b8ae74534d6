"""Settings -> the scheduler of claw listen (runtime.jobs.RunsJobs)."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from claw.agent.history import encode
from claw.agent.memory.recall import bare_message
from claw.channels import REGISTRY
from claw.config.keys import join_key
from claw.config.tree import Tree
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.errors import ConfigError
from claw.core.log import Log
from claw.core.provider import Chat, ConversationMessage, Provider
from claw.cron.parts import Parts, Service, Sight
from claw.cron.runner import Runner
from claw.providers.settings import ReliabilitySettings
from claw.runtime.message.keys import history_key, read_place
from claw.runtime.people.identities import People
from claw.runtime.process.health import Health
from claw.runtime.turn.desk import Desk
from claw.runtime.turn.histories import Histories
from claw.storage.jobs.model import Job
from claw.storage.jobs.settings import CronSettings, SchedulerSettings
from claw.storage.sessions import SessionStore
from claw.wiring import compose
from claw.wiring.chat.session import LAST
from claw.wiring.jobs.declared import read_jobs
from claw.wiring.jobs.heartbeat import find_prompt
from claw.wiring.tools.jobs import open_jobs
from claw.wiring.workspace.place_names import jobs_path
from claw.wiring.workspace.sessions import load_history

if TYPE_CHECKING:
    from claw.wiring.listen.service import Runtime

NOWHERE = "gateway"  # a chat of no channel
OWN = "cron_"  # the key of a job's own conversation begins so


def runs_alone(tree: Tree) -> bool:
    """Whether there is something to run without a channel: the gateway, or
    a job. Raises ConfigError and StorageError."""
    if tree.get("gateway.enabled") is True:
        return True
    store = open_jobs(tree)
    if store is None:
        return False
    return bool(read_jobs(tree)[0]) or (
        jobs_path(tree.places).exists()
        and any(job.spec.enabled for job in store.list_jobs()))


class ListenJobs:
    """Runs the jobs of a service's terms, under the settings in force."""

    def __init__(self, runtime: "Runtime", log: Log, health: Health) -> None:
        self._runtime = runtime
        self._log = log
        self._health = health
        self._parts: Parts | None = None
        self._runner: Runner | None = None

    def take(self, parts: Parts | None) -> None:
        """Other settings are in force."""
        self._parts = parts
        if self._runner is not None:
            self._runner.wake()

    async def run(self, desk: Desk) -> None:
        runtime = self._runtime
        around = Service(
            JobTalks(lambda: desk.histories, runtime.open_sessions(),
                     self._say, lambda: runtime.live.people),
            self._log, desk.turn_cost, desk.log_turn,
            JobPosts(runtime, desk), self._note)
        self._runner = Runner(lambda: self._parts, around,
                              jobs_path(runtime.tree.places))
        await self._runner.run()

    def stop(self, channel: str, chat: str) -> int:
        return self._runner.stop(channel, chat) if self._runner else 0

    def stop_all(self) -> None:
        if self._runner is not None:
            self._runner.stop_all()

    async def drain(self, patience_s: float) -> None:
        if self._runner is not None:
            await self._runner.drain(patience_s)
            self._runner = None

    def _say(self, text: str) -> None:
        self._log("notice", text=text)

    def _note(self, name: str, trouble: str | None) -> None:
        if trouble is not None:
            self._health.error(name, trouble, "see: claw cron list")
        elif name == "scheduler" or name in self._health.parts:
            self._health.ok(name)


def build_parts(tree: Tree, opened: compose.Parts, open_model: Callable[
                    [str], Awaitable[tuple[Provider, str]]], log: Log, *,
                turn_s: float) -> Parts | None:
    """None where there are no jobs. Raises ConfigError."""
    jobs = open_jobs(tree)
    if jobs is None or opened.policy is None:
        return None
    settings = tree.decode("cron", CronSettings)
    reliability = tree.decode("reliability", ReliabilitySettings)
    declared, wrong = read_jobs(tree)
    return Parts(
        jobs, tree.decode("scheduler", SchedulerSettings), opened.agent,
        opened.policy, open_model, opened.choice.shown,
        settings.catch_up_on_startup, reliability.scheduler_poll_secs,
        reliability.scheduler_retries,
        reliability.provider_backoff_ms / 1000, turn_s,
        opened.redactor.secrets, declared,
        [f"{join_key(path)}: {text}" for path, text in wrong],
        partial(find_prompt, tree, log))


class JobPosts:
    """claw.cron.parts.Posts over the outbox."""

    def __init__(self, runtime: "Runtime", desk: Desk) -> None:
        self._runtime = runtime
        self._desk = desk

    async def post(self, source: str, channel: str, message: SendMessage
                   ) -> None:
        if channel not in self._runtime.live.channels:
            raise ConfigError(f"channel {channel!r} is not set up")
        await self._runtime.post(source, channel, message)
        self._desk.wake_sender(channel)

    async def find_state(self, source: str) -> tuple[str, str | None]:
        rows = await self._runtime.queue.outbox_rows(source=source,
                                                     limit=sys.maxsize)
        failed = [row.error for row in rows if row.state == "failed"]
        if failed:
            return "failed", failed[0]
        return ("sent" if all(row.state == "sent" for row in rows)
                else "waiting"), None


class JobTalks:
    """claw.cron.parts.Talks over the session files; a chat's conversation
    is the one that its own turns have."""

    def __init__(self, find_histories: Callable[[], Histories],
                 store: SessionStore, notify: Callable[[str], None],
                 people: Callable[[], People] = People) -> None:
        self._find_histories = find_histories
        self._store = store
        self._notify = notify
        self._people = people

    def find_sight(self, job: Job) -> Sight:
        """A job that somebody made sees what a turn does where he made it,
        and where it tells another chat nothing of anybody. One of the
        owner's that tells a chat sees what may be said there."""
        spec, told = job.spec, _find_told(job)
        if spec.made_in is None:
            if told is None:
                return Sight()
            session, *others = self._people().list_scopes(
                _write_from(*told))
            return Sight(session, tuple(others), *told) \
                if spec.session_target == "main" else Sight(
                    session, tuple(others), audience=told)
        made = read_place(spec.made_in, REGISTRY.names())
        if told is None:
            return Sight(spec.made_in, (), *(made or (NOWHERE, None)))
        if self._tells_maker(spec.made_in, told):
            return Sight(spec.made_in, (), *told)
        return Sight(f"{OWN}{job.id}", (), told[0])

    def _tells_maker(self, made_in: str, told: tuple[str, str]) -> bool:
        """Whether it is read by those alone who may read of the maker's
        conversation: in its chat, or in his own private one."""
        if read_place(made_in, REGISTRY.names()) == told:
            return True
        people = self._people()
        return made_in in people.list_private(people.find(*told))

    def find_key(self, job: Job) -> str | None:
        spec = job.spec
        told = _find_told(job)
        # what its runs said where nobody, or another chat, hears of it is
        # nothing for this one
        own = "_".join((f"{OWN}{job.id}", *(told or ())))
        if spec.session_target == "own":
            return own
        if spec.session_target != "main":
            return None
        if spec.made_in is not None:
            return spec.made_in if told is None or self._tells_maker(
                spec.made_in, told) else own
        return LAST if told is None else self._find_chat(*told)

    def _find_chat(self, channel: str, chat: str) -> str:
        """The last conversation of a chat; where there is none yet, that
        of the person whose private chat it is."""
        key = history_key(_write_from(channel, chat))
        start = key.removesuffix(chat)
        return next((one.key for one in self._store.list()
                     if one.key.startswith(start)), key)

    async def load(self, key: str) -> Sequence[ConversationMessage]:
        if self._is_owners(key):
            return await asyncio.to_thread(load_history, self._store, key,
                                           self._notify)
        return [Chat(turn) for turn in await self._find_histories().get(key)]

    async def keep(self, key: str, turn_id: str,
                   said: Sequence[ConversationMessage],
                   labels: Collection[str]) -> None:
        if self._is_owners(key):
            records = list(map(encode, said))
        else:
            records = [dict((await self._find_histories().append(
                key, one.message.role, bare_message(one.message.content),
                labels, turn_id=turn_id)).record)
                for one in (said[0], said[-1]) if isinstance(one, Chat)]
        await asyncio.to_thread(self._store.append, key, records)

    def _is_owners(self, key: str) -> bool:
        return key == LAST or key.startswith(OWN)


def _find_told(job: Job) -> tuple[str, str] | None:
    """Channel and chat that hear of a job's runs."""
    delivery = job.spec.delivery
    return (delivery.channel or "", delivery.to or "") \
        if delivery.mode == "announce" else None


def _write_from(channel: str, chat: str) -> ChannelMessage:
    """As if its person had written in his private chat."""
    return ChannelMessage("", chat, chat, "", channel, 0)
