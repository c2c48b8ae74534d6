"""Asks before a tool runs, remembers "always", keeps an audit list."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    TypeAlias,
)

from msgspec import structs

from claw.core.errors import ClawError
from claw.core.refusal import Refusal
from claw.core.tool import Tool, hide_arguments
from claw.core.turn import (
    ApprovalRequest,
    Approves,
    Decision,
    ReachesOwner,
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
    write_command,
    write_text,
)
from claw.security.policy import SecurityPolicy
from claw.security.visible import visible

if TYPE_CHECKING:
    from claw.security.shell.commands import Verdict
from claw.security.approval.question import (
    SHOWN_CHARS,
    describe_call,
    describe_change,
    is_whole,
    summary,
    write_call,
    write_value,
)
from claw.security.approval.rules import (
    ALWAYS,
    SUPERVISED,
    AsksOwner,
    CarriesOut,
    ChecksArguments,
    ExplainsCall,
    PreviewsChange,
    ReadsSometimes,
    WritesSettings,
    approval_key,
    is_sink,
    leads_elsewhere,
    needs_approval,
)

_KEPT = timedelta(days=7)
Preview: TypeAlias = Callable[[], tuple[str, ...]]


class AuditEntry(Value):
    """One decision; the summary is `key: value` pairs, values cut at 80
    characters."""

    timestamp: str
    tool_name: str
    arguments_summary: str
    decision: Decision
    channel: str


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
                      loaded: bool = False,
                      preview: Preview = tuple,
                      shown: Mapping[str, Any] | None = None) -> str | None:
        """None when the call may run, else the sentence for the model.
        `reads` and `sink` are said of the tool, `only_reads` and `loaded`
        of this call;
        `shown` are the arguments as people see them, where that differs."""
        shown = args if shown is None else shown
        key = approval_key(tool, args, self._policy.workspace)
        verdict = self._verdict(tool, args)
        allowed = key in self._remembered or self._is_permitted(
            tool, args, verdict, foreign=bool(context and context.labels))
        if verdict is not None and verdict.refusal and not verdict.asks:
            return None  # the tool refuses by itself; no need to ask
        settings = self._policy.settings
        if not settings.offers(tool):
            return (f"Denied: {tool} is not offered here (see: claw "
                    "permission show)")
        find_reason = partial(
            needs_approval, tool,
            structs.replace(settings, level=settings.outer_level)
            if settings.level == "readonly" else settings,
            interactive=self._interactive,
            labels=context.labels if context else (),
            sink=sink or (
                is_sink(tool, args, reads=reads) and not only_reads)
            or leads_elsewhere(tool, args, context),
            verdict=verdict, reads=reads or only_reads,
            asks=asks, loaded=loaded)
        reason = find_reason(remembered=allowed)
        if reason is None:
            if allowed:
                self._policy.grant(key)
            return None
        if settings.level == "readonly":
            return ("Denied: read-only mode, nothing may be changed here "
                    "(see: claw permission show)")
        diff = await asyncio.to_thread(preview)
        may_remember = not asks and not loaded and (
            verdict is None or verdict.rememberable) and (
            bool(diff) or is_whole(shown))
        # Only what a permission would change is offered for a week, and
        # nothing that is hidden would be written down.
        standing = self._build_permission(tool, args) if may_remember \
            and shown == args and find_reason(remembered=True) is None \
            else None
        turn = context or current_turn.get()
        can_ask = self._approver.can_ask() \
            if isinstance(self._approver, ReachesOwner) else self._interactive
        decision = await self._approver.approve(ApprovalRequest(
            tool, describe_change(args) if diff
            else describe_call(tool, shown), key, reason, may_remember,
            diff=diff, place=str(self._policy.workspace)
            if tool == "shell" else "",
            may_keep=standing is not None and self._keep is not None))
        if decision == "week" and standing is not None:
            await asyncio.to_thread(self._write_down, standing)
        expired = turn is not None and key in turn.unanswered
        if decision == "no" and (expired or not can_ask):
            return self._note_refusal(turn, Refusal(
                tool, write_call(tool, shown), visible(reason), expired,
                None if standing is None else write_command(standing)))
        return self._settle(decision, tool, shown, key, may_remember)

    async def gate(self, tool: Tool, args: Mapping[str, Any],
                   context: TurnContext) -> str | None:
        """`refusal` in the form that the agent's executor calls. A call
        whose arguments the tool will not take is not asked about."""
        if isinstance(tool, ChecksArguments) and tool.problem(args):
            return None
        if isinstance(tool, AsksOwner) and self._policy.offers(tool.name) \
                and tool.asks_owner(args, context):
            return None
        shown = hide_arguments(tool, args)
        if isinstance(tool, ExplainsCall):
            shown = {**shown, **await asyncio.to_thread(tool.explain, args)}
        return await self.refusal(
            tool.name, args, context,
            reads=getattr(tool, "reads", False) is True,
            asks=getattr(tool, "asks", False) is True,
            only_reads=isinstance(tool, ReadsSometimes)
            and tool.only_reads(args),
            sink=isinstance(tool, CarriesOut) and tool.is_sink,
            loaded=isinstance(tool, WritesSettings)
            and tool.writes_settings(args),
            preview=partial(tool.preview, args)
            if isinstance(tool, PreviewsChange) else tuple,
            shown=shown)

    def _note_refusal(self, turn: TurnContext | None, refusal: Refusal
                      ) -> str:
        """What the model hears of a yes that nobody gave; the owner hears
        of each such call once."""
        self._note_decision("no", refusal.tool, refusal.call)
        if turn is not None:
            turn.note_refusal(refusal)
        return (f"Denied: {refusal.tool} needs approval ({refusal.reason}) "
                + ("and nobody answered in time." if refusal.expired
                   else "and nobody can be asked here.")
                + f" To allow it: {_way(refusal)}")

    def _note_decision(self, decision: Decision, tool: str, call: str
                       ) -> None:
        self.audit.append(AuditEntry(self._now().isoformat(), tool, call,
                                     decision, self._channel))

    def _settle(self, decision: Decision, tool: str, args: Mapping[str, Any],
                key: str, may_remember: bool) -> str | None:
        self._note_decision(decision, tool, summary(args))
        if decision == "no":
            return "Denied by user."
        if decision in ("always", "week") and may_remember:
            self._remembered.add(key)
        self._policy.grant(key)
        return None

    def _is_permitted(self, tool: str, args: Mapping[str, Any],
                      verdict: "Verdict | None", *, foreign: bool) -> bool:
        """Whether a standing permission covers the call. What shells and
        interpreters do is covered by none; after text of a file or command
        only what the owner has named whole."""
        standing = self._policy.settings.permissions
        if not standing or (verdict is not None and not verdict.rememberable):
            return False
        turn = current_turn.get()
        channel = turn.channel.partition(":")[0] \
            if turn and turn.channel else None
        return any(one.covers(tool, args, channel=channel, now=self._now(),
                              workspace=str(self._policy.workspace))
                   for one in standing.values()
                   if not (foreign and one.is_open))

    def _build_permission(self, tool: str, args: Mapping[str, Any]
                          ) -> PermissionSettings | None:
        """This very call, for a week; None where its text could be read as
        a pattern, or was not shown whole."""
        given = list_arguments(args)
        texts = list(map(write_value, given.values()))
        if any(ANY in text or len(text) > SHOWN_CHARS for text in texts):
            return None
        is_shell = tool == SHELL
        if is_shell and (given.keys() != {"command"} or read_words(
                str(given["command"])) is None):
            return None
        turn = current_turn.get()
        return PermissionSettings(
            tool=tool, workspace=str(self._policy.workspace),
            channel=(turn.channel or "").partition(":")[0] if turn else "",
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


def _way(refusal: Refusal) -> str:
    """What the owner can change so that the call runs."""
    ways, reason = ["--yes"], refusal.reason
    if reason == ALWAYS:
        return ways[0]
    if refusal.allow is not None:
        ways.append(refusal.allow)
    if reason == SUPERVISED:
        ways.append(f'autonomy.auto_approve = ["{refusal.tool}"]')
    if reason.startswith("medium-risk command"):
        ways.append("autonomy.require_approval_for_medium_risk = false")
    return ", or ".join([*ways, 'autonomy.level = "full"'])
