"""Where people write to it: a channel, its keys (tried at once), and who
may write."""

import asyncio
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from claw.cli.chat.markdown import MarkdownStream
from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.steps.trouble import (
    AGAIN,
    build_row_error,
    decide,
)
from claw.cli.commands.onboard.wizard import MissingAnswer, Wizard
from claw.cli.show.output import wants_colour, wants_styles
from claw.config.keys import Path
from claw.core.errors import ClawError, ConfigError, MissingPartError
from claw.wiring.channels.names import SECTION, list_configured
from claw.wiring.config.sections import default_at
from claw.wiring.setup.onboard import channel as channels
from claw.wiring.setup.onboard.answers import SETTING
from claw.wiring.setup.onboard.changes import read_value
from claw.wiring.setup.onboard.pairing import Heard, Listening, Person
from claw.wiring.workspace.trust import require_trust

NONE = "none"
_UNPROVEN = "unproven_channel"
_VALUES = Choice("values", "answer these again")
_CHANNEL = Choice("channel", "another channel")
_KEEP = Choice("keep", "keep it as it is")
_LEAVE = Choice("leave", "no channel for now")


def ask_channel(w: Wizard) -> None:
    """The whole step; it is left when the channel works, or is kept as it
    is, or left out."""
    before: dict[str, dict[str, str]] = {}  # what was given once, by channel
    while True:
        name = _ask_name(w)
        if name == NONE:
            return
        _check_packages(w, name)
        _ask_settings(w, name, before.get(name, {}))
        before[name] = w.answers.list_settings()
        values = _read_values(w, name)
        if _prove(w, name, values) and _write(w, name, values):
            _let_in(w, name)
            return


def _ask_name(w: Wizard) -> str:
    there = list_configured(w.writer.read())
    return w.select("channel", "Which channel?", [
        Choice(NONE, "the terminal alone, for now"),
        *(Choice(one.name, one.name,
                 "set up" if one.name in there else one.line)
          for one in channels.list_channels())],
        suggested=there[0] if there else NONE, flag="--channel NAME")


def _check_packages(w: Wizard, name: str) -> None:
    command = channels.find_missing_packages(name)
    if command is not None:
        error = MissingPartError(f"{name} needs packages that are not "
                                 "installed here", hint=command)
        w.explain(error)
        if not w.asks and not w.chosen.dry_run:
            raise error


def _show_setup(w: Wizard, name: str) -> None:
    """What the channel tells a newcomer."""
    text = channels.spare_commands(channels.read_steps(name))
    stream = w.run.out.stderr
    if w.run.out.quiet or not text:
        return
    if wants_styles(stream):
        page = MarkdownStream(stream, colour=wants_colour(stream))
        page.feed(text.strip() + "\n\n")
        page.finish()
    else:
        w.say(text.strip() + "\n")
    w.say("(claw asks for the settings now, tries them, and listens by "
          f"itself; all of it: claw channel setup {name})")


# -- its settings

def _ask_settings(w: Wizard, name: str, before: Mapping[str, str]) -> None:
    """Every setting that it wants, Enter for what was given `before` or is
    in force."""
    with w.refusing("channel"):
        open_ = [one for one in channels.list_wanted(w.writer.read(), name)
                 if w.answers.get(SETTING + one.key) is None]
    _read_values(w, name)  # a flag that is refused, before the first question
    if w.asks and open_:
        _show_setup(w, name)
    for one in open_:
        answer = SETTING + one.key
        flag = f"--set {one.key}=VALUE"
        usual = before.get(one.key) or one.default
        needed = one.is_first and not usual
        if not w.asks or w.chosen.takes_suggestions:
            if needed and not w.asks:
                raise MissingAnswer(flag)
            if not needed:
                continue
        w.say(f"{one.key}: {one.meaning}")
        if one.is_secret:
            if not w.secret(answer, f"{one.key}"
                            + ("" if needed else " (Enter: as it is)") + ":",
                            flag=flag, optional=not needed):
                w.answers.give(answer, before.get(one.key, ""))
        else:
            w.text(answer, f"{one.key}:", suggested=usual, flag=flag,
                   check=partial(_check_value, w, name, one.key, needed))


def _check_value(w: Wizard, name: str, key: str, needed: bool,
                 text: str) -> str | None:
    if not text:
        return "It can't do without." if needed else None
    try:
        read_value(w.writer.read(), (SECTION, name, key), text)
    except ClawError as error:
        return error.message + (f" ({error.hint})" if error.hint else "")
    return None


def _read_values(w: Wizard, name: str) -> dict[Path, Any]:
    """The answers as the settings take them; what was left empty stays as
    it is. Raises UsageError for what a setting can't be."""
    tree = w.writer.read()
    values: dict[Path, Any] = {}
    for key, text in w.answers.list_settings().items():
        path = (SECTION, name, key)
        if text.strip():
            with w.refusing(SETTING + key):
                value = read_value(tree, path, text)
            usual = default_at(path)
            if tree.has(path) or value != (
                    list(usual) if isinstance(usual, tuple) else usual):
                values[path] = value
    return values


def _mark_as_there(w: Wizard, name: str) -> dict[Path, Any]:
    """A channel that needs no setting is there by its table alone."""
    return {} if name in list_configured(w.writer.read()) \
        else {(SECTION, name): {}}


def _prove(w: Wizard, name: str, values: dict[Path, Any]) -> bool:
    """Whether it works, or is to be kept all the same."""
    tree = w.writer.preview(values or _mark_as_there(w, name))
    if not w.chosen.tests or w.answers.get(_UNPROVEN):
        return True
    with w.run.out.waiting("trying the channel"):
        rows = channels.diagnose(tree, name)
    for row in rows:
        if row.status != "skip":
            is_asked = w.asks and f" {SECTION}.{name}." in (row.hint or "")
            w.mark(row.status, f"{row.id.rpartition('.')[2]}: {row.detail}",
                   None if is_asked else row.hint)
    failed = next((row for row in rows if row.status == "fail"), None)
    if failed is None:
        return True
    with w.refusing(SETTING):
        way = decide(w, build_row_error(failed), [
            _VALUES, AGAIN, _CHANNEL, _KEEP, _LEAVE], is_shown=True)
    return _take_way(w, way)


def _write(w: Wizard, name: str, values: dict[Path, Any]) -> bool:
    """Whether the settings are in force; else what was answered changed."""
    try:
        w.writer.write(values or _mark_as_there(w, name))
    except ConfigError as error:
        w.answers.forget(_UNPROVEN)
        with w.refusing(SETTING):
            way = decide(w, error, [_VALUES, AGAIN, _CHANNEL, _LEAVE])
        return _take_way(w, way)
    return True


def _take_way(w: Wizard, way: str) -> bool:
    """Do what was chosen after a failure; whether the step goes on with
    what it has."""
    if way == "values":
        w.answers.forget(*(SETTING + key
                           for key in w.answers.list_settings()))
    elif way == "channel":
        w.answers.forget("channel")
    elif way == "keep":
        w.answers.give(_UNPROVEN, "yes")
        return True
    elif way == "leave":
        w.answers.give("channel", NONE)
    return False


# -- who may write

def _let_in(w: Wizard, name: str) -> None:
    """Pair somebody, unless somebody may write already."""
    if not channels.has_allow_list(name) or w.chosen.dry_run:
        return
    if people := channels.list_people(w.writer.read(), name):
        w.say("May write: " + ", ".join(people) + ".")
        return
    way = w.select("pairing", "Nobody may write yet. Let yourself in:", [
        Choice("now", "by a code that you send, now"),
        Choice("ids", "by your id there"),
        Choice("later", "later: claw listen shows a code")],
        suggested="now" if w.asks or w.chosen.pair_s else "later",
        flag="--pair SECONDS")
    if way == "ids":
        ids = w.text("people", "Ids, with commas between them:",
                     suggested=None, flag="--set allowed_users=ID",
                     check=lambda text: None if _split(text)
                     else "Type at least one.")
        w.writer.write({(SECTION, name, channels.ALLOWED): _split(ids)})
    elif way == "now":
        _pair(w, name)
    else:
        w.say("claw listen shows a code; send /bind CODE to the bot.")


def _split(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _pair(w: Wizard, name: str) -> None:
    """Run the channel until somebody has sent the code."""
    require_trust(w.run.use_workspace(asks=w.asks))
    try:
        paired, is_elsewhere = asyncio.run(_listen(w, name))
    except ClawError as error:
        w.answers.forget("pairing")
        if decide(w, error, [AGAIN, Choice("later", "later")]) == "later":
            w.answers.give("pairing", "later")
        return _let_in(w, name)
    if is_elsewhere:
        w.say("claw listen runs here already: it takes this over, and its "
              "log has the code (claw service logs).")
    elif paired is None:
        w.say("Nobody was let in; claw listen shows a new code.")
    else:
        w.answers.give("paired", paired.shown)
    return None


async def _listen(w: Wizard, name: str) -> tuple[Person | None, bool]:
    def show_code(code: str, bind: str) -> None:
        w.say(f"\nSend this to the bot, in a private chat:\n\n"
              f"    {bind} {code}\n"
              + ("\nMind the blank before it.\n" if bind[:1] == " "
                 else ""))
        if w.asks:
            w.say("(waiting; Enter goes on without)")

    def show_person(person: Person) -> None:
        w.mark("ok", f"{person.shown} may write now")
        if w.asks:
            w.say("Write to the bot to try it. Enter goes on.")

    def show_traffic(event: str) -> None:
        words = {"message.accepted": "a message came in",
                 "sent": "an answer went out",
                 "stranger": "somebody wrote without the code"}
        w.say(f"({words[event]})")

    listening = Listening(
        w.run.places, name, Heard(
            show_code, show_person, show_traffic,
            lambda text, hint: w.mark("warn", text, hint)),
        patience_s=None if w.asks else w.chosen.pair_s, lingers=w.asks)
    loop = asyncio.get_running_loop()
    if w.asks:
        def take_enter() -> None:
            sys.stdin.readline()
            listening.stop()
        loop.add_reader(sys.stdin.fileno(), take_enter)
    try:
        return await listening.run(), listening.is_elsewhere
    finally:
        if w.asks:
            loop.remove_reader(sys.stdin.fileno())

