"""`claw listen --check`: would it start? Nothing is started, nothing
created, and nothing asked over the network but for the list of models where
no model is named: listen begins with the same question."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError, UnavailableError, describe
from claw.core.log import silent
from claw.gateway.settings import GatewaySettings, check_exposure
from claw.providers.catalog.choice import Choice, settle_model
from claw.providers.factory import LIST_S, Providers
from claw.runtime.process.health import read_state
from claw.storage.queue.reader import open_reader
from claw.text.plural import plural
from claw.wiring.channels.build import open_channel, select_channels
from claw.wiring.checks.check import Check, Status
from claw.wiring.listen.jobs import runs_alone
from claw.wiring.models.providers import build_providers
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.hooks import build_hooks
from claw.wiring.workspace.place_names import queue_path, state_path
from claw.wiring.workspace.trust import require_trust


class Report:
    """What was found, and the exit code: that of the first failure."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.code = 0

    def add(self, step: str, detail: str, status: Status = "ok",
            hint: str | None = None) -> None:
        self.checks.append(Check(f"listen.{step}", status, detail, hint))

    @contextmanager
    def failing(self, step: str) -> Iterator[None]:
        """An error within is a finding of this step."""
        try:
            yield
        except ClawError as error:
            self.code = self.code or error.exit_code
            self.add(step, error.message, "fail", error.hint)


def check(places: Places, only: Sequence[str]) -> Report:
    """Settings, channels, provider, tools, hooks and queue."""
    report = Report()
    with report.failing("workspace"):
        require_trust(places)
    with report.failing("config"):
        tree = load(places)
        _check_channels(report, tree, only)
        with report.failing("gateway"):
            gateway = tree.decode("gateway", GatewaySettings)
            if gateway.enabled:
                check_exposure(gateway)
                report.add("gateway", f"http://{gateway.host}:"
                                      f"{gateway.port}")
        with report.failing("provider"):
            providers = build_providers(tree)
            choice = providers.choose()
            report.add("provider", f"{choice.shown} ({choice.reason})")
            if choice.model is None:
                _check_model(report, providers, choice)
        with report.failing("tools"):
            sandbox = build_policy(tree).sandbox
            if sandbox is not None and sandbox.shelter().is_fallback:
                report.add("tools", "no command tools: this machine has "
                           "only the fallback sandbox", "warn",
                           "claw doctor prints the steps to a whole one")
            build_hooks(tree, silent)
        for warning in tree.warnings:
            report.add("config", warning, "warn", "claw config check")
        tree.warnings.clear()
        with report.failing("queue"):
            _check_queue(report, places)
    return report


def _check_model(report: Report, providers: Providers,
                 choice: Choice) -> None:
    """Which model the server gives. One that is away keeps listen from
    nothing. Raises ConfigError where it has none."""
    async def ask() -> str | None:
        async with aclosing(
                providers.create(choice.provider_name)) as provider:
            return (await settle_model(choice, provider, LIST_S)).model
    try:
        report.add("model", f"{asyncio.run(ask())}: the first that it offers")
    except UnavailableError as error:
        report.add(
            "model", describe(error), "warn",
            "listen starts all the same, and asks with each message")


def _check_channels(report: Report, tree: Tree, only: Sequence[str]) -> None:
    names: list[str] = []
    with report.failing("channels"):
        names = select_channels(tree, only, alone=runs_alone(tree))
    for name in names:
        with report.failing(f"channel.{name}"):
            open_channel(tree, name, silent)
            report.add(f"channel.{name}", "can be started")


def _check_queue(report: Report, places: Places) -> None:
    path = queue_path(places)
    if not path.exists():
        report.add("queue", "empty: it is made at the start")
        return
    with open_reader(path) as reader:
        counts = reader.counts()
    waiting = counts.inbox.get("waiting", 0) + counts.inbox.get("running", 0)
    unsent = sum(counts.outbox.get(state, 0) for state in (
        "waiting", "sending", "uncertain"))
    report.add("queue", f"{plural(waiting, 'message')} to answer, "
                        f"{plural(unsent, 'part')} to send")
    if counts.outbox.get("failed"):
        report.add("outbox",
                   f"{counts.outbox['failed']} parts could not be sent",
                   "warn", "claw queue list --failed; then: claw queue retry")
    state = read_state(state_path(places))
    if state is not None:
        report.add("last", f"last run: pid {state.get('pid')}, state "
                           f"written {state.get('written_at')}")
