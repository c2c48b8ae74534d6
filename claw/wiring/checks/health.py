"""Whether what the settings name answers: the model's server and those of
the channels. A way that is closed and a server that has too much to do say
nothing about a setting: such a check is left out ("skip")."""

from collections.abc import Iterator

from claw.config.tree import Tree
from claw.core.value import replace
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import Check, run
from claw.wiring.checks.doctor import ASKED_PROVIDERS, PROVIDERS

# The last part of the ids of checks that fail where the network is away, as
# long as no cause is known.
_AWAY = ("reach", "dns", "tcp", "tls", "network", "server", "health",
         "unavailable", "timeout", "rate_limited", "overloaded", "quota")


def run_health_checks(tree: Tree) -> Iterator[Check]:
    """Nothing is paid."""
    for check in run("providers", PROVIDERS.run, tree):
        if check.id != "providers.choice" or check.status != "warn":
            yield _judge(check)
    yield from _ask_channels(tree)


def run_health_checks_deep(tree: Tree) -> Iterator[Check]:
    """The same with a real question to the model."""
    for check in run("providers", ASKED_PROVIDERS.run, tree):
        yield _judge(check)
    yield from _ask_channels(tree)


def _ask_channels(tree: Tree) -> Iterator[Check]:
    for check in run("channels", channel_checks, tree):
        if check.status == "fail" and not check.id.endswith(".traffic"):
            yield _judge(check)


def _judge(check: Check) -> Check:
    """A failure whose cause is not known to be the setting becomes one
    that could not be told; what was not asked is well."""
    if check.status == "skip":
        return replace(check, status="ok")
    if check.status != "fail" or check.cause == "setting":
        return check
    away = check.cause or check.id.rpartition(".")[2] in _AWAY
    return replace(check, status="skip") if away else check
