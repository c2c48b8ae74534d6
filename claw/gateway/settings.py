"""The [gateway] table of config.toml."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from claw.core.errors import ConfigError
from claw.gateway.guard import is_local_name, split_host

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Money = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
CodeLength = Annotated[int, msgspec.Meta(ge=6, le=64)]

# Known, and not used yet.
INERT = ("gateway.session_persistence", "gateway.session_ttl_hours")


class PairingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[gateway.pairing_dashboard]

    code_length: characters of a pairing code
    code_ttl_secs: how long a code can be used
    max_pending_codes: codes at a time; the oldest goes
    max_failed_attempts: wrong codes of one address until it has to wait
    lockout_secs: how long it waits
    """

    code_length: CodeLength = 8
    code_ttl_secs: Positive = 3600
    max_pending_codes: Positive = 3
    max_failed_attempts: Positive = 5
    lockout_secs: Positive = 300


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[gateway]

    enabled: whether claw listen serves it (claw gateway always does)
    port: the port to listen on
    host: the address to listen on
    public_url: where a proxy or tunnel makes it reachable, https://...
    allow_public_bind: whether host may be another than this machine's own
    allowed_hosts: further names by which it may be called
    path_prefix: stands before every path, as in /claw
    trust_forwarded_headers: whether the proxy's X-Forwarded-For says who
        calls; only behind a proxy that sets it
    require_pairing: whether programs on this machine need a key too
    paired_tokens: keys of an earlier setup, or their SHA-256; they see no
        memory
    pair_rate_limit_per_minute: tries to pair of one address; 0: no limit
    webhook_rate_limit_per_minute: refused webhook calls of one address
    rate_limit_per_minute: calls of one key, or of one address without one
    rate_limit_max_keys: addresses and keys that are counted at once
    daily_limit_usd: the most that the calls of one key may cost in a day;
        0: no limit of their own
    request_timeout_secs: how long an answer may be in the making; streams
        are not bound by it
    idempotency_ttl_secs: how long a repeated call gets the same answer
    idempotency_max_keys: answers that are kept for it
    session_persistence, session_ttl_hours: not used yet
    """

    enabled: bool = False
    port: Port = 42617
    host: str = "127.0.0.1"
    public_url: str | None = None
    allow_public_bind: bool = False
    allowed_hosts: Sequence[str] = ()
    path_prefix: str | None = None
    trust_forwarded_headers: bool = False
    require_pairing: bool = True
    paired_tokens: Sequence[str] = ()
    pair_rate_limit_per_minute: Count = 10
    webhook_rate_limit_per_minute: Count = 60
    rate_limit_per_minute: Count = 600
    rate_limit_max_keys: Count = 10_000
    daily_limit_usd: Money = 0.0
    request_timeout_secs: Positive = 30
    idempotency_ttl_secs: Positive = 300
    idempotency_max_keys: Positive = 10_000
    session_persistence: bool = True
    session_ttl_hours: Count = 0
    pairing_dashboard: PairingSettings = PairingSettings()


def format_address(settings: GatewaySettings) -> str:
    """Where the gateway is reached, without a slash at the end."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return (settings.public_url or f"http://{host}:{settings.port}"
            ).rstrip("/") + (settings.path_prefix or "")


def check_exposure(settings: GatewaySettings) -> None:
    """Raises ConfigError for settings that would let anybody in."""
    is_near = is_local_name(split_host(
        f"[{settings.host}]" if ":" in settings.host else settings.host))
    if not is_near and not settings.allow_public_bind:
        raise ConfigError(
            f"gateway.host {settings.host} can be reached from other "
            "machines, without TLS",
            hint="better: host 127.0.0.1 and a proxy or tunnel in front "
                 "(docs/gateway.md); or: claw config set "
                 "gateway.allow_public_bind true")
    if not settings.require_pairing and (
            not is_near or settings.public_url):
        raise ConfigError(
            "gateway.require_pairing is false, and others than this machine "
            "can reach it",
            hint="claw config set gateway.require_pairing true")
