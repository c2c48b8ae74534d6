"""The line editor of `claw agent`: prompt_toolkit with a history file.

Enter sends, Alt-Enter begins a new line, a pasted text keeps its lines.
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output

from claw.cli.chat.completer import SlashCompleter
from claw.core.errors import StorageError
from claw.core.streams import get_stdout
from claw.security.files import nofollow


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")
    return keys


class _KeptHistory(History):
    """What was typed, in prompt_toolkit's own format: a line "# <time>" and
    the lines of the text, each after a "+". Its FileHistory follows links."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._place = nofollow.split(path)
        self._say = say
        os.close(self._open(os.O_RDONLY))
        super().__init__()

    def load_history_strings(self) -> Iterable[str]:
        with open(self._open(os.O_RDONLY), "rb") as file:
            text = file.read().decode("utf-8", "replace")
        found: list[str] = []
        before = ""
        for line in text.split("\n"):
            if line[:1] == "+":
                found.append(f"{found.pop()}\n{line[1:]}"
                             if before == "+" else line[1:])
            before = line[:1]
        return reversed(found)

    def store_string(self, string: str) -> None:
        """A full disk must not break the prompt: it is said."""
        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        try:
            with open(self._open(os.O_WRONLY | os.O_APPEND), "ab") as file:
                file.write(f"\n# {datetime.now()}\n{lines}".encode(
                    "utf-8", "replace"))
        except (OSError, StorageError) as error:
            self._say(f"what you typed is not kept for the next time: {error}")

    def _open(self, flags: int) -> int:
        return nofollow.open_file(*self._place, flags | os.O_CREAT)


def _history(path: Path | None, say: Callable[[str], None]) -> History:
    """Kept for the owner only; in memory without a file, and where it can't
    be written."""
    if path is None:
        return InMemoryHistory()
    try:
        return _KeptHistory(path, say)
    except (OSError, StorageError):
        return InMemoryHistory()


class LineEditor:
    """Reads what a person types."""

    def __init__(self, history: Path | None) -> None:
        self.list_models: Callable[[], Iterable[str]] = tuple
        self.notify: Callable[[str], None] = lambda text: None
        self._problem = ""
        screen = create_output(get_stdout())
        self._session: PromptSession[str] = PromptSession(
            output=screen,
            history=_history(history, self._note_problem),
            key_bindings=_keys(),
            multiline=True, prompt_continuation="  ",
            completer=SlashCompleter(lambda: self.list_models()),
            complete_while_typing=False, enable_open_in_editor=True,
            tempfile_suffix=".md")
        self._question: PromptSession[str] = PromptSession(
            output=screen)

    async def read(self, text: str = "") -> str:
        """One message; `text` stands there to be changed. Raises
        KeyboardInterrupt and EOFError."""
        line = await self._session.prompt_async("> ", default=text)
        if self._problem:
            self.notify(self._problem)
            self._problem = ""
        return line

    def _note_problem(self, text: str) -> None:
        """To be said when the prompt is off the screen."""
        self._problem = text

    async def answer(self, question: str) -> str:
        """The answer to a short question; not kept in the history."""
        return await self._question.prompt_async(question)
