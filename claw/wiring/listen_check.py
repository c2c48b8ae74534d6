"""`claw listen --check`: would it start? Nothing is started, nothing asked
over the network, nothing created."""

from collections.abc import Iterator, Sequence

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError
from claw.core.log import silent
from claw.core.value import Value
from claw.runtime.health import read_state
from claw.storage.queue.reader import open_reader
from claw.wiring.channels import open_channel, wanted
from claw.wiring.checks import Check
from claw.wiring.hooks import hooks_of
from claw.wiring.place_names import queue_path, state_path
from claw.wiring.providers import providers_of
from claw.wiring.tools import policy_of


class Checked(Value):
    """What was found, and the exit code: that of the first failure."""

    checks: tuple[Check, ...]
    code: int


def check(places: Places, only: Sequence[str]) -> Checked:
    """Settings, channels, provider, tools, hooks and queue."""
    checks: list[Check] = []
    code = 0
    for found in _checks(places, only):
        if isinstance(found, Check):
            checks.append(found)
            continue
        step, error = found
        code = code or error.exit_code
        checks.append(Check(f"listen.{step}", "fail", error.message,
                            error.hint))
    return Checked(tuple(checks), code)


Found = Check | tuple[str, ClawError]


def _checks(places: Places, only: Sequence[str]) -> Iterator[Found]:
    try:
        tree = load(places)
    except ClawError as error:
        yield "config", error
        return
    yield from _channels(tree, only)
    yield from _parts(tree)
    for warning in tree.warnings:
        yield Check("listen.config", "warn", warning, "claw config check")
    tree.warnings.clear()
    yield from _queue(places)


def _channels(tree: Tree, only: Sequence[str]) -> Iterator[Found]:
    try:
        names = wanted(tree, only)
    except ClawError as error:
        yield "channels", error
        return
    for name in names:
        try:
            open_channel(tree, name, silent)
        except ClawError as error:
            yield f"channel.{name}", error
        else:
            yield Check(f"listen.channel.{name}", "ok", "can be started")


def _parts(tree: Tree) -> Iterator[Found]:
    try:
        choice = providers_of(tree).choose()
        yield Check("listen.provider", "ok",
                    f"{choice.shown} ({choice.reason})")
    except ClawError as error:
        yield "provider", error
    try:
        policy_of(tree)
        hooks_of(tree, silent)
    except ClawError as error:
        yield "tools", error


def _queue(places: Places) -> Iterator[Found]:
    path = queue_path(places)
    if not path.exists():
        yield Check("listen.queue", "ok", "empty: it is made at the start")
        return
    try:
        with open_reader(path) as reader:
            counts = reader.counts()
    except ClawError as error:
        yield "queue", error
        return
    waiting = counts.inbox.get("waiting", 0) + counts.inbox.get("running", 0)
    unsent = sum(counts.outbox.get(state, 0) for state in (
        "waiting", "sending", "uncertain"))
    yield Check("listen.queue", "ok", f"{waiting} messages to answer, "
                f"{unsent} parts to send")
    if counts.outbox.get("failed"):
        yield Check("listen.outbox", "warn",
                    f"{counts.outbox['failed']} parts could not be sent",
                    "claw queue list --failed; then: claw queue retry")
    state = read_state(state_path(places))
    if state is not None:
        yield Check("listen.last", "ok",
                    f"last run: pid {state.get('pid')}, state written "
                    f"{state.get('written_at')}")
