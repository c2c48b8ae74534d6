"""The completion script of fish, 3.0 and later."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from claw.cli.docs.catalog import CommandInfo
from claw.cli.docs.completions.patterns import (
    list_argument_patterns,
    list_option_patterns,
)

_FUNCTIONS = r"""
# Prints the command that the line has come to, and what is completed.
function __claw_state
    set -l path ''
    set -l action ''
    set -l pending ''
    set -l only ''
    set -l count 0
    for word in (commandline -opc)[2..-1]
        if test -n "$pending"
            set pending ''
        else if test -n "$only"
            set count (math $count + 1)
        else if test "$word" = --
            set only 1
        else if string match -qr -- '^-.' "$word"
            if not string match -qr -- '^--[^=]*=' "$word"
                set action (__claw_option "$path|$word"); and set pending 1
            end
        else if test "$word" = help -a -z "$path"
            continue
        else if test $count -eq 0
            and __claw_command (string trim "$path $word")
            set path (string trim "$path $word")
        else
            set count (math $count + 1)
        end
    end
    set -l current (commandline -ct)
    if test -z "$pending"
        set action ''
        if test -z "$only"; and string match -qr -- '^--[^=]*=' "$current"
            set -l option (string replace -r '=.*' '' -- "$current")
            set action (__claw_option "$path|$option")
        else if test -z "$only"; and string match -qr -- '^-' "$current"
            set action options
        else
            set action (__claw_argument "$path|$count")
        end
    end
    printf '%s\n' "$path" "$action"
end

function __claw_wants_files
    test (__claw_state)[2] = file
end

function __claw_complete
    set -l state (__claw_state)
    set -l line (commandline -opc)
    set -l current (commandline -ct)
    set -l glued (string match -r -- '^--[^=]*=' "$current")
    switch $state[2]
        case names options
            __claw_words "$state[1]|$state[2]"
        case folder
            __fish_complete_directories \
                (string replace -- "$glued" '' "$current") folder
        case 'words *'
            printf "$glued%s\n" (string split ' ' -- $state[2])[2..-1]
        case 'value *'
            set -l program (string replace -r '^~/' "$HOME/" -- $line[1])
            set -l kind (string sub -s 7 -- $state[2])
            command $program __complete fish $kind "$current" \
                -- $line[2..-1] 2>/dev/null </dev/null
    end
end

complete -c claw -f
complete -c claw -n __claw_wants_files -F
complete -c claw -a '(__claw_complete)'
"""


def script(commands: Sequence[CommandInfo]) -> str:
    """The whole script."""
    return "\n".join([
        "# fish completion of claw; generated, do not edit",
        *_switch("__claw_command", [
            (" ".join(_quote(c.name) for c in commands if c.name), "true"),
            ("'*'", "false")]),
        *_switch("__claw_option", [
            *_list_options(commands), ("'*'", "false")]),
        *_switch("__claw_argument", [
            *((_quote(f"{c.name}|0"), "echo names")
              for c in commands if c.commands),
            *((_quote(f"{path}|{number}"), f"echo {_quote(action)}")
              for path, number, action in list_argument_patterns(commands))
            ]),
        *_switch("__claw_words", _list_words(commands))]) + _FUNCTIONS


def _switch(name: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"function {name}", "    switch $argv[1]",
            *(f"        case {pattern}\n            {body}"
              for pattern, body in rows), "    end", "end"]


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _list_options(commands: Sequence[CommandInfo]) -> list[tuple[str, str]]:
    return [(" ".join(_quote(f"{path}|{name}") for path, name, _ in group),
             f"echo {_quote(action)}")
            for (action, _), group in groupby(
                list_option_patterns(commands),
                key=lambda row: (row[2], row[0] == "*"))]


def _list_words(commands: Sequence[CommandInfo]) -> list[tuple[str, str]]:
    by_name = {c.name: c for c in commands}
    rows = []
    for command in commands:
        options = [f"{name}\t{option.help}" for option in command.options
                   for name in option.names]
        rows.append((_quote(f"{command.name}|options"), _print(options)))
        if command.commands:
            rows.append((_quote(f"{command.name}|names"), _print(
                f"{sub}\t" + by_name[f"{command.name} {sub}".strip()].line
                for sub in command.commands)))
    return rows


def _print(lines: Iterable[str]) -> str:
    return "printf '%s\\n' " + " ".join(map(_quote, lines))
