"""What a broker's reason codes mean, as errors of claw. Pure.

Source: MQTT 5.0, section 2.4.
"""

from claw.channels.connection import ConflictError
from claw.channels.mqtt.packets import (
    REASON,
    SERVER_REFERENCE,
    Properties,
)
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    OverloadedError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.text.segment import clean

NO_SUBSCRIBERS = 0x10
TAKEN_OVER = 0x8E
FAILED = 0x80  # from here on a code is a failure
_TABLE = "channels_config.mqtt"
_NAMES = {
    0x80: "unspecified error", 0x81: "malformed packet",
    0x82: "protocol error", 0x83: "implementation specific error",
    0x84: "unsupported protocol version", 0x85: "client id not valid",
    0x86: "bad user name or password", 0x87: "not authorized",
    0x88: "server unavailable", 0x89: "server busy", 0x8A: "banned",
    0x8B: "server shutting down", 0x8C: "bad authentication method",
    0x8D: "keep alive timeout", TAKEN_OVER: "session taken over",
    0x8F: "topic filter invalid", 0x90: "topic name invalid",
    0x91: "packet identifier in use", 0x92: "packet identifier not found",
    0x93: "receive maximum exceeded", 0x94: "topic alias invalid",
    0x95: "packet too large", 0x96: "message rate too high",
    0x97: "quota exceeded", 0x98: "administrative action",
    0x99: "payload format invalid", 0x9A: "retain not supported",
    0x9B: "QoS not supported", 0x9C: "use another server",
    0x9D: "server moved", 0x9E: "shared subscriptions not supported",
    0x9F: "connection rate exceeded", 0xA0: "maximum connect time",
    0xA1: "subscription identifiers not supported",
    0xA2: "wildcard subscriptions not supported",
}
_AUTH = (0x86, 0x87, 0x8A, 0x8C)
_CONFIG = {
    0x84: "the broker must speak MQTT 5",
    0x85: f"claw config set {_TABLE}.client_id NAME",
    0x8F: f"claw config set {_TABLE}.topics '[\"claw/ask\"]'",
    0x9C: f"claw config set {_TABLE}.broker_url mqtts://HOST",
    0x9D: f"claw config set {_TABLE}.broker_url mqtts://HOST",
    0x9E: f"claw config set {_TABLE}.share_group ''",
    0xA2: f"name each topic in {_TABLE}.topics, without + and #",
}
_SLOWER = (0x93, 0x96, 0x97, 0x9F)
_REFUSED = (0x90, 0x95, 0x99)
_SLOWER_S = 15.0


def make_error(where: str, code: int, properties: Properties,
               what: str = "") -> ClawError:
    """The error for a code of 0x80 and more. `where` is the broker's name,
    `what` what was asked of it: "" for the connection itself."""
    said = _NAMES.get(code, "unknown reason")
    reason = clean(str(properties.get(REASON, "")))[:200]
    message = (f"{where} refused {what or 'the connection'}: {said} "
               f"(0x{code:02X})" + (f", {reason}" if reason else ""))
    if code in _AUTH:
        return AuthError(message, hint=(
            "the broker's access list must let this user do it"
            if what else f"are {_TABLE}.username and password right? Set "
            f"them with: claw config set {_TABLE}.username NAME"))
    if code == TAKEN_OVER:
        return ConflictError(
            f"{where}: another client has taken our session over (0x8E)",
            hint="is claw listening elsewhere with the same client_id? give "
                 f"each its own: claw config set {_TABLE}.client_id NAME")
    if code in _CONFIG:
        moved = clean(str(properties.get(SERVER_REFERENCE, "")))[:200]
        return ConfigError(message, hint=_CONFIG[code] + (
            f"; it names {moved}" if moved else ""))
    if code in _SLOWER:
        return RateLimitedError(message, retry_after_s=_SLOWER_S)
    if code == 0x89:
        return OverloadedError(message)
    if what and code in _REFUSED:
        return RequestRefusedError(message)
    return UnavailableError(message)
