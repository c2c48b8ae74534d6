"""Searching a list of questionary by typing.

By itself questionary takes ASCII alone, compares code points, and shows the
whole list where nothing matches, so that Enter would take a line of it.
Source: questionary 2.1, prompts/common.py and prompts/select.py.
"""

from typing import Any
from unicodedata import normalize

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import (
    KeyBindings,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.keys import Keys
from questionary.prompts.common import Choice, InquirerControl


def improve_search(application: Application[Any]) -> None:
    """Let a list be searched in any script, and let Enter do nothing where
    nothing matches."""
    parts: list[Any] = [window.content for window
                        in application.layout.find_all_windows()]
    rows = next(part for part in parts if hasattr(part, "search_filter"))
    line = next(part for part in parts if getattr(
        part, "text", None) == rows.get_search_string_tokens)
    rows.__class__ = _Rows  # questionary takes no class for them

    def write_search() -> Any:
        written = rows.get_search_string_tokens()
        return [*written, ("", " nothing matches")] \
            if written and not rows.find_matches() else written
    line.text = write_search
    keys = KeyBindings()

    @keys.add(Keys.Any)
    def add_letter(event: KeyPressEvent) -> None:
        letter = event.key_sequence[0].key
        if not isinstance(letter, Keys):  # those are arrows and the like
            rows.add_search_character(letter)

    @keys.add(Keys.BracketedPaste, eager=True)
    def add_pasted(event: KeyPressEvent) -> None:
        if text := " ".join(event.data.split()):
            rows.add_search_character(text)

    @keys.add("enter", eager=True)
    def take(event: KeyPressEvent) -> None:
        if rows.find_matches():
            rows.is_answered = True
            event.app.exit(result=rows.get_pointed_at().value)
    application.key_bindings = merge_key_bindings(
        [application.key_bindings or KeyBindings(), keys])


def fold(text: str) -> str:
    """A text as it is compared: case, width and normal form do not count,
    and half a Korean syllable finds the whole one."""
    return normalize("NFKD", normalize("NFKD", text).casefold())


class _Rows(InquirerControl):
    """The rows of a list, searched by `fold`."""

    def find_matches(self) -> list[Choice]:
        sought = fold(self.search_filter or "")
        return [row for row in self.choices if sought in fold(str(row.title))]

    @property
    def filtered_choices(self) -> list[Choice]:
        found = self.find_matches()
        self.found_in_search = bool(found)
        return found or self.choices

    def add_search_character(self, char: Any) -> None:
        """A letter with its marks is one, also for Backspace."""
        super().add_search_character(char)
        if self.search_filter is not None:
            self.search_filter = normalize("NFC", self.search_filter)
