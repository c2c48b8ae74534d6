"""The start of a connection: capabilities, SASL, a nick, until 001.

    CAP LS 302, PASS, NICK, USER -> CAP REQ -> AUTHENTICATE -> CAP END

A server without CAP passes all this by. A login that is refused is logged,
and the connection goes on without one: who may write is decided by other
people's accounts, not by ours.
Source: ircv3.net/specs/extensions/capability-negotiation and sasl-3.1.
"""

from base64 import b64encode
from collections.abc import Callable
from itertools import count

from claw.channels.irc.line import Line, strip_formats, write_line
from claw.channels.irc.settings import IrcSettings
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    RateLimitedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import scrub

WANTED = ("message-tags", "server-time", "echo-message", "account-tag",
          "batch", "draft/chathistory", "cap-notify")
# What a server has that can say who is logged in. (`sasl` says that there
# are accounts too, and goes while services are away.)
ACCOUNT_CAPS = frozenset({"account-tag", "account-notify", "extended-join"})
_CHUNK = 400
_MOST_NICKS = 20
_SURE_BYTES = 9  # every server takes a nick of that length
_NICK_TAKEN = ("432", "433", "436", "437")
_SASL_FAILED = ("902", "904", "905", "906", "907")
_THROTTLED = ("too fast", "throttl", "too many", "try again", "reconnect")
_THROTTLE_S = 60.0


class Registration:
    """What has been agreed so far; `take` answers a line.

    `offered` are the server's capabilities, `caps` those in use, `nick` what
    we are called once `welcomed`.
    """

    def __init__(self, settings: IrcSettings, log: Log,
                 post: Callable[..., None]) -> None:
        self._settings = settings
        self._log = log
        self._post = post
        self._numbers = count(1)
        self._pending: set[str] = set()
        self._negotiates = True
        self._authenticates = False
        self.offered: dict[str, str] = {}
        self.caps: set[str] = set()
        self.nick = settings.nickname
        self._most_nick = max(_SURE_BYTES, len(settings.nickname))
        self.logged_in = False
        self.account = ""
        self.refused = ""  # why the login failed
        self.welcomed = False

    @property
    def step(self) -> str:
        """What the server owes us."""
        return ("the login (SASL)" if self._authenticates else
                "the capabilities" if self._pending else "the welcome")

    def hello(self) -> None:
        """Raises ConfigError."""
        s = self._settings
        lines = [write_line("CAP", "LS", "302")]
        if s.server_password:
            lines.append(write_line("PASS", s.server_password))
        try:
            lines += [write_line("NICK", s.nickname),
                      write_line("USER", s.username or s.nickname, "0", "*",
                                 s.realname or s.nickname)]
        except ValueError as error:
            raise ConfigError(
                "channels_config.irc: nickname and username are one word "
                "each", hint="claw config set channels_config.irc.nickname "
                             "NICK") from error
        self._post(*lines)

    def take(self, line: Line) -> None:
        """Raises AuthError, RateLimitedError, UnavailableError."""
        if line.command == "PING":
            self._post(write_line("PONG", line.last))
        elif line.command == "CAP":
            self._take_cap(line)
        elif line.command == "AUTHENTICATE":
            if line.last == "+" and self._authenticates:
                self._authenticate()
        elif line.command == "900":
            self.account = line.param(2)
        elif line.command == "903":
            self.logged_in = True
            self._end_sasl()
        elif line.command in _SASL_FAILED:
            self._refuse(strip_formats(line.last))
        elif line.command in _NICK_TAKEN:
            self.nick = self._next_nick(line)
            self._post(write_line("NICK", self.nick))
        elif line.command == "001":
            self.nick = line.param(0) or self.nick
            self.welcomed = True
        elif error := judge_end(line, self._settings):
            raise error

    def _take_cap(self, line: Line) -> None:
        command, names = line.param(1).upper(), line.last.split()
        if command == "LS":
            self.offered.update(
                (name, value) for name, _, value in
                (cap.partition("=") for cap in names))
            if line.param(2) != "*":
                self._request()
            return
        found = {name.lstrip("~=").removeprefix("-") for name in names}
        if command == "ACK":
            self.caps |= found
            self._pending -= found
            if "sasl" in found:
                self._begin_sasl()
            self._end_caps()
        elif command == "NAK" and len(found) > 1:
            self._post(*(write_line("CAP", "REQ", name)
                         for name in sorted(found)))
        elif command == "NAK":
            self._pending -= found
            if "sasl" in found:
                self._refuse("the server gives no SASL now")
            self._end_caps()

    def _request(self) -> None:
        """All in one line, as some servers count lines; one that is refused
        takes the others with it, so each is then asked for by itself."""
        wanted = [name for name in WANTED if name in self.offered]
        if self._mechanism and "sasl" in self.offered:
            wanted.append("sasl")
        elif self._mechanism:
            self._refuse("the server offers no SASL now")
        self._pending = set(wanted)
        if wanted:
            self._post(write_line("CAP", "REQ", " ".join(wanted)))
        self._end_caps()

    # -- logging in

    @property
    def _mechanism(self) -> str:
        s = self._settings
        return ("PLAIN" if s.sasl_password else
                "EXTERNAL" if s.client_cert else "")

    def _begin_sasl(self) -> None:
        offered = self.offered.get("sasl", "")
        if offered and self._mechanism not in offered.upper().split(","):
            self._refuse(f"the server takes {offered} only")
            return
        self._authenticates = True
        self._post(write_line("AUTHENTICATE", self._mechanism))

    def _authenticate(self) -> None:
        s = self._settings
        name = s.sasl_username or s.nickname
        text = "" if self._mechanism == "EXTERNAL" else b64encode(
            f"{name}\0{name}\0{s.sasl_password}".encode()).decode()
        chunks = [text[at:at + _CHUNK] for at in range(0, len(text), _CHUNK)]
        if len(text) % _CHUNK == 0:
            chunks.append("+")
        self._post(*(write_line("AUTHENTICATE", c) for c in chunks))

    def _refuse(self, why: str) -> None:
        self.refused = scrub(why, (self._settings.sasl_password,))
        self._log("login_refused", error=self.refused,
                  hint="check sasl_username and sasl_password of "
                       "[channels_config.irc]")
        self._end_sasl()

    def _end_sasl(self) -> None:
        self._authenticates = False
        self._end_caps()

    def _end_caps(self) -> None:
        if self._negotiates and not self._pending \
                and not self._authenticates:
            self._negotiates = False
            self._post(write_line("CAP", "END"))

    def _next_nick(self, refusal: Line) -> str:
        """The nick with "_", "__", then with numbers: in the place of its
        end where the server takes no longer ones, which it says (NICKLEN)
        only when we are in."""
        number = next(self._numbers)
        if number > _MOST_NICKS:
            raise UnavailableError(
                f"{self._settings.server} takes no nick like "
                f"{self._settings.nickname!r}",
                hint="claw config set channels_config.irc.nickname NICK")
        told, wanted = refusal.param(1), self._settings.nickname
        if refusal.command == "432":
            self._most_nick = _SURE_BYTES
        elif told and told != wanted and wanted.startswith(told):
            self._most_nick = len(told)  # it was cut
        tail = "_" * number if number < 3 else str(number)
        return wanted[:self._most_nick - len(tail)] + tail


def judge_end(line: Line, settings: IrcSettings) -> ClawError | None:
    """The error of a line with which a server ends a connection."""
    words = scrub(strip_formats(line.last), (
        settings.server_password, settings.nickserv_password,
        settings.sasl_password))[:300]
    if line.command == "464":
        return AuthError(f"{settings.server} refused the password: {words}",
                         hint="claw config set channels_config.irc."
                              "server_password")
    if line.command == "465":
        return AuthError(f"{settings.server} has banned us: {words}",
                         hint="ask who runs the server")
    if line.command != "ERROR":
        return None
    message = f"{settings.server} closed the connection: {words}"
    if any(sign in words.lower() for sign in _THROTTLED):
        return RateLimitedError(message, retry_after_s=_THROTTLE_S)
    return UnavailableError(message)
