"""Every command as data, read from the commands themselves.

Man pages, completions and the tables of docs/ are made of it.
"""

import inspect
from collections.abc import Iterator
from typing import Any

from claw.cli.app import COMMANDS, GROUPS
from claw.cli.help import is_everywhere
from claw.cli.lazy import Group, Root
from claw.core.value import Value


class OptionInfo(Value):
    """`value` is the metavar, "" for a flag; `choices` its words."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...]
    everywhere: bool


class CommandInfo(Value):
    """`name` is "" for claw itself, else "ask", "memory recall"."""

    name: str
    line: str
    help: str
    usage: str
    arguments: tuple[tuple[str, str], ...]
    options: tuple[OptionInfo, ...]
    examples: tuple[str, ...]
    commands: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        return f"claw {self.name}".strip()


def catalog() -> list[CommandInfo]:
    """claw itself, then every group and command by name."""
    root = Root(COMMANDS, GROUPS)
    with root.make_context("claw", [], resilient_parsing=True) as context:
        return list(_walk(root, context, ""))


def _walk(command: Any, context: Any, name: str) -> Iterator[CommandInfo]:
    names = command.list_commands(context) \
        if isinstance(command, Group) else []
    yield _info(command, context, name, tuple(names))
    for sub in names:
        child = command.get_command(context, sub)
        with child.make_context(sub, [], parent=context,
                                resilient_parsing=True) as inner:
            yield from _walk(child, inner, f"{name} {sub}".strip())


def _info(command: Any, context: Any, name: str,
          commands: tuple[str, ...]) -> CommandInfo:
    text = inspect.cleandoc(command.help or "")
    arguments, options = [], []
    for parameter in command.get_params(context):
        if parameter.param_type_name == "argument":
            record = parameter.get_help_record(context)
            # without the marks that differ between versions of Typer
            metavar = parameter.metavar or parameter.name.upper()
            if not (parameter.required or "[" in metavar):
                metavar = f"[{metavar}]"
            arguments.append((metavar, record[1] if record else ""))
        elif not getattr(parameter, "hidden", False):
            options.append(_option(parameter))
    return CommandInfo(
        name, text.partition("\n")[0], text,
        " ".join(["[OPTIONS]", *(metavar for metavar, _ in arguments),
                  *(["COMMAND [ARGS]..."] if commands else [])]),
        tuple(arguments),
        tuple(options), command.help_examples, commands)


def _option(parameter: Any) -> OptionInfo:
    flag = getattr(parameter, "is_flag", False) or \
        getattr(parameter, "count", False)
    choices = getattr(parameter.type, "choices", ()) or ()
    return OptionInfo(
        (*parameter.opts, *parameter.secondary_opts),
        "" if flag else parameter.metavar or "N",
        parameter.help or "", tuple(str(c) for c in choices),
        is_everywhere(parameter))
