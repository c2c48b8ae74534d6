"""What the fake platform knows, and its rules: who wrote what, which answer
it takes."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from claw.text.addresses import find_addresses

Json: TypeAlias = dict[str, Any]
MOST_ANSWERS = 5
WINDOW_S = {"users": 3600.0, "groups": 300.0, "channels": 300.0,
            "dms": 300.0}
TEXT_CHARS = 5000


class ApiError(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass
class Rules:
    """What the bot may: `links`, `markdown` and `buttons` are permissions,
    `own_accord` the messages that answer nothing in each chat, `reviews`
    lets somebody look at messages first, `files` the file types it takes.
    `burns` is whether a number that was refused is used up."""

    links: bool = True
    markdown: bool = False
    buttons: bool = False
    own_accord: int = 4
    reviews: bool = False
    files: tuple[int, ...] = (1, 2, 3, 4)
    burns: bool = True


@dataclass
class Sent:
    """A message of the bot's; `text` is what people read."""

    id: str
    chat: str
    text: str
    body: Json
    file: bytes | None = None
    file_type: int = 0


@dataclass
class World:
    """`clock` is Unix seconds."""

    clock: Callable[[], float]
    rules: Rules = field(default_factory=Rules)
    sent: list[Sent] = field(default_factory=list)
    typed: list[Json] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    came: dict[str, tuple[str, float]] = field(default_factory=dict)
    presses: dict[str, Any] = field(default_factory=dict)
    _uploads: dict[str, tuple[str, int, bytes]] = field(default_factory=dict)
    _keys: set[tuple[str, Any, int]] = field(default_factory=set)
    _answers: dict[str, int] = field(default_factory=dict)
    _own: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def draw_id(self) -> str:
        self._count += 1
        return f"ROBOT1.0_{self._count}.x-Y!"

    # -- calls

    def upload(self, chat: str, body: Json) -> Json:
        kind = body.get("file_type")
        if body.get("srv_send_msg") is not False or "url" in body:
            raise ApiError(400, 40034005, "the fake takes file_data only")
        if kind not in self.rules.files:
            raise ApiError(400, 40034006, "file_type is not open")
        try:
            content = base64.b64decode(body["file_data"], validate=True)
        except (KeyError, TypeError, binascii.Error):
            raise ApiError(400, 850026, "富媒体文件下载失败") from None
        info = f"info-{len(self._uploads)}"
        self._uploads[info] = chat.partition("/")[0], kind, content
        return {"file_uuid": info, "file_info": info, "ttl": 0}

    def post(self, chat: str, body: Json) -> Json:
        """A message of the bot's. Raises ApiError."""
        kind = chat.partition("/")[0]
        key = self._take_key(chat, kind, body)
        if body.get("msg_type") == 6:
            self._permit(chat, kind, body)
            self.typed.append(body)
            return {"id": "", "timestamp": ""}
        try:
            sent = self._read(chat, kind, body)
            self._permit(chat, kind, body)
        except ApiError:
            if not self.rules.burns and key is not None:
                self._keys.discard(key)
            raise
        self.sent.append(sent)
        if self.rules.reviews:
            return {"code": 304023, "message": "push message is waiting for "
                    "audit now", "data": {"message_audit": {
                        "audit_id": "a1"}}}
        return {"id": sent.id, "timestamp": "2026-11-24T00:00:00+08:00"}

    def _take_key(self, chat: str, kind: str, body: Json
                  ) -> tuple[str, Any, int] | None:
        if kind not in ("users", "groups"):
            return None
        sequence = body.get("msg_seq", 1)
        if not isinstance(sequence, int) or not 0 < sequence < 1 << 31:
            raise ApiError(400, 40034001, "请求参数msg_seq错误")
        if body.get("msg_id") is None:
            return None
        key = (chat, body["msg_id"], sequence)
        if key in self._keys:
            raise ApiError(400, 40054005, "消息被去重，请检查请求msgseq")
        self._keys.add(key)
        return key

    def _permit(self, chat: str, kind: str, body: Json) -> None:
        answered = body.get("msg_id") or body.get("event_id")
        if answered is None:
            used = self._own.get(chat, 0)
            if used >= self.rules.own_accord:
                raise ApiError(400, 40034102, "主动消息失败, 无权限")
            self._own[chat] = used + 1
            return
        where, at = self.came.get(str(answered), ("", 0.0))
        if where != chat:
            raise ApiError(400, 40034024, "请求参数msg_id无效或越权")
        if self.clock() - at > WINDOW_S[kind]:
            raise ApiError(400, 40034025, "回复消息msg_id已过期")
        used = self._answers.get(str(answered), 0)
        if used >= MOST_ANSWERS:
            raise ApiError(400, 22009, "msg limit exceed")
        self._answers[str(answered)] = used + 1

    def _read(self, chat: str, kind: str, body: Json) -> Sent:
        found = Sent(self.draw_id(), chat, str(body.get("content") or ""),
                     body)
        msg_type = body.get("msg_type", 0)
        if msg_type == 2:
            if not self.rules.markdown:
                raise ApiError(400, 40034012, "不允许发送原生 markdown")
            if body.get("keyboard") and not self.rules.buttons:
                raise ApiError(400, 304037, "no permission to send buttons")
            found.text = str((body.get("markdown") or {}).get("content"))
        elif msg_type == 7:
            info = str((body.get("media") or {}).get("file_info"))
            where, found.file_type, found.file = self._uploads.get(
                info, ("", 0, b""))
            if where != kind or not found.text:
                raise ApiError(400, 304082, "upload media info fail")
        elif msg_type != 0 or body.get("keyboard"):
            raise ApiError(400, 40034001, "请求参数错误")
        if not found.text or len(found.text) > TEXT_CHARS:
            raise ApiError(400, 50006, "消息为空, or too long")
        if not self.rules.links and any(
                "." in found.text[start:end]
                for start, end in find_addresses(found.text)):
            raise ApiError(400, 40054010, "消息发送失败, 不允许发送url")
        return found
