"""The [channels_config.irc] table of config.toml, and how it is set up."""

import re
from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings
from claw.channels.irc.line import fold

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Lines = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class IrcSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.irc].

    server: host name of the server
    port: its port; 6697 is the usual one for TLS, 6667 without
    nickname: the name that the bot takes
    username: the user part of its address; unset: the nickname
    realname: what a WHOIS shows; unset: the nickname
    channels: what to join, "#name" or "#name key"
    allowed_users: services accounts; where a network has no accounts nicks.
        "account:NAME" is never a nick, "nick:NAME" whoever has that nick now;
        "*" is everybody, empty nobody until one is paired; beside "*", those
        who are named are the owners, others are strangers without tools
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    server_password: sent as PASS, for servers and bouncers that want one
    nickserv_password: identify with NickServ by a message, where there is no
        SASL
    sasl_username: the services account; unset: the nickname
    sasl_password: log in with SASL PLAIN
    client_cert: PEM file of a certificate and its key; without a
        sasl_password the login is SASL EXTERNAL
    use_tls: false for plain TCP: everything, passwords too, is then readable
        on the way
    verify_tls: false to take any certificate of the server
    mention_only: in channels react only to lines that name the bot
    flood_lines: lines that may go out at once
    flood_secs: seconds for each line after that; 0 is no limit
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering, so that the lines of
        one paste are one message; unset or 0: as in channels_config
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    server: str = ""
    port: Port = 6697
    nickname: str = "claw"
    username: str = ""
    realname: str = ""
    channels: tuple[str, ...] = ()
    server_password: str = ""
    nickserv_password: str = ""
    sasl_username: str = ""
    sasl_password: str = ""
    client_cert: str = ""
    use_tls: bool = True
    verify_tls: bool = True
    mention_only: bool = False
    flood_lines: Lines = 5
    flood_secs: Seconds = 2.0
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None
    show_hint_to_strangers: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if re.search(r"[/\s]", self.server):
            raise ValueError("server must be a host name, such as "
                             "irc.example.org")
        if re.search(r"\s", self.nickname):
            raise ValueError("nickname must hold no blank")
        for name in self.channels:
            if name.strip() and name.strip()[0] not in "#&+!":
                raise ValueError(f'channels: "{name[:80]}" must begin with '
                                 'a #, as in "#name"')

    @staticmethod
    def spell(entry: str) -> str:
        return fold(entry, "ascii")


SETUP = """\
A bot answers in channels and in private, on any network.

1. Choose a network and a nick. On most networks register it first, as an \
account of its own, with NickServ: `/msg NickServ REGISTER PASSWORD EMAIL`.
2. Tell claw:

       claw config set channels_config.irc.server irc.example.org
       claw config set channels_config.irc.nickname mybot
       claw config set channels_config.irc.sasl_password
       claw config set channels_config.irc.channels '["#mine"]'
       claw config set channels_config.irc.allowed_users '["myaccount"]'

   A channel with a key is written `"#mine KEY"`. For a server without TLS \
set `use_tls` to false and `port` to 6667; for a certificate of your own set \
`SSL_CERT_FILE`, or `verify_tls` to false.
   Where there is no SASL set `nickserv_password` in place of \
`sasl_password`; SASL is safer, as a message to NickServ can reach somebody \
else while services are away.
3. `claw channel doctor irc` connects, logs in and says what is wrong.

**Who is let in.** Anybody can take a nick, so a nick is no identity. Where \
the network has accounts (NickServ) an entry of `allowed_users` is an \
account: you must be logged in, best with SASL in your client too. Somebody \
who only bears the name is refused, also while services are down. Where a \
server has no `account-tag` claw asks WHOIS, and the answer holds for up to \
30 seconds, until the nick is seen to come, leave or change: who takes it at \
the same address (a web gateway) within that time, unseen in every channel of \
the bot, passes as its owner. Where a \
network has no accounts at all an entry is a nick, and whoever takes it first \
is you: use such a network only if all of its users may use the bot. \
`account:NAME` is never a nick; `nick:NAME` is one everywhere, at your own \
risk. Once claw has seen that a network has accounts it stays with that. With \
an empty list `claw listen` logs a code: send `!bind CODE` to the bot in \
private, logged in.

**Answers** to a private message go to whoever is logged in as the same \
account then, not to whoever has the nick by now; nobody there: they wait.

**Commands** begin with `!` (`!stop`, `!new`, `!approve ID`): IRC clients \
keep what begins with `/` to themselves.

**What IRC can't do.** Most networks keep nothing while the bot is away: \
what is said meanwhile is lost. Where the server has `chathistory` claw reads \
up to 500 lines of a conversation when it is back. There are no files: their \
names are said. Long answers come a line every two seconds (`flood_secs`).

**Nothing arrives?** Is the bot in the channel (`/names`)? Are you logged in \
(`/whois yournick`)? With `mention_only` begin with its nick: `mybot: hello`. \
Pasted lines come as several messages: set `debounce_ms` to 800."""
