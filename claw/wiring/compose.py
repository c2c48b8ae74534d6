"""The composer: settings and options -> the agent and what it stands on.

`claw ask`, a conversation and `claw listen` all open their parts here, in
one order: ledger, providers, answer cache, memory, agent. The end closes
them in reverse. Tools and policy are loaded only for an agent that has
them: they cost a plain question nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from claw.agent.prompt import PromptContext
from claw.agent.rounds.outcome import TurnResult
from claw.agent.settings import (
    AgentSettings,
    PacingSettings,
    QueryClassificationSettings,
)
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.log import Log
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.core.tool import Tool
from claw.core.turn import Approves, Asks, Origin, Reacts, TurnContext
from claw.core.value import Value
from claw.memory.settings import MemorySettings
from claw.providers.catalog.choice import Choice
from claw.providers.connection import ignore_notice
from claw.providers.factory import OFFLINE, Providers
from claw.providers.settings import ProviderSettings
from claw.security.estop import EmergencyStop
from claw.security.redact.redactor import Redactor
from claw.wiring.ask.dry_run import StopsCalls, stop_calls
from claw.wiring.memory import open_on_demand
from claw.wiring.models.ledger import CostLedger, open_ledger
from claw.wiring.models.providers import (
    add_response_cache,
    build_providers,
    find_near_alias,
    read_routes,
)
from claw.wiring.workspace.secrets import build_redactor

if TYPE_CHECKING:
    from claw.agent.images.images import Images
    from claw.agent.settings import NamedAgentSettings
    from claw.security.policy import SecurityPolicy
    from claw.security.prompt_guard import PromptGuard
    from claw.wiring.tools.messages import Post


class AgentOptions(Value):
    """What the caller wants of the agent.

    `tools` are names, None all that there are but for `excluded_tools`;
    `offline_tools` come with them where no model is configured; without
    `commands` those that run commands are left out. `identity`: the prompt
    says who it is, where it works and what it may do; without, it is
    `system` alone, with what tools need to be told.
    `approver` None: nobody can be asked. Without `keep` no answer is kept
    to be given again. With `dry_run` the first call of
    a provider raises CallStopped. `notify` hears what a person should
    know, `note_memory` what happens to the memory (None: `notify` too),
    `on_choice` who will answer; `before_writing` is called before the
    memory is opened for writing. `retries` False: whoever asks sees each
    failure and asks again by itself. `post` puts a message into the outbox
    of a process that has a sender; `asks` puts questions of the agent to
    the person, `reacts` to his message, None where nobody is there. `log`
    hears of hooks, None: `notify` does.
    """

    provider: str | None = None
    model: str | None = None
    system: str | None = None
    tools: Sequence[str] | None = ()
    excluded_tools: Sequence[str] = ()
    offline_tools: Sequence[str] = ()
    commands: bool = True
    use_memory: bool = True
    identity: bool = True
    approver: Approves | None = None
    approve_all: bool = False
    keep: bool = True
    dry_run: bool = False
    notify: Callable[[str], None] = ignore_notice
    note_memory: Callable[[str], None] | None = None
    on_choice: Callable[[Choice], None] = lambda _: None
    retries: bool = True
    before_writing: Callable[[], None] = lambda: None
    post: "Post | None" = None
    asks: Asks | None = None
    log: Log | None = None
    reacts: Reacts | None = None


class Parts(Value):
    """What is open. `memory` None: neither turns nor tools have one."""

    ledger: CostLedger
    providers: Providers
    choice: Choice
    memory: Memory | None
    images: "Callable[[], Images]"
    agent: Agent
    redactor: Redactor
    policy: "SecurityPolicy | None" = None

    def answer_json(self, result: TurnResult, session: str | None,
                    seconds: float) -> dict[str, Any]:
        """The answer of a turn in the shape of `claw ask --json`. The
        provider is the one that answered."""
        usage = result.usage
        return {
            "id": result.turn_id,
            "provider": result.provider or self.choice.shown,
            "model": result.model,
            "text": result.text,
            "usage": {"input_tokens": usage.input_tokens,
                      "output_tokens": usage.output_tokens,
                      "cached_input_tokens": usage.cached_input_tokens},
            "cost": self.ledger.turn_cost(result.turn_id),
            "duration_ms": round(seconds * 1000),
            "session": session,
            "tool_calls": [
                {"name": call.name, "arguments": dict(call.arguments),
                 "success": call.success} for call in result.tool_calls],
            "refused": [one.to_json() for one in result.refused],
            "unsupported": result.unsupported,
            "recalled": [entry.to_json() for entry in result.recalled],
        }


@asynccontextmanager
async def open_parts(tree: Tree, options: AgentOptions
                     ) -> AsyncIterator[Parts]:
    """Everything for an agent, open until the end. Raises ConfigError for
    a wrong setting or an unknown tool, AuthError, and what opening the
    provider raises. While claw is stopped: StoppedError."""
    estop = EmergencyStop(tree.places.home)
    estop.check()
    redactor = build_redactor(tree)
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(
            closing(open_ledger(tree, options.notify, redactor)))
        providers = build_providers(
            tree, around=stop_calls if options.dry_run else ledger.meter,
            notify=options.notify, retries=options.retries)
        provider, choice = await providers.open(options.provider,
                                                options.model)
        if options.model and (near := find_near_alias(
                tree, providers, choice.shown, options.model)):
            options.notify(f"-m {options.model} is no short name and is "
                           f'asked for as it is; did you mean "{near}"?')
        options.on_choice(choice)
        is_offline = choice.provider_name == OFFLINE
        if options.dry_run:
            if is_offline:
                provider = StopsCalls(provider, choice)
        elif options.keep:
            provider = add_response_cache(tree, provider, options.notify,
                                          redactor)
        await stack.enter_async_context(aclosing(provider))

        tools = options.tools
        # A dry run shows what a model would be sent.
        offline_tools = options.offline_tools \
            if is_offline and not options.dry_run else ()
        trusted = tree.places.trusted
        if tools is not None and trusted:
            tools = list(dict.fromkeys([*tools, *offline_tools]))
        memory = None
        if trusted and (options.use_memory or offline_tools):
            memory = stack.enter_context(closing(open_on_demand(
                tree, options.note_memory or options.notify, redactor,
                options.before_writing)))

        images = _build_images_once(tree, providers)
        agent = build_agent(tree, provider, choice.model or "", images)
        agent.estop = estop
        agent.guard = None if is_offline else _build_guard_once(tree)
        if not options.dry_run and _names_hooks(tree):
            from claw.wiring.tools.hooks import build_hooks, tell
            agent.hooks = build_hooks(tree, options.log
                                      or tell(options.notify))
        agent.memory = memory if options.use_memory else None
        policy = None
        if options.identity or tools is None or tools:
            policy = _add_tools_and_prompt(
                tree, agent, options, tools, memory, redactor,
                partial(_open_own_provider, providers, stack),
                ledger.turn_cost)
        if options.system and not options.identity:
            agent.prompt = PromptContext(custom=options.system, dated=False)
        yield Parts(ledger, providers, choice, memory, images, agent,
                    redactor, policy)


def build_agent(tree: Tree, provider: Provider, model: str,
                images: "Callable[[], Images] | None" = None) -> Agent:
    """The agent of these settings, without tools, memory and prompt.
    Raises ConfigError for a wrong setting."""
    memory = tree.decode("memory", MemorySettings)
    return Agent(
        provider, settings=tree.decode("agent", AgentSettings),
        pacing=tree.decode("pacing", PacingSettings),
        classification=tree.decode("query_classification",
                                   QueryClassificationSettings),
        model=model, hints=[row.hint for row in read_routes(tree)],
        temperature=tree.decode("", ProviderSettings).default_temperature,
        auto_save=memory.auto_save, images=images,
        min_relevance=memory.min_relevance_score)


def _add_tools_and_prompt(tree: Tree, agent: Agent, options: AgentOptions,
                          names: Sequence[str] | None,
                          memory: Memory | None,
                          redactor: Redactor, open_provider: Callable[
                              ["NamedAgentSettings"],
                              Awaitable[tuple[Provider, str]]],
                          turn_cost: Callable[[str], float | None]
                          ) -> "SecurityPolicy":
    from claw.wiring.tools.build import (
        COMMAND_TOOLS,
        build_gate,
        build_policy,
        build_prompt_context,
        build_tools,
        keep_permission,
        recover,
        scrub,
    )
    policy = build_policy(tree)
    policy.notify = options.notify
    for note in recover(policy) if tree.places.trusted else ():
        options.notify(note)
    if names is None or names:
        send = None
        if tree.places.trusted and tree.names("channels_config"):
            from claw.wiring.tools.messages import build_messages
            send = build_messages(tree, redactor, options.post)
        build = partial(build_tools, tree, policy, memory=memory, send=send,
                        asks=options.asks, reacts=options.reacts)
        excluded = [*options.excluded_tools,
                    *(() if options.commands else COMMAND_TOOLS)]
        from claw.wiring.tools.delegates import (
            build_delegates,
            build_own_tasks,
        )

        out = {*excluded, *agent.settings.excluded_tools}

        def build_allowed(allowed: Sequence[str]) -> list[Tool]:
            """The tools of a turn within one, which no setting of its own
            brings back."""
            return build(names=[name for name in allowed if name not in out])
        agents = build_delegates(tree, agent, open_provider, build_allowed)
        agent.tools = [
            tool for tool in build(
                names=names, agents=agents, tasks=build_own_tasks(
                    tree, agent, open_provider, build_allowed, turn_cost),
                notify=options.notify if names is None else None,
                excluded=excluded)
            if options.commands or tool.name not in COMMAND_TOOLS]
        agent.gate = build_gate(policy, options.approver,
                                approve_all=options.approve_all,
                                keep=partial(keep_permission, tree.places))
        agent.scrub = lambda text: scrub(redactor.own(text))
    if options.identity:
        agent.prompt = build_prompt_context(tree, policy, agent,
                                            options.system or "",
                                            options.notify)
    return policy


async def _open_own_provider(providers: Providers, stack: AsyncExitStack,
                             settings: "NamedAgentSettings"
                             ) -> tuple[Provider, str]:
    """The provider of one of [agents], open until the end, and its
    model."""
    provider, choice = await providers.open(
        settings.provider, settings.model, settings.api_key)
    stack.push_async_callback(provider.aclose)
    return provider, choice.model or ""


def _build_images_once(tree: Tree, providers: Providers
                       ) -> "Callable[[], Images]":
    """Gives the same Images each time, built when first asked for."""
    @cache
    def images() -> "Images":
        from claw.wiring.ask.images import build_images
        return build_images(tree, providers=providers)
    return images


def _names_hooks(tree: Tree) -> bool:
    """Whether any hook is on; [hooks] alone costs a question nothing."""
    return any(map(tree.get, (
        "hooks.use", "hooks.command", "hooks.builtin.command_logger",
        "hooks.builtin.webhook_audit.enabled")))


def _build_guard_once(tree: Tree) -> "Callable[[], PromptGuard]":
    """Gives the prompt guard, loaded once there is foreign text."""
    @cache
    def guard() -> "PromptGuard":
        from claw.security.prompt_guard import PromptGuard
        from claw.security.settings import PromptGuardSettings
        settings = tree.decode("security.prompt_guard", PromptGuardSettings)
        return PromptGuard(settings.action, settings.sensitivity)
    return guard


def build_owners_turn(origin: Origin, session: str,
                      cancel: asyncio.Event | None = None) -> TurnContext:
    """A turn of the owner's own. What is remembered of it names the kept
    conversation and the turn."""
    context = TurnContext(origin, cancel=cancel)
    context.message = f"{origin}:{session}:{context.turn_id}"
    return context
