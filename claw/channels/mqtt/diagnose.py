"""What is wrong with a broker, step by step: the rows of `claw channel
doctor mqtt`. The connection is one beside the session; topics are tried
without their share group, which a look would take messages from.
"""

import asyncio
import socket
import time
from collections.abc import Sequence

from claw.channels.access import AllowList
from claw.channels.mqtt.account import Account, load_tls
from claw.channels.mqtt.link import Link, name_cause
from claw.channels.mqtt.packets import MAX_PACKET, SESSION_EXPIRY, SHARED
from claw.channels.mqtt.reasons import FAILED, make_error
from claw.channels.mqtt.settings import Address, MqttSettings
from claw.channels.mqtt.topics import (
    TOPIC,
    find_fault,
    make_reply_topic,
    matches_any,
)
from claw.core.abilities import Finding
from claw.core.errors import ClawError
from claw.net.addresses import is_loopback
from claw.net.errors import find_cause

_STEP_S = 5.0
_TABLE = "channels_config.mqtt"
_LIST = f"claw config set {_TABLE}.allowed_users '[\"claw/ask/mina\"]'"
_DAY_S = 86_400


async def diagnose(settings: MqttSettings, account: Account,
                   allowed: AllowList, *, conflict: str | None
                   ) -> list[Finding]:
    """Rows dns, tcp, tls, broker, topics, session, client, replies,
    allow_list. `conflict`: what the listener of this process was told
    last."""
    rows = await _reach(settings, account)
    if rows[-1].status == "fail":
        rows += [_skip(name) for name in ("dns", "tcp", "tls", "broker",
                                          "topics", "session")
                 if name not in {row.id for row in rows}]
    else:
        rows += await _ask(settings, account)
    return [*rows, _client(account, conflict), _replies(settings),
            _allow_list(settings, allowed)]


def _skip(name: str, why: str = "a step before it failed") -> Finding:
    return Finding(name, "skip", why)


# -- the way to the broker

async def _reach(settings: MqttSettings, account: Account) -> list[Finding]:
    """Up to the first failure."""
    try:
        address = account.address
        tls = load_tls(settings) if address.secure else None
    except ClawError as error:
        return [Finding("settings", "fail", error.message, error.hint)]
    loop = asyncio.get_running_loop()
    rows: list[Finding] = []
    step, hint = "dns", f"getent hosts {address.host}"
    try:
        async with asyncio.timeout(_STEP_S):
            found = await loop.getaddrinfo(address.host, address.port,
                                           type=socket.SOCK_STREAM)
            rows.append(Finding("dns", "ok", f"{address.host} is "
                                             f"{found[0][4][0]}"))
            step, hint = "tcp", "is the broker running, and the port right?"
            _, writer = await asyncio.open_connection(address.host,
                                                      address.port)
            writer.close()
            rows.append(Finding("tcp", "ok", f"{address.where} answers"))
            step, hint = "tls", (
                "for an authority of your own: claw config set "
                f"{_TABLE}.ca_file /path/to/ca.pem")
            if tls is not None:
                _, writer = await asyncio.open_connection(
                    address.host, address.port, ssl=tls,
                    server_hostname=address.host)
                writer.close()
    except (OSError, TimeoutError, UnicodeError) as error:
        return [*rows, Finding(step, "fail", f"{address.where}: "
                               f"{name_cause(error)}", hint,
                               find_cause(error))]
    return [*rows, _judge_tls(settings, address)]


def _judge_tls(settings: MqttSettings, address: Address) -> Finding:
    if address.secure:
        return Finding("tls", "ok", "the certificate is accepted")
    if is_loopback(f"mqtt://{address.where}"):
        return _skip("tls", "plain mqtt, on this machine")
    what = "the password and all messages" if settings.password \
        else "all messages"
    return Finding("tls", "warn", f"plain mqtt: {what} travel readable",
                   f"claw config set {_TABLE}.broker_url "
                   f"mqtts://{address.host}")


# -- the broker

async def _ask(settings: MqttSettings, account: Account) -> list[Finding]:
    link = account.make_probe()
    started = time.monotonic()
    try:
        await link.open()
        took_ms = (time.monotonic() - started) * 1000
        size = link.granted.properties.get(MAX_PACKET)
        return [Finding(
            "broker", "ok", f"it lets us in and speaks MQTT 5 ({took_ms:.0f} "
            "ms)" + (f"; packets up to {size} bytes" if size else "")),
            await _topics(settings, link), _session(link, settings)]
    except ClawError as error:
        return [Finding("broker", "fail", error.message, error.hint),
                _skip("topics"), _skip("session")]
    finally:
        await link.close(forget=True)


async def _topics(settings: MqttSettings, link: Link) -> Finding:
    try:
        reasons = await link.subscribe([(name, 0)
                                        for name in settings.topics])
    except ClawError as error:
        return Finding("topics", "fail", error.message, error.hint)
    for name, code in zip(settings.topics, reasons, strict=True):
        if code >= FAILED:
            refusal = make_error(link.where, code, {},
                                 f"to let us read {name[:200]}")
            return Finding("topics", "fail", refusal.message, refusal.hint)
    return Finding("topics", "ok", "we may read " + ", ".join(
        settings.topics)[:200])


def _session(link: Link, settings: MqttSettings) -> Finding:
    granted = link.granted.properties
    if settings.share_group and granted.get(SHARED) == 0:
        return Finding("session", "fail", "the broker has no shared "
                       "subscriptions",
                       f"claw config set {_TABLE}.share_group ''")
    if settings.qos == 0:
        return Finding("session", "warn", "qos is 0: what is sent while we "
                       "are away is lost",
                       f"claw config set {_TABLE}.qos 1")
    limit = granted.get(SESSION_EXPIRY)
    if limit is not None and limit < _DAY_S:
        return Finding("session", "warn", "the broker keeps messages for "
                       f"{limit} s only while we are away",
                       "raise its maximum session expiry")
    return Finding("session", "ok", "messages wait while we are away")


# -- what the settings say

def _client(account: Account, conflict: str | None) -> Finding:
    if conflict is not None:
        return Finding("client", "fail", conflict,
                       "pgrep -af 'claw listen', here and elsewhere")
    try:
        return Finding("client", "ok", f"our client id is "
                                       f"{account.client_id}")
    except ClawError as error:
        return Finding("client", "skip", error.message)


def _replies(settings: MqttSettings) -> Finding:
    """An answer that we hear ourselves would be thrown away; one that
    other programs take for a question would not."""
    for name in settings.topics:
        sample = name.replace("+", "x").replace("#", "x")
        reply = make_reply_topic(settings.reply_topic, sample)
        if matches_any(settings.topics, reply):
            return Finding(
                "replies", "warn", f"answers go to topics that we listen to "
                f"({settings.reply_topic.replace(TOPIC, sample)})"[:300],
                "choose topics or reply_topic so that they do not meet: "
                f"claw config set {_TABLE}.reply_topic 'answers/{TOPIC}'")
    return Finding("replies", "ok", f"answers go to {settings.reply_topic}")


def _allow_list(settings: MqttSettings, allowed: AllowList) -> Finding:
    if found := allowed.judge(_LIST):
        return found
    if settings.trust_senders:
        return Finding("allow_list", "warn", "people are the names in their "
                       "messages: the broker must check them",
                       f"claw config set {_TABLE}.trust_senders false")
    missing = _find_unheard(settings, allowed.usernames)
    if missing:
        return Finding("allow_list", "warn", f"we do not listen to {missing}",
                       "allowed_users lists topics that `topics` matches")
    return Finding("allow_list", "ok", "people are the topics they write to")


def _find_unheard(settings: MqttSettings, names: Sequence[str]) -> str:
    return ", ".join(name for name in names if find_fault(name)
                     or not matches_any(settings.topics, name))[:200]
