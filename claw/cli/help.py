"""Help pages: as wide as the terminal, long ones in groups, examples at the
end; the options of every command stand on a page of their own.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from typer._click import Context
from typer._click.formatting import HelpFormatter

EVERYWHERE = "Everywhere"
OPTIONS_PAGE = "options"
CODES_PAGE = "exit-codes"
_POINTER = (f"-h, --json, -q, -w DIR and more go with every command: "
            f"claw help {OPTIONS_PAGE}")
_WIDEST = 120  # longer lines are hard to read
_NARROW = 60  # below, a meaning stands under its option
_RANGES = ((r"(\S+)<=x<=(\S+?)(?=[];])", r"\1 to \2"),
           (r"x>=(\S+?)(?=[];])", r"at least \1"),
           (r"x<=(\S+?)(?=[];])", r"at most \1"))


def examples(*lines: str) -> Callable[[Callable[..., Any]],
                                      Callable[..., Any]]:
    """Decorator: command lines for the end of `--help`."""
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__dict__["examples"] = lines
        return function
    return mark


def option_groups(groups: Mapping[str, str]
                  ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: titles for the options of a long page, each with its
    options as they are spelled last. Others stand under "Options"."""
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__dict__["option_groups"] = {
            name: title for title, names in groups.items()
            for name in names.split()}
        return function
    return mark


class Formatter(HelpFormatter):
    """As wide as the terminal, 80 columns where there is none."""

    def __init__(self) -> None:
        columns = min(shutil.get_terminal_size().columns, _WIDEST)
        super().__init__(width=max(columns, 20) - 2)

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30,
                 col_spacing: int = 2) -> None:
        if self.width >= _NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        for term, meaning in rows:
            self.write(f"{'':>{self.current_indent}}{term}\n")
            with self.indentation(), self.indentation():
                self.write_text(meaning)


class Pages:
    """What commands and groups say for `--help`."""

    params: list[Any]
    help_examples: tuple[str, ...] = ()
    help_groups: Mapping[str, str] = {}
    pointer = _POINTER

    def get_help_option_names(self, ctx: Context) -> list[str]:
        """In this order: click gives them in that of a set."""
        return list(ctx.help_option_names)

    def get_help(self, ctx: Context) -> str:
        formatter = Formatter()
        self.format_help(ctx, formatter)  # type: ignore[attr-defined]
        return formatter.getvalue().rstrip("\n")

    def format_options(self, context: Context,
                       formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {
            "Arguments": [], "Options": [],
            **{title: [] for title in self.help_groups.values()}}
        for title, record in self._list_records(context):
            sections[title].append(record)
        write_sections(formatter, sections)
        formatter.write("\n")
        formatter.write_text(self.pointer)

    def _list_records(self, context: Context
                      ) -> Iterator[tuple[str, tuple[str, str]]]:
        """What stands on the page and under which title."""
        for parameter in self.params:
            record = parameter.get_help_record(context)
            if record is None or is_everywhere(parameter):
                continue
            title = "Arguments" if parameter.param_type_name == "argument" \
                else self.help_groups.get(parameter.opts[-1], "Options")
            yield title, (record[0], _say_ranges(record[1]))

    def format_epilog(self, context: Context, formatter: Any) -> None:
        if self.help_examples:
            formatter.write("\nExamples:\n")
            for line in self.help_examples:
                formatter.write(f"  {line}\n")


def is_everywhere(parameter: Any) -> bool:
    """Whether it is one of the options that every command takes."""
    return getattr(parameter, "rich_help_panel", "") == EVERYWHERE


def show_global_options(command: Any, context: Context) -> str:
    """The page of the options that every command takes."""
    rows = [parameter.get_help_record(context)
            for parameter in command.get_params(context)
            if is_everywhere(parameter) or "--help" in parameter.opts]
    formatter = Formatter()
    formatter.write_text("They go with every command, before and after its "
                         "name.")
    write_sections(formatter, {"Options": rows})
    return formatter.getvalue().rstrip("\n")


def show_exit_codes(meanings: Mapping[int, str]) -> str:
    """The page of what exit codes mean."""
    formatter = Formatter()
    formatter.write_text("What every command says to its shell. Under --json "
                         "an error is a JSON object with its kind, too.")
    write_sections(formatter, {"Exit codes": [
        (str(int(code)), text) for code, text in meanings.items()]})
    return formatter.getvalue().rstrip("\n")


def write_sections(formatter: Any,
                   sections: Mapping[str, list[tuple[str, str]]]) -> None:
    """Those that hold something, each under its title."""
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _say_ranges(text: str) -> str:
    """[x>=1] in words."""
    for pattern, words in _RANGES:
        text = re.sub(pattern, words, text)
    return text
