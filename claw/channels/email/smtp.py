"""Sending: one connection a mail, with aiosmtplib.

Up to DATA nothing can have arrived; after it, until the server's word, it
may have. 4xx is a wait, 5xx a refusal. Source: RFC 5321, 4954, 1870, 6531.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from claw.channels.email.logins import Logins
from claw.channels.email.outgoing import OutMail
from claw.channels.email.settings import EmailSettings, choose_way
from claw.core.errors import (
    AuthError,
    ClawError,
    MissingPartError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.installed import install_command
from claw.net.addresses import is_loopback
from claw.net.errors import find_cause, name_cause, scrub
from claw.net.remote import load_certificates

if TYPE_CHECKING:
    from aiosmtplib import SMTP

_STEP_S = 60.0
_DATA_S = 300.0  # RFC 5321, 4.5.3.2: a server may take its time
_AT_ONCE = 3
_AUTH = (530, 534, 535, 538)
_TOO_LARGE = (552, 523)
_WAIT_S = 60.0
_CONNECTION = "the connection"
_LOGIN_HINT = ("check username and password (an app password at many "
               "providers): claw config set channels_config.email.password; "
               "or set oauth_command")


class Courier:
    """Sends mails of one account."""

    def __init__(self, settings: EmailSettings, logins: Logins) -> None:
        self._settings = settings
        self._logins = logins
        self._gate = asyncio.Semaphore(_AT_ONCE)
        host = settings.smtp_host.strip()
        self._where = f"the SMTP server {host}:{settings.smtp_port}"
        self._how = choose_way(settings.smtp_tls, settings.smtp_port,
                               is_near=is_loopback(f"http://{host}"))

    async def send(self, mail: OutMail,
                   leaving: Callable[[], None] = lambda: None) -> None:
        """Hand a mail over; `leaving` is called before what could deliver
        it. Raises what went wrong."""
        async with self._gate:
            smtp = await self._open()
            try:
                await self._transfer(smtp, mail, leaving)
            finally:
                await _hang_up(smtp)

    async def check(self) -> None:
        """Log in, and no more."""
        await _hang_up(await self._open())

    async def _open(self) -> "SMTP":
        """A connection that is logged in; a token that is refused is asked
        for anew once."""
        for attempt in (1, 2):
            token = await self._logins.token()
            smtp = self._make()
            try:
                await smtp.connect()
                if smtp.is_ehlo_or_helo_needed:
                    await smtp.ehlo()
                await self._login(smtp, token)
            except Exception as error:
                await _hang_up(smtp)
                failed = self._translate(error, _CONNECTION, token)
                if not isinstance(failed, AuthError) or token is None \
                        or attempt == 2:
                    raise failed from error
                self._logins.refuse(token)
            except BaseException:
                await _hang_up(smtp)
                raise
            else:
                return smtp
        raise AssertionError("unreachable")

    def _make(self) -> "SMTP":
        try:
            from aiosmtplib import SMTP
        except ImportError as error:
            raise MissingPartError(
                "mail needs aiosmtplib, which is not installed",
                hint=install_command("email")) from error
        context = None if self._how == "plain" else load_certificates()
        return SMTP(
            hostname=self._settings.smtp_host.strip(),
            port=self._settings.smtp_port, timeout=_STEP_S,
            use_tls=self._how == "tls",
            start_tls=self._how == "starttls" if self._how != "tls"
            else None, tls_context=context,
            # Its own name would be asked of a name server.
            local_hostname=self._domain())

    def _domain(self) -> str:
        domain = self._settings.address.rpartition("@")[2]
        try:
            return domain.encode("idna").decode() or "localhost"
        except UnicodeError:
            return "localhost"

    async def _login(self, smtp: "SMTP", token: str | None) -> None:
        name = self._logins.username
        if token is not None:
            await smtp.auth_xoauth2(name, token)
        elif self._logins.password and name \
                and smtp.supports_extension("auth"):
            # A relay on this machine may know us without.
            await smtp.login(name, self._logins.password)

    async def _transfer(self, smtp: "SMTP", mail: OutMail,
                        leaving: Callable[[], None]) -> None:
        options: list[str] = []
        try:
            limit = smtp.esmtp_extensions.get("size", "")
            if limit.isdigit() and 0 < int(limit) < len(mail.data):
                raise RequestRefusedError(
                    f"{self._where} takes mails of {int(limit) / 2**20:.1f} "
                    f"MiB at most, this one has {len(mail.data) / 2**20:.1f}",
                    status=552, hint="send a smaller file, or a link to it")
            if smtp.supports_extension("size"):
                options.append(f"SIZE={len(mail.data)}")
            if mail.needs_utf8:
                if not smtp.supports_extension("smtputf8"):
                    raise RequestRefusedError(
                        f"{self._where} takes only addresses in ASCII",
                        status=553, hint="it has no SMTPUTF8")
                options.append("SMTPUTF8")
            encoding = "utf-8" if mail.needs_utf8 else "ascii"
            await smtp.mail(mail.sender, options=options, encoding=encoding)
            await smtp.rcpt(mail.recipient, encoding=encoding)
        except Exception as error:
            raise self._translate(error, mail.recipient) from error
        leaving()
        try:
            await smtp.data(mail.data, timeout=_DATA_S)
        except Exception as error:
            raise self._translate(error, mail.recipient,
                                  may_have_arrived=True) from error

    # -- what went wrong

    def _translate(self, error: Exception, what: str,
                   token: str | None = None, *,
                   may_have_arrived: bool = False) -> ClawError:
        from aiosmtplib import SMTPException, SMTPResponseException
        if isinstance(error, ClawError):
            return error
        if isinstance(error, SMTPResponseException):
            return self._translate_code(error.code, str(error.message), what,
                                        token)
        text = name_cause(error) or self._scrub(
            str(error) or type(error).__name__, token)
        hint = None
        if isinstance(error, SMTPException | OSError | TimeoutError
                      | ValueError | EOFError):
            if "certificate" in text.lower():
                hint = ("for an authority of your own set SSL_CERT_FILE; "
                        "else check smtp_host")
            elif isinstance(error, ssl.SSLError) or "tls" in text.lower():
                hint = ("check smtp_port and smtp_tls: 465 is TLS, 587 is "
                        "STARTTLS")
            elif what == _CONNECTION:
                hint = "check smtp_host and smtp_port; is there a firewall?"
        else:
            text = f"{type(error).__name__}: {text}"
        failed = UnavailableError(f"{self._where}: {text}", hint=hint,
                                  cause=find_cause(error))
        failed.maybe_sent = may_have_arrived  # type: ignore[attr-defined]
        return failed

    def _translate_code(self, code: int, text: str, what: str,
                        token: str | None) -> ClawError:
        said = f"{self._where} said {code} to {what}: " \
               f"{self._scrub(text, token)}"
        if code in _AUTH:
            return AuthError(said, hint=_LOGIN_HINT, status=code)
        if code in _TOO_LARGE:
            return RequestRefusedError(said, status=code, hint="send a "
                                       "smaller file, or a link to it")
        if code >= 500 and what != _CONNECTION:
            return RequestRefusedError(
                said, status=code, hint="check the address; and that "
                "from_address is one that this account may send as")
        # 4xx is a wait; who refuses the connection may not do so for ever.
        return RateLimitedError(said, status=code, retry_after_s=_WAIT_S)

    def _scrub(self, text: str, token: str | None) -> str:
        secrets = tuple(filter(None, (self._logins.password, token)))
        return " ".join(scrub(text, secrets).split())[:300]


async def _hang_up(smtp: "SMTP") -> None:
    """Without QUIT: a mail that was taken is the server's, and a kill while
    one waits for the answer would leave a doubt."""
    transport = smtp.transport
    smtp.close()
    if transport is not None:
        transport.abort()  # type: ignore[attr-defined]
        await asyncio.sleep(0)
