"""claw onboard: the wizard."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from claw.cli.commands.onboard.asking import open_asker
from claw.cli.commands.onboard.steps.agent import LEVELS, ask_agent
from claw.cli.commands.onboard.steps.before import NONE, ask_before
from claw.cli.commands.onboard.steps.channel import ask_channel
from claw.cli.commands.onboard.steps.ending import show_ending
from claw.cli.commands.onboard.steps.machine import ask_machine
from claw.cli.commands.onboard.steps.memory import (
    LOCAL,
    WORDS,
    ask_memory,
    check_days,
)
from claw.cli.commands.onboard.steps.model import ask_model, check_amount
from claw.cli.commands.onboard.wizard import (
    Chosen,
    MissingAnswer,
    StepBack,
    Wizard,
    show_answer,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples, option_groups
from claw.cli.options import ModelOption, refuse_blank
from claw.cli.terminal.prompt import may_ask
from claw.cli.terminal.stdin import read_text
from claw.core.errors import (
    InterruptedAnswerError,
    UsageError,
)
from claw.wiring.setup.migrate import AGENTS
from claw.wiring.setup.onboard.answers import (
    NOTES,
    SETTING,
    WAYS,
    Answers,
    stay_alone,
)
from claw.wiring.setup.onboard.changes import ConfigWriter


class Step(NamedTuple):
    """`answers` are the first words of what is answered in it."""

    name: str
    title: str
    ask: Callable[[Wizard], None]
    answers: tuple[str, ...]

    def owns(self, answer: str) -> bool:
        return answer.partition(".")[0] in self.answers


STEPS = (
    Step("before", "What is here", ask_before, ("import", "import_now")),
    Step("model", "Model", ask_model, (
        "provider_way", "provider", "key_from", "api_key", "model_way",
        "model", "keep_key", "limit", "unproven_model")),
    Step("memory", "Memory", ask_memory, ("memory", "keep_days")),
    Step("channel", "Channel", ask_channel, (
        "channel", "set", "unproven_channel", "pairing", "people",
        "paired")),
    Step("agent", "What the agent may do", ask_agent, ("autonomy",)),
    Step("machine", "This machine", ask_machine, (
        "completion", "service")))
# What has to be answered where nobody can be asked, and its flag.
_NEEDED = {"provider": "--provider NAME (or none)",
           "memory": "--memory words|local",
           "channel": "--channel NAME (or none)",
           "autonomy": "--autonomy " + "|".join(LEVELS)}


@examples("claw onboard",
          "claw onboard --yes --provider ollama",
          "claw onboard --provider openai --api-key-stdin --memory words "
          "--channel none --autonomy supervised < key.txt",
          "claw onboard --yes --channel telegram --set-file "
          "bot_token=token.txt --pair 300")
@option_groups({
    "Model": "--provider --model --api-key-stdin --keep-key --daily-limit",
    "Memory": "--memory --keep-days",
    "Channel": "--channel --set --set-file --pair",
    "Agent and machine": "--import-from --autonomy --completion "
                         "--service"})
def onboard(
        context: typer.Context,
        provider: Annotated[str | None, typer.Option(
            "-p", "--provider", metavar="NAME", callback=refuse_blank,
            help="Provider to ask, custom:URL, or none.")] = None,
        model: ModelOption = None,
        api_key_stdin: Annotated[bool, typer.Option(
            "--api-key-stdin", help="Read the provider's key from standard "
                                    "input.")] = False,
        keep_key: Annotated[bool | None, typer.Option(
            "--keep-key/--no-keep-key", help="Keep a key of the environment "
            "in config.toml too, encrypted.")] = None,
        daily_limit: Annotated[str | None, typer.Option(
            "--daily-limit", metavar="USD", help="Most that models may cost "
            "in a day, in dollars; 0 for no limit.")] = None,
        memory: Annotated[str | None, typer.Option(
            "--memory", metavar="words|local", help="Find memories by their "
            "words, or by meaning too with the local model.")] = None,
        keep_days: Annotated[str | None, typer.Option(
            "--keep-days", metavar="N", help="Days to keep conversation; 0 "
            "for ever.")] = None,
        channel: Annotated[str | None, typer.Option(
            "--channel", metavar="NAME", callback=refuse_blank,
            help="Channel to set up, or none.")] = None,
        set_: Annotated[list[str] | None, typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the channel; "
            "may be given again. Others on this machine see it.")] = None,
        set_file: Annotated[list[str] | None, typer.Option(
            "--set-file", metavar="KEY=FILE", help="A setting of the "
            "channel that stands in a file: a token.")] = None,
        pair: Annotated[float | None, typer.Option(
            "--pair", metavar="SECONDS", min=1, help="Without a terminal: "
            "print the pairing code and wait so long for it.")] = None,
        autonomy: Annotated[str | None, typer.Option(
            "--autonomy", metavar="|".join(LEVELS),
            help="What the agent may do.")] = None,
        completion: Annotated[bool | None, typer.Option(
            "--completion/--no-completion", help="Install completion and "
            "man pages for your shell.")] = None,
        service: Annotated[bool | None, typer.Option(
            "--service/--no-service", help="Keep claw listen running, as a "
            "service.")] = None,
        import_from: Annotated[str | None, typer.Option(
            "--import-from", metavar="NAME", callback=refuse_blank,
            help="Bring what another agent here keeps: "
            + ", ".join(AGENTS) + ", or none.")] = None,
        no_test: Annotated[bool, typer.Option(
            "--no-test", help="Try neither key nor channel, ask no model."
        )] = False,
        yes: Annotated[bool, typer.Option(
            "--yes", help="Take what is suggested wherever no flag answers."
        )] = False,
        restart: Annotated[bool, typer.Option(
            "--restart", help="Forget the answers of a run that was broken "
                              "off.")] = False,
        dry_run: Annotated[bool, typer.Option(
            "--dry-run", help="Show what config.toml would say; try, write "
            "and install nothing.")] = False) -> None:
    """Set claw up, question by question.

    A model and its key, which is tried at once; memory; a channel with its
    pairing; what the agent may do; completion and a service. Every question
    has a flag. Each answer is kept as soon as it is given: after Ctrl-C or
    a crash claw onboard goes on where it was. Settings that it does not ask
    about stay as they are. Without a terminal nothing is asked.
    """
    run = Invocation.of(context)
    flags = {
        "provider": provider, "model": model, "limit": daily_limit,
        "keep_key": _word(keep_key), "memory": memory,
        "keep_days": keep_days, "channel": channel, "autonomy": autonomy,
        "completion": _word(completion), "service": _word(service),
        "import": import_from,
        "import_now": None if import_from is None else "yes",
        **_read_settings(set_ or [], set_file or [])}
    _check_flags(flags)
    if api_key_stdin:
        flags["api_key"] = "".join(read_text(way_out="give one key").split())
        if not flags["api_key"]:
            raise UsageError("--api-key-stdin: standard input is empty",
                             hint="claw onboard --api-key-stdin < key.txt")
    chosen = Chosen(takes_suggestions=yes, tests=not (no_test or dry_run),
                    pair_s=pair, dry_run=dry_run)
    with ExitStack() as stack:
        if not dry_run:
            stack.enter_context(stay_alone(run.places))
        w = _begin(run, chosen, {name: text for name, text in flags.items()
                                 if text is not None}, restart=restart)
        _walk(w)
        found = show_ending(w)
        w.answers.remove()
    if run.as_json:
        run.out.document(found)
    if w.exit_code:
        raise typer.Exit(w.exit_code)


def _word(flag: bool | None) -> str | None:
    return None if flag is None else "yes" if flag else "no"


def _read_settings(given: list[str], files: list[str]) -> dict[str, str]:
    """The settings of the channel, as answers."""
    found = {}
    for flag, pairs in (("--set", given), ("--set-file", files)):
        for pair in pairs:
            key, mark, text = pair.partition("=")
            if not key.strip() or not mark:
                raise UsageError(f"{flag}: {key or pair!r} has no value",
                                 hint=f"{flag} KEY=VALUE")
            if flag == "--set-file":
                text = Path(text).expanduser().read_text(
                    "utf-8", "replace").strip()
            found[SETTING + key.strip().rpartition(".")[2]] = text
    return found


def _check_flags(flags: Mapping[str, str | None]) -> None:
    """Raises UsageError for what a question would not take."""
    for name, flag, words in (
            ("memory", "--memory", (WORDS, LOCAL)),
            ("autonomy", "--autonomy", LEVELS),
            ("import", "--import-from", (*AGENTS, NONE))):
        if (text := flags[name]) is not None and text not in words:
            raise UsageError(f"{flag}: {text!r} is not known",
                             hint="one of: " + ", ".join(words))
    for name, flag, check in (("limit", "--daily-limit", check_amount),
                              ("keep_days", "--keep-days", check_days)):
        text = flags[name]
        if text is not None and (problem := check(text)) is not None:
            raise UsageError(f"{flag}: {problem}")


def _begin(run: Invocation, chosen: Chosen, flags: Mapping[str, str], *,
           restart: bool) -> Wizard:
    """The wizard with what was answered before and by flags."""
    answers = Answers(run.places, keeps=not chosen.dry_run)
    if restart:
        answers.remove()
    elif (problem := answers.begin()) is not None:
        run.out.warn(problem)
    writer = ConfigWriter(run.places, dry_run=chosen.dry_run)
    answers.remember_before(writer.flatten())
    asker = None
    if may_ask() and not run.as_json:
        asker = open_asker()
    w = Wizard(run, answers, writer, asker, chosen)
    if any(name.startswith(SETTING) for name in flags) and flags.get(
            "channel", answers.get("channel")) in (None, "none"):
        raise UsageError("--set is for a channel, and none is named",
                         hint="add --channel NAME")
    shown = {name: text for name, text in answers.list_given().items()
             if name not in (*WAYS, *NOTES)}
    if shown:
        w.say("Going on where you stopped (--restart begins anew):")
        for name, text in shown.items():
            w.say(f"{name}: {show_answer(name, text)}", "  ")
    changed = answers.give_flags(flags)
    if opened := [s.name for s in STEPS if any(map(s.owns, changed))]:
        answers.reopen(opened)
    if asker is None:
        _require_answers(w)
    else:
        w.say("Ctrl-C keeps your answers; < goes back a question.")
    return w


def _require_answers(w: Wizard) -> None:
    """Raises UsageError with every flag that is missing."""
    missing = [] if w.chosen.takes_suggestions else [
        flag for name, flag in _NEEDED.items() if w.answers.get(name) is None]
    if missing:
        raise UsageError(
            "nobody can be asked here, and these are not answered: "
            + ", ".join(missing),
            hint="give them, or --yes for what is suggested")


def _walk(w: Wizard) -> None:
    """Every step that is not done, in order; back to the question before
    where the person wants that."""
    try:
        while left := [step for step in STEPS
                       if step.name not in w.answers.done]:
            step = left[0]
            w.head(f"{STEPS.index(step) + 1}/{len(STEPS)} {step.title}")
            try:
                step.ask(w)
            except StepBack:
                last = w.answers.take_back()
                w.answers.reopen([s.name for s in STEPS
                                  if last is not None and s.owns(last)])
            else:
                w.answers.finish(step.name)
    except MissingAnswer as missing:
        raise UsageError(
            "nobody can be asked here, and this is not answered: "
            + missing.flag, hint="add it" if w.chosen.dry_run
            else "what was answered is kept; add it") from None
    except (KeyboardInterrupt, EOFError):
        raise InterruptedAnswerError(
            "stopped; your answers are kept" if not w.chosen.dry_run
            else "stopped", hint="go on with: claw onboard"
            if not w.chosen.dry_run else None) from None

