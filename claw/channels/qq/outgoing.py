"""Sending: one part, in the form that QQ takes, as an answer to what may be
answered.

A part is an answer to its own message under its own number, so that sending
it twice shows it once (40054005 says that it came). Where that message can't
be answered any more the newest one of the chat is, else it goes of the bot's
own accord; where QQ does not take that now, the part waits in the outbox.
What is refused was not shown: then a plainer form goes, under another number.
"""

import asyncio
import base64
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from claw.channels.outfiles import OutsideError
from claw.channels.qq.api import FILE_S, Api, RefusedError
from claw.channels.qq.chats import Anchor, Chats
from claw.channels.qq.markup import TEXT_CHARS, disarm, find_hosts
from claw.channels.qq.parts import FORMS, PartMaker, make_keyboard
from claw.channels.qq.wire import USER, Place, read_place
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name

UPLOAD_BYTES = 10 * 1024 * 1024
RECHECK_S = 15.0  # until it is seen that somebody has written
FORGET_S = 86_400.0  # until a form that was refused is tried again
DUPLICATE = 40054005
_TEXT, _MARKDOWN, _MEDIA, _TYPING = 0, 2, 7, 6
# Forms of one part; each goes under a number of its own.
_BUTTONS, _RICH, _PLAIN, _DISARMED, _FILE, _INSTEAD = range(6)
_SIGN = FORMS - 1
_GONE = (22009, 40034024, 40034025, 304026, 304027, 304028, 50048)
_NOT_NOW = (22009, 40034101, 40034102, 40034103, 40034104, 40034105, 304022,
            304035, 304045, 304046, 304047, 304048, 304049, 304050)
_NO_LINKS = (40054010, 40034028, 304003)
_LEARNED = {"markdown": (40034012, 304036, 304041, 50055, 50056, 50057),
            "buttons": (304037, 304038, 304039, 304040, 50037)}
_VOICES = ("mp3", "wav", "silk")
_MOST_TRIES = 12
_MOST_SENT = 1000
_HOSTS, _MOST_HOSTS = "refused:hosts", 200

Form = tuple[int, dict[str, Any]]


class Sender:
    """The sending half of one bot; `now` is Unix seconds."""

    def __init__(self, api: Api, deps: ChannelDeps, chats: Chats, *,
                 markdown: bool, now: Callable[[], float]) -> None:
        self._api = api
        self._chats = chats
        self._marks = deps.marks
        self._log = deps.log
        self._markdown = markdown
        self._now = now
        self._maker = PartMaker(deps, chats.latest)
        self._sent: dict[tuple[str, int], str] = {}  # ids of keys
        self.parts = self._maker.parts

    def knows_key(self, message: SendMessage, part: Part) -> bool:
        """Whether QQ would show a repetition of this part once."""
        place = read_place(message.recipient)
        key = part.data.get("msg_id")
        return place is not None and place.has_keys \
            and isinstance(key, str) and self._chats.holds_key(place, key)

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str | None:
        """Deliver one part; its message id. None where QQ says that it came
        before, or lets somebody look at it first."""
        place = read_place(message.recipient)
        if place is None:
            raise RequestRefusedError(
                f"{message.recipient[:80]!a} is no QQ chat", status=400,
                hint="a person is user:OPENID, a group group:OPENID; claw "
                     "log shows them")
        if part.kind == "file":
            return await self._file(place, part, leaving)
        return await self._deliver(place, part, self._forms(place, part),
                                   leaving)

    async def type(self, recipient: str) -> None:
        """Show that an answer is being written: once a message, since it
        counts as one of its five answers."""
        place = read_place(recipient)
        if place is None or place.kind != USER:
            return
        key = self._chats.latest(place)
        if key is None or self._chats.count_answers(place, key):
            return
        self._chats.use(place, key)
        await self._api.cosmetic("POST", f"{place.path}/messages", {
            "msg_type": _TYPING, "msg_id": key,
            "msg_seq": 1 + _SIGN + FORMS * secrets.randbelow(10_000_000),
            "input_notify": {"input_type": 1, "input_second": 60}})

    # -- forms

    def _forms(self, place: Place, part: Part) -> list[Form]:
        """The part, from the richest form that QQ may take to the
        plainest."""
        text = str(part.data.get("text") or part.text)
        rich = str(part.data.get("markdown") or "")
        buttons = part.data.get("buttons")
        plain = [(_PLAIN, {"msg_type": _TEXT, "content": text})]
        if hosts := find_hosts(text):
            disarmed = disarm(text)[:TEXT_CHARS]
            plain.append((_DISARMED, {"msg_type": _TEXT,
                                      "content": disarmed}))
            if hosts & set(self._refused_hosts()):
                return plain[1:]
        if not place.has_keys or not self._markdown \
                or not self._takes("markdown"):
            return plain
        forms: list[Form] = []
        if buttons and self._takes("buttons"):
            forms.append((_BUTTONS, {
                "msg_type": _MARKDOWN, "markdown": {"content": rich or text},
                "keyboard": make_keyboard(buttons)}))
        if rich:
            forms.append((_RICH, {"msg_type": _MARKDOWN,
                                  "markdown": {"content": rich}}))
        return forms + plain

    def _takes(self, what: str) -> bool:
        """Whether QQ has not refused that lately."""
        try:
            return self._now() - float(
                self._marks.get(f"refused:{what}") or "-inf") > FORGET_S
        except ValueError:  # not by us
            return True

    def _refused_hosts(self) -> dict[str, int]:
        """Those of which a link was refused lately, and when."""
        try:
            known = msgspec.json.decode(self._marks.get(_HOSTS) or "{}",
                                        type=dict[str, int])
        except ValueError:  # not by us
            return {}
        return {host: at for host, at in known.items()
                if self._now() - at < FORGET_S}

    def _note_hosts(self, form: Form) -> None:
        """Their links are refused. This is kept before the text goes out
        without them: its first number may be used up, and would pass for
        sent after a kill."""
        text = str(form[1].get("content")
                   or form[1].get("markdown", {}).get("content"))
        known = self._refused_hosts()
        known.update(dict.fromkeys(find_hosts(text), int(self._now())))
        self._marks.set(_HOSTS, msgspec.json.encode(
            dict(list(known.items())[-_MOST_HOSTS:])).decode())

    def _plainer(self, forms: list[Form], at: int, error: RefusedError
                 ) -> int | None:
        """The form to try after a refusal; None where that will not help."""
        for what, codes in _LEARNED.items():
            if error.code in codes:
                self._log("qq_refuses", what=what, error=error.message)
                self._marks.set(f"refused:{what}", str(int(self._now())))
        number = forms[at][0]
        if error.code in _NO_LINKS:
            self._log("qq_refuses", what="links", error=error.message)
            self._note_hosts(forms[at])
            return next((n for n in range(at + 1, len(forms))
                         if forms[n][0] in (_DISARMED, _INSTEAD)), None)
        if number in (_BUTTONS, _RICH, _FILE):
            if error.code in _LEARNED["markdown"]:
                return next(n for n in range(at + 1, len(forms))
                            if forms[n][0] not in (_BUTTONS, _RICH))
            return at + 1 if at + 1 < len(forms) else None
        return None

    # -- the calls

    async def _deliver(self, place: Place, part: Part, forms: list[Form],
                       leaving: Callable[[], None] | None) -> str | None:
        wanted = part.data.get("msg_id")
        wanted = wanted if isinstance(wanted, str) else None
        at = 0
        for _ in range(_MOST_TRIES):
            anchor = self._chats.pick(place, wanted)
            if anchor is None and (why := self._chats.why_closed(place)):
                raise _not_now(place, why)
            try:
                return await self._post(place, anchor, part, forms[at],
                                        leaving)
            except RefusedError as error:
                if anchor is not None and _is_gone(error):
                    self._chats.use(place, anchor.id, up=True)
                elif anchor is None and _is_not_now(error):
                    self._chats.close(place, "QQ takes no message of the "
                                      "bot's own accord there "
                                      f"({error.code})")
                elif (plainer := self._plainer(forms, at, error)
                        ) is not None:
                    at = plainer
                else:
                    raise
        raise UnavailableError("QQ refuses every form of a message",
                               hint="see: claw channel doctor qq")

    async def _post(self, place: Place, anchor: Anchor | None, part: Part,
                    form: Form, leaving: Callable[[], None] | None
                    ) -> str | None:
        number, body = form
        sequence = _sequence(part) + number
        sent = dict(body)
        if place.has_keys:
            sent["msg_seq"] = sequence
        else:
            del sent["msg_type"]
        if anchor is not None:
            sent["event_id" if anchor.is_event else "msg_id"] = anchor.id
        key = (anchor.id if anchor else place.recipient, sequence)
        try:
            found = await self._api.call(
                "POST", f"{place.path}/messages", sent,
                chat=place.recipient, leaving=leaving)
        except RefusedError as error:
            if error.code == DUPLICATE:
                return self._sent.get(key)
            raise
        if anchor is not None:
            self._chats.use(place, anchor.id)
        return self._note_sent(key, found)

    def _note_sent(self, key: tuple[str, int], found: Any) -> str | None:
        if not isinstance(found, dict):
            raise UnavailableError("QQ answered a new message with no object")
        number = found.get("id")
        if not isinstance(number, str) or not number:
            if _read_audit(found):
                self._log("waits_for_review", hint="QQ shows it once "
                          "somebody there has looked at it")
                return None
            raise UnavailableError("QQ answered a new message without its "
                                   "id")
        if len(self._sent) >= _MOST_SENT:
            self._sent.clear()
        self._sent[key] = number
        return number

    async def _file(self, place: Place, part: Part,
                    leaving: Callable[[], None] | None) -> str | None:
        note = str(part.data.get("text") or "")
        try:
            if not place.has_keys:
                raise RequestRefusedError("QQ takes no files there")
            info = await self._upload(place, part)
        except (RequestRefusedError, OutsideError, OSError) as error:
            return await self._deliver(place, part, [
                _instead(part, str(error))], leaving)
        return await self._deliver(place, part, [
            (_FILE, {"msg_type": _MEDIA, "content": note or " ",
                     "media": {"file_info": info}}),
            _instead(part, "QQ refused it")], leaving)

    async def _upload(self, place: Place, part: Part) -> str:
        """QQ's name of a file that is there now. Raises what reading the
        file and the calls raise."""
        name = safe_name(str(part.data.get("name", "")), "file")
        try:
            content = await asyncio.to_thread(
                self._maker.files.read, str(part.data["path"]), UPLOAD_BYTES)
        except ClawError as error:
            raise RequestRefusedError(error.message) from error
        data = base64.b64encode(content).decode()
        kind = _file_type(str(part.data.get("kind")), name)
        for file_type in dict.fromkeys((kind, 4)):
            try:
                found = await self._api.call(
                    "POST", f"{place.path}/files", {
                        "file_type": file_type, "srv_send_msg": False,
                        "file_data": data, "file_name": name},
                    chat=place.recipient, timeout_s=FILE_S)
            except RefusedError:
                if file_type == 4:
                    raise
                continue
            info = found.get("file_info") if isinstance(found, dict) else None
            if isinstance(info, str) and info:
                return info
            raise UnavailableError("QQ took a file and gave no file_info")
        raise AssertionError("the last type returns or raises")


def _instead(part: Part, why: str) -> Form:
    """What stands for a file that can't be sent."""
    text = disarm(f"({part.text} can not be sent: {why})")
    return _INSTEAD, {"msg_type": _TEXT, "content": text[:TEXT_CHARS]}


def _file_type(kind: str, name: str) -> int:
    """1 image, 2 video, 3 voice, 4 file."""
    suffix = name.rpartition(".")[2].lower()
    if kind == "image" and suffix in ("png", "jpg", "jpeg", "gif"):
        return 1
    if kind == "video" and suffix == "mp4":
        return 2
    return 3 if kind == "voice" and suffix in _VOICES else 4


def _sequence(part: Part) -> int:
    found = part.data.get("seq")
    return found if isinstance(found, int) else 1


def _is_gone(error: RefusedError) -> bool:
    """Whether the message can't be answered any more."""
    return error.code in _GONE or "msg_id" in error.message \
        or "event_id" in error.message


def _is_not_now(error: RefusedError) -> bool:
    """Whether the bot may not write of its own accord."""
    return error.code in _NOT_NOW or "主动消息" in error.message


def _not_now(place: Place, why: str) -> RateLimitedError:
    who = "the person writes" if place.kind == USER else "somebody writes"
    return RateLimitedError(
        f"not now: {why}; it goes out when {who} in that chat",
        hint="QQ lets a bot answer, and seldom write of its own accord: "
             "have them write to the bot", retry_after_s=RECHECK_S)


def _read_audit(found: dict[str, Any]) -> bool:
    """Whether a message waits for a person of QQ's to look at it."""
    data = found.get("data")
    return found.get("code") in (304023, 304024) or (
        isinstance(data, dict) and "message_audit" in data)
