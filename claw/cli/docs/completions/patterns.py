"""What bash and fish ask of a line: both walk over its words, and match
"PATH|OPTION" and "PATH|NUMBER" of an argument."""

from collections import Counter
from collections.abc import Iterator, Sequence

from claw.cli.docs.actions import (
    find_option_action,
    list_argument_actions,
    repeats,
)
from claw.cli.docs.catalog import CommandInfo

TEXT = "text"  # a value that nothing is known of


def list_option_patterns(commands: Sequence[CommandInfo]
                         ) -> Iterator[tuple[str, str, str]]:
    """Path ("*" = every command), option, action of all that take a value;
    what only one command means by an option comes first."""
    found: dict[str, dict[str, str]] = {}
    for command in commands:
        for option in command.options:
            for name in option.names if option.value else ():
                found.setdefault(name, {})[command.name] = \
                    find_option_action(command, option) or TEXT
    general = {name: Counter(by.values()).most_common(1)[0][0]
               for name, by in found.items()}
    for name, by in found.items():
        for path, action in by.items():
            if action != general[name]:
                yield path, name, action
    for action in sorted(set(general.values())):
        for name in sorted(general):
            if general[name] == action:
                yield "*", name, action


def list_argument_patterns(commands: Sequence[CommandInfo]
                           ) -> Iterator[tuple[str, str, str]]:
    """Path, number ("*" = this and all that follow), action."""
    for command in commands:
        actions = list_argument_actions(command)
        for number, action in enumerate(actions):
            last = number == len(actions) - 1
            if action:
                yield (command.name, "*" if last and repeats(command)
                       else str(number), action)
