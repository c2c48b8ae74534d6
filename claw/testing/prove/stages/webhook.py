"""A program that posts and is posted to, for a proof."""

import http.client
import json
import socket
import threading
import time
from collections import deque

from claw.testing.fake_webhook import FakeReceiver, sign
from claw.testing.prove.stages import HERE
from claw.testing.prove.verdict import Got, Said

_SECRET = "a secret of the proof, of no use elsewhere"
_AGAIN_S = 0.05


class WebhookStage:
    """A program that posts signed messages, again until it hears 200, and
    receives the answers."""

    name = "webhook"
    takes_files = False
    doubts = 1

    def __init__(self, host: str = HERE) -> None:
        self.host = host
        self.receiver = FakeReceiver(secret=_SECRET)
        self.receiver.host = host
        self._port = _free_port()
        self._senders: dict[int, _Sender] = {}

    @property
    def server(self) -> FakeReceiver:
        return self.receiver

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
