"""claw agent: talk to the agent, with tools and memory."""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated

import typer

from claw.agent.events import Event, Notice, TextDelta, ToolStarted
from claw.cli.approval import approver_for
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import (
    ModelOption,
    ProviderOption,
    SessionOption,
    SystemOption,
    TemperatureOption,
    YesFlag,
)
from claw.cli.output import is_terminal
from claw.cli.stdin import LIMIT_BYTES, is_piped, read_text
from claw.core.errors import UsageError
from claw.core.provider import Passage
from claw.core.registry import load_dotted
from claw.core.value import replace
from claw.wiring.answer_json import answer_json
from claw.wiring.talk import Talk, Wish, open_talk

# Loaded when they are needed: prompt_toolkit and rich cost 100 ms.
_TERMINAL = "claw.cli.terminal:converse"
_PARTNER = "claw.cli.agent_jsonl:Partner"


@examples("claw agent", 'claw agent "which files are in the workspace?"',
          "claw agent --session work",
          """echo '{"message": "hello"}' | claw agent --jsonl""")
def agent(
        context: typer.Context,
        message: Annotated[list[str] | None, typer.Argument(
            metavar="[MESSAGE]...", show_default=False,
            help="Run one turn with it and print the answer.")] = None,
        model: ModelOption = None,
        provider: ProviderOption = None,
        temperature: TemperatureOption = None,
        system: SystemOption = None,
        session: SessionOption = None,
        tools: Annotated[str | None, typer.Option(
            "--tools", metavar="LIST",
            help="Tools of the agent, by comma, or none; default all."
        )] = None,
        yes: YesFlag = False,
        no_memory: Annotated[bool, typer.Option(
            "--no-memory", help="Neither recall nor keep memories.")] = False,
) -> None:
    """Talk to the agent, with tools and memory.

    On a terminal it asks and answers until Ctrl-D; Ctrl-C stops an answer.
    With a message, or with piped text, it runs one turn. With --jsonl it
    reads {"message": "..."} lines and writes events as lines.
    """
    run = Invocation.of(context)
    wish = Wish(provider, model, system, temperature,
                None if tools is None else _names(tools), not no_memory,
                session, approve_all=yes, notify=run.out.note)
    text = " ".join(message or []).strip()
    if run.jsonl and not text:
        asyncio.run(_serve(run, wish))
    elif text or is_piped():
        asyncio.run(_once(run, wish, *_asked(text, run)))
    elif is_terminal(run.out.stdout):
        converse: Callable[..., None] = load_dotted(_TERMINAL)
        converse(run, wish)
    else:
        raise UsageError("stdout is no terminal and nothing was asked",
                         hint='try: claw agent "MESSAGE"')


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names


def _asked(text: str, run: Invocation) -> tuple[str, list[Passage]]:
    """The message, and what was piped beside it."""
    piped = read_text(LIMIT_BYTES, say=run.out.note) if is_piped() else ""
    if text:
        return text, [Passage("stdin", piped)] if piped.strip() else []
    if not piped.strip():
        raise UsageError("nothing was asked",
                         hint='try: claw agent "MESSAGE"')
    return piped.strip(), []


def _say_choice(run: Invocation, talk: Talk, wish: Wish) -> None:
    if talk.choice.provider_name == "offline" and not wish.provider:
        run.out.note(f"{talk.choice.reason}: answers come from your text "
                     "and memory alone; to add a model see: claw provider "
                     "list")


async def _once(run: Invocation, wish: Wish, text: str,
                passages: list[Passage]) -> None:
    """One turn; its answer is the result."""
    started = time.monotonic()

    def heard(event: Event) -> None:
        if isinstance(event, TextDelta) and not run.as_json:
            run.out.piece(event.text)
        elif isinstance(event, Notice):
            run.out.warn(event.text)
        elif isinstance(event, ToolStarted):
            run.out.progress(f"running {event.name}")
    asked = replace(wish, approver=approver_for(run, wish.approve_all))
    with run.out.waiting("thinking"):
        async with open_talk(run.settings, asked) as talk:
            _say_choice(run, talk, wish)
            whole = "\n\n".join([text, *(p.text for p in passages)]) \
                if talk.choice.provider_name != "offline" else text
            result = await talk.say(whole, heard, passages=passages,
                                    question=text)
            cost_usd = talk.cost_usd(result)
    if run.as_json:
        run.out.document(answer_json(result, talk.choice, talk.session,
                                     time.monotonic() - started,
                                     cost_usd))
    else:
        run.out.end()


async def _serve(run: Invocation, wish: Wish) -> None:
    """Be the partner of another program."""
    async with open_talk(run.settings, wish) as talk:
        await load_dotted(_PARTNER)(talk, run.out).run()
