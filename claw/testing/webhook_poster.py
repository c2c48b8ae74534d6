"""Posts webhooks, each line of them in order, each until it is taken; and a
fake platform that does."""

import http.client
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from claw.testing.fake_server import FakeServer

Signed: TypeAlias = tuple[bytes, Mapping[str, str]]  # body and headers


class Poster:
    """One line, in a thread of its own; ends with `stop`. `find_url` gives
    the address as it is now, None while there is none; what was not taken
    is posted again after `again_s` seconds, or when told to."""

    def __init__(self, find_url: Callable[[], str | None],
                 again_s: float, refusals: list[int]) -> None:
        self._find_url = find_url
        self._again_s = again_s
        self._waiting: deque[tuple[Signed, Signed]] = deque()
        self._news = threading.Event()
        self._over = False
        self._refusals = refusals
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> list[bytes]:
        """What was not taken yet."""
        return [body for (body, _), _ in list(self._waiting)]

    def post(self, first: Signed, again: Signed | None = None) -> None:
        """`again` is what is posted from the second time on."""
        self._waiting.append((first, again or first))
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
            elif self._deliver(*self._waiting[0][0]):
                self._waiting.popleft()
            else:
                again = self._waiting[0][1]
                self._waiting[0] = again, again
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


class PostingServer(FakeServer):
    """A platform that posts to `callback`, in lines; what was not taken
    after `again_s` seconds once more. `refusals` are the statuses that
    webhooks were given."""

    def __init__(self, *, port: int = 0, latency_s: float = 0.0) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.callback: str | None = None
        self.again_s = 0.05
        self.refusals: list[int] = []
        self._posters: dict[str, Poster] = {}

    def __exit__(self, *error: object) -> None:
        self.stop_posting()
        super().__exit__(*error)

    def post_signed(self, line: str, first: Signed,
                    again: Signed | None = None) -> None:
        """A webhook, after those of its line."""
        with self._changed:
            if line not in self._posters:
                self._posters[line] = Poster(
                    lambda: self.callback, self.again_s, self.refusals)
            self._posters[line].post(first, again)

    def post_again(self) -> None:
        """What was not taken, now."""
        for poster in list(self._posters.values()):
            poster.hasten()

    def stop_posting(self) -> None:
        posters, self._posters = self._posters, {}
        for poster in posters.values():
            poster.stop()

    @property
    def undelivered(self) -> list[bytes]:
        """Webhooks that were not taken yet."""
        return [body for poster in list(self._posters.values())
                for body in poster.waiting]
