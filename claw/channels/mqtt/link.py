"""One connection to the broker.

It pings where nothing was said for the keep-alive time and ends where
nothing is heard either. What ends it is the error of everything that waits
on it. The broker may have so many messages under way as we said
(receive maximum): it waits for our PUBACK, that is for the disk.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from claw.channels.mqtt import packets
from claw.channels.mqtt.packets import Login, PacketError, Publish, Reply
from claw.channels.mqtt.reasons import FAILED, make_error
from claw.channels.mqtt.settings import Address
from claw.core.errors import ClawError, UnavailableError

E = TypeVar("E", bound=ClawError)

CONNECT_S = 10.0
ANSWER_S = 20.0  # until a PUBACK or SUBACK is given up
PONG_S = 10.0
CLOSE_S = 1.0
# That came and nobody has taken yet: more of QoS 0 is dropped; a broker that
# sends more of QoS 1 than fits into the receive maximum is left.
MOST_BYTES = 8 << 20
_MESSAGE_BYTES = 1_000  # in memory, beside its packet


class HungUpError(UnavailableError):
    """The broker ended the connection and gave no reason."""


class Link:
    """Use `open` once, then the rest, `close` at the end.

    `heard` is called for each packet. `proved` hears of a moment before
    which all that we wrote has been read at the other end. `granted` is the
    broker's CONNACK.
    """

    def __init__(self, address: Address, login: Login,
                 tls: ssl.SSLContext | None = None,
                 heard: Callable[[], None] = lambda: None,
                 proved: Callable[[float], None] = lambda at: None) -> None:
        self.where = f"the broker at {address.where}"
        self.granted = Reply(packets.CONNACK)
        self.opened_at = self.heard_at = self._wrote_at = time.monotonic()
        self.error: ClawError | None = None
        self._address = address
        self._login = login
        self._tls = tls
        self._heard = heard
        self._proved = proved
        self._keep_alive_s = float(login.keep_alive_s)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._number = 0
        self._came: asyncio.Queue[Publish | None] = asyncio.Queue()
        self._came_bytes = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._writer: asyncio.StreamWriter | None = None

    # -- the connection

    async def open(self) -> None:
        """Connect and log in. Raises AuthError, ConfigError,
        UnavailableError."""
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, self._writer = await self._connect()
                self._writer.write(packets.connect(self._login))
                reply, _ = await self._read(reader)
        except TimeoutError as error:
            self._abort()
            raise unsent(UnavailableError(
                f"{self.where} did not answer within {CONNECT_S:g} s",
                hint="is it an MQTT broker, and the port right? claw channel "
                     "doctor mqtt")) from error
        except BaseException as error:
            self._abort()
            if isinstance(error, asyncio.IncompleteReadError):
                raise unsent(UnavailableError(
                    f"{self.where} hung up before the login")) from error
            if isinstance(error, OSError | PacketError | UnicodeError):
                raise unsent(self._explain(error)) from error
            raise
        self._take_login(reply)
        self.opened_at = self.heard_at = time.monotonic()
        self._heard()
        self._tasks = [asyncio.create_task(self._receive(reader)),
                       asyncio.create_task(self._keep_alive())]

    async def _connect(self) -> tuple[asyncio.StreamReader,
                                      asyncio.StreamWriter]:
        return await asyncio.open_connection(
            self._address.host, self._address.port, ssl=self._tls,
            server_hostname=self._address.host if self._tls else None)

    def _take_login(self, reply: Publish | Reply) -> None:
        if not isinstance(reply, Reply) or reply.kind != packets.CONNACK:
            self._abort()
            raise unsent(UnavailableError(
                f"{self.where} answered the login with something else"))
        if reply.reasons[0]:
            self._abort()
            raise unsent(make_error(self.where, reply.reasons[0],
                                    reply.properties))
        self.granted = reply
        self._keep_alive_s = min(self._keep_alive_s, float(
            reply.properties.get(packets.SERVER_KEEP_ALIVE)
            or self._keep_alive_s))

    async def close(self, *, forget: bool = False) -> None:
        """Say goodbye, so that nobody waits for us; `forget`: the broker
        drops the session."""
        writer = self._writer
        if writer is not None and self.error is None:
            with suppress(OSError, TimeoutError):
                writer.write(packets.disconnect(forget=forget))
                async with asyncio.timeout(CLOSE_S):
                    await writer.drain()
        self._end(UnavailableError("the connection was closed"))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if writer is not None:
            writer.close()
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await writer.wait_closed()

    def _abort(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    def _end(self, error: ClawError) -> None:
        """Nothing comes any more, for this reason. It is not that of what
        was not confirmed, which may have arrived."""
        if self.error is not None:
            return
        self.error = error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(UnavailableError(
                    f"{error.message}, before it was confirmed"))
                future.exception()  # who waited may be gone
        self._came.put_nowait(None)

    def _explain(self, error: BaseException) -> UnavailableError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return UnavailableError(
                f"{self.where}: its certificate was not accepted: "
                f"{error.verify_message}",
                hint="for an authority of your own: claw config set "
                     "channels_config.mqtt.ca_file /path/to/ca.pem")
        if isinstance(error, asyncio.IncompleteReadError):
            return HungUpError(f"{self.where} closed the connection")
        if isinstance(error, PacketError):
            return UnavailableError(f"{self.where} broke the protocol: "
                                    f"{error}")
        return UnavailableError(
            f"{self.where} can't be reached: {name_cause(error)}",
            hint="claw channel doctor mqtt")

    # -- what comes

    async def receive(self) -> list[Publish]:
        """The messages that are there, at least one. Raises what ended the
        connection."""
        found = [await self._came.get()]
        while not self._came.empty():
            found.append(self._came.get_nowait())
        self._came_bytes = 0
        if found[-1] is None:
            self._came.put_nowait(None)
        messages = [one for one in found if one is not None]
        if not messages:
            assert self.error is not None
            raise self.error
        return messages

    def is_drained(self) -> bool:
        """Whether nothing that came waits."""
        return self._came.empty()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                self._take(*await self._read(reader))
        except (OSError, asyncio.IncompleteReadError, PacketError) as error:
            self._end(self._explain(error))
        except ClawError as error:
            self._end(error)
        self._abort()

    async def _read(self, reader: asyncio.StreamReader
                    ) -> tuple[Publish | Reply, int]:
        """A packet, and its size."""
        first = (await reader.readexactly(1))[0]
        size = 0
        for shift in (0, 7, 14, 21):
            byte = (await reader.readexactly(1))[0]
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise PacketError("a length of more than four bytes")
        if size > self._login.max_packet:
            raise PacketError(f"a packet of {size} bytes; we take "
                              f"{self._login.max_packet}")
        return packets.read(first, await reader.readexactly(size)), size

    def _take(self, packet: Publish | Reply, size: int) -> None:
        self.heard_at = time.monotonic()
        self._heard()
        if isinstance(packet, Publish):
            if packet.qos and self._came_bytes > 2 * MOST_BYTES:
                raise PacketError("more messages than we said we take")
            if packet.qos or self._came_bytes < MOST_BYTES:
                self._came_bytes += size + _MESSAGE_BYTES
                self._came.put_nowait(packet)
        elif packet.kind == packets.DISCONNECT:
            code = packet.reasons[0]
            raise (make_error(self.where, code, packet.properties)
                   if code >= FAILED else
                   UnavailableError(f"{self.where} said goodbye"))
        elif packet.number in self._waiting:
            future = self._waiting[packet.number]
            if not future.done():
                future.set_result(packet)

    async def _keep_alive(self) -> None:
        """Ping where one side was silent; end where no answer comes."""
        while True:
            asked_at = time.monotonic()
            quiet_s = asked_at - min(self.heard_at, self._wrote_at)
            if quiet_s < self._keep_alive_s:
                await asyncio.sleep(self._keep_alive_s - quiet_s)
                continue
            self._write(packets.PING)
            await asyncio.sleep(min(PONG_S, self._keep_alive_s))
            if self.heard_at < asked_at:
                self._end(UnavailableError(
                    f"{self.where}: nothing was heard for "
                    f"{time.monotonic() - self.heard_at:.0f} s; connecting "
                    "anew"))
                self._abort()
                return
            self._proved(asked_at)

    # -- what goes

    def ack(self, message: Publish) -> None:
        """It is on disk."""
        if message.qos:
            self._write(packets.puback(message.number))

    async def publish(self, topic: str, payload: bytes, *, qos: int,
                      properties: packets.Properties,
                      leaving: Callable[[], None] = lambda: None) -> int:
        """The broker's reason code, once it has the message. Raises what a
        refusal means; an error knows whether it may have arrived."""
        self._check()
        limit = self.granted.properties.get(packets.MAX_QOS, 2)
        qos = min(qos, limit)
        if not qos:
            leaving()
            self._write(packets.publish(topic, payload, qos=0,
                                        properties=properties))
            await self._drain()
            return 0
        number = self._draw()
        data = packets.publish(topic, payload, number=number,
                               properties=properties)
        leaving()
        reply = await self._ask(number, data)
        if reply.reasons[0] >= FAILED:
            raise unsent(make_error(
                self.where, reply.reasons[0], reply.properties,
                f"to publish to {topic[:200]}"))
        return reply.reasons[0]

    async def subscribe(self, filters: Sequence[tuple[str, int]]
                        ) -> tuple[int, ...]:
        """A reason code for each: the QoS that is granted, or a failure."""
        number = self._draw()
        reply = await self._ask(number, packets.subscribe(number, filters))
        if len(reply.reasons) != len(filters):
            raise UnavailableError(f"{self.where} answered a subscription "
                                   "with another number of topics")
        return reply.reasons

    async def unsubscribe(self, filters: Sequence[str]) -> None:
        number = self._draw()
        await self._ask(number, packets.unsubscribe(number, filters))

    async def _ask(self, number: int, data: bytes) -> Reply:
        self._check()
        future: asyncio.Future[Reply] = (
            asyncio.get_running_loop().create_future())
        self._waiting[number] = future
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(ANSWER_S):
                self._write(data)
                await self._drain()
                reply = await future
        except TimeoutError as error:
            # What it did is unknown, and so is what it does next.
            late = UnavailableError(
                f"{self.where} confirmed nothing within {ANSWER_S:g} s")
            self._end(late)
            self._abort()
            raise late from error
        finally:
            self._waiting.pop(number, None)
        self._proved(asked_at)
        return reply

    def _draw(self) -> int:
        """A number that nothing under way has."""
        while True:
            self._number = self._number % 65_535 + 1
            if self._number not in self._waiting:
                return self._number

    def _check(self) -> None:
        if self.error is not None or self._writer is None:
            raise unsent(UnavailableError(
                f"{self.where} is not connected"
                + (f": {self.error.message}" if self.error else "")))

    def _write(self, data: bytes) -> None:
        if self._writer is not None and self.error is None:
            self._wrote_at = time.monotonic()
            self._writer.write(data)

    async def _drain(self) -> None:
        try:
            if self._writer is not None:
                await self._writer.drain()
        except OSError as error:
            raise self._explain(error) from error


def unsent(error: E) -> E:
    """The error of a call before which nothing had left."""
    error.__dict__["maybe_sent"] = False
    return error


def name_cause(error: BaseException) -> str:
    """Why there is no connection, in words."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"  # asyncio's text has a tuple in it
    return str(getattr(error, "verify_message", None)
               or getattr(error, "strerror", None) or type(error).__name__)
