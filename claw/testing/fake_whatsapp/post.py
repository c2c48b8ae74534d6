"""Posts webhooks, each line of them in order, each until it is taken."""

import http.client
import threading
from collections import deque
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit


class Poster:
    """One line, in a thread of its own; ends with `stop`. `find_url` gives
    the address as it is now, None while there is none; what was not taken
    is posted again after `again_s` seconds, or when told to."""

    def __init__(self, find_url: Callable[[], str | None],
                 again_s: float, refusals: list[int]) -> None:
        self._find_url = find_url
        self._again_s = again_s
        self._waiting: deque[tuple[bytes, Mapping[str, str]]] = deque()
        self._news = threading.Event()
        self._over = False
        self._refusals = refusals
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> list[bytes]:
        """What was not taken yet."""
        return [body for body, _ in list(self._waiting)]

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        self._waiting.append((body, headers))
        self._news.set()

    def hasten(self) -> None:
        """Post again now what was not taken."""
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
                self._news.wait(self._again_s)
                self._news.clear()

    def _deliver(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether it was taken."""
        address = self._find_url()
        if address is None:
            return False
        url = urlsplit(address)
        connection = http.client.HTTPConnection(url.hostname or "", url.port,
                                                timeout=5)
        try:
            connection.request("POST", url.path, body, dict(headers))
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if status != 200:
            self._refusals.append(status)
        return status == 200
