"""Completion scripts for bash, zsh and fish, made of the catalog.

The scripts are static: completing costs no Python.
"""

from collections.abc import Sequence

from claw.cli.docs.catalog import CommandInfo, OptionInfo

SHELLS = ("bash", "zsh", "fish")

# Found on fpath the file is the function's body; sourced it must register.
_ZSH_END = """if [[ $funcstack[1] == _claw ]]; then
  _claw "$@"
else
  compdef _claw claw
fi
"""


def script(shell: str, commands: Sequence[CommandInfo]) -> str:
    """The script of one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _takes_path(option: OptionInfo) -> bool:
    return any(word in option.value.upper()
               for word in ("FILE", "DIR", "PATH"))


def _bash(commands: Sequence[CommandInfo]) -> str:
    paths = sorted({name for c in commands for o in c.options
                    if _takes_path(o) for name in o.names})
    values = sorted({name for c in commands for o in c.options
                     if o.value and not _takes_path(o) for name in o.names})
    words = {c.name: " ".join([*c.commands, *(
        name for option in c.options for name in option.names)])
        for c in commands}
    rows = "\n".join(f'        "{name}") words="{every}" ;;'
                     for name, every in words.items())
    names = "|".join(f'"{c.name}"' for c in commands if c.name)
    return f"""# bash completion of claw; generated, do not edit
_claw() {{
    local cur prev words path word i
    COMPREPLY=()
    cur="${{COMP_WORDS[COMP_CWORD]}}"
    prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "$prev" in
        {"|".join(paths)}) COMPREPLY=( $(compgen -f -- "$cur") ); return ;;
        {"|".join(values)}) return ;;
    esac
    path=""
    for (( i = 1; i < COMP_CWORD; i++ )); do
        word="${{COMP_WORDS[i]}}"
        case "${{path:+$path }}$word" in
            {names}) path="${{path:+$path }}$word" ;;
        esac
    done
    case "$path" in
{rows}
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$cur") )
    [[ ${{#COMPREPLY[@]}} -eq 0 && "$cur" != -* ]] &&
        COMPREPLY=( $(compgen -f -- "$cur") )
}}
complete -o filenames -F _claw claw
"""


def _escape_zsh(text: str) -> str:
    for mark in ("\\", "'", "[", "]", ":"):
        text = text.replace(mark, " " if mark in "'\\" else "\\" + mark)
    return text


def _list_zsh_options(option: OptionInfo) -> list[str]:
    action = ":file:_files" if _takes_path(option) else ":value: "
    if option.choices:
        action = f":value:({' '.join(option.choices)})"
    return [f"    '*{name}[{_escape_zsh(option.help)}]"
            f"{action if option.value else ''}'" for name in option.names]


def _zsh_function(command: CommandInfo) -> str:
    lines = [f"_claw_{command.name.replace(' ', '_')}() {{"
             if command.name else "_claw() {",
             "  local context state line", "  typeset -A opt_args",
             "  _arguments -C -s \\"]
    for option in command.options:
        lines += [row + " \\" for row in _list_zsh_options(option)]
    if not command.commands:
        return "\n".join([*lines, "    '*:file:_files'", "}"])
    lines += ["    '1:command:->command' \\", "    '*::argument:->argument'",
              "  case $state in", "    command)", "      local -a names",
              "      names=("]
    lines += [f"        '{sub}'" for sub in command.commands]
    prefix = f"_claw_{command.name}_" if command.name else "_claw_"
    lines += ["      )", "      _describe command names ;;",
              "    argument)",
              f"      (( $+functions[{prefix}$line[1]] )) && "
              f"{prefix}$line[1] ;;", "  esac", "}"]
    return "\n".join(lines)


def _zsh(commands: Sequence[CommandInfo]) -> str:
    functions = "\n\n".join(_zsh_function(c) for c in commands)
    return ("#compdef claw\n# zsh completion of claw; generated, "
            f"do not edit\n\n{functions}\n\n{_ZSH_END}")


def _escape_fish(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _fish_condition(command: CommandInfo) -> str:
    if not command.name:
        return "__fish_use_subcommand"
    first, _, second = command.name.partition(" ")
    seen = f"__fish_seen_subcommand_from {first}"
    if second:
        return f"{seen}; and __fish_seen_subcommand_from {second}"
    if command.commands:
        subs = " ".join(command.commands)
        return f"{seen}; and not __fish_seen_subcommand_from {subs}"
    return seen


def _fish(commands: Sequence[CommandInfo]) -> str:
    by_name = {c.name: c for c in commands}
    lines = ["# fish completion of claw; generated, do not edit",
             "complete -c claw -f"]
    for command in commands:
        start = f"complete -c claw -n '{_fish_condition(command)}'"
        for sub in command.commands:
            line = by_name[f"{command.name} {sub}".strip()].line
            lines.append(f"{start} -a {sub} -d '{_escape_fish(line)}'")
        for option in command.options:
            if option.everywhere and command.name:
                continue
            lines.append(_fish_option(start, option, bool(command.name)))
        if command.name and not command.commands:
            lines.append(f"{start} -F")
    return "\n".join(lines) + "\n"


def _fish_option(start: str, option: OptionInfo, bound: bool) -> str:
    if option.everywhere:
        start = "complete -c claw"
    names = " ".join(
        f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}"
        for n in option.names)
    value = " -r -F" if _takes_path(option) else " -x" * bool(option.value)
    if option.choices:
        value = f" -x -a '{' '.join(option.choices)}'"
    return f"{start} {names}{value} -d '{_escape_fish(option.help)}'"
