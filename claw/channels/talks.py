"""What was said last, as long as the process lives: the words that a reply
refers to (some platforms name their id alone), and each chat's last
message."""

from typing import NamedTuple

_CHARS = 500
_WORDS, _CHATS = 1000, 1000


class Words(NamedTuple):
    text: str
    ours: bool


class Talks:
    """The chats of one account."""

    def __init__(self) -> None:
        self._words: dict[str, Words] = {}
        self._last: dict[str, str] = {}

    def note_ours(self, message_id: str, text: str) -> None:
        self._note(message_id, Words(text[:_CHARS], True))

    def note_theirs(self, chats: tuple[str, ...], message_id: str,
                    text: str) -> None:
        """`chats` are the addresses of the person."""
        self._note(message_id, Words(text[:_CHARS], False))
        for chat in filter(None, chats):
            self._last.pop(chat, None)
            self._last[chat] = message_id
        while len(self._last) > _CHATS:
            del self._last[next(iter(self._last))]

    def find(self, message_id: str) -> Words | None:
        return self._words.get(message_id)

    def forget(self, message_id: str) -> None:
        """It was taken back."""
        self._words.pop(message_id, None)

    def quote(self, message_id: str) -> str:
        """The words of a message as `> ` lines with a blank line after
        them."""
        found = self.find(message_id)
        if found is None:
            return _quote("An earlier message", "[not known any more]")
        return _quote("You wrote" if found.ours else "They wrote",
                      found.text)

    def last(self, chat: str) -> str | None:
        """The id of the last message of somebody."""
        return self._last.get(chat)

    def is_old(self, chat: str, message_id: str) -> bool:
        """Whether the person has written again since this message."""
        return self._last.get(chat, message_id) != message_id

    def _note(self, message_id: str, words: Words) -> None:
        self._words[message_id] = words
        while len(self._words) > _WORDS:
            del self._words[next(iter(self._words))]


def _quote(who: str, words: str) -> str:
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    return f"> {who}:\n{lines}\n\n"
