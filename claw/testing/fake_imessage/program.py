"""What runs as `osascript`: Messages' side of the script.

`mode` in Messages' folder says how it goes wrong: "error" (a number of
AppleScript's), "silent" (success, and nothing is sent), "ghost" (success, and
a row without words and chat, as macOS 26 leaves one), "failed" (a row with an
error), "pending" (a row that is not sent yet), "hang", "no_chats" (guids that
it does not know), "accounts" (how many are signed in).
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from store import OWN, Store  # type: ignore[import-not-found]

WORDS = {-1743: "Not authorized to send Apple events to Messages.",
         -1728: "Messages got an error: Can’t get chat id.",
         -600: "Messages got an error: Application isn’t running.",
         -1712: "Messages got an error: AppleEvent timed out."}


def main(folder: str, arguments: list[str]) -> int:
    store = Store(Path(folder))
    mode = store.read_mode()
    if arguments[:3] != ["-l", "AppleScript", "-e"]:
        return complain(store, f"arguments {arguments}")
    _, _, _, script, *arguments = arguments
    with (store.folder / "calls").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    if "hang" in mode:
        time.sleep(mode["hang"])
    if "error" in mode:
        return fail(mode["error"])
    if "count (accounts" in script:
        sys.stdout.write(f"{mode.get('accounts', 1)}\n")
        return 0
    if not script.startswith("on run argv") or len(arguments) != 4:
        return complain(store, f"a script {script!r}")
    return send(store, mode, *arguments)


def send(store: Store, mode: dict[str, Any], kind: str, way: str,
         target: str, content: str) -> int:
    if way == "chat":
        unknown = mode.get("no_chats", [])
        with store.open() as db:
            known = {row[0] for row in db.execute("SELECT guid FROM chat")}
        if target not in known or target in unknown:
            return fail(-1728)
    elif mode.get("no_people"):
        return fail(-1728)
    if "silent" in mode:
        return 0
    file = Path(content) if kind == "file" else None
    with store.open() as db:
        if "ghost" in mode:
            store.write(db, None, "", is_from_me=1, is_sent=1)
            return 0
        if way == "chat":
            chat = int(db.execute("SELECT ROWID FROM chat WHERE guid = ?",
                                  (target,)).fetchone()[0])
        else:
            chat = store.find_chat(db, target)
        service = "SMS" if way == "sms" else "iMessage"
        rowid = store.write(
            db, chat, "\ufffc" if file else content, is_from_me=1,
            is_sent=int("failed" not in mode and "pending" not in mode),
            error=22 if "failed" in mode else 0, service=service,
            destination_caller_id=OWN)
        # The sandbox: what lies elsewhere is an empty bubble.
        if file and file.is_relative_to(store.folder):
            store.attach(db, rowid, file.name, file.read_bytes(), None)
    return 0


def fail(number: int) -> int:
    sys.stderr.write(f"0:0: execution error: "
                     f"{WORDS.get(number, 'An error.')} ({number})\n")
    return 1


def complain(store: Store, what: str) -> int:
    with (store.folder / "problems").open("a") as problems:
        problems.write(f"{what}\n")
    return 2
