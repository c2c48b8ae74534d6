"""A broker of MQTT 5 in a thread: sessions, QoS 0 and 1, redelivery with
DUP, shared subscriptions, retained messages, takeover, and faults.

    with FakeMqtt(username="claw", password="...") as broker:
        broker.say("claw/ask/alice", "hello")   # alice publishes
        broker.texts("claw/ask/alice/reply")    # what she reads

Faults (`fault(kind, times)`):

    login      CONNECT is answered with `code` (default 0x87)
    garbage    CONNECT is answered with something that is no packet
    reset      a PUBLISH resets the connection, and is not taken
    lost_ack   a PUBLISH is taken, then the connection is reset
    kick       a PUBLISH is taken, then the client is told to go (`code`)
    stall      a PUBLISH is taken and never confirmed
    refuse     a PUBLISH is refused with `code` (default 0x87)
    subscribe  a SUBSCRIBE is refused with `code`
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from claw.testing.fake_mqtt_wire import (
    Hello,
    Packet,
    Scan,
    Wrong,
    packet,
    props,
    read_hello,
    read_packet,
)
from claw.testing.fake_mqtt_wire import utf as string
from claw.testing.loop_thread import LoopThread

T = TypeVar("T")

_FAULTS = ("login", "garbage", "reset", "lost_ack", "stall", "refuse",
           "subscribe", "kick")
_MUCH = 65_535


@dataclass
class Message:
    """A message that somebody published; `client` is "" for `say`."""

    topic: str
    payload: bytes
    qos: int = 1
    retain: bool = False
    properties: dict[int, Any] = field(default_factory=dict)
    client: str = ""
    dup: bool = False

    @property
    def text(self) -> str:
        return self.payload.decode()

    @property
    def user(self) -> dict[str, str]:
        return dict(self.properties.get(38, ()))


@dataclass
class Session:
    """What a client has left with the broker."""

    filters: dict[str, int] = field(default_factory=dict)  # -> options
    waiting: deque[Message] = field(default_factory=deque)
    under_way: dict[int, Message] = field(default_factory=dict)
    expiry_s: int = 0
    last_number: int = 0
    line: "_Line | None" = None


class FakeMqtt:
    """`granted` are properties of CONNACK. `lowest` gives out the lowest
    free packet number, where a counting broker comes back to one late.
    `published` is what clients sent, in order; `problems` what they did
    wrong."""

    host = "127.0.0.1"

    def __init__(self, *, username: str = "", password: str = "",
                 granted: dict[int, Any] | None = None, port: int = 0,
                 lowest: bool = True) -> None:
        self.port = port
        self.granted = granted or {}
        self.published: list[Message] = []
        self.problems: list[str] = []
        self.hellos: list[Hello] = []
        self.sessions: dict[str, Session] = {}
        self.retained: dict[str, Message] = {}
        self.lines: set[_Line] = set()
        self.lowest = lowest
        self.mute = False
        self._login = (username, password)
        self._faults: list[list[Any]] = []
        self._shared: dict[str, int] = {}
        self._loop = LoopThread("fake-mqtt")

    # -- its life

    def __enter__(self) -> "FakeMqtt":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Listen, at the same port as before."""
        if not self._loop.running:
            self._loop.start()
            self._server = self._loop.run(self._listen())

    def down(self) -> None:
        """Hang up on everyone; sessions stay."""
        if self._loop.running:
            self._loop.run(self._close())
            self._loop.stop()

    @property
    def url(self) -> str:
        return f"mqtt://{self.host}:{self.port}"

    @property
    def connections(self) -> int:
        return len(self.lines)

    async def _listen(self) -> asyncio.Server:
        server = await asyncio.start_server(
            lambda r, w: _Line(self, r, w).serve(), self.host, self.port)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _close(self) -> None:
        self._server.close()
        self._cut_all()
        while self.lines:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    # -- what tests do

    def say(self, topic: str, text: str | bytes, *, qos: int = 1,
            retain: bool = False, properties: dict[int, Any] | None = None
            ) -> None:
        """Somebody publishes; returns when the broker has it."""
        payload = text if isinstance(text, bytes) else text.encode()
        message = Message(topic, payload, qos, retain, properties or {})
        if not self._loop.running:  # it waits at the door
            self.route(message)
        else:
            self._loop.call(lambda: self.route(message))

    def texts(self, topic: str) -> list[str]:
        """What there is to read at a topic, repetitions and all."""
        return [m.text for m in list(self.published) if m.topic == topic]

    def acknowledged(self) -> bool:
        """Whether nothing waits for anybody."""
        return not any(s.waiting or s.under_way
                       for s in list(self.sessions.values()))

    def fault(self, kind: str, times: int | None = 1, *,
              code: int = 0x87) -> None:
        assert kind in _FAULTS, kind
        self._faults.append([kind, times, code])

    def clear_faults(self) -> None:
        self._faults.clear()

    def take_fault(self, *kinds: str) -> tuple[str, int]:
        """The fault that strikes now, and its code; "" for none."""
        for fault in self._faults:
            kind, times, code = fault
            if kind in kinds and times != 0:
                fault[1] = None if times is None else times - 1
                return kind, code
        return "", 0

    def kill_connections(self) -> int:
        """Reset every connection; how many there were."""
        if not self._loop.running:
            return 0
        return self._loop.call(self._cut_all)

    def _cut_all(self) -> int:
        lines = list(self.lines)
        for line in lines:
            line.cut()
        return len(lines)

    def kick(self, client: str, code: int) -> None:
        """DISCONNECT a client."""
        self._loop.call(lambda: self.sessions[client].line.goodbye(code))  # type: ignore[union-attr]

    def send_raw(self, client: str, data: bytes) -> None:
        """Write bytes to a client."""
        self._loop.call(lambda: self.sessions[client].line.write(data))  # type: ignore[union-attr]

    def keep_session(self, client: str, topics: str) -> None:
        """As if a client had been here before and subscribed."""
        self.sessions[client] = Session({topics: 1}, expiry_s=_MUCH)

    def forget_sessions(self) -> None:
        """As a broker without persistence after its restart."""
        self.sessions.clear()

    def wait_until(self, predicate: Callable[[], T],
                   timeout_s: float = 20.0) -> T:
        deadline = time.monotonic() + timeout_s
        while not (found := predicate()):
            assert time.monotonic() < deadline, (
                f"nothing came of it: {len(self.published)} published, "
                f"{self.problems}")
            time.sleep(0.005)
        return found

    # -- what a broker does

    def allows(self, hello: Hello) -> bool:
        return self._login == ("", "") or self._login == (
            hello.username, hello.password)

    def route(self, message: Message) -> int:
        """To all who subscribed; how many."""
        if message.retain:
            if message.payload:
                self.retained[message.topic] = message
            else:
                self.retained.pop(message.topic, None)
        found = 0
        groups: dict[str, list[Session]] = {}
        for client, session in list(self.sessions.items()):
            options = [o for name, o in session.filters.items()
                       if not name.startswith("$share/")
                       and _fits(name, message.topic)
                       and not (o & 4 and client == message.client)]
            for name in session.filters:
                if name.startswith("$share/") and _fits(
                        name.split("/", 2)[2], message.topic):
                    groups.setdefault(name, []).append(session)
            if options:
                self._deliver(session, message, max(o & 3 for o in options))
                found += 1
        for name, members in groups.items():
            ready = [m for m in members if m.line] or members
            turn = self._shared[name] = self._shared.get(name, -1) + 1
            member = ready[turn % len(ready)]
            self._deliver(member, message, member.filters[name] & 3)
            found += 1
        return found

    def _deliver(self, session: Session, message: Message,
                 qos: int) -> None:
        qos = min(qos, message.qos)
        session.waiting.append(Message(
            message.topic, message.payload, qos, False, message.properties))
        if session.line is not None:
            session.line.pump()
        elif not qos:
            session.waiting.pop()


class _Line:
    """One connection."""

    def __init__(self, broker: FakeMqtt, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter) -> None:
        self._broker = broker
        self._reader = reader
        self._writer = writer
        self._client = ""
        self._session = Session()
        self._room = _MUCH
        self._most_bytes = 1 << 28

    async def serve(self) -> None:
        broker = self._broker
        broker.lines.add(self)
        try:
            if await self._greet():
                while True:
                    found = await read_packet(self._reader)
                    if not broker.mute:
                        self._handle(found)
                    await self._writer.drain()
        except Wrong as error:
            broker.problems.append(f"{self._client or 'a client'}: {error}")
            self.goodbye(0x82)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            broker.lines.discard(self)
            if self._session.line is self:
                self._session.line = None
                if not self._session.expiry_s:
                    broker.sessions.pop(self._client, None)
            self._writer.close()

    def write(self, data: bytes) -> None:
        if not self._broker.mute:
            self._writer.write(data)

    def cut(self) -> None:
        self._writer.transport.abort()

    def goodbye(self, code: int) -> None:
        self.write(packet(14, 0, bytes([code]) + props({})))
        self._writer.close()

    # -- the session

    async def _greet(self) -> bool:
        broker = self._broker
        first = await read_packet(self._reader)
        if first.kind != 1:
            raise Wrong("another packet before CONNECT")
        hello = read_hello(first)
        broker.hellos.append(hello)
        kind, code = broker.take_fault("login", "garbage")
        if kind == "garbage":
            self.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return False
        if not kind and not broker.allows(hello):
            code = 0x86
        if code:
            self.write(packet(2, 0, bytes([0, code]) + props({})))
            return False
        present = self._begin(hello)
        self.write(packet(2, 0, bytes([present, 0]) + props(broker.granted)))
        self._resend()
        self.pump()
        return True

    def _begin(self, hello: Hello) -> bool:
        sessions = self._broker.sessions
        old = sessions.get(hello.client_id)
        if old is not None and old.line is not None:
            old.line.goodbye(0x8E)
            old.line = None
        present = old is not None and not hello.clean
        session = old if old is not None and present else Session()
        session.line = self
        session.expiry_s = hello.properties.get(17, 0)
        sessions[hello.client_id] = self._session = session
        self._client = hello.client_id
        self._room = hello.properties.get(33, _MUCH)
        self._most_bytes = hello.properties.get(39, self._most_bytes)
        return present

    def _resend(self) -> None:
        for number, message in self._session.under_way.items():
            self._write_publish(message, number, dup=True)

    def pump(self) -> None:
        """Send what waits and has room."""
        session = self._session
        while session.waiting and len(session.under_way) < self._room:
            message = session.waiting.popleft()
            number = 0
            if message.qos:
                number = self._draw()
                session.under_way[number] = message
            self._write_publish(message, number)

    def _draw(self) -> int:
        session = self._session
        if self._broker.lowest:
            return next(n for n in range(1, _MUCH)
                        if n not in session.under_way)
        session.last_number = session.last_number % _MUCH + 1
        return session.last_number

    def _write_publish(self, message: Message, number: int, *,
                       dup: bool = False) -> None:
        body = string(message.topic)
        if message.qos:
            body += number.to_bytes(2, "big")
        body += props(message.properties) + message.payload
        if len(body) + 5 > self._most_bytes:  # the client can't take it
            self._session.under_way.pop(number, None)
            return
        self.write(packet(3, dup * 8 + message.qos * 2 + message.retain,
                          body))

    # -- what the client sends

    def _handle(self, found: Packet) -> None:
        scan = Scan(found.body)
        if found.kind == 3:
            self._publish(found, scan)
        elif found.kind == 4:
            number = scan.number(2)
            if self._session.under_way.pop(number, None) is None:
                raise Wrong(f"PUBACK {number}, which is not under way")
            self.pump()
        elif found.kind == 8:
            self._subscribe(scan)
        elif found.kind == 10:
            self._unsubscribe(scan)
        elif found.kind == 12:
            self.write(packet(13, 0, b""))
        elif found.kind == 14:
            if len(scan.data) > 1:
                scan.number(1)
                self._session.expiry_s = scan.props().get(
                    17, self._session.expiry_s)
            raise ConnectionResetError("goodbye")
        else:
            raise Wrong(f"a packet of kind {found.kind}")

    def _publish(self, found: Packet, scan: Scan) -> None:
        broker = self._broker
        topic, qos = scan.utf(), found.flags >> 1 & 3
        if not topic or "+" in topic or "#" in topic:
            raise Wrong(f"PUBLISH to {topic!r}")
        number = scan.number(2) if qos else 0
        message = Message(topic, b"", qos, bool(found.flags & 1),
                          scan.props(), self._client, bool(found.flags & 8))
        message.payload = scan.rest()
        limit = broker.granted.get(39)
        if limit and len(found.body) + 5 > limit:
            raise Wrong(f"a packet of {len(found.body)} bytes, over {limit}")
        if qos > broker.granted.get(36, 2):
            raise Wrong(f"QoS {qos}")
        kind, code = broker.take_fault("reset", "lost_ack", "stall",
                                       "refuse", "kick")
        if kind == "reset":
            self.cut()
            return
        readers = 0
        if kind != "refuse":
            broker.published.append(message)
            readers = broker.route(message)
        if kind == "lost_ack":
            self.cut()
        elif kind == "kick":
            self.goodbye(code)
        elif qos and kind != "stall":
            reason = code or (0 if readers else 0x10)
            self.write(packet(4, 0, number.to_bytes(2, "big")
                              + bytes([reason]) + props({})))

    def _subscribe(self, scan: Scan) -> None:
        number, _ = scan.number(2), scan.props()
        reasons = b""
        while scan.at < len(scan.data):
            name, options = scan.utf(), scan.number(1)
            kind, code = self._broker.take_fault("subscribe")
            if kind:
                reasons += bytes([code])
                continue
            if name.startswith("$share/") and options & 4:
                raise Wrong("No Local on a shared subscription")
            self._session.filters[name] = options
            reasons += bytes([min(options & 3, 1)])
            if options >> 4 & 3 == 0:
                for message in list(self._broker.retained.values()):
                    if _fits(name, message.topic):
                        self._session.waiting.append(message)
        self.write(packet(9, 0, number.to_bytes(2, "big") + props({})
                          + reasons))
        self.pump()

    def _unsubscribe(self, scan: Scan) -> None:
        number, _ = scan.number(2), scan.props()
        reasons = b""
        while scan.at < len(scan.data):
            gone = self._session.filters.pop(scan.utf(), None)
            reasons += bytes([0x11 if gone is None else 0])
        self.write(packet(11, 0, number.to_bytes(2, "big") + props({})
                          + reasons))


def _fits(name: str, topic: str) -> bool:
    """Whether a filter fits a topic."""
    if topic.startswith("$") and name[0] in "+#":
        return False
    form = re.escape(name).replace(r"\+", "[^/]*")
    form = re.sub(r"(^|/)\\#$", lambda m: f"({m[1]}.*)?", form)
    return re.fullmatch(form, topic, re.S) is not None
