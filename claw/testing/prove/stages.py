"""Platforms for a proof: people write on them, and what they got is read
off them from outside."""

import http.client
import json
import socket
import threading
import time
from collections import deque

from claw.testing.fake_telegram import FakeTelegram
from claw.testing.fake_telegram.model import Sent
from claw.testing.fake_webhook import FakeReceiver, sign
from claw.testing.prove.verdict import MARK, Got, Said

HERE = "127.0.0.1"
POLL_S = 2
# How many messages may be on their way, and so in doubt, when the process
# is struck: as many chats are sent to at once.
DOUBTS = {"telegram": 8, "webhook": 1}
_SECRET = "a secret of the proof, of no use elsewhere"
_AGAIN_S = 0.05


class TelegramStage:
    """A Telegram."""

    name = "telegram"
    takes_files = True

    def __init__(self, poll_s: int = POLL_S, *,
                 drafts: bool = False, host: str = HERE) -> None:
        self.host = host
        self.platform = FakeTelegram()
        self.platform.host = host
        self._poll_s = poll_s
        self._stream_mode = "partial" if drafts else "off"

    def open(self) -> None:
        self.platform.up()

    def close(self) -> None:
        self.platform.down()

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.telegram]\n'
                f'bot_token = "{self.platform.token}"\n'
                f'allowed_users = {list(range(1001, 1101))}\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'stream_mode = "{self._stream_mode}"\n'
                f'poll_timeout_secs = {self._poll_s}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.post(text, chat_id=chat)
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(str(m.chat_id), self._read(m), _notice(m), m.deleted)
                for m in self.platform.messages()]

    def _read(self, message: Sent) -> str:
        if message.file_id is None:
            return message.text
        mark = MARK if message.text.startswith(MARK.strip()) else ""
        return mark + self.platform.file(message.file_id).decode()

    def problems(self) -> list[str]:
        return self.platform.problems


def _notice(message: Sent) -> str | None:
    """What a phone showed when it came."""
    if message.silent:
        return ""
    return message.history[0] if message.file_id is None else None


class WebhookStage:
    """A program that posts signed messages, again until it hears 200, and
    receives the answers."""

    name = "webhook"
    takes_files = False

    def __init__(self, host: str = HERE) -> None:
        self.host = host
        self.receiver = FakeReceiver(secret=_SECRET)
        self.receiver.host = host
        self._port = _free_port()
        self._senders: dict[int, _Sender] = {}

    def open(self) -> None:
        self.receiver.up()

    def close(self) -> None:
        for sender in self._senders.values():
            sender.stop()
        self.receiver.down()

    def settings(self) -> str:
        return (f'[channels_config.webhook]\n'
                f'port = {self._port}\n'
                f'secret = "{_SECRET}"\n'
                f'send_url = "{self.receiver.url}/answers"\n')

    def post(self, chat: int, text: str) -> Said:
        if chat not in self._senders:
            self._senders[chat] = _Sender(self._port)
        self._senders[chat].send({
            "sender": str(chat), "content": text, "id": f"{chat}-{text}"})
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        bodies = [d.json() for d in list(self.receiver.received)]
        return [Got(b["recipient"], b["content"]) for b in bodies]

    def problems(self) -> list[str]:
        return self.receiver.problems


Stage = TelegramStage | WebhookStage


class _Sender:
    """Posts the messages of one chat in their order, each until it is
    accepted."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._waiting: deque[bytes] = deque()
        self._news = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def send(self, body: dict[str, str]) -> None:
        self._waiting.append(json.dumps(body).encode())
        self._news.set()

    def stop(self) -> None:
        self._over = True
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over:
            if not self._waiting:
                self._news.wait()
                self._news.clear()
            elif self._post(self._waiting[0]):
                self._waiting.popleft()
            else:
                time.sleep(_AGAIN_S)

    def _post(self, body: bytes) -> bool:
        """Whether it was accepted."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port,
                                                timeout=5)
        try:
            connection.request("POST", "/webhook", body, {
                "Content-Type": "application/json", **sign(_SECRET, body)})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
