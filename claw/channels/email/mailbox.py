"""One IMAP connection: IMAPClient, each call on a thread of its own.

A call ends within its timeout; closing ends one that is under way at once.
What goes wrong is an UnavailableError, a refused login an AuthError. Source:
RFC 9051, 2177 (IDLE), 6154 (the folder for what was sent).
"""

import asyncio
import imaplib
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from claw.channels.email.settings import EmailSettings, choose_way
from claw.core.errors import (
    AuthError,
    MissingPartError,
    NotFoundError,
    UnavailableError,
)
from claw.core.installed import install_command
from claw.core.value import Value
from claw.net.addresses import is_loopback
from claw.net.errors import find_cause, name_cause, scrub
from claw.net.remote import load_certificates

if TYPE_CHECKING:
    from imapclient import IMAPClient  # type: ignore[import-untyped]

T = TypeVar("T")

CONNECT_S = 20.0
READ_S = 60.0
HEADER_BYTES = 64 * 1024
_POLL_S = 60.0  # where a server has no IDLE
# A dead line is noticed; and IMAPClient sends a command in small pieces,
# each of which would wait for the one before to be confirmed.
_OPTIONS = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 3),
            ("TCP_NODELAY", 1))
_WRONG = (OSError, imaplib.IMAP4.error, ValueError, LookupError, TypeError,
          AttributeError, AssertionError, RecursionError, EOFError)
_SENT_NAMES = ("Sent", "Sent Items", "Sent Messages", "Sent Mail",
               "INBOX.Sent", "INBOX/Sent")
_TEMPORARY = ("unavailable", "inuse", "in use", "limit", "try again",
              "temporar", "too many")
_LOGIN_HINT = ("check username and password (an app password at many "
               "providers): claw config set channels_config.email.password; "
               "or set oauth_command")


class Selected(Value):
    """A folder. `validity`: its UIDs mean the same as long as this is the
    same; `next_uid` is above all that are there (0: not said)."""

    validity: int
    next_uid: int


class Head(Value):
    """What is known of a mail before it is fetched; `arrived_at` is when
    the server took it in."""

    header: bytes
    size_bytes: int
    arrived_at: float


class Mailbox:
    """A connection that is used once: open, calls, close."""

    def __init__(self, settings: EmailSettings) -> None:
        self._settings = settings
        host = settings.imap_host.strip()
        self._where = f"the IMAP server {host}:{settings.imap_port}"
        self._near = is_loopback(f"http://{host}")
        self._client: IMAPClient | None = None
        self._lock = threading.Lock()
        self._closed = self._busy = False
        self._secrets: tuple[str, ...] = ()

    # -- from connecting to the end

    async def open(self, password: str, token: str | None) -> None:
        """Connect and log in, with a token where there is one."""
        import_imapclient()
        self._secrets = tuple(filter(None, (password, token)))
        await self._call(self._connect, read=False)
        await self._call(lambda client: self._login(client, password, token))

    def close(self) -> None:
        """End the connection, and a call that is under way with it."""
        with self._lock:
            self._closed = True
            client = self._client
            if client is None:
                return
            with suppress(OSError, AttributeError):
                # Not SSLSocket's own, which pulls TLS from under a reader.
                socket.socket.shutdown(client.socket(), socket.SHUT_RDWR)
            if not self._busy:
                self._hang_up()

    def _hang_up(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(*_WRONG):
                client.shutdown()

    def _connect(self, _: Any) -> None:
        from imapclient import IMAPClient, SocketTimeout
        given = self._settings
        how = choose_way(given.imap_tls, given.imap_port, is_near=self._near)
        context = None if how == "plain" else load_certificates()
        client = IMAPClient(
            given.imap_host.strip(), given.imap_port, ssl=how == "tls",
            ssl_context=context, timeout=SocketTimeout(CONNECT_S, READ_S))
        client.normalise_times = False
        with self._lock:
            self._client = client
        for option, value in _OPTIONS:
            if hasattr(socket, option):
                client.socket().setsockopt(
                    socket.IPPROTO_TCP, getattr(socket, option), value)
        client.socket().setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if how == "starttls":
            if not client.has_capability("STARTTLS"):
                raise ssl.SSLError("it offers no STARTTLS")
            client.starttls(context)

    def _login(self, client: "IMAPClient", password: str,
               token: str | None) -> None:
        from imapclient.exceptions import (  # type: ignore[import-untyped]
            LoginError,
        )
        name = self._settings.username.strip()
        try:
            if token is not None:
                client.oauth2_login(name, token)
            elif f"{name}{password}".isascii():
                client.login(name, password)
            else:
                client.plain_login(name, password)
        except LoginError as error:
            text = self._scrub(error)
            if isinstance(error.__context__, imaplib.IMAP4.abort) or any(
                    word in text.lower() for word in _TEMPORARY):
                raise UnavailableError(f"{self._where}: {text}") from error
            raise AuthError(f"{self._where} refused the login of {name}: "
                            f"{text}", hint=_LOGIN_HINT) from None

    # -- reading

    async def select(self, folder: str, *, readonly: bool = False
                     ) -> Selected:
        """Raises NotFoundError for a folder that can't be opened."""
        def work(client: "IMAPClient") -> Selected:
            try:
                found = client.select_folder(folder, readonly=readonly)
            except imaplib.IMAP4.abort:
                raise
            except imaplib.IMAP4.error as error:
                raise NotFoundError(
                    f"{self._where} has no folder {folder}: "
                    f"{self._scrub(error)}",
                    hint="claw config set channels_config.email.imap_folder "
                         "INBOX") from error
            return Selected(int(found.get(b"UIDVALIDITY") or 0),
                            int(found.get(b"UIDNEXT") or 0))
        return await self._call(work)

    async def search(self, *criteria: "str | date") -> list[int]:
        """UIDs, in order."""
        return sorted(map(int, await self._call(
            lambda client: client.search(list(criteria)))))

    async def read_heads(self, uids: Sequence[int]) -> dict[int, Head]:
        """Without marking them as seen; what is gone is left out."""
        found = await self._fetch(uids, "INTERNALDATE", "RFC822.SIZE",
                                  f"BODY.PEEK[HEADER]<0.{HEADER_BYTES}>")
        heads: dict[int, Head] = {}
        for uid, fields in found.items():
            header = next((value for key, value in fields.items()
                           if key.startswith(b"BODY[HEADER]")
                           and isinstance(value, bytes)), None)
            at, size = fields.get(b"INTERNALDATE"), fields.get(
                b"RFC822.SIZE")
            if header is not None:
                heads[uid] = Head(
                    header, size if isinstance(size, int) else 0,
                    at.timestamp() if isinstance(at, datetime)
                    else time.time())
        return heads

    async def read_section(self, uid: int, section: str,
                           most_bytes: int) -> bytes:
        """The beginning of a part as it is on the wire; "" is all."""
        found = await self._fetch(
            [uid], f"BODY.PEEK[{section}]<0.{most_bytes}>")
        for key, value in found.get(uid, {}).items():
            if key.startswith(b"BODY[") and isinstance(value, bytes):
                return value
        return b""

    async def read_structure(self, uid: int) -> Any:
        """BODYSTRUCTURE, as IMAPClient gives it; None where it is gone."""
        found = await self._fetch([uid], "BODYSTRUCTURE")
        return found.get(uid, {}).get(b"BODYSTRUCTURE")

    async def _fetch(self, uids: Sequence[int], *items: str
                     ) -> dict[int, dict[bytes, Any]]:
        return await self._call(
            lambda client: client.fetch(list(uids), list(items)))

    async def mark_seen(self, uids: Sequence[int]) -> bool:
        """False where this folder takes no marks."""
        def work(client: "IMAPClient") -> bool:
            try:
                client.add_flags(list(uids), [b"\\Seen"], silent=True)
            except imaplib.IMAP4.abort:
                raise
            except imaplib.IMAP4.error:
                return False
            return True
        return await self._call(work)

    def pop_news(self) -> bool:
        """Whether a call since the last time was told of more mails, as
        any may be; IDLE does not tell of them again."""
        client = self._client
        return client is not None and bool(
            client._imap.untagged_responses.pop("EXISTS", None))

    async def wait(self, seconds: float) -> None:
        """Until there may be news, or so long."""
        if await self.has_idle():
            await self._call(lambda client: self._idle(client, seconds))
        else:
            await asyncio.sleep(min(seconds, _POLL_S))
            await self._call(lambda client: client.noop())

    async def has_idle(self) -> bool:
        return await self._call(
            lambda client: bool(client.has_capability("IDLE")))

    def _idle(self, client: "IMAPClient", seconds: float) -> None:
        client.idle()
        if not _has_data(client):
            with selectors.DefaultSelector() as selector:
                selector.register(client.socket(), selectors.EVENT_READ)
                selector.select(seconds)
        client.idle_done()

    @property
    def keeps_sent(self) -> bool:
        """Whether this server keeps what is sent by itself, as Gmail."""
        return self._client is not None \
            and self._client.has_capability("X-GM-EXT-1")

    async def find_sent_folder(self) -> str | None:
        """The folder for what was sent."""
        folders: list[tuple[Any, Any, str]] = await self._call(
            lambda client: client.list_folders())
        names = [name for _, _, name in folders]
        return next((name for flags, _, name in folders if b"\\sent" in {
            bytes(flag).lower() for flag in flags}), None) or next(
                (name for name in _SENT_NAMES if name in names), None)

    async def append(self, folder: str, data: bytes) -> None:
        await self._call(lambda client: client.append(
            folder, data, (b"\\Seen",)))

    # -- the thread

    async def _call(self, work: "Callable[[IMAPClient], T]", *,
                    read: bool = True) -> T:
        """Run `work` on a thread; a cancelled one closes the connection."""
        client: Any = self._client
        if self._closed or (read and client is None):
            raise UnavailableError(f"{self._where}: the connection is closed")
        try:
            return await run_on_thread(lambda: self._run(work, client))
        except asyncio.CancelledError:
            self.close()
            raise
        except _WRONG as error:
            self.close()
            raise self._translate(error) from error

    def _run(self, work: "Callable[[IMAPClient], T]",
             client: "IMAPClient") -> T:
        with self._lock:
            self._busy = True
        try:
            return work(client)
        finally:
            with self._lock:
                self._busy = False
                if self._closed:
                    self._hang_up()

    def _translate(self, error: BaseException) -> UnavailableError:
        text, hint = self._scrub(error), None
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = ("for an authority of your own set SSL_CERT_FILE; else "
                    "check imap_host")
        elif isinstance(error, ssl.SSLError):
            hint = ("check imap_port and imap_tls: 993 is TLS, 143 is "
                    "STARTTLS")
        elif isinstance(error, socket.gaierror):
            hint = "check imap_host"
        elif isinstance(error, TimeoutError):
            text = "no answer in time"
        elif isinstance(error, ConnectionRefusedError):
            hint = "check imap_host and imap_port"
        return UnavailableError(f"{self._where}: {text}", hint=hint,
                                cause=find_cause(error))

    def _scrub(self, error: BaseException) -> str:
        text = name_cause(error) or str(error) or type(error).__name__
        if text.startswith("b'") and text.endswith("'"):
            text = text[2:-1]
        return " ".join(scrub(text, self._secrets).split())[:300]


def import_imapclient() -> None:
    """Raises MissingPartError."""
    try:
        import imapclient
    except ImportError as error:
        raise MissingPartError(
            "mail needs IMAPClient, which is not installed",
            hint=install_command("email")) from error
    # It logs what it reads and writes at DEBUG, mails included.
    logging.getLogger(imapclient.__name__).setLevel(logging.WARNING)


def _has_data(client: "IMAPClient") -> bool:
    """Whether news have been read with the line before: the socket would
    not tell. A closed one is readable."""
    sock = client.socket()
    sock.setblocking(False)
    try:
        return bool(client._imap.file.peek(1))
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    finally:
        sock.settimeout(READ_S)


async def run_on_thread(work: Callable[[], T]) -> T:
    """On a thread of its own, for which nobody waits at the end of the
    process: to_thread's few are everybody's, and are waited for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        problem: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # for who awaits it
            problem = error
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, name="imap", daemon=True).start()
    return await future
