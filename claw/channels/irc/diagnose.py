"""What is wrong with the connection, step by step: the rows of `claw channel
doctor irc`. Beside a running listener it is a second connection, under
another nick, and takes nothing from it.
"""

import asyncio
import socket
import ssl

from claw.channels.access import AllowList
from claw.channels.irc.client import Client
from claw.channels.irc.history import is_kept
from claw.channels.irc.people import NICK, People
from claw.channels.irc.session import Session
from claw.channels.irc.settings import IrcSettings
from claw.channels.irc.wire import open_wire
from claw.core.abilities import Finding
from claw.core.errors import ClawError
from claw.net.addresses import is_loopback
from claw.net.errors import find_cause

_STEP_S = 5.0
_SET = "claw config set channels_config.irc."
_AFTER = ("dns", "tcp", "tls", "login", "nick", "account", "channels",
          "people", "history")


async def diagnose(settings: IrcSettings, client: Client,
                   allowed: AllowList, people: People) -> list[Finding]:
    """Rows dns, tcp, tls, login, nick, account, channels, people, history
    and allow_list; after a failure the rest is skipped."""
    rows = await _reach(settings)
    if rows[-1].status != "fail":
        try:
            session = await client.get()
        except ClawError as error:
            rows.append(Finding("login", "fail", error.message, error.hint))
        else:
            rows.append(Finding("login", "ok",
                                f"{settings.server} lets us in"))
            rows += [_nick(session), _account(session, settings),
                     await _channels(session, settings),
                     _people(session, people), _history(session)]
    done = {row.id for row in rows}
    return [*rows, *(Finding(step, "skip", "a step before it failed")
                     for step in _AFTER if step not in done),
            _allow_list(allowed)]


async def _reach(settings: IrcSettings) -> list[Finding]:
    """The name, the port and the certificate."""
    if not settings.server:
        return [Finding("dns", "fail", "no server is set",
                        _SET + "server irc.example.org", "setting")]
    host, where = settings.server, f"{settings.server}:{settings.port}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_STEP_S):
            found = await loop.getaddrinfo(host, settings.port,
                                           type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        return [Finding("dns", "fail", f"{host} has no address",
                        f"check the spelling; try: getent hosts {host}",
                        find_cause(error))]
    rows = [Finding("dns", "ok", f"{host} is {found[0][4][0]}")]
    try:
        async with asyncio.timeout(_STEP_S):
            wire = await open_wire(settings)
    except TimeoutError:
        return [*rows, Finding(
            "tcp", "fail", f"{where} did not answer in {_STEP_S:g} s",
            "is that the port for TLS (6697)? For plain TCP: "
            f"{_SET}use_tls false" if settings.use_tls else
            "a firewall or the network is in the way")]
    except ClawError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            rows.append(Finding("tcp", "ok", f"{where} answers"))
            return [*rows, Finding("tls", "fail", error.message, error.hint)]
        return [*rows, Finding("tcp", "fail", error.message, error.hint,
                               error.cause)]
    wire.close()
    await wire.wait_closed()
    return [*rows, Finding("tcp", "ok", f"{where} answers"), _tls(settings)]


def _tls(settings: IrcSettings) -> Finding:
    if not settings.use_tls:
        near = is_loopback(f"irc://{settings.server}")
        return Finding("tls", "skip" if near else "warn", "plain TCP" + (
            "" if near else ": passwords and messages travel readable"),
            None if near else _SET + "use_tls true")
    if not settings.verify_tls:
        return Finding("tls", "warn", "any certificate is taken: whoever is "
                       "in between can read and answer",
                       _SET + "verify_tls true")
    return Finding("tls", "ok", "the certificate is accepted")


def _nick(session: Session) -> Finding:
    if session.fold(session.nick) == session.fold(session.wanted_nick):
        return Finding("nick", "ok", f"the nick is {session.nick}")
    return Finding("nick", "warn", f"{session.wanted_nick} is in use (by a "
                   f"running claw listen?); this connection is "
                   f"{session.nick}",
                   "claw listen takes it back as soon as it is free")


def _account(session: Session, settings: IrcSettings) -> Finding:
    if session.login_refused:
        return Finding("account", "fail",
                       f"the login failed: {session.login_refused}",
                       f"{_SET}sasl_password; where there is no "
                       "SASL set nickserv_password in its place")
    if settings.sasl_password or settings.client_cert:
        return Finding("account", "ok", "logged in with SASL")
    if settings.nickserv_password:
        if session.is_identified:
            return Finding("account", "ok", "NickServ knows us")
        return Finding("account", "fail", "NickServ did not take the "
                       "password", _SET + "nickserv_password")
    return Finding("account", "skip", "no password is set")


async def _channels(session: Session, settings: IrcSettings) -> Finding:
    names = [entry.split()[0] for entry in settings.channels
             if entry.split()]
    if not names:
        return Finding("channels", "skip", "none is set: private messages "
                       "only")
    try:
        await session.join(*settings.channels)
    except ClawError as error:
        return Finding("channels", "fail", error.message, error.hint)
    out = [name for name in names
           if session.fold(name) not in session.joined]
    if out:
        return Finding("channels", "fail",
                       f"the bot may not join {', '.join(out)}",
                       "is the key right, must it be invited, is it banned?")
    return Finding("channels", "ok", f"joined {', '.join(names)}")


def _people(session: Session, people: People) -> Finding:
    if people.has_accounts(session) and not session.has_accounts:
        return Finding("people", "warn", "accounts are expected (a login is "
                       "set, or the network had them before), but this "
                       "server shows none: who can't be told by an account "
                       "is refused, or is whoever has the nick",
                       "is it the right server? Where there are no accounts "
                       f"{_SET}sasl_password \"\"")
    if people.has_accounts(session):
        return Finding("people", "ok", "people are told by their accounts")
    return Finding("people", "warn", "this network has no accounts: whoever "
                   "takes an owner's nick is the owner",
                   "use it only if all of its users may use the bot")


def _history(session: Session) -> Finding:
    if is_kept(session):
        return Finding("history", "ok", "what is missed is read later")
    return Finding("history", "warn", "the server keeps nothing: what is "
                   "said while claw is away is lost")


def _allow_list(allowed: AllowList) -> Finding:
    hint = _SET + "allowed_users '[\"ACCOUNT\"]'"
    if found := allowed.judge(hint):
        return found
    nicks = [n for n in allowed.usernames if n.startswith(NICK)]
    if nicks:
        return Finding("allow_list", "warn", "whoever takes one of these "
                       f"nicks is let in: {', '.join(nicks)}", hint)
    return Finding("allow_list", "ok", "it names people")
