"""Posts webhooks, each line of them in order, each until it is taken."""

import http.client
import threading
import time
from collections import deque
from collections.abc import Mapping
from urllib.parse import urlsplit

AGAIN_S = 0.05


class Poster:
    """One line, in a thread of its own; ends with `stop`."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._waiting: deque[tuple[bytes, Mapping[str, str]]] = deque()
        self._news = threading.Event()
        self._over = False
        self.refusals: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        return not self._waiting

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        self._waiting.append((body, headers))
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
            elif self._deliver(*self._waiting[0]):
                self._waiting.popleft()
            else:
                time.sleep(AGAIN_S)

    def _deliver(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether it was taken."""
        connection = http.client.HTTPConnection(
            self._url.hostname or "", self._url.port, timeout=5)
        try:
            connection.request("POST", self._url.path, body, dict(headers))
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if status != 200:
            self.refusals.append(status)
        return status == 200
