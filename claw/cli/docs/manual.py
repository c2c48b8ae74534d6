"""Man pages and the tables of docs/, made of the catalog."""

from collections.abc import Sequence

from claw.cli.commands.help import EXIT_TEXT
from claw.cli.docs.catalog import CommandInfo
from claw.cli.show.channel_page import (
    format_default,
    write_settings,
    write_table,
)
from claw.wiring.config.view import manual

_FILES = (
    ("~/.claw/config.toml", "settings; CLAW_HOME or --config-dir moves it"),
    ("~/.claw/workspace", "memory, sessions and the files that describe "
                          "the agent; CLAW_WORKSPACE or -w moves it"),
)

_ENVIRONMENT = (
    ("CLAW_HOME, CLAW_WORKSPACE", "where things are"),
    ("CLAW_<SECTION>__<KEY>", "any setting, e.g. "
                              "CLAW_MEMORY__BACKEND=none"),
    ("OPENAI_API_KEY, OPENROUTER_API_KEY, ...",
     "keys; the first one found chooses the provider when none is set"),
    ("CLAW_API_KEY", "a key for the provider that was named"),
    ("NO_COLOR, CLICOLOR_FORCE, TERM", "colour"),
)


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in ".'" else line
                     for line in text.split("\n"))


def _entry(head: str, text: str) -> str:
    return f".TP\n\\fB{_roff(head)}\\fR\n{_roff(text) or chr(92) + '&'}\n"


def page(command: CommandInfo, commands: Sequence[CommandInfo]) -> str:
    """One man page in man(7) macros."""
    title = command.full_name.replace(" ", "-")
    parts = [f'.TH "{title.upper()}" 1 "" "claw" "claw manual"\n',
             f".SH NAME\n{_roff(title)} \\- {_roff(command.line)}\n",
             f".SH SYNOPSIS\n\\fB{_roff(command.full_name)}\\fR "
             f"{_roff(command.usage)}\n"]
    described = command.help.partition("\n")[2].strip() or command.help
    paragraphs = "\n.PP\n".join(map(_roff, described.split("\n\n")))
    parts.append(f".SH DESCRIPTION\n{paragraphs}\n")
    if command.commands:
        by_name = {c.name: c for c in commands}
        rows = [by_name[f"{command.name} {sub}".strip()]
                for sub in command.commands]
        parts.append(".SH COMMANDS\n" + "".join(
            _entry(row.full_name, row.line) for row in rows))
    if command.arguments:
        parts.append(".SH ARGUMENTS\n" + "".join(
            _entry(*argument) for argument in command.arguments))
    parts.append(".SH OPTIONS\n" + "".join(
        _entry(", ".join(option.names)
               + (f" {option.value}" if option.value else ""), option.help)
        for option in command.options))
    if command.examples:
        lines = "\n".join(_roff(line) for line in command.examples)
        parts.append(f".SH EXAMPLES\n.nf\n{lines}\n.fi\n")
    if command.name == "config":
        parts.append(".SH SETTINGS\nThose that have an effect. The values "
                     "in force: claw config show.\n" + "".join(
                         _entry(s.key, s.meaning + (
                             f" (default {format_default(s).strip('`')})"
                             if format_default(s) else ""))
                         for s in manual()))
    parts.append(_format_tail(command))
    return "".join(parts)


def _format_tail(command: CommandInfo) -> str:
    if command.name:
        return ".SH SEE ALSO\n\\fBclaw\\fR(1)\n"
    codes = "".join(_entry(str(int(code)), text)
                    for code, text in EXIT_TEXT.items())
    files = "".join(_entry(*row) for row in _FILES)
    environment = "".join(_entry(*row) for row in _ENVIRONMENT)
    return (f".SH EXIT STATUS\n{codes}.SH FILES\n{files}"
            f".SH ENVIRONMENT\n{environment}")


def pages(commands: Sequence[CommandInfo]) -> dict[str, str]:
    """File name -> text of every man page."""
    return {command.full_name.replace(" ", "-") + ".1":
            page(command, commands) for command in commands}


def command_table(commands: Sequence[CommandInfo]) -> str:
    """The table of commands."""
    return write_table(("command", "does"), (
        (f"`{c.full_name}`", c.line) for c in commands
        if c.name and not c.commands))


def settings_table() -> str:
    """The table of settings."""
    return write_settings(manual())


def exit_table() -> str:
    """The table of exit codes."""
    return write_table(("code", "means"), (
        (str(int(code)), text) for code, text in EXIT_TEXT.items()))
