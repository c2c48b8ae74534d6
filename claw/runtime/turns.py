"""From a claimed message to a finished turn: the steps of one message, in
the seed's order, each a small method.

    received -> hook -> media, links -> reload -> command -> route ->
    provider -> remember -> history -> recall -> prompt -> draft -> signs ->
    agent -> hook -> sanitise -> completion

What comes out is a Completion: the dispatcher commits it in one
transaction with the message, so that nothing of it happens twice.
"""

import asyncio
from dataclasses import replace
from typing import Any

from claw.agent import channel_history as past
from claw.agent import channel_prompt, channel_recall
from claw.agent.cancel import TurnCancelled
from claw.agent.classify import classify
from claw.agent.conversation import Conversation
from claw.agent.events import Event, Notice, ToolFinished, ToolStarted
from claw.agent.journal import EntryJournal, ResumedRound, Step, rounds_of
from claw.agent.outcome import TurnOptions, TurnResult
from claw.agent.recall import Recalled
from claw.agent.turn import Agent
from claw.channels import REGISTRY
from claw.channels.markers import inert
from claw.core.errors import ClawError, LeaseLostError, describe
from claw.core.hooks import Cancel
from claw.core.provider import Chat, Provider
from claw.core.turn import TurnContext
from claw.runtime import commands, outcomes
from claw.runtime.approvals import Asking
from claw.runtime.desk import Desk, Running, ShuttingDown
from claw.runtime.drafts import Draft
from claw.runtime.histories import CLEARED
from claw.runtime.keys import is_group, memory_key, person_scope, room_of
from claw.runtime.live import Route
from claw.runtime.outcomes import Finished
from claw.runtime.parts import parts_of
from claw.runtime.signs import Signs, shown_call
from claw.runtime.turn_end import TurnEnd
from claw.security.leaks import guard
from claw.storage.queue.model import HistoryOp, JournalEntry

SHOWN_CHARS = 80


async def process(desk: Desk, running: Running) -> Finished:
    """The turn of a claim. Raises ShuttingDown, LeaseLostError and
    StorageError; everything else is an outcome."""
    turn = Turn(desk, running)
    try:
        return await turn.run()
    except (ShuttingDown, LeaseLostError, asyncio.CancelledError):
        raise
    except TurnCancelled:
        return await turn.cancelled()
    except Exception as error:  # one turn's fault ends no other
        return await turn.went_wrong(error)
    finally:
        turn.close()


class Turn(TurnEnd):
    """The way of one turn, step by step."""

    async def run(self) -> Finished:
        self._stop_if_cancelled()
        self._say_received()
        hooked = await self._live.hooks.on_message_received(self._message)
        if isinstance(hooked, Cancel):
            return self._finished("refused", f"hook: {hooked.reason}")
        self._message = hooked
        await self._desk.refresh()
        self._live = self._desk.live()
        self._room = self._live.room(self._message.channel)
        answered = await self._command()
        if answered is not None:
            return answered
        if self._live.voice is not None:
            self._live.voice.heard(self._message)
        self._message = await self._live.enrich(self._message)
        return await self._answer()

    def _say_received(self) -> None:
        text = past.shortened(" ".join(self._message.content.split()),
                              SHOWN_CHARS)
        self._desk.log("message", channel=self._message.channel,
                       sender=self._message.sender, text=text,
                       id=self._message.id, turn=self._claim.turn_id)

    def _stop_if_cancelled(self) -> None:
        if self._running.cancel.is_set():
            if self._running.why == "shutdown":
                raise ShuttingDown
            raise TurnCancelled
    # -- commands

    async def _command(self) -> Finished | None:
        wanted = commands.parse(self._message)
        if wanted is None:
            return None
        desk, key = self._desk, self._key
        answer = await commands.answer(
            *wanted, key, self._live, desk.choices,
            why=lambda: outcomes.why_text(desk.last.get(key)),
            cost=self._cost)
        history: tuple[HistoryOp, ...] = ()
        if answer.clears:
            await desk.histories.forget(key)
            desk.last.pop(key, None)
            desk.tokens.pop(key, None)
            history = (CLEARED,)
        return self._finished("answered", f"command {wanted[0]}",
                              text=answer.text, history=history)

    async def _cost(self) -> str:
        """Tokens since the start, and money where a ledger is kept."""
        desk, money = self._desk, None
        if desk.spent is not None:  # a file: not on the loop
            money = await asyncio.to_thread(desk.spent, self._key)
        return outcomes.cost_text(desk.tokens.get(self._key), money)

    # -- the turn

    async def _answer(self) -> Finished:
        hooked = await self._hooked_route(self._route())
        if isinstance(hooked, Cancel):
            return self._finished("refused", f"hook: {hooked.reason}")
        route = hooked
        try:
            provider = await self._provider(route)
        except ClawError as error:
            reason = outcomes.reason_of(error)
            return self._finished("failed", reason, text=(
                f"⚠️ Failed to initialize provider `{route.provider}`. "
                "Please run `/models` to choose another provider.\n"
                f"Details: {reason}"))
        await self._remember()
        await self._keep_in_history()
        agent = replace(self._live.agent, provider=provider, memory=None,
                        model=route.model, hints=())
        self.trace.route(route.provider, route.model)
        recalled = await self._recall()
        conversation, text = await self._conversation(agent, recalled)
        await self._show_work()
        result = await self._run_agent(agent, conversation, text, recalled)
        self.trace.route(result.provider or route.provider, result.model)
        return await self._completed(result)

    def _route(self) -> Route:
        """The conversation's own choice, else what a rule says, else the
        default."""
        live = self._live
        chosen = self._desk.choices.of(self._key, live)
        if chosen != live.route:
            return chosen
        hint = classify(live.classification, self._message.content)
        for row in live.routes if hint else ():
            if row.hint.lower() == str(hint).lower():
                return Route(row.provider, row.model, row.api_key)
        return chosen

    async def _hooked_route(self, route: Route) -> Route | Cancel:
        chosen = await self._live.hooks.before_model_resolve(
            route.provider, route.model)
        if isinstance(chosen, Cancel) or chosen == (route.provider,
                                                    route.model):
            return chosen if isinstance(chosen, Cancel) else route
        return Route(*chosen)

    async def _provider(self, route: Route) -> Provider:
        if (route.provider, route.api_key) == (
                self._live.route.provider, self._live.route.api_key):
            return self._live.agent.provider
        return await self._live.open_provider(route.provider, route.api_key)

    async def _remember(self) -> None:
        """Keep what the person wrote as a memory (never what we add)."""
        if self._live.memory is None or not self._live.auto_save:
            return
        for row in self._claim.rows:
            if row.message.labels:
                continue  # other people's words are in it
            await channel_recall.remember(
                self._live.memory, memory_key(row.message),
                row.message.content, self._key,
                source=channel_recall.said_in(row.message),
                on_event=self._heard)

    async def _recall(self) -> Recalled:
        if self._live.memory is None:
            return Recalled()
        found = await channel_recall.context_for(
            self._live.memory, self._message.content,
            sender=person_scope(self._message,
                                [*REGISTRY.names(), *self._live.rooms]),
            history_key=self._key,
            is_group=is_group(self._message),
            min_score=self._live.agent.min_relevance,
            on_event=self._heard)
        self.trace.recalled(found)
        return found

    async def _conversation(self, agent: Agent, recalled: Recalled
                            ) -> tuple[Conversation, str]:
        """System prompt and earlier turns, and the text to send: this
        message, with what the person wrote before it unanswered."""
        turns = await self._desk.histories.get(self._key)
        prior = past.trim_chars(past.clean(
            past.normalise(turns), agent.provider.supports_vision()))
        text = prior.pop().content if prior else self._message.content
        system = channel_prompt.build(
            agent.system_prompt(agent.tools), self._desk.now(),
            room_of(self._message.channel), self._message.reply_target,
            recalled.block)
        hooked = await self._live.hooks.before_prompt_build(system)
        system = system if isinstance(hooked, Cancel) else hooked
        conversation = Conversation()
        conversation.begin(system)
        conversation.seed(Chat(turn) for turn in prior)
        self.trace.prompt(system, prior, text, recalled, agent)
        return conversation, text

    async def _show_work(self) -> None:
        """The draft, then 👀 and typing."""
        assert self._room is not None
        channel, desk = self._room.channel, self._desk
        if channel.supports_draft_updates():
            draft_id = self._claim.rows[0].draft_id
            if draft_id is None:
                draft_id = await self._send_draft()
            if draft_id is not None:
                self._draft = Draft(channel, self._message, draft_id,
                                    desk.log, self._growing)
        self._signs = Signs(channel, self._message, desk.log,
                            acks=self._live.acks(self._room))
        self._signs.start()

    def _growing(self, text: str) -> str:
        return outcomes.growing_answer(
            text, [tool.name for tool in self._live.agent.tools],
            self._live.secrets)

    async def _send_draft(self) -> str | None:
        assert self._room is not None
        desk = self._desk
        try:
            draft_id = await self._room.channel.send_draft(self._reply("..."))
        except ClawError as error:
            desk.log("draft.error", channel=self._room.name,
                     error=describe(error))
            return None
        if draft_id is not None:
            await desk.queue.keep_draft(desk.lease(), self._claim, draft_id)
        return draft_id

    async def _run_agent(self, agent: Agent, conversation: Conversation,
                         text: str, recalled: Recalled) -> TurnResult:
        desk, message = self._desk, self._message
        self._stop_if_cancelled()
        context = TurnContext(
            "channel", turn_id=self._claim.turn_id, session_id=self._key,
            reply_target=message.reply_target, cancel=self._running.cancel,
            labels={*self._inherited, *message.labels},
            channel=message.channel, sender=message.sender,
            message=channel_recall.said_in(message).message)
        self._labels = context.labels
        options = TurnOptions(
            passages=recalled.passages, question=message.content,
            stamp=False, live_text=self._draft is not None,
            journal=EntryJournal(self._journal),
            resumed=await self._resumed())
        desk.approver.begin(self._claim.turn_id, Asking(
            message, lambda m: parts_of(self._channel, m), self._budget,
            self.trace.approvals))
        async with self._budget.running():
            return await agent.turn(
                text, conversation=conversation, context=context,
                options=options, on_event=self._heard)

    async def _journal(self, kind: Step, data: dict[str, Any]) -> None:
        await self._desk.queue.journal(
            self._desk.lease(), self._claim.turn_id,
            JournalEntry(kind, data))

    async def _resumed(self) -> list[ResumedRound]:
        """What an earlier attempt at this turn has already done."""
        if not self._claim.rows[0].attempts:
            return []
        entries = await self._desk.queue.journal_of(self._claim.turn_id)
        if entries:
            self._desk.log("turn.resumed", turn=self._claim.turn_id,
                           steps=len(entries))
        return rounds_of((e.kind, e.data) for e in entries)

    def _heard(self, event: Event) -> None:
        self.trace.heard(event)
        if self._draft is not None:
            self._draft.feed(event)
        turn = self._claim.turn_id
        if isinstance(event, Notice):
            self._desk.log("notice", turn=turn, text=event.text)
        elif isinstance(event, ToolFinished):
            self._desk.log("tool", turn=turn, tool=event.name,
                           ok=event.success, seconds=round(event.seconds, 2))
        elif isinstance(event, ToolStarted) \
                and self._live.settings.show_tool_calls \
                and room_of(self._message.channel) != "cli":
            self._notify(event)

    def _notify(self, event: ToolStarted) -> None:
        """A message of its own for a tool call."""
        send = self._send(
            f"note:{self._claim.turn_id}:{event.call_id}",
            inert(guard(shown_call(event.name, event.arguments),
                        self._live.secrets)))

        async def post() -> None:
            try:
                await self._desk.queue.post([send])
            except ClawError as error:
                self._desk.log("notice", text=describe(error))
            self._desk.posted(self._message.channel)
        self.trace.tasks.append(asyncio.ensure_future(post()))
