"""From a claimed message to a finished turn: the steps of one message, in
the seed's order, each a small method.

    received -> hook -> media, links -> reload -> command -> route ->
    provider -> remember -> history -> recall -> prompt -> draft ->
    reactions -> agent -> hook -> sanitise -> completion

What comes out is a Completion: the dispatcher commits it in one
transaction with the message, so that nothing of it happens twice.
"""

import asyncio

from claw.agent.conversation import Conversation
from claw.agent.history import channel as history
from claw.agent.memory.recall import (
    Recalled,
    build_source,
    guard_recalled,
    recall_for_channel,
    remember,
)
from claw.agent.model.classify import classify
from claw.agent.narrowed import find_limit_usd, narrow_agent
from claw.agent.prompt import build_channel_prompt
from claw.agent.rendering.cut import shorten
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Guarded,
    Notice,
    ToolFinished,
    ToolStarted,
)
from claw.agent.rounds.journal import EntryJournal, ResumedRound, read_rounds
from claw.agent.rounds.outcome import TurnOptions, TurnResult
from claw.agent.turn import Agent
from claw.channels.markers import inert
from claw.core.channel import Channel
from claw.core.errors import (
    ClawError,
    DeniedError,
    LeaseLostError,
    describe,
)
from claw.core.hooks import Cancel
from claw.core.provider import Chat, ChatMessage, Provider
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.runtime.live import Route
from claw.runtime.message.keys import (
    memory_key,
    registered_name,
)
from claw.runtime.message.parts import split_parts
from claw.runtime.people import commands
from claw.runtime.people.approvals import Asking
from claw.runtime.turn import outcomes
from claw.runtime.turn.desk import Desk, Running, ShuttingDown
from claw.runtime.turn.draft_message import open_draft
from claw.runtime.turn.drafts import FIRST, Draft
from claw.runtime.turn.ending import Ending
from claw.runtime.turn.histories import CLEARED, build_turn
from claw.runtime.turn.log import build_end, build_start
from claw.runtime.turn.outcomes import Finished
from claw.runtime.turn.reactions import Reactions, render_call
from claw.runtime.turn.state import TurnState
from claw.runtime.turn.strangers import limit_agent
from claw.security.redact.leaks import guard
from claw.storage.queue.model import DRAFT_UNKNOWN, JournalEntry
from claw.text.addresses import drop_controls

SHOWN_CHARS = 80


async def process(desk: Desk, running: Running) -> Finished:
    """The turn of a claim. Raises ShuttingDown, LeaseLostError and
    StorageError; everything else is an outcome."""
    state = TurnState.begin(desk, running)
    finished = await _run(state)
    if state.is_logged:
        cost = await asyncio.to_thread(desk.turn_cost, state.claim.turn_id)
        await desk.log_turn(state.claim.turn_id,
                            build_end(state, finished, cost))
    return finished


async def _run(state: TurnState) -> Finished:
    ending = Ending(state)
    try:
        return await Turn(state, ending).run()
    except (ShuttingDown, LeaseLostError, asyncio.CancelledError):
        raise
    except TurnCancelled:
        return await ending.cancel()
    except Exception as error:  # one turn's fault ends no other
        return await ending.fail(error)
    finally:
        ending.close()


class Turn:
    """The way of one turn, step by step."""

    def __init__(self, state: TurnState, ending: Ending) -> None:
        self._state = state
        self._desk = state.desk
        self._ending = ending

    async def run(self) -> Finished:
        state, desk = self._state, self._desk
        self._stop_if_cancelled()
        message = state.message
        desk.log("message", channel=message.channel, sender=message.sender,
                 name=message.sender_name or None,
                 text=shorten(guard(" ".join(message.content.split()),
                               state.live.secrets), SHOWN_CHARS),
                 id=message.id, turn=state.claim.turn_id)
        hooked = await state.live.hooks.on_message_received(message)
        if isinstance(hooked, Cancel):
            return self._refuse(hooked)
        state.message = hooked
        await desk.refresh()
        state.see(desk.live())
        state.channel = state.live.channel(hooked.channel)
        answered = self._limit_stranger() or await self._command()
        if answered is not None:
            return answered
        if state.live.voice is not None and not state.is_stranger:
            state.live.voice.note_message(hooked)
        state.message = await state.live.enrich(hooked)
        return self._guard() or await self._answer()

    def _guard(self) -> Finished | None:
        """Put a warning before foreign text that speaks to the model; the
        end of the turn where it is to be left out."""
        state, guard = self._state, self._state.live.agent.guard
        if guard is None or not state.message.labels:
            return None
        shown, verdict = guard().treat(state.message.content, "the message")
        if verdict is None:
            return None
        self._note_event(found := Guarded.of("the message", verdict))
        if verdict.blocked:
            return self._ending.finish("refused", found.text,
                                       text=f"⚠️ {found.text}.")
        state.message = replace(state.message, content=shown)
        return None

    def _stop_if_cancelled(self) -> None:
        running = self._state.running
        if running.cancel.is_set():
            raise (ShuttingDown if running.why == "shutdown"
                   else TurnCancelled)

    def _limit_stranger(self) -> Finished | None:
        """The end of a turn for which nothing is left to a stranger."""
        state = self._state
        reason = self._desk.limit_stranger(state.message) \
            if state.is_stranger else None
        return None if reason is None else self._ending.finish(
            "refused", f"used up: {reason}",
            text=self._desk.strangers.tell(state.message))

    def _refuse(self, cancel: Cancel) -> Finished:
        return self._ending.finish("refused", f"hook: {cancel.reason}")

    # -- commands

    async def _command(self) -> Finished | None:
        state, desk, key = self._state, self._desk, self._state.key
        wanted = commands.parse(state.message)
        if wanted is None:
            return None

        async def cost() -> str:
            """Tokens since the start, and money where a ledger is kept."""
            money = None
            if desk.spent is not None:  # a file: not on the loop
                money = await asyncio.to_thread(desk.spent, key)
            return outcomes.cost_text(desk.tokens.get(key), money)
        word, rest = wanted
        answer = await commands.answer(word, commands.Request(
            rest, key, state.live, desk.choices, state.is_stranger,
            why=lambda: outcomes.why_text(desk.last.get(key)), cost=cost))
        if answer.clears:
            await desk.histories.forget(key)
            await desk.sessions.end(key)
            desk.last.pop(key, None)
            desk.tokens.pop(key, None)
        return self._ending.finish(
            "answered", f"command {word}", text=answer.text,
            history=(CLEARED,) if answer.clears else ())

    # -- the turn

    async def _answer(self) -> Finished:
        state = self._state
        await self._desk.sessions.begin(
            state.key, registered_name(state.message.channel))
        route = await self._choose_route()
        if isinstance(route, Cancel):
            return self._refuse(route)
        try:
            provider = await self._open_provider(route)
        except ClawError as error:
            reason = outcomes.describe_scrubbed(error)
            return self._ending.finish("failed", reason, text=(
                f"⚠️ Failed to initialize provider `{route.provider}`. "
                "Please run `/models` to choose another provider.\n"
                f"Details: {reason}"))
        await self._remember()
        await state.keep_in_history()
        agent = replace(state.live.agent, provider=provider, memory=None,
                        model=route.model, hints=())
        if state.is_stranger:
            agent = limit_agent(agent)
        elif state.live.policy is not None:
            agent = narrow_agent(agent, state.live.policy,
                                 state.message.channel)
        state.trace.note_route(route.provider, route.model)
        recalled = await self._recall()
        conversation, last = await self._open_conversation(agent, recalled)
        conversation.on_push = state.said.append
        await self._show_work()
        result = await self._run_agent(agent, conversation, last, recalled)
        state.trace.note_route(result.provider or route.provider,
                               result.model)
        return await self._ending.answer(result)

    async def _choose_route(self) -> Route | Cancel:
        """The conversation's own choice, else what a rule says, else the
        default; a hook has the last word. No stranger chooses what his
        answer costs."""
        live = self._state.live
        route = self._desk.choices.get(self._state.key, live)
        if route == live.route and not self._state.is_stranger:
            hint = classify(live.classification, self._state.message.content)
            for row in live.routes if hint else ():
                if row.hint.lower() == str(hint).lower():
                    route = Route(row.provider, row.model, row.api_key)
                    break
        hooked = await live.hooks.before_model_resolve(route.provider,
                                                       route.model)
        if isinstance(hooked, Cancel):
            return hooked
        return (route if hooked == (route.provider, route.model)
                else Route(*hooked))

    async def _open_provider(self, route: Route) -> Provider:
        live = self._state.live
        if (route.provider, route.api_key) == (
                live.route.provider, live.route.api_key):
            return live.agent.provider
        return await live.open_provider(route.provider, route.api_key)

    async def _remember(self) -> None:
        """Keep what the person wrote as a memory (never what we add)."""
        live = self._state.live
        if live.memory is None or not live.auto_save:
            return
        for row in self._state.claim.rows:
            if row.message.labels:
                continue  # other people's words are in it
            await remember(
                live.memory, memory_key(row.message), row.message.content,
                self._state.key, source=build_source(row.message),
                on_event=self._note_event)

    async def _recall(self) -> Recalled:
        state, live = self._state, self._state.live
        if live.memory is None or state.is_stranger:
            return Recalled()
        found = await recall_for_channel(
            live.memory, state.message.content,
            scopes=[state.key, *state.sessions], is_group=not state.private,
            min_score=live.agent.min_relevance, on_event=self._note_event)
        state.trace.note_recalled(found)
        return guard_recalled(found, live.agent.guard, self._note_event)

    async def _open_conversation(self, agent: Agent, recalled: Recalled
                                 ) -> tuple[Conversation, ChatMessage]:
        """System prompt and earlier turns, and what to send: this message,
        with what the person wrote before it unanswered."""
        state, desk = self._state, self._desk
        prior = history.trim_chars(history.clean(
            history.normalise(await desk.histories.get(state.key)),
            agent.provider.capabilities_for(agent.model).vision))
        last = prior.pop() if prior else build_turn(
            "user", state.message.content, state.message.labels)
        channel = registered_name(state.message.channel)
        system = build_channel_prompt(
            agent.system_prompt(agent.tools), desk.now(), channel,
            "" if state.is_stranger else state.message.reply_target,
            recalled.block,
            guidance=state.live.channel(
                state.message.channel).channel.guidance)
        hooked = await state.live.hooks.before_prompt_build(system)
        if isinstance(hooked, Cancel):
            raise DeniedError(f"a hook stopped the turn: {hooked.reason}",
                              hint="see [hooks] in config.toml")
        system = hooked
        conversation = Conversation()
        conversation.begin(system)
        conversation.seed(Chat(turn) for turn in prior)
        state.trace.note_prompt(system, prior, last.content, recalled,
                                agent)
        return conversation, last

    async def _show_work(self) -> None:
        """The draft, then 👀 and typing."""
        state, desk = self._state, self._desk
        assert state.channel is not None
        channel, live = state.channel.channel, state.live
        if channel.supports_draft_updates():
            names = [tool.name for tool in live.agent.tools]
            state.draft = Draft(
                channel, state.message, lambda: self._open_draft(channel),
                desk.log,
                lambda text: state.make_plain(
                    outcomes.clean_growing_answer(text, names, live.secrets)),
                state.running.cancel,
                at_once=state.claim.rows[0].draft_id == DRAFT_UNKNOWN)
        state.reactions = Reactions(channel, state.message, desk.log,
                                    acks=live.acks(state.channel))
        state.reactions.start()

    def _open_draft(self, channel: Channel
                    ) -> "asyncio.Future[str | None]":
        """Beside the turn, and beyond its end where need be."""
        state, desk = self._state, self._desk
        opening = asyncio.ensure_future(open_draft(
            desk, state.running, channel, state.reply(FIRST)))
        desk.follow(opening)
        return opening

    async def _run_agent(self, agent: Agent, conversation: Conversation,
                         last: ChatMessage, recalled: Recalled
                         ) -> TurnResult:
        state, desk, message = self._state, self._desk, self._state.message
        turn_id = state.claim.turn_id
        self._stop_if_cancelled()
        context = TurnContext(
            "channel", turn_id=turn_id, session_id=state.key,
            reply_target=message.reply_target, cancel=state.running.cancel,
            labels={*last.labels, *message.labels, *recalled.labels},
            channel=message.channel, sender=message.sender,
            person=state.person,
            sessions=state.sessions if state.private else (),
            message=build_source(message).message,
            limit_usd=find_limit_usd(state.live.policy, message.channel))
        state.labels, state.found = context.labels, context.found
        state.trace.refused = context.refused
        options = TurnOptions(
            passages=recalled.passages, question=message.content,
            stamp=False, live_text=state.draft is not None,
            directives=not state.is_stranger,
            journal=EntryJournal(lambda kind, data: desk.queue.journal(
                desk.lease(), turn_id, JournalEntry(kind, data))),
            resumed=await self._read_resumed())
        desk.approver.begin(turn_id, Asking(
            message, lambda m: split_parts(state.platform, m), state.budget,
            state.reactions, state.trace.approvals))
        await desk.log_turn(turn_id, build_start(state, agent.model))
        state.is_logged = True
        result = None
        try:
            async with state.budget.running():
                result = await agent.turn(
                    last.content, conversation=conversation, context=context,
                    options=options, on_event=self._note_event)
        finally:
            if state.is_stranger:
                await self._charge_stranger(result)
        return result

    async def _charge_stranger(self, result: TurnResult | None) -> None:
        """Count what the answer took, or the try to give one."""
        message, desk = self._state.message, self._desk
        cost = await asyncio.to_thread(desk.turn_cost,
                                       self._state.claim.turn_id)
        usage = None if result is None else result.usage
        desk.strangers.spend(
            message, 0 if usage is None else
            (usage.input_tokens or 0) + (usage.output_tokens or 0),
            cost or 0.0)

    async def _read_resumed(self) -> list[ResumedRound]:
        """What an earlier run of this turn has already done."""
        claim = self._state.claim
        if not claim.rows[0].attempts:
            return []
        entries = await self._desk.queue.read_journal(claim.turn_id)
        if entries:
            self._desk.log("turn.resumed", turn=claim.turn_id,
                           steps=len(entries))
        return read_rounds((e.kind, e.data) for e in entries)

    def _note_event(self, event: Event) -> None:
        state, log = self._state, self._desk.log
        turn_id = state.claim.turn_id
        state.trace.note_event(event)
        if state.draft is not None:
            state.draft.feed(event)
        if isinstance(event, Guarded):
            log("prompt_guard.warning", turn=turn_id, text=event.text,
                source=event.source, score=event.score)
        elif isinstance(event, Notice):
            log("notice", turn=turn_id, text=event.text)
        elif isinstance(event, CallRefused):
            log("refused", turn=turn_id, tool=event.refusal.tool,
                reason=event.refusal.reason, expired=event.refusal.expired)
        elif isinstance(event, ToolFinished):
            log("tool", turn=turn_id, tool=event.name,
                ok=event.success, seconds=round(event.seconds, 2))
        elif isinstance(event, ToolStarted) \
                and state.live.settings.show_tool_calls \
                and registered_name(state.message.channel) != "cli":
            state.trace.tasks.append(
                asyncio.ensure_future(self._post_call(event)))

    async def _post_call(self, event: ToolStarted) -> None:
        """A message of its own for a tool call."""
        state, desk = self._state, self._desk
        send = state.build_send(
            f"note:{state.claim.turn_id}:{event.call_id}",
            inert(state.make_plain(guard(
                drop_controls(render_call(event.name, event.arguments)),
                state.live.secrets))))
        try:
            await desk.queue.post([send])
        except ClawError as error:
            desk.log("notice", text=describe(error))
        desk.wake_sender(state.message.channel)
