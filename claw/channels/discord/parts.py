"""An answer as the calls that deliver it. Pure but for looking where a file
lies, and for the nonces, which are drawn.

Text goes first, in pieces of at most 2,000 characters with their mark, then
each file; every call is one Part. `data` holds the `nonce`, and `text`, or
`path` and `name` of a file and the `text` beside it, or `question` and
`options` of a poll; and perhaps `components`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from claw.channels.discord.markup import TEXT_CHARS, escape, split_markdown
from claw.channels.discord.nonces import draw_nonce
from claw.channels.outfiles import OutFile, OutFiles, mark_received
from claw.core.channel import Button, ChannelDeps, Part, SendMessage
from claw.core.value import replace

NOTE_CHARS = 32  # kept free in a text, for the mark of one that repeats
UPLOAD_BYTES = 10 * 1024 * 1024  # what a server without boosts takes
_ACTION_CHARS, _LABEL_CHARS = 100, 80
_ROW, _BUTTON, _GREY = 1, 2, 2
_A_ROW, _ROWS = 5, 5
_QUESTION_CHARS, _OPTION_CHARS, _MOST_OPTIONS = 300, 55, 10


class PartMaker:
    """Makes the parts of messages; `now` is Unix seconds."""

    def __init__(self, deps: ChannelDeps, now: Callable[[], float]) -> None:
        self.files = OutFiles(deps, lambda chat: mark_received(
            "discord", chat))
        self._deps = deps
        self._now = now

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        text, files = (self.files.split(
            message.content, message.recipient.strip()) if message.files
            else (message.content, []))
        files += self.files.attached(message.attachments)
        parts = [
            *self._texts(text, message.links),
            *(part for file in files
              for part in self._file(file, message.links))]
        components = self._components(message.buttons)
        if components and parts:
            # Buttons stand under the last text, else under the last file.
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=len(parts) - 1)
            parts[at] = replace(parts[at], data={
                **parts[at].data, "components": components})
        return parts

    def poll_part(self, message: SendMessage) -> Part | None:
        """A message's poll; None for one that is too long for a poll."""
        question, *options = message.poll
        if not question.strip() \
                or len(question) > _QUESTION_CHARS - NOTE_CHARS \
                or not 2 <= len(options) <= _MOST_OPTIONS \
                or not all(option.strip() and len(option) <= _OPTION_CHARS
                           for option in options):
            return None
        return self._part("poll", message.content, question=question,
                          options=options)

    def _texts(self, markdown: str, links: tuple[str, ...] | None
               ) -> Iterator[Part]:
        for piece in split_markdown(markdown, TEXT_CHARS - NOTE_CHARS,
                                    links):
            yield self._part("text", piece, text=piece)

    def _file(self, file: OutFile, links: tuple[str, ...] | None
              ) -> Iterator[Part]:
        if not file.path:  # people get the address, or why there is none
            yield from self._texts(escape(file.text) if file.problem
                                   else file.text, links)
            return
        yield self._part("voice" if file.kind == "voice" else "file",
                         file.text, path=file.path, name=file.name)

    def _part(self, kind: str, text: str, /, **data: Any) -> Part:
        return Part(kind, text, {"nonce": draw_nonce(self._now()), **data})

    def _components(self, buttons: Sequence[Button]
                    ) -> list[dict[str, Any]]:
        """Buttons in rows of five."""
        good = []
        for button in buttons:
            if not 1 <= len(button.action) <= _ACTION_CHARS \
                    or not button.label.strip():
                self._deps.log("button_left_out", label=button.label,
                               reason="its action has no 1 to 100 "
                                      "characters")
                continue
            good.append({"type": _BUTTON, "style": _GREY,
                         "label": button.label[:_LABEL_CHARS],
                         "custom_id": button.action})
        return [{"type": _ROW, "components": good[n:n + _A_ROW]}
                for n in range(0, min(len(good), _A_ROW * _ROWS), _A_ROW)]


def mark(part: Part, note: str) -> Part:
    """The part with a note in front: in its text, in its question, or
    beside its file. A voice message has no room for one and is a file."""
    data = dict(part.data)
    if part.kind == "poll":
        data["question"] = note + str(data["question"])
    else:
        data["text"] = (note + str(data.get("text") or "")).strip()
    return Part("file" if part.kind == "voice" else part.kind,
                note + part.text, data)
