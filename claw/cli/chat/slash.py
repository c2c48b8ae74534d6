"""The slash commands of `claw agent`, and which lines are one.

A line that begins with a slash and one word is a command, known or not: no
model is asked, and paid, for a misspelt one. A path ("/etc/hosts is what?")
has a second slash and is a message. // or a blank before it sends any line
as it is.
"""

import re

from claw.cli.show.bars import lay_out
from claw.core.registry import nearest

# name -> (what may stand behind it, what it does)
COMMANDS: dict[str, tuple[str, str]] = {
    "/help": ("", "show this list"),
    "/new": ("", "begin a new conversation; memories stay"),
    "/undo": ("", "take back the last question and its answer; memories "
              "stay"),
    "/edit": ("", "change the last question and ask it again (Ctrl-X Ctrl-E "
              "opens $EDITOR)"),
    "/retry": ("[MODEL]", "ask the last question again, or another model"),
    "/model": ("[NAME]", "show the model, or ask another one from now on"),
    "/models": ("", "list the models on offer"),
    "/tokens": ("", "show the size of the conversation and its cost"),
    "/why": ("", "show what the last answer was made of"),
    "/copy": ("[code]", "copy the last answer, or its first block of code"),
    "/save": ("FILE", "write the conversation to a file, as Markdown"),
    "/stop": ("", "stop the running answer (as does Ctrl-C)"),
    "/estop": ("", "stop every claw of yours until: claw estop --lift"),
    "/quit": ("", "leave (as do /exit and Ctrl-D)"),
}
OTHER_NAMES = {"/clear": "/new", "/exit": "/quit", "/?": "/help"}
_WORD = re.compile(r"/(?:\?|[^\W\d_][\w-]*(?::\w*)?)")
_THINK = "/think:"
_HOW_TO_SEND = "to send it as a message, put / or a blank before it"


def list_help(columns: int) -> list[str]:
    """Each command, and what else is good to know, in lines of so many
    columns."""
    rows = [(f"{name} {rest}".rstrip(), text)
            for name, (rest, text) in COMMANDS.items()]
    return [*lay_out(rows, columns), "",
            "Alt-Enter begins a new line. Tab completes commands, models and "
            "files.",
            "/think:high before a message asks for more thought.",
            "/ or a blank before a line with a slash sends it as a message."]


def read_line(line: str) -> tuple[str, str]:
    """The command of a line and what stands behind it, or "" and the
    message to send."""
    word, rest = (*line.split(None, 1), "", "")[:2]
    if line.startswith("//"):
        return "", line[1:].strip()
    if line[:1] != "/" or not _WORD.fullmatch(word) \
            or word.startswith(_THINK):
        return "", line.strip()
    return OTHER_NAMES.get(word, word), rest.strip()


def explain_unknown(word: str) -> tuple[str, str]:
    """What is wrong with a command that is none, and the next step."""
    near = nearest(word.lower(), [*COMMANDS, *OTHER_NAMES, _THINK + "high"])
    return (f"there is no command {word}",
            (f"did you mean {near}? " if near else "/help lists them; ")
            + _HOW_TO_SEND)
