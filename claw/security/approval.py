"""Asking the owner before a tool runs.

A yes is bound to the hash of tool, arguments and working directory, is
good once and for a few minutes; "always" holds for that same call until
the process ends. Where nobody can be asked the answer is no, at once.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    TextIO,
    TypeAlias,
    runtime_checkable,
)

from claw.core.errors import ClawError
from claw.core.labels import OWN
from claw.core.tool import Tool, hide_arguments
from claw.core.turn import (
    ApprovalRequest,
    Approves,
    Decision,
    TurnContext,
    current_turn,
)
from claw.core.value import Value
from claw.security.permissions import (
    ANY,
    SHELL,
    PermissionSettings,
    list_arguments,
    read_words,
    write_text,
)
from claw.security.policy import SecurityPolicy
from claw.security.settings import AUTO_APPROVE, AutonomySettings
from claw.security.visible import visible
from claw.security.words import words

if TYPE_CHECKING:
    from claw.security.commands import Verdict

# Tools that carry something out of the turn. A turn that has read foreign
# text needs the owner's yes for them.
_SINKS = frozenset(words(
    "shell git_operations http_request cron_add cron_update cron_run "
    "schedule message send delegate swarm browser browser_open pushover "
    "sessions_send"))
# Tools that change what later turns read: after text of others only, since
# who lets files be written unasked works on the workspace's own.
_CHANGES = frozenset(words(
    "file_write file_edit apply_patch memory_forget memory_purge "
    "cron_remove"))
# Not risky while the turn has read nothing foreign.
_HARMLESS = frozenset(("memory_store",))
_SUPERVISED = "supervised mode"
_ALWAYS = "it asks before every call"
_SHOWN_CHARS = 3_000
_KEPT = timedelta(days=7)
Preview: TypeAlias = Callable[[], tuple[str, ...]]


@runtime_checkable
class ChecksArguments(Protocol):
    """A tool that can tell wrong arguments without running."""

    def problem(self, args: Mapping[str, Any]) -> str | None: ...


@runtime_checkable
class ReadsSometimes(Protocol):
    """A tool some of whose calls change nothing and send nothing."""

    def only_reads(self, args: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class CarriesOut(Protocol):
    """A tool of a kind that is no name in this table: it says itself
    whether its calls carry something out of the turn."""

    is_sink: bool


@runtime_checkable
class AsksOwner(Protocol):
    """A tool that puts what it did to the owner itself, as a diff."""

    def asks_owner(self, args: Mapping[str, Any], context: TurnContext
                   ) -> bool: ...


@runtime_checkable
class PreviewsChange(Protocol):
    """A tool that can tell what a call would change, as the lines of a
    diff; none where it can't be shown whole."""

    def preview(self, args: Mapping[str, Any]) -> tuple[str, ...]: ...


class AuditEntry(Value):
    """One decision; the summary is `key: value` pairs, values cut at 80
    characters."""

    timestamp: str
    tool_name: str
    arguments_summary: str
    decision: Decision
    channel: str


def approval_key(tool: str, args: Mapping[str, Any], cwd: Path) -> str:
    """What a yes is bound to: SHA-256 of tool, canonical arguments and
    working directory, in hexadecimal."""
    canonical = json.dumps([tool, list_arguments(args), str(cwd)],
                           sort_keys=True,
                           separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def is_sink(tool: str, args: Mapping[str, Any], *, reads: bool = False
            ) -> bool:
    """Whether the call sends, runs, schedules, or stores: a memory of any
    category stands in later prompts, where its origin is not known. A tool
    of the owner's or of a package that does not say that it only `reads`
    may do all that."""
    if tool == "memory_store":
        return True
    if tool == "http_request":
        return str(args.get("method", "GET")).upper() not in ("GET", "HEAD")
    return tool in _SINKS or not (
        reads or tool in _CHANGES or tool in AUTO_APPROVE)


def leads_elsewhere(tool: str, args: Mapping[str, Any],
                    context: TurnContext | None) -> bool:
    """Whether a page is fetched, after text of others, whose address nobody
    wrote: one that a model makes up can carry away what it has read."""
    if tool not in ("web_fetch", "http_request") or context is None \
            or OWN.issuperset(context.labels):
        return False
    url = str(args.get("url")).strip()
    page = url.partition("#")[0]
    return not (url in context.asked
                or any(known in (url, page)
                       for known in (*context.found, *context.seen)))


def needs_approval(tool: str, settings: AutonomySettings, *,
                   interactive: bool, remembered: bool = False,
                   labels: Collection[str] = (), sink: bool = False,
                   verdict: "Verdict | None" = None,
                   reads: bool = False, asks: bool = False) -> str | None:
    """Why the owner must be asked, None if not.

    `labels` are the turn's origins of foreign text, `sink` as is_sink
    says, `verdict` the gate's for a shell call, `reads` that the tool only
    reads, `asks` that it asks every time. Else full and read-only levels
    never ask: the one may, the other can't.
    """
    if asks and settings.level != "readonly":
        return _ALWAYS
    if settings.level != "supervised":
        return None
    if tool in settings.always_ask or "*" in settings.always_ask:
        return "autonomy.always_ask names it"
    # A low-risk command has no way out of the sandbox, and one that the
    # owner has allowed for always he has seen: text of the workspace's own
    # is no reason to ask for them.
    contained = (verdict is not None and OWN.issuperset(labels)
                 and (verdict.risk == "low" or remembered))
    sink = sink or (tool in _CHANGES and not OWN.issuperset(labels))
    if labels and sink and not contained:
        return "this turn has read text from: " + ", ".join(sorted(labels))
    if remembered:
        return None
    if verdict is not None:
        if verdict.asks:
            return f"{verdict.risk}-risk command" + (
                f": {verdict.detail}" if verdict.detail else "")
        if verdict.reads or not interactive:
            return None  # the command gate decides alone
    if reads or tool in settings.approved_tools() \
            or "*" in settings.auto_approve:
        return None
    return None if tool in _HARMLESS else _SUPERVISED


class ApprovalManager:
    """Asks where it must, remembers "always", keeps an audit list.

    `interactive` says whether `approver` can reach a person. Its yes is
    left with the policy, where the tool picks it up. `keep` writes down
    what the owner allows for a week; None: he is not offered that.
    """

    def __init__(self, policy: SecurityPolicy, approver: Approves, *,
                 interactive: bool, channel: str = "cli",
                 keep: Callable[[PermissionSettings], None] | None = None,
                 now: Callable[[], datetime] = lambda: datetime.now(UTC)
                 ) -> None:
        self._policy = policy
        self._approver = approver
        self._interactive = interactive
        self._channel = channel
        self._keep = keep
        self._now = now
        self._remembered: set[str] = set()
        self.audit: list[AuditEntry] = []

    async def refusal(self, tool: str, args: Mapping[str, Any],
                      context: TurnContext | None = None, *,
                      reads: bool = False, only_reads: bool = False,
                      asks: bool = False, sink: bool = False,
                      preview: Preview = tuple,
                      shown: Mapping[str, Any] | None = None) -> str | None:
        """None when the call may run, else the sentence for the model.
        `reads` and `sink` are said of the tool, `only_reads` of this call;
        `shown` are the arguments as people see them, where that differs."""
        shown = args if shown is None else shown
        key = approval_key(tool, args, self._policy.workspace)
        verdict = self._verdict(tool, args)
        allowed = key in self._remembered or self._is_permitted(
            tool, args, verdict)
        if verdict is not None and verdict.refusal and not verdict.asks:
            return None  # the tool refuses by itself; no need to ask
        find_reason = partial(
            needs_approval, tool, self._policy.settings,
            interactive=self._interactive,
            labels=context.labels if context else (),
            sink=sink or (
                is_sink(tool, args, reads=reads) and not only_reads)
            or leads_elsewhere(tool, args, context),
            verdict=verdict, reads=reads or only_reads,
            asks=asks)
        reason = find_reason(remembered=allowed)
        if reason is None:
            if allowed:
                self._policy.grant(key)
            return None
        may_remember = not asks and (
            verdict is None or verdict.rememberable)
        # Only what a permission would change is offered for a week, and
        # nothing that is hidden would be written down.
        standing = self._build_permission(tool, args) if may_remember \
            and shown == args and find_reason(remembered=True) is None \
            else None
        diff = await asyncio.to_thread(preview)
        decision = await self._approver.approve(ApprovalRequest(
            tool, describe_change(args) if diff
            else describe_call(tool, shown), key, reason, may_remember,
            diff=diff, place=str(self._policy.workspace)
            if tool == "shell" else "", may_keep=standing is not None))
        if decision == "week" and standing is not None:
            await asyncio.to_thread(self._write_down, standing)
        return self._settle(decision, tool, shown, key, reason, may_remember)

    async def gate(self, tool: Tool, args: Mapping[str, Any],
                   context: TurnContext) -> str | None:
        """`refusal` in the form that the agent's executor calls. A call
        whose arguments the tool will not take is not asked about."""
        if isinstance(tool, ChecksArguments) and tool.problem(args):
            return None
        if isinstance(tool, AsksOwner) and tool.asks_owner(args, context):
            return None
        return await self.refusal(
            tool.name, args, context,
            reads=getattr(tool, "reads", False) is True,
            asks=getattr(tool, "asks", False) is True,
            only_reads=isinstance(tool, ReadsSometimes)
            and tool.only_reads(args),
            sink=isinstance(tool, CarriesOut) and tool.is_sink,
            preview=partial(tool.preview, args)
            if isinstance(tool, PreviewsChange) else tuple,
            shown=hide_arguments(tool, args))

    def _settle(self, decision: Decision, tool: str, args: Mapping[str, Any],
                key: str, reason: str, may_remember: bool) -> str | None:
        self.audit.append(AuditEntry(
            self._now().isoformat(), tool, summary(args), decision,
            self._channel))
        if decision == "no":
            if self._interactive:
                return "Denied by user."
            return (f"Denied: {tool} needs approval ({reason}) and nobody "
                    f"can be asked here. To allow it: {_way(tool, reason)}")
        if decision in ("always", "week") and may_remember:
            self._remembered.add(key)
        self._policy.grant(key)
        return None

    def _is_permitted(self, tool: str, args: Mapping[str, Any],
                      verdict: "Verdict | None") -> bool:
        """Whether a standing permission covers the call. What shells and
        interpreters do is covered by none."""
        standing = self._policy.settings.permissions
        if not standing or (verdict is not None and not verdict.rememberable):
            return False
        turn = current_turn.get()
        channel = turn.channel.partition(":")[0] \
            if turn and turn.channel else None
        return any(one.covers(tool, args, channel=channel, now=self._now(),
                              workspace=str(self._policy.workspace))
                   for one in standing.values())

    def _build_permission(self, tool: str, args: Mapping[str, Any]
                          ) -> PermissionSettings | None:
        """This very call, for a week; None where its text could be read as
        a pattern."""
        given = list_arguments(args)
        if self._keep is None or any(ANY in _text(value)
                                     for value in given.values()):
            return None
        is_shell = tool == SHELL
        if is_shell and (given.keys() != {"command"} or read_words(
                str(given["command"])) is None):
            return None
        return PermissionSettings(
            tool=tool, workspace=str(self._policy.workspace),
            until=(self._now() + _KEPT).isoformat(timespec="seconds"),
            command=str(given["command"]) if is_shell else "",
            arguments={} if is_shell else {
                name: write_text(value) for name, value in given.items()})

    def _write_down(self, standing: PermissionSettings) -> None:
        try:
            if self._keep is not None:
                self._keep(standing)
        except ClawError as error:  # the yes to this call holds all the same
            self._policy.notify(f"not kept for a week: {error.message}")

    def _verdict(self, tool: str, args: Mapping[str, Any]
                 ) -> "Verdict | None":
        command = args.get("command")
        return (self._policy.check_command(command)
                if tool == "shell" and isinstance(command, str) else None)


def _way(tool: str, reason: str) -> str:
    """What the owner can change so that a call with this reason runs."""
    ways = ["--yes"]
    if reason == _ALWAYS:
        return ways[0]
    if reason == _SUPERVISED:
        ways.append(f'autonomy.auto_approve = ["{tool}"]')
    if reason.startswith("medium-risk command"):
        ways.append("autonomy.require_approval_for_medium_risk = false")
    return ", or ".join([*ways, 'autonomy.level = "full"'])


class NoApprover:
    """Nobody can be asked: no."""

    def can_ask(self) -> bool:
        return False

    async def approve(self, request: ApprovalRequest) -> Decision:
        return "no"


class SaysYes:
    """The owner has said yes beforehand (--yes) to the calls of tools; he
    reads nothing now."""

    def can_ask(self) -> bool:
        return False

    async def approve(self, request: ApprovalRequest) -> Decision:
        return "yes"


class TerminalApprover:
    """Asks on the terminal: the prompt on `out`, the answer from `into`.
    Without a terminal on both the answer is no."""

    def __init__(self, into: TextIO, out: TextIO) -> None:
        self._into = into
        self._out = out
        self._one_at_a_time = asyncio.Lock()

    @property
    def interactive(self) -> bool:
        return self._into.isatty() and self._out.isatty()

    def can_ask(self) -> bool:
        return self.interactive

    async def approve(self, request: ApprovalRequest) -> Decision:
        if not self.interactive:
            return "no"
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._ask, request)

    def _ask(self, request: ApprovalRequest) -> Decision:
        return parse_decision(self.ask(prompt(request)),
                              may_remember=request.may_remember,
                              may_keep=request.may_keep)

    def ask(self, text: str) -> str:
        """The line that the person answers; "" for the end of input."""
        self._out.write(text)
        self._out.flush()
        return self._into.readline()


def prompt(request: ApprovalRequest) -> str:
    """What the owner sees. Nothing in it moves the cursor or turns the
    direction of the text."""
    label = name_content(request)
    always = (" / [a]lways" if request.may_remember else "") + (
        " / for a [w]eek" if request.may_keep else "")
    why = (f"Why: {visible(request.reason)}\n" if request.details
           or request.reason.startswith(("this turn", "medium-risk command:"))
           else "")
    details = "".join(f"  {visible(line)}\n"
                      for line in (*request.details, *request.diff))
    kind = "File" if request.details else "Tool"
    place = f"In: {visible(request.place)}\n" if request.place else ""
    return (f"[claw] {kind}: {visible(request.tool)}\n"
            f"{label}: {_show_lines(request)}\n{place}{details}{why}"
            f"[y]es / [n]o{always}: ")


def _show_lines(request: ApprovalRequest) -> str:
    """The summary; of a command of several lines each ends in what it
    stands for, and those behind the first are set in."""
    lines = request.summary.split("\n") if request.tool == "shell" \
        else [request.summary]
    return "\\n\n    ".join(map(visible, lines))


def name_content(request: ApprovalRequest) -> str:
    """What the summary of a request is."""
    if request.details or request.diff:
        return "Change"
    return "Command" if request.tool == "shell" else "Arguments"


def parse_decision(answer: str, *, may_remember: bool,
                   may_keep: bool = False) -> Decision:
    """y, yes, a, always, w, week; anything else, the end of input too, is
    no."""
    word = answer.strip().lower()
    if word in ("y", "yes"):
        return "yes"
    if word in ("w", "week") and may_keep:
        return "week"
    return "always" if word in ("a", "always") and may_remember else "no"


def describe_call(tool: str, args: Mapping[str, Any]) -> str:
    """The call as the owner sees it: whole, since what is not seen is not
    approved. Of a longer value than a person reads both ends are shown,
    and how much is not."""
    command = args.get("command")
    if tool == "shell" and isinstance(command, str):
        return command
    return ", ".join(f"{key}: {_both_ends(_text(value))}"
                     for key, value in args.items())


def describe_change(args: Mapping[str, Any]) -> str:
    """Which file a diff is of; one of several files names them itself."""
    return f"path: {args['path']}" if "path" in args else "several files"


def _both_ends(text: str) -> str:
    left_out = len(text) - _SHOWN_CHARS
    if left_out <= 0:
        return text
    half = _SHOWN_CHARS // 2
    return (f"{text[:half]} [... {left_out} characters NOT SHOWN ...] "
            f"{text[-half:]}")


def summary(args: Mapping[str, Any]) -> str:
    """`key: value` pairs, each value cut at 80 characters."""
    texts = {key: _text(value) for key, value in args.items()}
    return ", ".join(
        f"{key}: {text[:80]}{'...' if len(text) > 80 else ''}"
        for key, text in texts.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(
        value, ensure_ascii=False, default=str)
