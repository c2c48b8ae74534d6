"""The completion script of bash, 3.2 (macOS) and later."""

from collections.abc import Sequence
from itertools import groupby

from claw.cli.docs.catalog import CommandInfo
from claw.cli.docs.completions.patterns import (
    list_argument_patterns,
    list_option_patterns,
)

_FUNCTIONS = r"""
# The values of a kind, quoted by claw for where they go. Where bash only
# lists them (COMP_TYPE ?, !, @), ids come with what they stand for.
_claw_values() {
    local row how=bash program="${COMP_WORDS[0]}"
    case "$COMP_TYPE" in 63|33|64) how=bash-list ;; esac
    case "$program" in "~/"*) program="$HOME/${program#"~/"}" ;; esac
    while IFS= read -r row; do
        [[ -n "$row" ]] && COMPREPLY+=("$row")
    done <<< "$("$program" __complete $how "$1" "$current" \
        "$COMP_WORDBREAKS" -- "${typed[@]}" 2>/dev/null </dev/null)"
    compopt -o nosort 2>/dev/null
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[.:=] ]] &&
        compopt -o nospace 2>/dev/null
}

# Files are Readline's own matter; an old bash has no compopt.
_claw_files() {
    compopt -o "$1" 2>/dev/null && return
    local row
    while IFS= read -r row; do
        [[ -n "$row" ]] && COMPREPLY+=("$row")
    done <<< "$(compgen -f -- "$current")"
}

# Words as they stand on the line: bash cuts them at = and : too.
_claw_read_line() {
    local i word line="${COMP_LINE:0:COMP_POINT}"
    typed=()
    for (( i = 0; i < COMP_CWORD; i++ )); do
        word="${COMP_WORDS[i]}"
        if [[ "$i" -eq 0 || "$line" == [[:space:]]* ]]; then
            typed+=("$word")
        else
            typed[${#typed[@]}-1]+="$word"
        fi
        line="${line#"${line%%[![:space:]]*}"}"
        line="${line#"$word"}"
    done
    if [[ "$line" == [[:space:]]* ]]; then
        current="${line#"${line%%[![:space:]]*}"}"
    else
        i=$(( ${#typed[@]} - 1 ))
        current="${typed[i]}$line"
        unset "typed[i]"
    fi
    typed=("${typed[@]:1}")
}

_claw() {
    local current word action="" path="" pending="" only="" count=0
    local -a typed
    COMPREPLY=()
    _claw_read_line
    for word in "${typed[@]}"; do
        if [[ -n "$pending" ]]; then
            pending=""
        elif [[ -n "$only" ]]; then
            count=$(( count + 1 ))
        elif [[ "$word" == -- ]]; then
            only=1
        elif [[ "$word" == -?* ]]; then
            [[ "$word" != --*=* ]] && _claw_option "$path|$word" && pending=1
        elif [[ "$word" == help && -z "$path" ]]; then
            continue
        elif [[ "$count" -eq 0 ]] && _claw_command "${path:+$path }$word"; then
            path="${path:+$path }$word"
        else
            count=$(( count + 1 ))
        fi
    done
    if [[ -z "$pending" ]]; then
        action=""
        if [[ -z "$only" && "$current" == --*=* ]]; then
            _claw_option "$path|${current%%=*}" || return
        elif [[ -z "$only" && "$current" == -* ]]; then
            action="options"
        else
            _claw_argument "$path|$count"
        fi
    fi
    word="${current#--*=}"
    [[ "$current" == --*=* ]] || word="$current"
    case "$action" in
        file) _claw_files default ;;
        folder) _claw_files dirnames ;;
        value*) _claw_values "${action#value }" ;;
        options|names)
            COMPREPLY=( $(compgen -W "$(_claw_words "$path" "$action")" \
                -- "$current") ) ;;
        words*) COMPREPLY=( $(compgen -W "${action#words }" -- "$word") ) ;;
    esac
}
complete -F _claw claw
"""


def script(commands: Sequence[CommandInfo]) -> str:
    """The whole script."""
    return "\n".join([
        "# bash completion of claw; generated, do not edit",
        *_case("_claw_command", '"$1"', [
            ("|".join(f'"{c.name}"' for c in commands if c.name), ""),
            ("*", "return 1")]),
        *_case("_claw_option", '"$1"', [
            *_list_options(commands), ("*", "return 1")]),
        *_case("_claw_argument", '"$1"', [
            *((f'"{c.name}|0"', 'action="names"')
              for c in commands if c.commands),
            *_list_arguments(commands)]),
        *_case("_claw_words", '"$1|$2"', _list_words(commands))]) + _FUNCTIONS


def _case(name: str, value: str, rows: Sequence[tuple[str, str]]
          ) -> list[str]:
    return [f"{name}() {{", f"    case {value} in",
            *(f"        {pattern}) {body} ;;" for pattern, body in rows),
            "    esac", "}"]


def _list_options(commands: Sequence[CommandInfo]) -> list[tuple[str, str]]:
    rows = []
    for action, group in groupby(list_option_patterns(commands),
                                 key=lambda row: (row[2], row[0] == "*")):
        patterns = [f'*"|{name}"' if path == "*" else f'"{path}|{name}"'
                    for path, name, _ in group]
        rows.append(("|".join(patterns), f'action="{action[0]}"'))
    return rows


def _list_arguments(commands: Sequence[CommandInfo]
                    ) -> list[tuple[str, str]]:
    return [(f'"{path}|"*' if number == "*" else f'"{path}|{number}"',
             f'action="{action}"')
            for path, number, action in list_argument_patterns(commands)]


def _list_words(commands: Sequence[CommandInfo]) -> list[tuple[str, str]]:
    rows = []
    for command in commands:
        options = " ".join(name for option in command.options
                           for name in option.names)
        rows.append((f'"{command.name}|options"', f'echo "{options}"'))
        if command.commands:
            rows.append((f'"{command.name}|names"',
                         f'echo "{" ".join(command.commands)}"'))
    return rows
