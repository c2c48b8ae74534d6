"""How a person is asked: by questionary, or line by line where the
terminal is dumb. Everything goes to stderr, and to stdout goes the result.
"""

import getpass
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from claw.cli.show.bars import count_columns, cut
from claw.cli.show.look import PROMPT_STYLE
from claw.cli.show.output import fold, join_lines, visible, wants_styles
from claw.core.value import Value

BACK = "<"  # the choice that goes back; typed, it is taken at once
_POINTER = 4  # cells before a line of a list
_FEW = 8  # choices that need no search


class Choice(Value):
    """One answer of a list; `note` stands behind it."""

    value: str
    label: str
    note: str = ""

    def write(self, columns: int) -> str:
        """The choice in one line of a terminal."""
        note = f"  ({self.note})" if self.note else ""
        return cut(join_lines(self.label + note), max(columns, 8))


class Asker(Protocol):
    """Each raises KeyboardInterrupt at Ctrl-C, EOFError at Ctrl-D."""

    def select(self, question: str, choices: Sequence[Choice],
               default: str | None) -> str: ...

    def text(self, question: str, default: str) -> str: ...

    def secret(self, question: str) -> str: ...


def open_asker() -> Asker:
    """What fits this terminal."""
    return FullAsker() if wants_styles(sys.stderr) and is_capable() \
        else PlainAsker()


def is_capable() -> bool:
    """Whether the terminal moves its cursor."""
    return os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


class FullAsker:
    """Lists to move in with the arrows, masked secrets."""

    def __init__(self, source: Any = None, target: Any = None) -> None:
        import questionary
        from prompt_toolkit.output import create_output
        self._questions = questionary
        self._style = questionary.Style(list(PROMPT_STYLE))
        self._streams = {
            "output": target or create_output(stdout=sys.stderr),
            **({"input": source} if source is not None else {})}

    def select(self, question: str, choices: Sequence[Choice],
               default: str | None) -> str:
        from claw.cli.terminal.search import improve_search
        columns = count_columns(sys.stderr) - _POINTER
        is_long = len(choices) > _FEW
        made = [self._questions.Choice(one.write(columns), value=one.value)
                for one in choices]
        asked = self._questions.select(
            question, made, qmark="?", pointer=">", style=self._style,
            instruction=f"({len(made)} lines; type to search)"
            if is_long else " ",
            default=next((one for one in made if one.value == default), None),
            use_search_filter=is_long, use_jk_keys=False,
            use_shortcuts=False, erase_when_done=True, **self._streams)
        if is_long:
            improve_search(asked.application)
        picked = str(self._ask(asked, {BACK} & {
            one.value for one in choices}))
        label = next(one.label for one in choices if one.value == picked)
        for line in fold(f"? {question} {join_lines(label)}",
                         count_columns(sys.stderr)):
            _write(f"{line}\n")
        return picked

    def text(self, question: str, default: str) -> str:
        return str(self._ask(self._questions.text(
            question, default=default, qmark="?", style=self._style,
            **self._streams)))

    def secret(self, question: str) -> str:
        return str(self._ask(self._questions.password(
            question, qmark="?", style=self._style, **self._streams)))

    def _ask(self, asked: Any, answers: Iterable[str] = ()) -> Any:
        """The answer; Ctrl-D ends a list as it ends a text, and a key of
        `answers` with itself."""
        from prompt_toolkit.key_binding import (
            KeyBindings,
            merge_key_bindings,
        )
        keys = KeyBindings()

        @keys.add("c-d", eager=True)
        def end(event: Any) -> None:
            event.app.exit(exception=EOFError(), style="class:aborting")
        for answer in answers:
            keys.add(answer, eager=True)(
                lambda event: event.app.exit(result=event.data))
        application = asked.application
        application.key_bindings = merge_key_bindings(
            [application.key_bindings, keys])
        answer = asked.unsafe_ask()
        if answer is None:
            raise KeyboardInterrupt
        return answer


class PlainAsker:
    """A numbered list, a line for an answer: for TERM=dumb, and for
    readers of the screen."""

    def select(self, question: str, choices: Sequence[Choice],
               default: str | None) -> str:
        _write(f"{question}\n")
        for number, one in enumerate(choices, 1):
            _write(f"  {number}) {one.write(count_columns(sys.stderr) - 6)}"
                   "\n")
        values = [one.value for one in choices]
        usual = values.index(default) + 1 if default in values else None
        while True:
            said = _read_line("Number" + (f" [{usual}]: " if usual
                                          else ": "))
            if not said and usual:
                return values[usual - 1]
            if said.isdecimal() and 0 < int(said) <= len(values):
                return values[int(said) - 1]
            if said in values:
                return said
            _write("There is no question before this one.\n"
                   if said == BACK else
                   f"Type a number from 1 to {len(values)}.\n")

    def text(self, question: str, default: str) -> str:
        return _read_line(f"{question} " + (f"[{visible(default)}]: "
                                            if default else "")) or default

    def secret(self, question: str) -> str:
        return getpass.getpass(f"{question} ", stream=sys.stderr)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _read_line(prompt: str) -> str:
    _write(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
