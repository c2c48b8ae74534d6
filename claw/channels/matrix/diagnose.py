"""What is wrong with the account, step by step: the rows of `claw channel
doctor matrix`. Nothing here receives or writes.
"""

from typing import Any
from urllib.parse import urlsplit

from claw.channels.access import AllowList
from claw.channels.matrix.api import MatrixApi, is_address, read_body
from claw.channels.matrix.events import items, table, text
from claw.channels.matrix.machine import EXTRA, is_installed
from claw.channels.matrix.rooms import Rooms
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.errors import ClawError, RequestRefusedError
from claw.core.installed import install_command

_STEP_S = 5.0
_TABLE = "channels_config.matrix"
_SET = f"claw config set {_TABLE}"
_LATER = ("server", "token", "rooms", "encryption")


async def diagnose(api: MatrixApi, rooms: Rooms, listed: tuple[str, ...],
                   allowed: AllowList, proxy_url: str | None
                   ) -> list[Finding]:
    """Rows of the way to the server (probe), then server, token, rooms,
    encryption, allow_list."""
    if not is_address(api.base_url):
        return [Finding("address", "fail", "homeserver is no http address",
                        f"{_SET}.homeserver https://HOMESERVER"),
                _allow_list(allowed)]
    rows = await probe(api.base_url, _STEP_S, proxy_url=proxy_url)
    for name, step in (("server", _server(api)), ("token", _token(api)),
                       ("rooms", _rooms(api, rooms, listed)),
                       ("encryption", _encryption(api, rooms))):
        if any(row.status == "fail" for row in rows):
            step.close()
            rows.append(Finding(name, "skip", "a step before it failed"))
        else:
            rows.append(await step)
    return [*rows, _allow_list(allowed)]


async def _server(api: MatrixApi) -> Finding:
    try:
        body = await api.call("GET", "versions", root="/_matrix/client",
                              timeout_s=_STEP_S)
    except ClawError as error:
        return Finding("server", "fail", error.message,
                       await _find_real(api) or error.hint)
    versions = [v for v in items(body, "versions") if isinstance(v, str)]
    return Finding("server", "ok", "a Matrix homeserver, up to "
                   f"{versions[-1] if versions else 'an unknown version'}")


async def _find_real(api: MatrixApi) -> str | None:
    """Where the API of a server name really is, if it tells."""
    try:
        answer = await api.get_public("/.well-known/matrix/client", _STEP_S)
    except ClawError:
        return None
    found = text(table(read_body(answer) or {}, "m.homeserver"), "base_url")
    host = urlsplit(found).netloc if is_address(found) else ""
    return f"{_SET}.homeserver {found}" if host and host.isprintable() \
        else None


async def _token(api: MatrixApi) -> Finding:
    try:
        me = await api.me(fresh=True, timeout_s=_STEP_S)
    except ClawError as error:
        return Finding("token", "fail", error.message,
                       error.hint or "claw channel setup matrix")
    if not me.device_id:
        return Finding("token", "warn", f"it is {me.user_id}, without a "
                       "device: an answer in doubt is looked up, and "
                       "encrypted rooms can't be read",
                       "log in with a password for a token: claw channel "
                       "setup matrix")
    return Finding("token", "ok", f"it is {me.user_id}, device "
                                  f"{me.device_id}")


async def _joined(api: MatrixApi) -> list[str]:
    body = await api.call("GET", "joined_rooms", timeout_s=_STEP_S)
    return [room for room in items(body, "joined_rooms")
            if isinstance(room, str)]


async def _rooms(api: MatrixApi, rooms: Rooms, listed: tuple[str, ...]
                 ) -> Finding:
    try:
        joined = await _joined(api)
        missing = []
        for room in listed:
            try:
                if await rooms.resolve(room, makes=False) not in joined:
                    missing.append(room)
            except RequestRefusedError:
                missing.append(room)
    except ClawError as error:
        return Finding("rooms", "fail", error.message, error.hint)
    if missing:
        return Finding("rooms", "warn", "not a member of "
                       + ", ".join(missing), "invite the bot there")
    if not joined:
        return Finding("rooms", "warn", "it has joined no room",
                       "start a chat with the bot, or invite it to a room")
    return Finding("rooms", "ok", f"it is in {len(joined)} rooms"
                   + (f", listens to {len(listed)}" if listed else ""))


async def _encryption(api: MatrixApi, rooms: Rooms) -> Finding:
    """Whether the extra is there where a room needs it."""
    if is_installed():
        return Finding("encryption", "ok", "the extra is installed")
    install = install_command(EXTRA)
    try:
        locked: list[Any] = [room for room in (await _joined(api))[:20]
                             if await rooms.is_encrypted(room)]
    except ClawError as error:
        return Finding("encryption", "warn", error.message, error.hint)
    if locked:
        return Finding("encryption", "warn", f"{len(locked)} rooms are "
                       "encrypted, and can't be read", install)
    return Finding("encryption", "skip", "no room needs it", install)


def _allow_list(allowed: AllowList) -> Finding:
    hint = f"{_SET}.allowed_users '[\"@you:HOMESERVER\"]'"
    if found := allowed.judge(hint):
        return found
    wrong = [name for name in allowed.usernames if ":" not in name]
    if wrong:
        return Finding("allow_list", "warn", "these are no full ids: "
                       + ", ".join(wrong), hint)
    return Finding("allow_list", "ok", "full ids only")
