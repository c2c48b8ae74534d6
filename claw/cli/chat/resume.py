"""`claw agent --resume`: choose a conversation to go on with."""

import sys

from claw.cli.invocation import Invocation
from claw.cli.show.bars import count_cells, cut
from claw.cli.show.output import is_terminal, join_lines
from claw.core.errors import NotFoundError, UsageError
from claw.core.minutes import format_minute
from claw.core.value import replace
from claw.wiring.chat.session import ChatOptions
from claw.wiring.workspace.talks import KeptTalk, list_talks

_POINTER = 4  # cells before a line of the list
_LEAST = 10  # cells of a title


def choose_conversation(run: Invocation, options: ChatOptions) -> ChatOptions:
    """The options, going on with what the person chose from a list. Raises
    UsageError without a terminal, NotFoundError where none is kept, and
    KeyboardInterrupt where nothing was chosen."""
    if not (is_terminal(sys.stdin) and is_terminal(run.out.stdout)):
        raise UsageError(
            "--resume lets you choose on a terminal, and this is none",
            hint="name a session: claw agent --session NAME (claw session "
                 "list), or go on from an entry: claw ask --cid ID (claw "
                 "log list)")
    talks = list_talks(run.settings)
    if not talks:
        raise NotFoundError("there is no conversation to go on with",
                            hint="begin one with: claw agent")
    import questionary

    from claw.cli.terminal.search import improve_search
    asked = questionary.select(
        "Go on with", [
            questionary.Choice(name_talk(talk, run.out.columns), value=talk)
            for talk in talks],
        use_search_filter=True, use_jk_keys=False)
    improve_search(asked.application)
    chosen: KeptTalk | None = asked.unsafe_ask()
    if chosen is None:
        raise KeyboardInterrupt
    return replace(options, session=chosen.session, cid=chosen.cid)


def name_talk(talk: KeptTalk, columns: int) -> str:
    """A conversation on one line of the list: a long title is cut, and the
    name of its session is seen."""
    when = format_minute(talk.at)
    name = f"  ({join_lines(talk.session)})" if talk.session else ""
    room = columns - _POINTER - len(when) - 2 - count_cells(name)
    title = cut(join_lines(talk.title) or "(no words)", max(room, _LEAST))
    return f"{when}  {title}{name}"
