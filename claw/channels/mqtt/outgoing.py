"""An answer as messages of MQTT: parts, properties, sizes. Pure.

    user properties: agent=claw  id=<key>  part=1/3  thread_id=t1
    correlation data: that of the request

The key is drawn with the part and the same when it goes out again, so a
receiver that looks can drop the repetition. The broker does not look, and
who shows whatever comes would show it twice: a repetition that can't be
ruled out says so in its text, as on other platforms without keys.
"""

import json
from uuid import uuid4

from claw.channels.mqtt.packets import (
    CONTENT_TYPE,
    CORRELATION,
    PAYLOAD_FORMAT,
    USER,
    Properties,
)
from claw.channels.mqtt.payload import MADE_BY, find_correlation, make_name
from claw.channels.splitting import split_text
from claw.core.channel import Part, SendMessage
from claw.core.errors import RequestRefusedError
from claw.core.value import Value
from claw.text.segment import clean

# All brokers take so much, with room for topic and properties; where one
# takes less, a part is cut again when it goes out.
PART_BYTES = 32_000
_HEAD_BYTES = 16
_FEWEST_BYTES = 64
_TYPES = {"text": "text/plain; charset=utf-8", "json": "application/json"}


class Outgoing(Value):
    """One PUBLISH."""

    payload: bytes
    properties: Properties


def make_parts(message: SendMessage) -> list[Part]:
    """One part for each message. Files can't go along: their names do."""
    text = clean(message.content)
    for file in message.attachments:
        text += f"\n(file, not sent: {clean(file.file_name)})"
    pieces = [piece for piece, _ in split_text(
        text, limit=PART_BYTES, length=count_bytes)]
    key = uuid4().hex
    return [Part("text", piece, {
        "id": key if len(pieces) == 1 else f"{key}-{number}",
        "part": f"{number}/{len(pieces)}"})
        for number, piece in enumerate(pieces, 1)]


def count_bytes(text: str) -> int:
    return len(text.encode())


def make_outgoing(message: SendMessage, part: Part, *, form: str,
                  limit: int | None) -> list[Outgoing]:
    """The messages of a part: several where a packet may have `limit`
    bytes only. Raises RequestRefusedError where nothing fits."""
    whole = _make(message, part, part.text, "", form)
    if limit is None:
        return [whole]
    head = _head_bytes(message.recipient, whole.properties)
    if head + len(whole.payload) <= limit:
        return [whole]
    room = limit - head - 8  # the numbers of the pieces
    if form == "json":
        room = (room - len(_make(message, part, "", "", form).payload)) // 6
    if room < _FEWEST_BYTES:
        raise RequestRefusedError(
            f"the broker takes packets of {limit} bytes: there is no room "
            "for an answer", hint="raise its maximum packet size")
    pieces = [piece for piece, _ in split_text(part.text, limit=room,
                                               length=count_bytes)]
    return [_make(message, part, piece, f"-{number}", form)
            for number, piece in enumerate(pieces, 1)]


def _make(message: SendMessage, part: Part, text: str, suffix: str,
          form: str) -> Outgoing:
    key = f"{part.data.get('id', '')}{suffix}"
    thread = make_name(message.thread_ts or "")
    payload = text
    if form == "json":
        payload = json.dumps({"id": key, "content": text, **(
            {"thread_id": thread} if thread else {})}, ensure_ascii=False)
    user = [MADE_BY, ("id", key), ("part", str(part.data.get("part", "")))]
    properties = {PAYLOAD_FORMAT: 1, CONTENT_TYPE: _TYPES[form],
                  USER: [*user, ("thread_id", thread)] if thread else user}
    if correlation := find_correlation(message.answers):
        properties[CORRELATION] = correlation
    return Outgoing(payload.encode(), properties)


def _head_bytes(topic: str, properties: Properties) -> int:
    """What a packet has beside its payload, at most."""
    found = _HEAD_BYTES + count_bytes(topic)
    for key, value in properties.items():
        for one in (value if key == USER else (value,)):
            found += 5 + (len(one) if isinstance(one, bytes) else sum(
                map(count_bytes, one)) if isinstance(one, tuple)
                else count_bytes(str(one)))
    return found
