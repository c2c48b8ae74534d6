"""nio's Olm machine: keys, sessions and their store, without any network.

Only `nio.crypto` and `nio.store` are used; what they want to ask or tell a
server goes through our own client (encryption.py). The store is an SQLite
file of nio's own, in a private folder, for one process at a time.
Source: matrix-nio 0.26; spec.matrix.org, "End-to-end encryption".
"""

import fcntl
import hashlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claw.channels.matrix.api import Me
from claw.channels.matrix.events import (
    ENCRYPTED,
    Event,
    read_event,
    table,
    text,
)
from claw.core.errors import MissingPartError, StorageError, UnavailableError
from claw.core.folders import make_private
from claw.core.installed import install_command

EXTRA = "matrix"
# What it warns of is not for the terminal of a service.
logging.getLogger("nio").addHandler(logging.NullHandler())


def is_installed() -> bool:
    """Whether the extra is there; loading it costs half a second."""
    return find_spec("nio") is not None and find_spec("vodozemac") is not None


def missing() -> MissingPartError:
    return MissingPartError(
        "this room is encrypted, and the part for that is not installed",
        hint=install_command(EXTRA))


def store_path(folder: Path, me: Me) -> Path:
    """The store of a device; other devices have others."""
    digest = hashlib.blake2b(f"{me.user_id}|{me.device_id}".encode(
        "utf-8", "replace"), digest_size=8)
    return folder / f"{digest.hexdigest()}.db"


class Machine:
    """The keys of one device. Raises UnavailableError where another
    process uses them, MissingPartError."""

    def __init__(self, folder: Path, me: Me) -> None:
        if not is_installed():
            raise missing()
        from nio.crypto import Olm
        from nio.store import SqliteStore
        make_private(folder)
        path = store_path(folder, me)
        self._lock = os.open(path.with_suffix(".lock"),
                             os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                             | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise UnavailableError(
                "another claw uses the room keys of this account",
                hint="is claw listen running? it sends what waits") from error
        self.me = me
        try:
            self._store = SqliteStore(me.user_id, me.device_id, str(folder),
                                      "", path.name)
            with suppress(OSError):
                path.chmod(0o600)
            self.olm = Olm(me.user_id, me.device_id, self._store)
        except Exception as error:  # of peewee, vodozemac, sqlite
            os.close(self._lock)
            raise StorageError(
                f"the room keys in {path} can't be read: "
                f"{type(error).__name__}",
                hint="bring the file back from a backup; or move it away and "
                     "log in for a new token: claw channel setup matrix"
            ) from error

    def close(self) -> None:
        self._store.database.close()
        os.close(self._lock)

    # -- what a server told

    def note_counts(self, uploaded: int | None) -> None:
        """How many of our one-time keys are left there."""
        if uploaded is not None:
            self.olm.uploaded_key_count = uploaded

    def note_changed(self, users: Iterable[Any]) -> None:
        """Whose devices may be others now."""
        self.olm.add_changed_users({
            user for user in users
            if isinstance(user, str) and user in self.olm.tracked_users})

    def take_to_device(self, raw: Any) -> str | None:
        """An event for this device; the id of the session whose key it
        brought. Raises ValueError and the like for what is none."""
        from nio.events import (
            ForwardedRoomKeyEvent,
            RoomKeyEvent,
            ToDeviceEvent,
        )
        if raw["type"] not in (ENCRYPTED, "m.room_key_request"):
            return None  # a bot verifies nobody
        event = ToDeviceEvent.parse_event(raw)
        if event is None:
            return None
        found = self.olm.handle_to_device_event(event)
        if isinstance(found, RoomKeyEvent | ForwardedRoomKeyEvent):
            return str(found.session_id)
        return None

    def take_uploaded(self, body: dict[str, Any]) -> None:
        from nio.responses import KeysUploadResponse
        count = table(body, "one_time_key_counts").get("signed_curve25519")
        self.olm.handle_response(KeysUploadResponse(
            0, count if isinstance(count, int) else 0))

    def note_refused(self) -> None:
        """The server will not have our keys: it is not asked each time."""
        self.olm.account.shared = True
        self.olm.uploaded_key_count = None

    def take_devices(self, body: dict[str, Any], asked: Iterable[str]
                     ) -> None:
        from nio.responses import KeysQueryResponse
        for user, devices in _people(body, "device_keys"):
            self._handle(KeysQueryResponse, {"device_keys": {user: devices}})
        for user in asked:  # who has no keys is not asked about for ever
            self.olm.users_for_key_query.discard(user)
            self.olm.tracked_users.add(user)

    def take_claimed(self, body: dict[str, Any]) -> None:
        from nio.responses import KeysClaimResponse
        for user, devices in _people(body, "one_time_keys"):
            for device, keys in devices.items():
                self._handle(KeysClaimResponse, {
                    "one_time_keys": {user: {device: keys}}})

    def _handle(self, kind: Any, body: dict[str, Any]) -> None:
        """One person's keys: his server may have put anything there, which
        keeps him from reading and nobody else."""
        from nio.responses import ErrorResponse
        try:
            response = kind.from_dict(body)
            if not isinstance(response, ErrorResponse):
                self.olm.handle_response(response)
        except Exception:  # of the library, for what is hostile
            return

    # -- what is to be asked and told

    def keys_to_upload(self) -> dict[str, Any] | None:
        return (dict(self.olm.share_keys()) if self.olm.should_upload_keys
                else None)

    def claims(self, users: Iterable[str]) -> dict[str, Any]:
        """Devices that we share no session with, as keys/claim has it."""
        wanted: dict[str, list[str]] = {
            user: list(devices) for user, devices in
            self.olm.get_missing_sessions(list(users)).items()}
        if self.olm.wedged_devices or self.olm.key_request_devices_no_session:
            for user, devices in (
                    self.olm.get_users_for_key_claiming().items()):
                wanted.setdefault(user, []).extend(devices)
        return {user: dict.fromkeys(devices, "signed_curve25519")
                for user, devices in wanted.items() if devices}

    def outgoing(self) -> list[Any]:
        """Messages to devices that wait to be sent."""
        self.olm.collect_key_requests()
        return list(self.olm.outgoing_to_device_messages)

    def mark_sent(self, message: Any) -> None:
        from nio.responses import ToDeviceResponse
        self.olm.handle_response(ToDeviceResponse(message))

    # -- rooms

    def devices(self, users: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Who reads a room: every device of its people but this one."""
        return frozenset(
            (user, str(device.id)) for user in users
            for device in self.olm.device_store.active_user_devices(user)
            if device.id != self.me.device_id)

    def needs_sharing(self, room_id: str) -> bool:
        return bool(self.olm.should_share_group_session(room_id))

    def forget_session(self, room_id: str) -> None:
        """The next message begins with a new key."""
        self.olm.outbound_group_sessions.pop(room_id, None)

    def share(self, room_id: str, users: Iterable[str]
              ) -> Iterator[dict[str, Any]]:
        """Bodies of sendToDevice that carry a new key. No device is
        verified by a bot: the first keys that a device has are trusted,
        others of the same name never."""
        if room_id not in self.olm.outbound_group_sessions:
            self.olm.create_outbound_group_session(room_id)
        for sharing_with, body in self.olm.share_group_session_parallel(
                room_id, list(users), ignore_unverified_devices=True):
            yield body
            self.olm.outbound_group_sessions[
                room_id].users_shared_with.update(sharing_with)
        self.olm.outbound_group_sessions[room_id].mark_as_shared()

    def encrypt(self, room_id: str, kind: str, content: dict[str, Any]
                ) -> dict[str, Any]:
        return dict(self.olm.group_encrypt(
            room_id, {"type": kind, "content": content}))

    def decrypt(self, room_id: str, event: Event) -> Event | None:
        """The event in the clear; None where its key is not there, or it
        is not from whom it says."""
        from nio.events import MegolmEvent
        from nio.exceptions import EncryptionError
        content = dict(event.content)
        if not text(content, "sender_key"):  # newer clients leave it out
            content["sender_key"] = self._find_sender_key(
                room_id, text(content, "session_id"))
        content.setdefault("device_id", "")
        if self._is_of_another(event.sender, text(content, "sender_key")):
            return None
        locked = MegolmEvent.from_dict({
            "type": event.type, "sender": event.sender, "content": content,
            "event_id": event.event_id, "room_id": room_id,
            "origin_server_ts": int(event.origin_server_ts)})
        if not isinstance(locked, MegolmEvent):
            return None
        try:
            found = self.olm.decrypt_megolm_event(locked, room_id)
        except EncryptionError:
            return None
        return read_event(found.source)

    def _find_sender_key(self, room_id: str, session_id: str) -> str:
        return next((str(session.sender_key)
                     for session in self.olm.inbound_group_store
                     if session.room_id == room_id
                     and session.id == session_id), "")

    def _is_of_another(self, user: str, sender_key: str) -> bool:
        """Whether a key is a device's of somebody else: a server could
        put his name to words that are another's."""
        return any(device.curve25519 == sender_key
                   and device.user_id != user
                   for device in self.olm.device_store)


def _people(body: dict[str, Any], key: str
            ) -> list[tuple[str, dict[str, Any]]]:
    """What a server told of each person. Raises UnavailableError."""
    if not isinstance(body.get(key), dict):
        raise UnavailableError("Matrix answered about keys with something "
                               "that is none")
    return [(user, devices) for user, devices in body[key].items()
            if isinstance(devices, dict)]


# -- files

def lock_file(content: bytes) -> tuple[bytes, dict[str, Any]]:
    """A file that only its key opens, and `file` of its event but for the
    address."""
    from nio.crypto.attachments import encrypt_attachment
    locked, keys = encrypt_attachment(content)
    return locked, dict(keys)


def unlock_file(locked: bytes, keys: dict[str, Any]) -> bytes:
    """Raises UnavailableError where it was changed on the way."""
    from nio.crypto.attachments import decrypt_attachment
    from nio.exceptions import EncryptionError
    try:
        return bytes(decrypt_attachment(
            locked, text(table(keys, "key"), "k"),
            text(table(keys, "hashes"), "sha256"), text(keys, "iv")))
    except (EncryptionError, ValueError, TypeError) as error:
        raise UnavailableError("the file can't be decrypted: it was changed "
                               "on the way, or its key is wrong") from error
