"""What is wrong with a mailbox, step by step: the rows of `claw channel
doctor email`. Nothing here marks a mail; what depends on a failed step is
skipped.
"""

from collections import Counter
from email.parser import BytesHeaderParser

from claw.channels.access import AllowList
from claw.channels.email.listener import open_mailbox
from claw.channels.email.logins import Logins
from claw.channels.email.mailbox import Mailbox
from claw.channels.email.proof import read_server
from claw.channels.email.settings import EmailSettings
from claw.channels.email.smtp import Courier
from claw.core.abilities import Finding
from claw.core.errors import ClawError, NotFoundError

_TABLE = "channels_config.email"
_LOOK = 20  # of the last mails


async def diagnose(settings: EmailSettings, logins: Logins,
                   courier: Courier, allowed: AllowList) -> list[Finding]:
    """Rows imap, folder, sent, senders, smtp, allow_list."""
    rows: list[Finding] = []
    try:
        box = await open_mailbox(settings, logins)
    except ClawError as error:
        rows.append(Finding("imap", "fail", error.message, error.hint,
                            error.cause))
        rows += [Finding(name, "skip", "a step before it failed")
                 for name in ("folder", "sent", "senders")]
    else:
        try:
            rows += await _look(box, settings)
        except ClawError as error:
            rows.append(Finding("folder", "fail", error.message, error.hint))
        finally:
            box.close()
    return [*rows, await _smtp(courier, settings), _allow_list(allowed)]


async def _look(box: Mailbox, settings: EmailSettings) -> list[Finding]:
    rows = [Finding("imap", "ok", f"logged in to {settings.imap_host}"
                    + ("" if await box.has_idle() else
                       ", which has no IDLE: it is asked once a minute"))]
    folder = await box.find_sent_folder()
    rows.append(Finding("sent", "ok", f"copies are in {folder}") if folder
                else Finding("sent", "warn", "there is no folder for sent "
                             "mail: after a crash it can't be told whether a "
                             "mail has left", "make a folder called Sent"))
    try:
        await box.select(settings.imap_folder, readonly=True)
    except NotFoundError as error:
        return [*rows, Finding("folder", "fail", error.message, error.hint),
                Finding("senders", "skip", "a step before it failed")]
    uids = await box.search("ALL")
    rows.append(Finding("folder", "ok", f"{settings.imap_folder} has "
                        f"{len(uids)} mails"))
    heads = await box.read_heads(uids[-_LOOK:])
    return [*rows, judge_proofs(settings, [
        head.header for head in heads.values()])]


def judge_proofs(settings: EmailSettings, headers: list[bytes]) -> Finding:
    """Whether senders can be proven by what the server writes."""
    if not settings.proves_senders:
        return Finding("senders", "warn", "every From is believed: anybody "
                       "can write as one of your people",
                       f"claw config unset {_TABLE}.auth_results")
    if not headers:
        return Finding("senders", "skip", "no mail came yet to look at")
    parser = BytesHeaderParser()
    names = Counter(
        read_server(str(found[0])) for header in headers
        if (found := parser.parsebytes(header).get_all(
            "Authentication-Results")))
    trusted = settings.auth_results.strip().lower()
    seen = ", ".join(f"{name or '(no name)'} on {count}"
                     for name, count in names.most_common(3))
    if trusted and names[trusted]:
        return Finding("senders", "ok", f"{trusted} has judged "
                       f"{names[trusted]} of the last {len(headers)}")
    if trusted or not names:
        return Finding(
            "senders", "warn", "none of the last mails was judged by "
            f"{trusted or 'any server'}" + (f", but by {seen}" if seen
                                            else ""),
            f"claw config set {_TABLE}.auth_results NAME, as your server "
            "calls itself in Authentication-Results; \"off\" where it writes "
            "none")
    name = names.most_common(1)[0][0]
    return Finding("senders", "warn",
                   f"judged by {seen}, of the last {len(headers)}; as no "
                   "server is named, all mails are labelled foreign",
                   f"claw config set {_TABLE}.auth_results {name}" if name
                   else None)


async def _smtp(courier: Courier, settings: EmailSettings) -> Finding:
    try:
        await courier.check()
    except ClawError as error:
        return Finding("smtp", "fail", error.message, error.hint,
                       error.cause)
    return Finding("smtp", "ok", f"logged in to {settings.smtp_host} as "
                   f"{settings.address}")


def _allow_list(allowed: AllowList) -> Finding:
    hint = f"claw config set {_TABLE}.allowed_users '[\"you@example.org\"]'"
    if found := allowed.judge(hint):
        return found
    return Finding("allow_list", "ok", "addresses and domains only")
