"""claw agent: talk to the agent, with tools and memory."""

import asyncio
import time
from typing import Annotated

import typer

from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Notice,
    TextDelta,
    ToolStarted,
)
from claw.cli.attachments.read import Attached, Limits
from claw.cli.commands.ask.show import end_answer
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import (
    ModelOption,
    ProviderOption,
    RawFlag,
    SessionOption,
    SystemOption,
    TemperatureOption,
    YesFlag,
)
from claw.cli.show.output import is_terminal
from claw.cli.terminal.approval import approver_for
from claw.cli.terminal.prompt import read_prompt, split_names
from claw.cli.terminal.stdin import LIMIT_BYTES, is_piped
from claw.core.errors import UsageError
from claw.core.value import replace
from claw.providers.factory import OFFLINE
from claw.wiring.chat.session import ChatOptions, open_chat

ToolsOption = Annotated[str | None, typer.Option(
    "--tools", metavar="LIST",
    help="Tools the agent may call, separated by commas, or none (default "
    "all).")]
MessageArgument = Annotated[list[str] | None, typer.Argument(
    metavar="[MESSAGE]...", show_default=False,
    help="Run one turn with it and print the answer.")]


@examples("claw agent", 'claw agent "which files are in the workspace?"',
          "claw agent --session work", "claw agent --resume",
          """echo '{"message": "hello"}' | claw agent --jsonl""")
def agent(
        context: typer.Context,
        message: MessageArgument = None,
        model: ModelOption = None,
        provider: ProviderOption = None,
        temperature: TemperatureOption = None,
        system: SystemOption = None,
        session: SessionOption = None,
        tools: ToolsOption = None,
        yes: YesFlag = False,
        no_memory: Annotated[bool, typer.Option(
            "--no-memory", help="Recall no memories and keep none.")] = False,
        resume: Annotated[bool, typer.Option(
            "--resume", help="Choose a conversation to continue.")] = False,
        no_log: Annotated[bool, typer.Option(
            "--no-log", help="Keep no text of the conversation.")] = False,
        raw: RawFlag = False,
) -> None:
    """Talk to the agent, with tools and memory.

    On a terminal you talk until Ctrl-D; Ctrl-C stops an answer and /help
    lists the commands. With a message, or with piped text, it runs one
    turn. With --jsonl it reads {"message": "..."} lines and writes events
    as lines.
    """
    run = Invocation.of(context)
    run.use_workspace(asks=True)
    if not (raw or run.as_json):
        run.out.render_markdown()
    options = ChatOptions(
        provider, model, system, None if tools is None else
        split_names(tools), use_memory=not no_memory, approve_all=yes,
        keep=not no_log, notify=run.out.note, session=session,
        temperature=temperature)
    if resume:
        options = _choose(run, options)
    text = " ".join(message or []).strip()
    if run.jsonl and not text:
        asyncio.run(_serve_program(run, options))
    elif text or is_piped():
        text, piped = read_prompt(
            text, Limits(LIMIT_BYTES, run.settings, "send less"),
            say=run.out.note, example='claw agent "MESSAGE"')
        asyncio.run(_answer_once(run, options, _read_message(text), piped))
    elif is_terminal(run.out.stdout):
        from claw.cli.chat.terminal import converse
        converse(run, options)
    else:
        raise UsageError("stdout is no terminal and nothing was asked",
                         hint='try: claw agent "MESSAGE"')


def _choose(run: Invocation, options: ChatOptions) -> ChatOptions:
    if options.session is not None:
        raise UsageError("--resume and --session exclude each other",
                         hint="--session NAME goes on by itself")
    from claw.cli.chat.resume import choose_conversation
    return choose_conversation(run, options)


def _read_message(text: str) -> str:
    """The message of a line. Raises UsageError for a command of the
    conversation, or one misspelt: no model is asked, and paid, for that."""
    if not text.startswith("/") or "\n" in text:
        return text
    from claw.cli.chat.slash import COMMANDS, explain_unknown, read_line
    word, rest = read_line(text)
    if word in COMMANDS:
        raise UsageError(f"{word} is a command of the conversation on a "
                         "terminal", hint="begin one with: claw agent")
    if word:
        what, near = explain_unknown(word)
        raise UsageError(what, hint=near)
    return rest


async def _answer_once(run: Invocation, options: ChatOptions, text: str,
                       piped: Attached) -> None:
    """One turn; its answer is the result."""
    started = time.monotonic()

    def show(event: Event) -> None:
        if isinstance(event, TextDelta) and not run.as_json:
            run.out.stream(event.text)
        elif isinstance(event, Notice):
            run.out.warn(event.text)
        elif isinstance(event, CallRefused):
            run.out.warn(event.refusal.remark)
        elif isinstance(event, ToolStarted):
            run.out.progress(f"running {event.name}")
    options = replace(options,
                      approver=approver_for(run, options.approve_all))
    with run.out.waiting("thinking"):
        async with open_chat(run.settings, options) as chat:
            # the offline provider reads the passages as they are
            is_offline = chat.choice.provider_name == OFFLINE
            texts = [] if is_offline else [p.text for p in piped.passages]
            if is_offline and not options.provider:
                run.out.note(
                    f"{chat.choice.reason}: answers come from your text "
                    "and memory alone; to add a model: claw onboard")
            question = "\n\n".join([text, *piped.images])
            result = await chat.say(
                "\n\n".join([question, *texts]), show,
                passages=piped.passages, question=question)
            answer = chat.answer_json(result, time.monotonic() - started)
    if run.as_json:
        run.out.document(answer)
    else:
        run.out.end()
    end_answer(run, answer)


async def _serve_program(run: Invocation, options: ChatOptions) -> None:
    """Be the partner of another program."""
    async with open_chat(run.settings, options) as chat:
        from claw.cli.chat.jsonl import Partner
        await Partner(chat, run.out).run()
