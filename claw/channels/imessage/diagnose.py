"""What `claw channel doctor` says of this Mac: the rights that macOS gives,
and the allow-list."""

import asyncio
import shutil
import sys

from claw.channels.access import AllowList
from claw.channels.imessage.database import Database
from claw.channels.imessage.mac import ASK, Mac, run_script
from claw.core.abilities import Finding
from claw.core.errors import ClawError

_HINT = ("claw config set channels_config.imessage.allowed_users "
         "'[\"+15551234567\"]'")


async def diagnose(mac: Mac, database: Database,
                   allowed: AllowList) -> list[Finding]:
    return [await _check_database(database), await _check_messages(mac),
            allowed.judge(_HINT) or Finding(
                "allow_list", "ok", "somebody may write")]


async def _check_database(database: Database) -> Finding:
    try:
        highest, _ = await asyncio.to_thread(database.newest)
    except ClawError as error:
        return Finding("full_disk_access", "fail", error.message,
                       f"{error.hint} ({sys.executable})"
                       if error.hint else None)
    return Finding("full_disk_access", "ok",
                   f"Messages' database can be read ({highest} messages)")


async def _check_messages(mac: Mac) -> Finding:
    if shutil.which(mac.osascript) is None:
        return Finding("automation", "fail", "there is no osascript on PATH",
                       "is /usr/bin on the PATH of what starts claw?")
    try:
        found = await run_script(mac, ASK)
    except ClawError as error:
        return Finding("automation", "fail", error.message, error.hint)
    if found.strip() in ("", "0"):
        return Finding("automation", "fail", "Messages is not signed in to "
                       "iMessage", "Messages > Settings > iMessage, on the "
                       "Mac, under the user who runs claw")
    return Finding("automation", "ok", "Messages may be controlled and is "
                   "signed in")
