"""Rate limits of the REST API: who has to wait, and how long. Pure.

Each answer names its route's bucket and what is left of it; routes that
share a bucket are counted together, apart for each channel, guild or
webhook. A 429 closes its bucket, a global one everything.
Source: docs.discord.com/developers, topics/rate-limits, read 2026-11.
"""

import re
from collections.abc import Callable, Mapping

_MOST = 1000
_MAJOR = re.compile(r"/(channels|guilds|webhooks|interactions)/([^/]+)")
_MINOR = re.compile(r"/\d{5,}")
_EMOJI = re.compile(r"/reactions/.*")

Key = tuple[str, str]


class _Bucket:
    """`left` calls until `until`."""

    def __init__(self, left: float, until: float) -> None:
        self.left = left
        self.until = until


class Limits:
    """The limits of one bot."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._names: dict[str, str] = {}  # route -> bucket
        self._buckets: dict[Key, _Bucket] = {}
        self._closed = 0.0

    def wait_s(self, method: str, path: str) -> float:
        """Seconds until a call may go; 0 where it may."""
        now = self._clock()
        bucket = self._buckets.get(self._key(method, path))
        waits = max(0.0, self._closed - now)
        if bucket is not None and bucket.left < 1:
            waits = max(waits, bucket.until - now)
        return waits

    def take(self, method: str, path: str) -> None:
        """A call goes now."""
        bucket = self._buckets.get(self._key(method, path))
        if bucket is not None:
            bucket.left -= 1

    def note(self, method: str, path: str,
             headers: Mapping[str, str]) -> None:
        """What an answer says of its bucket."""
        left = _number(headers.get("x-ratelimit-remaining"))
        after = _number(headers.get("x-ratelimit-reset-after"))
        if left is None or after is None:
            return
        name = headers.get("x-ratelimit-bucket")
        if name:
            if len(self._names) >= _MOST:
                self._names.clear()
            self._names[_route(method, path)] = name
        self._keep(self._key(method, path), left, after)

    def close(self, method: str, path: str, wait_s: float, *,
              everywhere: bool) -> None:
        """After a 429."""
        if everywhere:
            self._closed = max(self._closed, self._clock() + wait_s)
        else:
            self._keep(self._key(method, path), 0.0, wait_s)

    def _keep(self, key: Key, left: float, after_s: float) -> None:
        now = self._clock()
        if len(self._buckets) >= _MOST:
            self._buckets = {k: b for k, b in self._buckets.items()
                             if b.until > now}
        old = self._buckets.get(key)
        until = now + after_s
        if old is not None and old.until > now:
            # Calls that are under way have been taken off already.
            left, until = min(left, old.left), max(until, old.until)
        self._buckets[key] = _Bucket(left, until)

    def _key(self, method: str, path: str) -> Key:
        route = _route(method, path)
        major = _MAJOR.match(path)
        key = (self._names.get(route, route), major[2] if major else "")
        bucket = self._buckets.get(key)
        if bucket is not None and bucket.until <= self._clock():
            del self._buckets[key]
        return key


def _route(method: str, path: str) -> str:
    """A path without its ids."""
    path = path.partition("?")[0]
    return f"{method} {_EMOJI.sub('/reactions', _MINOR.sub('/:id', path))}"


def _number(text: str | None) -> float | None:
    try:
        found = float(text) if text else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found < 1e6 else None
