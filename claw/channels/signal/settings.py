"""The [channels_config.signal] table of config.toml, and how a newcomer
fills it."""

from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]

SETUP = """\
A Signal account of its own, through the daemon of signal-cli.

1. Install signal-cli 0.14.5 or newer (older ones no longer receive) with
   Java 25, and give it an account: `signal-cli -a +NUMBER register` with a
   number of the bot's own, or `signal-cli link -n claw` as a further device
   of an account. A linked one *is* that person: what he writes himself
   reaches claw as his own and is never answered.
2. Run it, on this machine and as a service:

       signal-cli -a +NUMBER daemon --http 127.0.0.1:8080 \\
           --receive-mode on-connection --no-receive-stdout

   **Mind the receive mode.** With `on-connection` messages wait on Signal's
   server while claw is away. With the default, `on-start`, signal-cli fetches
   them all the time, and what comes while claw is away is lost. The daemon
   asks nobody for a password: let it listen to 127.0.0.1 only. Without `-a`
   it serves all of its accounts, and each may have its own claw.
3. Tell claw:

       claw config set channels_config.signal.http_url http://127.0.0.1:8080
       claw config set channels_config.signal.account +NUMBER

   `account` is a number, or an ACI (0.14.6); a daemon with `-a` needs none.
4. Let people in by their number or their ACI (the UUID that claw logs when a
   stranger writes; people keep it when their number changes):

       claw config set channels_config.signal.allowed_users '["+NUMBER"]'

   Or leave the list empty, start `claw listen`, and send `/bind CODE` to the
   bot in a private chat, with the code that claw logs at its start.
5. `claw channel doctor signal` checks the way, the daemon, its version and
   the account.

**In groups** the bot hears everything; with `mention_only` only what mentions
it or quotes it. An invitation is accepted with `signal-cli -a +NUMBER
updateGroup -g GROUP_ID`. `group_id` keeps it to some groups (ids of
`signal-cli listGroups`), `dm` to private chats. **Approvals** are typed: the
question names the words.

**What can be lost and doubled.** The daemon forgets what it has handed over.
claw writes it down the moment it reads it; what was on its way between the
two when claw is killed, or in a connection that broke unseen (found within
45 seconds), is gone. A message of ours has no key, and Signal shows nobody
what he has sent: when the answer of the daemon does not come, claw sends it
again with "(possibly repeated)" in front of it.

**Rate limits.** Where Signal wants a proof that you are human, claw logs the
challenge: solve https://signalcaptchas.org/challenge/generate.html and run
`signal-cli -a +NUMBER submitRateLimitChallenge --challenge CHALLENGE
--captcha CAPTCHA`.

**When nothing arrives:** is signal-cli older than 0.14.5? Does another
program read from the same daemon in mode `on-start`?
"""


class SignalSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.signal].

    http_url: the address of signal-cli's daemon
    account: our number (+...) or ACI; a daemon of one account needs none
    group_id: ids of the groups to listen to, with commas between, "dm" for
        private chats; empty is everything
    allowed_users: numbers (+...) or ACIs; a number belongs to the first
        person who comes with it; "*" is everybody, empty nobody until one is
        paired; beside "*", those who are named are the owners, others are
        strangers without tools and memories; the reference's allowed_from is
        the same
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    ignore_attachments: fetch no files; what is nothing but files is left out
    ignore_stories: leave out stories and what is written to one; with false
        a story of words is a message
    mention_only: in groups react only to what mentions or quotes the bot
    interrupt_on_new_message: a new message cancels the running answer
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in
        channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy on the way to the daemon
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    http_url: str = "http://127.0.0.1:8080"
    account: str = ""
    group_id: str = ""
    ignore_attachments: bool = False
    ignore_stories: bool = True
    mention_only: bool = False
    interrupt_on_new_message: bool = False
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True

    @staticmethod
    def spell(entry: str) -> str:
        return entry.lower()
