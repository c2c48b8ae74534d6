"""The completion script of zsh, on top of its own _arguments."""

from collections.abc import Sequence

from claw.cli.docs.actions import (
    find_option_action,
    list_argument_actions,
    repeats,
)
from claw.cli.docs.catalog import CommandInfo, OptionInfo

_VALUE = r"""# The values of a kind, with what they are.
_claw_value() {
  local kind=$argv[-1] value text
  local -a rows values shown open opened
  argv[-1]=()
  rows=("${(@0)$(${(Q)~_claw_program} __complete zsh $kind "${(Q)PREFIX}" \
    -- "${(@Q)_claw_line}" 2>/dev/null </dev/null)}")
  for value text in "${(@)rows}"; do
    if [[ $value == *[.:=] ]]; then
      open+=("$value") opened+=("$text")
    elif [[ -n $value ]]; then
      values+=("$value") shown+=("$text")
    fi
  done
  compadd "$@" -l -d opened -S '' -a open
  compadd "$@" -l -d shown -a values
}
"""

# Found on fpath the file is the function's body; sourced it must register,
# also where no .zshrc has loaded the completion system.
_END = """if [[ $funcstack[1] == _claw ]]; then
  _claw "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _claw claw
fi
"""


def script(commands: Sequence[CommandInfo]) -> str:
    """The whole script."""
    by_name = {c.name: c for c in commands}
    functions = "\n\n".join(_function(c, by_name) for c in commands)
    return ("#compdef claw\n# zsh completion of claw; generated, "
            f"do not edit\n\n{_VALUE}\n{functions}\n\n{_END}")


def _escape(text: str) -> str:
    for mark in ("\\", "'", "[", "]", ":"):
        text = text.replace(mark, " " if mark in "'\\" else "\\" + mark)
    return text


def _show_action(action: str) -> str:
    """What _arguments does with a value."""
    word, _, rest = action.partition(" ")
    return {"file": ":file:_files", "folder": ":folder:_files -/",
            "words": f":value:({rest})",
            "value": f":{rest}:_claw_value {rest}"}.get(word, ":value: ")


def _list_options(command: CommandInfo, option: OptionInfo) -> list[str]:
    action = _show_action(find_option_action(command, option)) \
        if option.value else ""
    glued = {True: "=", False: "+"}
    return [f"    '*{name}{glued[name.startswith('--')] if action else ''}"
            f"[{_escape(option.help)}]{action}'" for name in option.names]


def _function(command: CommandInfo, by_name: dict[str, CommandInfo]) -> str:
    lines = ["_claw_" + command.name.replace(" ", "_") + "() {"
             if command.name else "_claw() {"]
    if not command.name:
        lines += ["  local _claw_program=$words[1]", "  local -a _claw_line",
                  '  _claw_line=("${(@)words[2,CURRENT-1]}")']
    lines += ["  local context state line", "  typeset -A opt_args",
              "  _arguments -C -s \\"]
    for option in command.options:
        lines += [row + " \\" for row in _list_options(command, option)]
    if not command.commands:
        return "\n".join([*lines, *_list_arguments(command), "}"])
    lines += ["    '1:command:->command' \\", "    '*::argument:->argument'",
              "  case $state in", "    command)", "      local -a names",
              "      names=("]
    for sub in command.commands:
        line = by_name[f"{command.name} {sub}".strip()].line
        lines.append(f"        '{sub}:{_escape(line)}'")
    prefix = f"_claw_{command.name}_" if command.name else "_claw_"
    lines += ["      )", "      _describe command names ;;",
              "    argument)",
              f"      (( $+functions[{prefix}$line[1]] )) && "
              f"{prefix}$line[1] ;;", "  esac", "}"]
    return "\n".join(lines)


def _list_arguments(command: CommandInfo) -> list[str]:
    if command.name == "help":  # the words behind it are those of claw
        return ["    '*::command:_claw'"]
    actions = list_argument_actions(command)
    last = len(actions) - 1
    rows = [f"    '{'*' if at == last and repeats(command) else at + 1}"
            f"{_show_action(action)}'" for at, action in enumerate(actions)]
    return [row + " \\" for row in rows[:-1]] + rows[-1:] if rows \
        else ["    '*: : '"]
