"""What is completed behind an option and in the place of an argument.

An action is "file", "folder", "words A B C" (in the script itself), "value
KIND" (claw.cli.complete.entry.KINDS) or "" for free text.
"""

import re

from claw.cli.docs.catalog import CommandInfo, OptionInfo
from claw.memory import REGISTRY as MEMORY
from claw.wiring.config.view import manual

# The last spelling of an option -> its kind. Where a command means something
# else by it, the command stands before it.
_OPTIONS = {
    "--model": "model",
    "--provider": "provider",
    "--session": "session",
    "--template": "template",
    "--parameter": "parameter",
    "--save": "template",
    "--cid": "entry",
    "map --forget": "job",
    "--tools": "tools",
    "--docs": "document",
    "--category": "category",
    "--channel": "channel",
    "--exclude-tools": "tools",
    "--to": "target",
    "--tz": "zone",
    "permission show --job": "scheduled",
    "memory index --remove": "document",
    "memory index --name": "document",
}

# A command and its argument -> its kind.
_ARGUMENTS = {
    "channel doctor NAME": "channel",
    "channel setup NAME": "channel",
    "config get KEY": "config-key",
    "config set KEY": "config-key",
    "config set VALUE": "config-value",
    "config show SECTION": "config-key",
    "config unset KEY": "config-key",
    "cron next JOB|EXPRESSION": "scheduled",
    **{f"cron {verb} JOB": "scheduled" for verb in (
        "pause", "remove", "resume", "run", "runs", "show", "update")},
    "log export ID": "entry",
    "log rm ID": "entry",
    "log show ID": "entry",
    "mcp accept NAME": "mcp-server",
    "mcp test NAME": "mcp-server",
    "memory forget KEY": "memory-key",
    "memory get KEY": "memory-key",
    "memory history KEY": "memory-key",
    "memory pin KEY": "memory-key",
    "memory store KEY": "memory-key",
    "memory undo KEY": "memory-key",
    "model alias MODEL": "model",
    "model alias NAME": "alias",
    "provider models NAME": "provider",
    "provider test NAME": "provider",
    "send TARGET": "target",
    "session clear NAME": "session",
    "session export NAME": "session",
    "session show NAME": "session",
    **{f"skill {verb} NAME": "skill"
       for verb in ("accept", "audit", "remove", "show", "test")},
    "tap CHANNEL": "channel",
    "template edit NAME": "template",
    "template save NAME": "template",
    "template show NAME": "template",
    "tool run NAME": "tool",
}

# Words that neither a type nor a metavar tells.
_WORDS = {
    "completion SHELL": "bash zsh fish",
    "cost --by": "day origin model",
    "cron add --session": "own main isolated",
    "cron update --session": "own main isolated",
}


def find_option_action(command: CommandInfo, option: OptionInfo) -> str:
    """The action behind an option; "" also for a flag."""
    name = option.names[-1]
    own = f"{command.name} {name}"
    kind = _OPTIONS.get(own) or _OPTIONS.get(name)
    if option.choices:
        return "words " + " ".join(option.choices)
    if own in _WORDS:
        return "words " + _WORDS[own]
    return f"value {kind}" if kind else _read_metavar(option.value)


def list_argument_actions(command: CommandInfo) -> list[str]:
    """The action of each argument in order; the last one goes on where it
    ends with "..."."""
    actions = []
    for metavar, _ in command.arguments:
        own = f"{command.name} {metavar.strip('[].')}"
        kind = _ARGUMENTS.get(own)
        actions.append("words " + _WORDS[own] if own in _WORDS
                       else f"value {kind}" if kind
                       else _read_metavar(metavar))
    return actions


def repeats(command: CommandInfo) -> bool:
    """Whether the last argument takes several words."""
    return bool(command.arguments) and "..." in command.arguments[-1][0]


def _read_metavar(metavar: str) -> str:
    """FILE and DIR are files and folders, a|b words."""
    plain = metavar.strip("[].")
    if "FILE" in plain or "PATH" in plain:
        return "file"
    if "DIR" in plain:
        return "folder"
    return "words " + plain.replace("|", " ") \
        if re.fullmatch(r"[a-z]+(\|[a-z]+)+", plain) else ""


def format_settings() -> str:
    """Key, choices and meaning of every setting, a line each, for
    claw.cli.complete."""
    known = {"memory.backend": MEMORY.names()}
    return "".join(
        f"{s.key}\t{' '.join(known.get(s.key, s.choices))}\t"
        f"{' '.join(s.meaning.split())}\n" for s in manual())
