"""What is known of models, kept from one process to the next.

`<workspace>/state/model_facts.json` holds what was found out by asking:
that a model at an address refuses tools, say. It is only a note: damaged it
counts as empty, after 30 days it is no longer believed, and where it can't
be written nothing happens.
"""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from claw.core.times import rfc3339
from claw.core.value import replace
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.state_file import (
    lock_folder,
    read_entries,
    read_stamp,
    write_json,
)

MOST = 500
OLD_S = 30 * 86400.0
_NAME_CHARS = 300
_PARTS = 20
_Key = tuple[str, str]


class ModelInfoFile:
    """Model info in a file; with None for `path` only in memory. `clock`
    gives unix seconds. Reading creates nothing, and no member raises."""

    def __init__(self, path: Path | None,
                 clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._known: dict[_Key, ModelInfo] = {}
        self._stamp: object = None

    def find(self, address: str, model: str) -> ModelInfo:
        """What is known of a model; ModelInfo() where nothing is."""
        self._refresh()
        found = self._known.get((plain_address(address), model))
        return found if found and _recent(found.checked_at, self._clock()) \
            else ModelInfo()

    def learn(self, address: str, model: str, info: ModelInfo) -> None:
        """Keep info. Without a `checked_at` they are of now."""
        address = plain_address(address)
        if not address or not model or len(model) > _NAME_CHARS \
                or len(address) > _NAME_CHARS:
            return
        info = replace(info, checked_at=info.checked_at
                        or rfc3339(self._clock()))
        if self._path is None:
            self._known[address, model] = info
            self._known = _newest(self._known)
            return
        try:
            with lock_folder(self._path) as folder:
                self._stamp = None
                self._refresh()
                self._known[address, model] = info
                self._known = _newest(self._known)
                write_json(folder, self._path.name, {
                    "version": 1, "entries": [
                        {"address": at, "model": name,
                         "native_tools": info.native_tools,
                         "without": list(info.without),
                         "checked_at": info.checked_at}
                        for (at, name), info in self._known.items()]})
                self._stamp = read_stamp(self._path)
        except (OSError, ValueError):
            self._known[address, model] = info  # for this process at least

    def _refresh(self) -> None:
        """Read the file where it has changed since."""
        if self._path is None:
            return
        now = read_stamp(self._path)
        if now is not None and now != self._stamp:
            self._known = _read(read_entries(self._path), self._clock())
            self._stamp = now


def plain_address(address: str) -> str:
    """Scheme, host, port and path of an address: what is left out (user,
    password, query) could be a key. "" for what is none."""
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    return (f"{parts.scheme}://{host}{f':{port}' if port else ''}"
            f"{parts.path.rstrip('/')}")


def _newest(known: dict[_Key, ModelInfo]) -> dict[_Key, ModelInfo]:
    if len(known) <= MOST:
        return known
    order = sorted(known.items(), key=lambda item: item[1].checked_at)
    return dict(order[-MOST:])


def _read(rows: list[dict[str, Any]], now: float) -> dict[_Key, ModelInfo]:
    """The entries that can be believed."""
    found: dict[_Key, ModelInfo] = {}
    for row in rows:
        address, model = row.get("address"), row.get("model")
        info = _read_row(row, now)
        if isinstance(address, str) and isinstance(model, str) and info:
            found[address, model] = info
    return _newest(found)


def _read_row(row: dict[str, Any], now: float) -> ModelInfo | None:
    tools, checked = row.get("native_tools"), row.get("checked_at")
    without = row.get("without")
    if not (tools is None or isinstance(tools, bool)) \
            or not isinstance(checked, str) or not _recent(checked, now):
        return None
    return ModelInfo(tools, tuple(
        w for w in without[:_PARTS] if isinstance(w, str))
        if isinstance(without, list) else (), checked)


def _recent(checked: str, now: float) -> bool:
    """Not older than 30 days, and not from the future (a clock that went
    wrong would make it last)."""
    try:
        age = now - datetime.fromisoformat(checked).timestamp()
    except (ValueError, OverflowError, OSError):
        return False
    return -86400.0 < age < OLD_S
