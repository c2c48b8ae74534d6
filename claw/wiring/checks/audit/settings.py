"""What the settings take away from the defences: autonomy, people, ports,
hooks."""

from collections.abc import Iterator
from ipaddress import ip_address

from claw.agent.hooks.settings import HooksSettings
from claw.channels import settings_keys
from claw.channels.access import AllowList
from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.security.settings import ALLOWED_COMMANDS
from claw.security.shell.commands import is_interpreter
from claw.wiring.channels.build import read_settings
from claw.wiring.channels.names import SECTION, list_configured
from claw.wiring.checks.check import Check, Group, Status
from claw.wiring.tools.build import build_policy

AUTONOMY = Group("autonomy")
PEOPLE = Group("people")
PORTS = Group("ports")
HOOKS = Group("hooks")
_SHORT_SECRET = 16


@AUTONOMY.check
def check_autonomy(tree: Tree) -> Iterator[Check]:
    """[autonomy]: each setting that lets the agent act unasked."""
    policy = build_policy(tree)
    own = policy.settings
    rows: list[tuple[str, bool, Status, str, str]] = [
        ("level", own.level == "full", "fail",
         "every tool runs unasked", "config set autonomy.level supervised"),
        ("workspace_only", not own.workspace_only, "fail",
         "tools reach files outside the workspace",
         "config set autonomy.workspace_only true"),
        ("auto_approve", "*" in own.auto_approve, "fail",
         "every tool runs unasked", "config unset autonomy.auto_approve"),
        ("allowed_commands", "*" in own.allowed_commands, "fail",
         "every program may be run", "config unset autonomy.allowed_commands"),
        ("require_approval_for_medium_risk",
         not own.require_approval_for_medium_risk, "warn",
         "commands of medium risk run unasked",
         "config unset autonomy.require_approval_for_medium_risk"),
        ("block_high_risk_commands", not own.block_high_risk_commands,
         "warn", "commands of high risk are a yes away",
         "config unset autonomy.block_high_risk_commands")]
    for key, is_open, status, text, way in rows:
        if is_open:
            yield Check(f"autonomy.{key}", status, text, f"claw {way}")
    dangerous = sorted(
        name for name in set(own.allowed_commands) - set(ALLOWED_COMMANDS)
        if is_interpreter(name) or policy.check_command(name).risk == "high")
    if dangerous:
        yield Check("autonomy.allowed_commands", "fail",
                    "run anything, or destroy: " + ", ".join(dangerous),
                    "take them out: claw config edit")
    if not any(row[1] for row in rows) and not dangerous:
        yield Check("autonomy.level", "ok", f"{own.level}: nothing risky "
                    "runs without the owner's yes")


@AUTONOMY.check
def check_channels(tree: Tree) -> Iterator[Check]:
    """[autonomy.channels.NAME]: what one channel is allowed beyond the
    rest, and what in it has no effect."""
    policy = build_policy(tree)
    for name, own in policy.base.channels.items():
        key = f"autonomy.channels.{name}"
        if own.auto_approve:
            yield Check(
                f"{key}.auto_approve",
                "fail" if "*" in own.auto_approve else "warn",
                "runs unasked for whoever may write there: "
                + ", ".join(own.auto_approve),
                f"claw config unset {key}.auto_approve")
        if own.level not in (None, policy.find_settings(name).level):
            yield Check(f"{key}.level", "warn",
                        f"{own.level} has no effect: autonomy.level is "
                        f"{policy.base.level}, and a channel has no more",
                        f"claw config unset {key}.level")


@PEOPLE.check
def check_people(tree: Tree) -> Iterator[Check]:
    """Who may write to each channel, and who may approve there."""
    for name in list_configured(tree):
        key = f"{SECTION}.{name}.allowed_users"
        names = tree.get(key, ())
        if "allowed_users" not in (settings_keys(name) or ()) \
                or not isinstance(names, list | tuple):
            continue
        allowed = AllowList(names)
        way = f"claw config set {key} '[ID, ...]'"
        if allowed.open_to_all:
            yield Check(
                f"people.{name}", "warn" if allowed.has_owners else "fail",
                f"{key}: everybody may write, and "
                + ("only those who are named approve" if allowed.has_owners
                   else "everybody approves what he asks for"), way)
        elif not allowed:
            yield Check(f"people.{name}", "warn", f"{key} is empty: nobody "
                        "may write until one is paired", way)
        else:
            yield Check(f"people.{name}", "ok",
                        f"{key}: nobody else may write")
        if allowed.usernames:
            yield Check(f"people.{name}-names", "fail",
                        f"{key}: names can change hands: "
                        + ", ".join(allowed.usernames), way)


@PORTS.check
def check_ports(tree: Tree) -> Iterator[Check]:
    """What listens: where, and with which secret."""
    for name in list_configured(tree):
        key = f"{SECTION}.{name}"
        if "host" not in (settings_keys(name) or ()):
            continue
        try:
            settings = read_settings(tree, name)
        except ClawError as error:
            yield Check(f"ports.{name}-settings", "fail", error.message,
                        error.hint)
            continue
        host = settings.host
        if _is_loopback(host):
            yield Check(f"ports.{name}", "ok",
                        f"{host} is reached from this machine alone")
        else:
            yield Check(f"ports.{name}", "fail",
                        f"{key}.host = {host!r}: other machines reach it, "
                        "in plain HTTP", f"claw config set {key}.host "
                        "127.0.0.1, with a proxy for TLS before it")
        secret = (getattr(settings, "secret", None) or "").strip()
        if len(secret) < _SHORT_SECRET:
            yield Check(f"ports.{name}-secret", "fail",
                        f"{key}.secret is " + ("short enough to be guessed"
                                               if secret else "missing"),
                        f"openssl rand -hex 32 | claw config set {key}"
                        ".secret")


@HOOKS.check
def check_hooks(tree: Tree) -> Iterator[Check]:
    """What is told of tool calls, and to whom."""
    hooks = tree.decode("hooks", HooksSettings)
    audit = hooks.builtin.webhook_audit
    if hooks.enabled and audit.enabled and audit.include_args:
        yield Check("hooks.webhook_audit", "warn",
                    f"the arguments of tool calls go to {audit.url}",
                    "claw config unset "
                    "hooks.builtin.webhook_audit.include_args")
    if hooks.enabled and hooks.use:
        yield Check("hooks.use", "warn", "code of other packages sees every "
                    "call: " + ", ".join(hooks.use),
                    "see their hashes under plugins; claw config unset "
                    "hooks.use")


    if hooks.enabled and hooks.command:
        yield Check("hooks.command", "ok", "programs of yours run outside "
                    "of the sandbox: " + ", ".join(dict.fromkeys(
                        one.command[0] for one in hooks.command
                        if one.command)))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
