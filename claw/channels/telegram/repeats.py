"""Servers that confirm nothing: emulators that give all updates again for
ever, whatever the offset, and number them anew with each call.

There neither the update's number nor the message's tells an old message
from a new one. What does is how often the same person has said the same in
the same chat: the list holds all of it, so what it holds more often than
was taken is new. Telegram itself never gives an update below the offset.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

_MOST = 5_000
_NUMBERED = ("message_id", "date", "edit_date")


class Repeats:
    """What was taken of one server."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def is_whole_list(self, batch: Sequence[Any], numbers: Sequence[int],
                      offset: int | None) -> bool:
        """Whether this answer is all that was ever said, the offset
        ignored. A single update that is given again is no such list:
        everything that was taken must be in it."""
        if offset is None or all(number >= offset for number in numbers):
            return False
        return Counter(map(hash_words, batch)) >= self._taken

    def fresh(self, batch: Sequence[Any]) -> list[Any]:
        """The updates of a whole list that were not taken yet."""
        left = Counter(self._taken)
        news = []
        for update in batch:
            words = hash_words(update)
            if left[words] > 0:
                left[words] -= 1
            else:
                news.append(update)
        return news

    def note(self, updates: Sequence[Any]) -> None:
        """These are committed."""
        for update in updates:
            self._taken[hash_words(update)] += 1
        while len(self._taken) > _MOST:
            del self._taken[next(iter(self._taken))]

    def suffix(self, update: Any) -> str:
        """What makes the id of a message its own here: what it says, and
        how often that was said before."""
        words = hash_words(update)
        return f"_{words[:12]}{self._taken[words]}"


def hash_words(update: Any) -> str:
    """Chat, person and words of an update, without its numbers."""
    if isinstance(update, dict):
        update = {key: _drop_numbers(value) for key, value in update.items()
                  if key != "update_id"}
    text = json.dumps(update, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _drop_numbers(value: Any) -> Any:
    if not isinstance(value, dict) or "data" in value:
        return value  # a pressed button has an id of its own
    return {key: inner for key, inner in value.items()
            if key not in _NUMBERED}
