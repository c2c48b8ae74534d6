"""What Tab completes in `claw agent`: commands, models and files."""

import re
from collections.abc import Callable, Iterable

from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    PathCompleter,
)
from prompt_toolkit.document import Document

from claw.cli.chat.slash import COMMANDS
from claw.cli.show.output import visible

_MODEL = re.compile(r"/(?:model|retry)\s+(\S*)")
_WORD = re.compile(r"\S*\Z")


class SlashCompleter(Completer):
    """`models` gives the names that are known without asking anybody."""

    def __init__(self, models: Callable[[], Iterable[str]]) -> None:
        self._models = models
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document,
                        complete_event: CompleteEvent
                        ) -> Iterable[Completion]:
        text = document.text_before_cursor
        found = _WORD.search(text)
        word = found[0] if found else ""
        if found := _MODEL.fullmatch(text):
            for name in self._models():
                if name.startswith(found[1]) and name.isprintable():
                    yield Completion(name, -len(found[1]))
        elif text == word and text.startswith("/") and text.count("/") == 1:
            for name, (rest, meta) in COMMANDS.items():
                if name.startswith(word):
                    yield Completion(name + " " * bool(rest), -len(word),
                                     display=name, display_meta=meta)
        elif "/" in word or word[:1] in ("~", ".") \
                or text.startswith("/save "):
            for path in self._paths.get_completions(
                    Document(word), complete_event):
                # a name must not turn or move what stands around it
                yield Completion(path.text, path.start_position,
                                 display=visible(path.display_text))
