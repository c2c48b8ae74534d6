"""Which settings of another agent would lower a guard of claw's. Pure.

What stands in a guard's table counts as lowering it unless it can be seen
to be at least as strict as what claw has: a list that a switch of the
agent lets grow, a wider level, a larger number of calls.
"""

from typing import Any

from claw.config.keys import Path
from claw.net.addresses import is_loopback
from claw.providers.catalog.vendors import find_vendor

# Tables and keys that guard something, or name a program that claw runs.
_GUARDS: tuple[tuple[str, ...], ...] = (
    ("autonomy",), ("security",), ("gateway",), ("hooks",), ("secrets",),
    ("tunnel",), ("proxy",), ("peripherals",), ("browser",),
    ("http_request",), ("web_fetch", "allowed_private_hosts"),
    ("skills", "allow_scripts"), ("skills", "open_skills_enabled"),
    ("skills", "open_skills_dir"), ("cost",), ("strangers",), ("people",),
    ("transcription", "command"), ("tts", "command"),
    ("channels_config", "*", "allow_everyone"),
    ("channels_config", "*", "oauth_command"),
    ("channels_config", "*", "require_authentication"),
    ("channels_config", "*", "verify_tls"),
    ("channels_config", "*", "use_tls"),
    ("channels_config", "*", "trust_senders"),
    ("channels_config", "*", "host"),
    ("multimodal", "allow_remote_fetch"),
)
EVERYBODY = "*"
_LEVELS = ("readonly", "supervised", "full")
# Larger is stricter; smaller is; a longer list is; true is; false is.
_LONGER = {("autonomy", "forbidden_paths"), ("autonomy", "always_ask")}
_SHORTER = {("autonomy", "allowed_commands"), ("autonomy", "auto_approve"),
            ("autonomy", "allowed_roots"),
            ("autonomy", "shell_env_passthrough")}
_TRUE = {("autonomy", "workspace_only"),
         ("autonomy", "require_approval_for_medium_risk"),
         ("autonomy", "block_high_risk_commands"),
         ("gateway", "require_pairing"), ("secrets", "encrypt"),
         ("security", "estop", "enabled"), ("security", "otp", "enabled"),
         ("cost", "enabled"), ("security", "sandbox", "enabled")}
_SMALLER = {("autonomy", "max_actions_per_hour"),
            ("cost", "daily_limit_usd"), ("cost", "monthly_limit_usd")}


def loosens(path: Path, value: Any, own: Any, *, is_set: bool) -> str:
    """Why this value would lower a guard, "" where it would not. `own` is
    what holds in claw, `is_set`: its owner set that himself."""
    if path[:1] == ("channels_config",) and path[2:] == ("allowed_users",):
        if isinstance(value, list) and EVERYBODY in value:
            return "everybody could write to the agent"
        return "more people could write to the agent" if is_set else ""
    if path[:1] == ("model_providers",) and path[2:] == ("base_url",):
        return _explain_address(path[1], value)
    if path == ("api_url",) and value != own:
        return "" if is_loopback(str(value)) \
            else "your key would be sent there"
    if not any(_covers(guard, path) for guard in _GUARDS) or value == own:
        return ""
    return "" if _is_stricter(path, value, own) else _explain(path)


def _explain_address(name: str, url: Any) -> str:
    """A vendor that claw knows has an address, and its key may be claw's
    own, or one of the environment."""
    vendor = find_vendor(name)
    if vendor is None or not vendor.url or vendor.local \
            or url == vendor.url or is_loopback(str(url)):
        return ""
    return f"your key of {name} would be sent there"


def _covers(guard: tuple[str, ...], path: Path) -> bool:
    return len(path) >= len(guard) and all(
        mine in ("*", theirs) for mine, theirs in zip(guard, path,
                                                       strict=False))


def _is_stricter(path: Path, value: Any, own: Any) -> bool:
    lists = isinstance(value, list) and isinstance(own, list | tuple)
    if path in _LONGER and lists:
        return set(map(str, value)) >= set(map(str, own))
    if path in _SHORTER and lists:
        return set(map(str, value)) <= set(map(str, own))
    if path in _TRUE:
        return value is True
    if path in _SMALLER and _is_number(value) and _is_number(own):
        return bool(0 < value <= own)
    if path == ("autonomy", "level") and value in _LEVELS \
            and own in _LEVELS:
        return _LEVELS.index(value) <= _LEVELS.index(own)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _explain(path: Path) -> str:
    return {"hooks": "it names programs that claw would run",
            "gateway": "it says who may reach the gateway",
            "autonomy": "it lets the agent do more unasked",
            "cost": "it lets models cost more",
            }.get(path[0], "it lowers a guard of claw")
