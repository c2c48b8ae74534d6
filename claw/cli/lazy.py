"""Typer commands that are imported when they are called.

Root and Group know every name from the table in app.py, so `claw --help`
and "did you mean" cost no import. Each command takes the global options
after its name too.

With help.py the only file that knows Typer's own copy of click, which is
private: ParserError is what its parser raises.
"""

import gc
import inspect
import re
from collections.abc import Mapping
from typing import Any

import typer
from typer._click import Command as ClickCommand
from typer._click import Context
from typer._click.exceptions import ClickException as ParserError
from typer._click.exceptions import UsageError as ParserUsageError
from typer.core import TyperCommand, TyperGroup, TyperOption

from claw.cli.help import (
    CODES_PAGE,
    EVERYWHERE,
    Pages,
    examples,
    option_groups,
)
from claw.cli.invocation import Invocation
from claw.cli.synonyms import suggest_command
from claw.core.errors import UsageError
from claw.core.registry import load_dotted
from claw.version import __version__

__all__ = ["Group", "ParserError", "Root", "examples", "option_groups"]


def _note_value(context: Context, parameter: Any, value: Any) -> Any:
    """Option callback: note the value, wherever it stood."""
    if value not in (None, False, 0):
        Invocation.of(context).options[parameter.name] = value
    return value


def _show_version(context: Context, parameter: Any,
                  value: bool) -> None:
    if value and not context.resilient_parsing:
        typer.echo(f"claw {__version__}")
        context.exit()


def _global(*declarations: str, **settings: Any) -> TyperOption:
    return TyperOption(param_decls=list(declarations), callback=_note_value,
                       expose_value=False, rich_help_panel=EVERYWHERE,
                       **settings)


def global_options() -> list[TyperOption]:
    """The options that every command takes, before and after its name."""
    return [
        _global("--config-dir", metavar="DIR",
                help="Folder of config.toml (default ~/.claw)."),
        _global("-w", "--workspace", metavar="DIR",
                help="Folder of memory, sessions and state (default "
                     "workspace in the config directory)."),
        _global("--trust-workspace", is_flag=True,
                help="Use AGENTS.md, memories and sessions found in a "
                     "folder that claw did not make."),
        _global("--json", is_flag=True, help="Print one JSON document."),
        _global("--jsonl", is_flag=True,
                help="Print one JSON object a line where results stream."),
        _global("-q", "--quiet", is_flag=True,
                help="Print nothing on stderr but errors."),
        _global("-v", "--verbose", count=True, type=int,
                help="Print more on stderr; repeat for still more."),
        _global("--log-format", metavar="text|json",
                help="Format of messages on stderr (default text)."),
        _global("--show-secrets", is_flag=True,
                help="Print secrets in answers and memories unmasked; for "
                     "settings: claw config get --reveal."),
    ]


class Command(Pages, TyperCommand):
    """One command with the global options."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.extend(global_options())
        function = inspect.unwrap(self.callback) if self.callback else None
        self.help_examples = getattr(function, "examples", ())
        self.help_groups = getattr(function, "option_groups", {})

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if args and re.fullmatch(r"-\d+(\.\d+)?", args[-1]) \
                and not any(args[-1] in parameter.opts
                            for parameter in self.params) \
                and not "".join(args[-2:-1]).startswith("-"):
            args = [*args[:-1], "--", args[-1]]  # a value, no option
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except ParserUsageError as error:
            error.ctx = error.ctx or ctx  # its help page is the hint
            raise
        for name, value in ctx.params.items():
            if isinstance(value, float) and value != value:
                raise UsageError(f"--{name.replace('_', '-')}: "
                                 "not a number: nan")
        return rest

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Without the braces that Typer puts around what is required."""
        pieces: list[str] = super().collect_usage_pieces(ctx)
        return [piece[1:-1] if piece[:1] + piece[-1:] == "{}" else piece
                for piece in pieces]

    def invoke(self, ctx: Context) -> Any:
        Invocation.of(ctx).check_options()
        try:
            return super().invoke(ctx)
        finally:
            Invocation.of(ctx).say_missing()
            Invocation.of(ctx).say_redacted()
            Invocation.of(ctx).say_warnings()


def build(name: str, path: str) -> ClickCommand:
    """The Typer command made of the function at `path`."""
    function = load_dotted(path)
    if not gc.isenabled():  # __main__.py
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()
    host = typer.Typer(add_completion=False, rich_markup_mode=None,
                       pretty_exceptions_enable=False)
    host.command(name, cls=Command)(function)
    return typer.main.get_command(host)


class Group(Pages, TyperGroup):
    """Commands by name from a table of rows."""

    def __init__(self, rows: Mapping[str, tuple[str, str]],
                 help_examples: tuple[str, ...] = (), *,
                 default: str | None = None, **settings: Any) -> None:
        super().__init__(rich_markup_mode=None, no_args_is_help=True,
                         **settings)
        self.rows = rows
        self.default = default
        self.help_examples = help_examples or self.help_examples
        self.params.extend(global_options())

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """With the default command in front, where none is named: nothing,
        or options alone."""
        if self.default is not None and not any(
                one in self.rows or one in ctx.help_option_names
                for one in args) and not (
                args and not args[0].startswith("-")):
            args = [self.default, *args]
        found: list[str] = super().parse_args(ctx, args)
        return found

    def list_commands(self, context: Context) -> list[str]:
        return list(self.rows)

    def get_command(self, context: Context,
                    cmd_name: str) -> ClickCommand | None:
        row = self.rows.get(cmd_name)
        return build(cmd_name, row[1]) if row else None

    def resolve_command(self, context: Context, args: list[str]
                        ) -> tuple[str | None, ClickCommand | None,
                                   list[str]]:
        command = self.get_command(context, args[0])
        if command is None:
            path = context.command_path
            root: Any = context.find_root().command
            raise UsageError(
                f'no such command: "{path} {args[0]}"',
                hint=suggest_command(path, args[0], root.every_name)
                or f"see: {path} --help")
        return args[0], command, args[1:]

    def format_options(self, context: Context,
                       formatter: Any) -> None:
        self.format_commands(context, formatter)
        super().format_options(context, formatter)

    def format_commands(self, context: Context,
                        formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.help_line(name))
                                for name in self.list_commands(context)])

    def help_line(self, name: str) -> str:
        """The one-line help of a command."""
        return self.rows[name][0]


class Root(Group):
    """`claw` itself: single commands and groups."""

    help_examples = (
        'claw ask "what is 6 * 7?"',
        'git log -5 | claw ask "what changed?"',
        'claw memory store colour "Mina likes green"',
        "claw doctor",
    )
    pointer = f"{Pages.pointer}. What exit codes mean: claw help {CODES_PAGE}"

    def __init__(self, commands: Mapping[str, tuple[str, str]],
                 groups: Mapping[str, tuple[str, ...]],
                 defaults: Mapping[str, str] | None = None) -> None:
        single = {name: row for name, row in commands.items()
                  if " " not in name}
        super().__init__(
            single, name="claw",
            help="A personal agent as a kit of shell commands.")
        self.params.append(TyperOption(
            param_decls=["-V", "--version"], is_flag=True, is_eager=True,
            expose_value=False, callback=_show_version,
            help="Print the version."))
        self.every_name = tuple(commands)
        self.defaults = defaults or {}
        self.groups = {
            name: (row, own) for name, row in groups.items()
            if (own := {key.removeprefix(name + " "): command
                        for key, command in commands.items()
                        if key.startswith(name + " ")})}

    def make_context(self, info_name: str | None, args: list[str],
                     parent: Any = None, **extra: Any) -> Any:
        extra.setdefault("obj", Invocation())
        extra.setdefault("help_option_names", ["-h", "--help"])
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, context: Context) -> list[str]:
        return sorted([*self.rows, *self.groups])

    def get_command(self, context: Context,
                    cmd_name: str) -> ClickCommand | None:
        if cmd_name in self.groups:
            (line, *lines), rows = self.groups[cmd_name]
            return Group(rows, tuple(lines), name=cmd_name, help=line,
                         default=self.defaults.get(cmd_name))
        return super().get_command(context, cmd_name)

    def help_line(self, name: str) -> str:
        return self.groups[name][0][0] if name in self.groups \
            else super().help_line(name)
