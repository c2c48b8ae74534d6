"""The [channels_config.imessage] table of config.toml, and how a newcomer
fills it."""

import re
from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0.2, le=60)]

SETUP = """\
The agent runs on a Mac and answers in Messages, as the user who runs it.

Give that user an Apple Account of the agent's own, where you can.

1. On the Mac open Messages and sign in (*Messages > Settings > iMessage*).
   Send somebody a message by hand, so that you know that it works.
2. Who may write, as telephone numbers with country code, or mail addresses:

       claw config set channels_config.imessage.allowed_users \
'["+15551234567", "you@example.org"]'

   Or leave the list empty, start `claw listen`, and send `/bind CODE` with
   the code that it logs.
3. Let the program that starts claw read Messages' database: *System Settings >
   Privacy & Security > Full Disk Access*, add the terminal (Terminal, iTerm,
   ...), end it and open it again. The right belongs to the program that
   starts claw, not to claw: a job of launchd has none of its terminal's, so
   there add the `python` that claw runs with; over SSH allow *full disk
   access for remote users* in *Sharing > Remote Login*.
4. Send something: `claw send imessage:+15551234567 hello`. macOS asks whether
   that program may control Messages: allow it. Later that stands under
   *Privacy & Security > Automation*. Nobody sees that question of a job of
   launchd: answer it once from a terminal.
5. `claw channel doctor imessage` checks all of that, and `claw listen` goes.

**In groups** everything that allowed people write is answered; with
`mention_only = true` only what names `mention_name`, or replies to claw.

**A chat with yourself** is not answered, nor is what this account itself
writes, on any device: claw could not tell its own answers from your words.
That is why the agent is best given an account of its own.

**SMS** (green) is left out, since anybody can send one under any number.
`sms = true` takes them, and answers by SMS through your iPhone.

**When nothing arrives:** is the Mac awake (`caffeinate -s claw listen`), and
does Messages show the message? **When nothing is delivered:** look for a red
mark in Messages. macOS reports success for some messages that it never sends;
claw looks in the database after each one. A long silence of `osascript` is
often a question of macOS that waits on the screen.

**Bounds.** After an outage the messages of the last seven days are read; the
first start reads nothing old. Tapbacks are left out. Answers are plain text;
Messages makes previews of links by itself, so in an answer to foreign words
only the links that the owner gave are links.

**Not tried on a Mac.** All of this was built from published facts about
macOS 10.13 to 26 and tried against a made-up Messages: the database's
columns, the encoding of texts (one real sample), the script. What waits for a
Mac: that the script compiles and sends as it is on each system, `participant`
and `chat id` of groups on macOS 26, where files must lie to be sent, the
wording and numbers of errors, and each of the rights above.
"""


class ImessageSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.imessage].

    allowed_users: telephone numbers (+15551234567) or mail addresses that may
        write; "*" is everybody, empty nobody until one is paired; the
        reference's allowed_contacts is the same
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    mention_only: in groups react only to what names mention_name, or replies
        to claw
    mention_name: the word that names claw in groups
    sms: take SMS and RCS too; an SMS proves no sender
    poll_secs: how often Messages' database is looked at
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    mention_only: bool = False
    mention_name: str = "claw"
    sms: bool = False
    poll_secs: Seconds = 1.0
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None
    show_hint_to_strangers: bool = False

    @staticmethod
    def spell(entry: str) -> str:
        return fold_handle(entry)


def fold_handle(handle: str) -> str:
    """A person's address as it is compared: a mail's letters small, a
    number without the signs that people put between its digits."""
    handle = handle.strip()
    bare = re.sub(r"[\s().\u2010-\u2015-]", "", handle)
    return bare if re.fullmatch(r"\+?[0-9]+", bare) else handle.lower()
