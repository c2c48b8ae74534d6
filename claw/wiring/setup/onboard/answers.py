"""What was answered so far: <home>/onboard.json, there until the end.

    {"version": 1, "before": {KEY: VALUE as TOML, masked},
     "answers": {NAME: TEXT}, "done": [STEP, ...]}

Written after each answer, whole or not at all, mode 0600; secrets are
sealed with the key of the home. `answers` are in the order in which they
were given.
"""

import fcntl
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from claw.config.keys import is_secret
from claw.config.places import Places
from claw.config.secrets import create_key, read_key, seal, unseal
from claw.config.store import current
from claw.config.write import write_file
from claw.core.errors import ClawError, StorageError, UnavailableError
from claw.core.folders import make_private

FILE = "onboard.json"
SETTING = "set."  # before a setting of the channel: set.bot_token
# An answer -> those that mean nothing once it is another one.
_HANGS_ON = {
    "import": ("import_now",),
    "provider_way": ("provider",),
    "provider": ("key_from", "api_key", "keep_key", "model_way", "model"),
    "model_way": ("model",),
    "model": ("limit", "unproven_model"),
    "channel": (SETTING, "unproven_channel", "pairing", "people", "paired"),
}
WAYS = ("provider_way", "model_way")  # lists that the answer came from
# What is kept beside the answers.
NOTES = ("key_from", "unproven_model", "unproven_channel", "paired")
_MOST_BYTES = 1 << 20


class Answers:
    """The answers of one run of the wizard, and which steps are done.

    Without `keeps` they are in memory alone. `begin` reads those of a run
    that was broken off.
    """

    def __init__(self, places: Places, *, keeps: bool = True) -> None:
        self._places = places
        self._keeps = keeps
        self._given: dict[str, str] = {}
        self._flags: set[str] = set()
        self.done: list[str] = []
        self.before: dict[str, str] | None = None

    def begin(self) -> str | None:
        """Read what is kept; a sentence where it can't be, and everything
        is asked anew then."""
        path = self._places.home / FILE
        try:
            with path.open("rb") as file:
                kept = json.loads(file.read(_MOST_BYTES))
            self._given = {str(name): self._open(str(name), str(text))
                           for name, text in kept["answers"].items()}
            self.done = [str(step) for step in kept["done"]]
            self.before = {str(key): str(value) for key, value
                           in kept["before"].items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, AttributeError,
                RecursionError, ClawError) as error:
            self._given, self.done, self.before = {}, [], None
            return (f"{path} can't be read ({describe(error)}): everything "
                    "is asked anew")
        return None

    def __bool__(self) -> bool:
        return bool(self._given)

    def get(self, name: str) -> str | None:
        return self._given.get(name)

    def list_given(self) -> dict[str, str]:
        """Every answer by its name, in order."""
        return dict(self._given)

    def list_settings(self) -> dict[str, str]:
        """The answers about settings of the channel, by their keys."""
        return {name.removeprefix(SETTING): text
                for name, text in self._given.items()
                if name.startswith(SETTING)}

    def give(self, name: str, text: str) -> None:
        """Keep an answer; another one than before takes those along that
        hang on it. Raises StorageError."""
        if self._given.get(name) == text:
            return
        if name in self._given:
            self.forget(name)
        self._given[name] = text
        self._save()

    def forget(self, *names: str) -> None:
        """Take answers back, and what hangs on them."""
        if not names:
            return
        gone, more = set[str](), {*names}
        while more:
            gone |= more
            more = {other for name in more
                    for other in _HANGS_ON.get(name, ())} - gone
        self._given = {
            name: text for name, text in self._given.items()
            if name not in gone and not (
                SETTING in gone and name.startswith(SETTING))}
        self._save()

    def give_flags(self, flags: Mapping[str, str]) -> list[str]:
        """Keep what the flags say, as if it had been answered first; the
        names whose answer is another one now."""
        changed = [name for name, text in flags.items()
                   if self._given.get(name) != text]
        self.forget(*(name for name in changed if name in self._given))
        self._given = {**flags, **{name: text for name, text
                                   in self._given.items()
                                   if name not in flags}}
        self._flags = set(flags)
        if changed:
            self._save()
        return changed

    @property
    def can_go_back(self) -> bool:
        """Whether a person gave an answer."""
        return any(name not in self._flags and name not in NOTES
                   for name in self._given)

    def take_back(self) -> str | None:
        """Forget the last answer that a person gave; its name, None where
        there is none. What a flag says stays."""
        while True:
            last = next((name for name in reversed(self._given)
                         if name not in self._flags), None)
            if last is None:
                return None
            self.forget(last, *(way for way in WAYS
                                if last in _HANGS_ON[way]))
            if last not in NOTES:
                return last

    def finish(self, step: str) -> None:
        """A step is done: its answers are in force."""
        if step not in self.done:
            self.done.append(step)
            self._save()

    def reopen(self, steps: Collection[str]) -> None:
        """These steps are to be looked at again."""
        self.done = [step for step in self.done if step not in steps]
        self._save()

    def remember_before(self, settings: Mapping[str, str]) -> None:
        """What the settings were when it all began, once."""
        if self.before is None:
            self.before = dict(settings)

    def remove(self) -> None:
        """All is done, or to be begun anew."""
        self._given, self.done, self.before = {}, [], None
        if self._keeps:
            (self._places.home / FILE).unlink(missing_ok=True)

    def _save(self) -> None:
        if self._keeps:
            write_file(self._places.home / FILE, json.dumps(
                {"version": 1, "before": self.before or {},
                 "answers": {name: self._close(name, text)
                             for name, text in self._given.items()},
                 "done": self.done}, ensure_ascii=True, indent=1).encode())

    def _close(self, name: str, text: str) -> str:
        return seal(text, find_key(self._places)) if is_private(name) \
            else text

    def _open(self, name: str, text: str) -> str:
        return unseal(text, read_key(self._places.key_file)) \
            if is_private(name) and text else text


def is_private(name: str) -> bool:
    """Whether an answer is a secret."""
    return is_secret((name.rpartition(".")[2],))


def find_key(places: Places) -> bytes:
    """The key of the home, made where there is none and nothing in
    config.toml was sealed with one that is lost. Raises ConfigError."""
    if places.key_file.exists() or b'"enc2:' in (current(places) or b""):
        return read_key(places.key_file)
    make_private(places.home)
    return create_key(places.key_file)


@contextmanager
def stay_alone(places: Places) -> Iterator[None]:
    """One wizard in a home at a time. Raises UnavailableError."""
    try:
        make_private(places.home)
        folder = os.open(places.home, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(
            f"{places.home}: cannot be written: {error.strerror}",
            hint=f"look at: ls -ld '{places.home.parent}'") from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnavailableError(
                f"another claw onboard is at work in {places.home}",
                hint="go on there, or end it first") from None
        yield
    finally:
        os.close(folder)


def describe(error: Any) -> str:
    """An error in a few words."""
    return str(getattr(error, "strerror", None)
               or getattr(error, "message", None)
               or type(error).__name__)
