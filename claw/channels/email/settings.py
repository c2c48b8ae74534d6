"""The [channels_config.email] table of config.toml, and how to set it up."""

import shlex
from typing import Annotated, Literal, TypeAlias

import msgspec

from claw.channels.access import AccessSettings
from claw.channels.email.envelope import normalise

IdleSeconds = Annotated[int, msgspec.Meta(ge=1, le=86_400)]
Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]
Tls: TypeAlias = bool | Literal["starttls"]
How: TypeAlias = Literal["tls", "starttls", "plain"]
LONGEST_IDLE_S = 29 * 60  # RFC 2177: a server may hang up after 30 minutes

_STARTTLS_PORTS = (25, 143, 587)

SETUP = """\
The agent reads a mailbox of its own and answers by mail.

1. Give the agent a mailbox of its own, e.g. `agent@example.org`: it reads
   and answers what comes to that address.
2. Its servers and name:

       claw config set channels_config.email.imap_host imap.example.org
       claw config set channels_config.email.smtp_host smtp.example.org
       claw config set channels_config.email.username agent@example.org
       claw config set channels_config.email.from_address agent@example.org

   Ports are 993 and 465 (TLS from the first byte). With
   `smtp_port = 587` or `imap_port = 143` STARTTLS is used.
3. The way to log in: a password (at Google, Yahoo, iCloud an *app password*):

       claw config set channels_config.email.password

   or OAuth, as Microsoft 365 wants it: a command that prints an access
   token for IMAP and SMTP (scopes `IMAP.AccessAsUser.All`, `SMTP.Send`;
   at Google `https://mail.google.com/`), e.g. of `oama` or `mutt_oauth2.py`:

       claw config set channels_config.email.oauth_command \
'oama access agent@example.org'
4. Who may write, as an address, or `@example.org` for a whole domain:

       claw config set channels_config.email.allowed_users \
'["you@example.org"]'

   With an empty list `claw listen` logs a code; a mail with the subject
   `/bind CODE` lets its sender in.
5. A From line proves nothing. What does is the header
   `Authentication-Results` that your mail server puts on top of each mail:
   only a sender whose DKIM, SPF or DMARC it found good is let in. Name your
   server as it calls itself there, so that no other is believed:

       claw config set channels_config.email.auth_results mx.example.org

   Until then the topmost header is believed, which a stranger may have
   written, so every mail is labelled foreign, and tools ask before they act.
   So it is with a server that writes no such header: `auth_results = "off"`.
6. `claw channel doctor email`, then `claw listen`, then write it a mail.

Nothing comes? `claw listen` logs of each mail that was left out why:
`mail refused` (the sender is not proven or not allowed), `mail ignored`
(a list, a robot, a bounce). The first start answers what has come unread in
the last hour, and nothing older; after that all that is new, read or not.
"""


class EmailSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.email].

    imap_host: the server that mail is read from
    imap_port: its port
    imap_folder: the folder that is read
    imap_tls: true is TLS from the first byte (on port 143 STARTTLS),
        "starttls" is STARTTLS, false is none, to this machine only
    smtp_host: the server that mail is sent with
    smtp_port: its port
    smtp_tls: as imap_tls; with true ports 587 and 25 speak STARTTLS
    username: the name to log in with
    password: the password; not needed with oauth_command
    oauth_command: a command that prints an OAuth access token, for both
        servers; it is run without a shell, again when a token is refused
    from_address: the agent's own address; username where it is not set
    idle_timeout_secs: the longest wait for news in one IDLE; where the server
        has none, how often it is asked (at least once a minute)
    allowed_users: addresses that may write, @example.org or example.org for a
        domain; "*" is everybody, empty nobody until one is paired; the
        reference's allowed_senders is the same
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    require_authentication: let in only senders whom the receiving server
        found good (Authentication-Results: DKIM, SPF or DMARC of the From
        domain); false believes every From
    auth_results: the name by which that server signs its header; unset is the
        topmost header, which a stranger may have written: mails are labelled
        foreign; "off" as require_authentication = false
    default_subject: the subject of a mail that answers none
    save_sent: keep a copy of what was sent in the folder for it; unset: where
        the server does not do so itself
    """

    imap_host: str = ""
    imap_port: Port = 993
    imap_folder: str = "INBOX"
    imap_tls: Tls = True
    smtp_host: str = ""
    smtp_port: Port = 465
    smtp_tls: Tls = True
    username: str = ""
    password: str = ""
    oauth_command: str | tuple[str, ...] = ""
    from_address: str = ""
    idle_timeout_secs: IdleSeconds = 1740
    require_authentication: bool = True
    auth_results: str = ""
    default_subject: str = "Message from claw"
    save_sent: bool | None = None

    @property
    def address(self) -> str:
        """The agent's own address."""
        return self.from_address.strip() or self.username.strip()

    @property
    def proves_senders(self) -> bool:
        return self.require_authentication \
            and self.auth_results.strip().lower() != "off"

    @property
    def knows_senders(self) -> bool:
        """Whether who is let in is who he says. Where no server is named
        the topmost header may be one that a stranger wrote."""
        return self.proves_senders and bool(self.auth_results.strip())

    @property
    def oauth_argv(self) -> tuple[str, ...]:
        """Raises ValueError for quotes that do not pair."""
        if isinstance(self.oauth_command, str):
            return tuple(shlex.split(self.oauth_command))
        return self.oauth_command

    @staticmethod
    def spell(entry: str) -> str:
        return (normalise(entry) or entry) if "@" in entry \
            else entry.lower()


def choose_way(tls: Tls, port: int, *, is_near: bool) -> How:
    """How a server is spoken to. Plain text never leaves the machine."""
    if tls is False:
        return "plain" if is_near else "starttls"
    return ("starttls" if tls == "starttls" or port in _STARTTLS_PORTS
            else "tls")
