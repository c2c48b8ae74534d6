"""An answer as the calls that deliver it. Pure but for looking where a file
lies and which message can be answered, and for the keys, which are drawn.

Text goes first, in pieces, then each file; every call is one Part. `data`
holds `text` and perhaps `markdown` and `buttons`, or `path`, `name` and
`kind` of a file; `seq`, and `msg_id` of the message that is answered: QQ
shows one pair of the two once.
"""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from claw.channels.outfiles import OutFile, OutFiles, mark_received
from claw.channels.qq.markup import split_answer
from claw.channels.qq.wire import Place, is_id, read_place
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.value import replace

# Numbers that one part may use, each for another form of the same words: a
# number that was refused is perhaps used up.
FORMS = 8
_SEQUENCES = 10_000_000
_A_ROW, _ROWS = 5, 5
_OWN, _ACTION = "qq_", "qq_act_"


class PartMaker:
    """Makes the parts of messages; `latest` gives the message of a chat
    that can be answered."""

    def __init__(self, deps: ChannelDeps,
                 latest: Callable[[Place], str | None]) -> None:
        self.files = OutFiles(deps, lambda chat: mark_received("qq", chat))
        self._deps = deps
        self._latest = latest

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        place = read_place(message.recipient)
        text, files = (self.files.split(
            message.content, place.recipient if place else "")
            if message.files else (message.content, []))
        files += self.files.attached(message.attachments)
        parts = [*self._texts(text, message.links), *(
            part for file in files
            for part in self._file(file, message.links))]
        buttons = self._buttons(message)
        if buttons and parts:
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=-1)
            if at >= 0:
                parts[at] = replace(parts[at], data={
                    **parts[at].data, "buttons": buttons})
        key = (parse_id(message.answers or "") or self._latest(place)
               if place else None)
        return [replace(part, data={**part.data, "msg_id": key})
                for part in parts] if key else parts

    def _texts(self, markdown: str, links: tuple[str, ...] | None
               ) -> Iterator[Part]:
        for piece in split_answer(markdown, links):
            more = {"markdown": piece.markdown} if piece.markdown else {}
            yield _part("text", piece.text, text=piece.text, **more)

    def _file(self, file: OutFile, links: tuple[str, ...] | None
              ) -> Iterator[Part]:
        if not file.path:  # people get the address, or why there is none
            yield from self._texts(file.text, links)
            return
        yield _part("file", file.text, path=file.path, name=file.name,
                    kind=file.kind)

    def _buttons(self, message: SendMessage) -> list[list[str]]:
        found = []
        for button in message.buttons[:_A_ROW * _ROWS]:
            if button.label.strip() and 1 <= len(button.action) <= 100:
                found.append([button.label[:40], button.action])
            else:
                self._deps.log("button_left_out", label=button.label,
                               reason="its action has no 1 to 100 "
                                      "characters")
        return found


def _part(kind: str, words: str, /, **data: Any) -> Part:
    return Part(kind, words, {
        "seq": 1 + FORMS * secrets.randbelow(_SEQUENCES), **data})


def mark(part: Part, note: str) -> Part:
    """The part with a note in front; a file's stands beside it."""
    data = dict(part.data)
    for key in ("text", "markdown"):
        if data.get(key) or (key == "text" and part.kind == "file"):
            data[key] = note + str(data.get(key) or "")
    return Part(part.kind, note + part.text, data)


def make_keyboard(buttons: list[list[str]]) -> dict[str, Any]:
    """Buttons that come back as an event, in rows of five, for anybody: who
    may press one is judged here."""
    made = [{"id": str(number), "render_data": {
        "label": label, "visited_label": label, "style": 1}, "action": {
            "type": 1, "permission": {"type": 2}, "data": action,
            "unsupport_tips": "Please type your choice."}}
        for number, (label, action) in enumerate(buttons, 1)]
    return {"content": {"rows": [
        {"buttons": made[n:n + _A_ROW]}
        for n in range(0, len(made), _A_ROW)]}}


def own_id(number: str, *, action: bool = False) -> str:
    """Our id of a message, or of a pressed button."""
    return (_ACTION if action else _OWN) + number


def parse_id(own: str) -> str | None:
    """The platform's id of a message in one of ours; None for any other."""
    if own.startswith(_ACTION) or not own.startswith(_OWN):
        return None
    found = own.removeprefix(_OWN)
    return found if is_id(found) else None
