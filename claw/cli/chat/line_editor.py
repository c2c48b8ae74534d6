"""The line editor of `claw agent`: prompt_toolkit with a history file.

Enter sends, Alt-Enter begins a new line, a pasted text keeps its lines.
"""

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")
    return keys


def _history(path: Path) -> History:
    """Kept for the owner only; in memory where the file can't be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        with path.open("ab"):
            return FileHistory(str(path))
    except OSError:
        return InMemoryHistory()


class LineEditor:
    """Reads what a person types."""

    def __init__(self, history: Path, words: list[str]) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_history(history), key_bindings=_keys(),
            multiline=True, prompt_continuation="  ",
            completer=WordCompleter(words, sentence=True),
            complete_while_typing=False)
        self._question: PromptSession[str] = PromptSession()

    async def read(self) -> str:
        """One message. Raises KeyboardInterrupt and EOFError."""
        return await self._session.prompt_async("> ")

    async def answer(self, question: str) -> str:
        """The answer to a short question; not kept in the history."""
        return await self._question.prompt_async(question)
