"""SecurityPolicy: what tools ask before they touch anything.

Built once from settings, workspace and clock, handed to tools in
ToolDeps.policy, and checked inside their `execute`.
"""

import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import structs

from claw.core.errors import DeniedError
from claw.core.turn import Approves, current_turn
from claw.security.confine.attachments import is_of_another_chat
from claw.security.files import beneath
from claw.security.files.paths import (
    TASKS_FILE,
    PathRules,
    expand_all,
    refuse_path,
)
from claw.security.files.walk import Walk
from claw.security.narrower import EffectiveSettings, apply, combine
from claw.security.settings import (
    AutonomySettings,
    Level,
    NarrowerSettings,
)

if TYPE_CHECKING:
    from claw.security.sandbox.sandbox import Sandbox
    from claw.security.shell.commands import Verdict

Operation: TypeAlias = Literal["read", "act"]

_WINDOW_SECONDS = 3600.0
_GRANT_SECONDS = 300.0
_SENDERS = 1_000  # whose actions are counted; those idle longest go first


class SecurityPolicy:
    """The limits of one process.

    `home` is the person's (for ~), `config_dir` holds config.toml and the
    key, `sandbox` stands around commands (None: no tool may run one).
    `approver` is whom tools ask themselves, `notify` hears what the owner
    should know of what they did. `granted` are folders that programs of
    others may write in (MCP servers), `own_code` those where claw's own
    code lies: who writes there runs outside of the sandbox. `one_person`:
    nobody but the owner writes in chats.
    """

    def __init__(self, settings: AutonomySettings, workspace: Path, *,
                 home: Path, config_dir: Path | None = None,
                 sandbox: "Sandbox | None" = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.base = settings
        self._effective: dict[str | None, EffectiveSettings] = {}
        self.sandbox = sandbox
        self.approver: Approves | None = None
        self.granted: tuple[Path, ...] = ()
        self.own_code: tuple[Path, ...] = ()
        self.one_person = False
        self.notify: Callable[[str], None] = lambda text: None
        self.asked: set[str] = set()
        self._clock = clock
        roots = expand_all(settings.allowed_roots, home)
        self.paths = PathRules(
            roots=tuple(r.resolve() for r in (workspace, *roots)),
            forbidden=expand_all(settings.forbidden_paths, home),
            workspace_only=settings.workspace_only, home=home,
            config_dir=config_dir.resolve() if config_dir else None)
        self._actions: OrderedDict[str, deque[float]] = OrderedDict()
        self._grants: dict[str, float] = {}

    @property
    def workspace(self) -> Path:
        return self.paths.workspace

    @property
    def settings(self) -> EffectiveSettings:
        """Those of the running turn: with what its channel and its job
        take away."""
        turn = current_turn.get()
        return self.find_settings() if turn is None else self.find_settings(
            turn.channel, turn.policy)

    @property
    def level(self) -> Level:
        return self.settings.level

    def find_settings(self, channel: str | None = None,
                      job: NarrowerSettings | None = None
                      ) -> EffectiveSettings:
        """Those of a turn of this channel ("NAME" or "NAME:...") or job."""
        name = (channel or "").partition(":")[0]
        own = self.base.channels.get(name)
        if job is not None:
            return apply(self.base, combine(own or NarrowerSettings(), job))
        key = name if own else None
        if key not in self._effective:
            self._effective[key] = apply(self.base, own)
        return self._effective[key]

    def is_left_to_owner(self, name: str) -> bool:
        """Whether a change of a watched file by the running turn waits for
        the owner at his machine, whatever is answered in its chat: who
        writes there may be another one, whose words everybody's later
        turns would read."""
        turn = current_turn.get()
        return turn is not None and turn.channel is not None and (
            name == TASKS_FILE or not self.one_person)

    def offers(self, tool: str) -> bool:
        """Whether the running turn may have a tool."""
        return self.settings.offers(tool)

    def narrow_job(self, job: NarrowerSettings | None
                   ) -> NarrowerSettings | None:
        """The policy of a job that the running turn makes: it takes away
        what the turn's own does, and allows nothing."""
        turn = current_turn.get()
        own = None if turn is None else combine(
            self.base.channels.get((turn.channel or "").partition(":")[0]),
            turn.policy)
        found = combine(own, job)
        return found and structs.replace(found, auto_approve=())

    def check_command(self, command: str, *, approved: bool = False,
                      job: NarrowerSettings | None = None) -> "Verdict":
        """The gate's verdict; `approved` is the owner's yes. What the
        settings refuse by themselves nothing laid over them allows: the
        stricter verdict holds. `job` is the policy of one that is made."""
        settings = self.settings if job is None else \
            self.find_settings(None, job)
        verdict = self._judge(command, settings, approved=approved)
        if settings.allowed_commands == self.base.allowed_commands \
                and settings.level == self.base.level:
            return verdict
        outer = self._judge(command, self.base, approved=approved)
        return max(outer, verdict, key=lambda one: (
            one.refusal is not None, not one.asks))

    def _judge(self, command: str, own: AutonomySettings, *, approved: bool
               ) -> "Verdict":
        # the tables of programs are read when a command comes
        from claw.security.shell.commands import GateRules, judge
        rules = GateRules(
            level=own.level, allowed=tuple(own.allowed_commands),
            ask_medium=own.require_approval_for_medium_risk,
            block_high=own.block_high_risk_commands,
            home=str(self.paths.home), workspace=str(self.workspace))
        return judge(command, rules, self.paths.allows, approved=approved)

    def is_path_allowed(self, path: str) -> bool:
        """Whether a path may be named (it is checked again when opened)."""
        return self.paths.allows(path)

    def read_beneath(self, path: str, max_bytes: int) -> bytes:
        """A file's bytes. Raises DeniedError ("Path not allowed ..."),
        NotFoundError, UsageError, StorageError."""
        root, relative = self.paths.locate(path)
        return beneath.read(root, relative, self.reaches, max_bytes)

    def write_beneath(self, path: str, data: bytes) -> None:
        """Write a file whole, making parents. Raises as read_beneath."""
        root, relative = self.paths.locate(path)
        beneath.write(root, relative, data, self._may_change)

    def remove_beneath(self, path: str) -> None:
        """Remove a file. Raises as read_beneath."""
        root, relative = self.paths.locate(path)
        beneath.remove(root, relative, self._may_change)

    def _may_change(self, real: Path) -> bool:
        return self.reaches(real) and not any(
            real.is_relative_to(place) for place in self.own_code)

    def walk_beneath(self, path: str) -> Walk:
        """The files below a folder, as paths from its root on. Raises
        DeniedError."""
        root, relative = self.paths.locate(path)
        return Walk(root, relative, self.reaches)

    def name_place(self, path: str) -> str:
        """A path as a command in the workspace is told it, links on the
        way to it resolved. Raises DeniedError."""
        root, relative = self.paths.locate(path)
        real = Path(os.path.realpath(root / relative))
        if not self.reaches(real):
            raise refuse_path(path)
        return str(real.relative_to(self.workspace)
                   if real.is_relative_to(self.workspace) else real)

    def reaches(self, real: Path) -> bool:
        """Whether this turn may use a file, wherever a link led to it."""
        turn = current_turn.get()
        chat = None if turn is None else turn.chat
        if chat and self.workspace in real.parents:
            folder, *rest = real.relative_to(self.workspace).parts
            if rest and is_of_another_chat(folder, rest[0], chat):
                return False
        return self.paths.reaches(real)

    def enforce(self, operation: Operation) -> None:
        """Count one action. Raises DeniedError in read-only mode (for
        "act") and when the hour's actions are used up."""
        if operation == "act" and self.level == "readonly":
            raise DeniedError(
                "Security policy: read-only mode, nothing may be changed",
                hint='set autonomy.level = "supervised"'
                if self.base.level == "readonly"
                else "see: claw permission show")
        if not self.record():
            raise self.rate_limited()

    def record(self) -> bool:
        """Count one action of the turn's sender; whether it is within the
        hour's limit."""
        actions = self._recent_actions()
        actions.append(self._clock())
        return len(actions) <= self.settings.max_actions_per_hour

    def is_limited(self) -> bool:
        """Whether the sender's actions of the hour are used up; a limit of
        0 always is."""
        return (len(self._recent_actions())
                >= self.settings.max_actions_per_hour)

    def rate_limited(self) -> DeniedError:
        limit = self.settings.max_actions_per_hour
        return DeniedError(
            f"Rate limit exceeded: {limit} actions in the last hour",
            hint="raise autonomy.max_actions_per_hour"
            if limit == self.base.max_actions_per_hour
            else "see: claw permission show")

    def grant(self, key: str) -> None:
        """Remember the owner's yes to one call (see approval.py)."""
        self._grants[key] = self._clock() + _GRANT_SECONDS

    def take_grant(self, key: str) -> bool:
        """Use up the yes to this very call; it is good once, for five
        minutes."""
        return self._grants.pop(key, 0.0) > self._clock()

    def prompt_summary(self, own: EffectiveSettings | None = None) -> str:
        """The rules, in lines for the system prompt."""
        own = own or self.settings
        roots = ", ".join(map(str, self.paths.roots[1:])) or "none"
        boundary = ("the workspace only" if own.workspace_only
                    else "everything but the forbidden paths")
        risk = ("blocked unless named in the allowed commands"
                if own.block_high_risk_commands else "possible")
        medium = ("need approval" if own.level == "supervised"
                  and own.require_approval_for_medium_risk else "run")
        return "\n".join((
            f"- Autonomy level: {own.level}",
            f"- Files: {boundary}; workspace {self.workspace}; further "
            f"roots: {roots}",
            "- Allowed commands: " + ", ".join(own.allowed_commands),
            "- Forbidden paths: " + ", ".join(own.forbidden_paths),
            "- Commands that only read, and mkdir, touch, cp and mv inside "
            f"the workspace, run; others {medium}; high-risk commands are "
            f"{risk}",
            f"- At most {own.max_actions_per_hour} actions an hour"))

    def _recent_actions(self) -> deque[float]:
        """When the sender of this turn acted in the last hour; one past
        the limit tells as much as many."""
        sender = _find_sender()
        actions = self._actions.setdefault(
            sender, deque(maxlen=self.base.max_actions_per_hour + 1))
        self._actions.move_to_end(sender)
        while len(self._actions) > _SENDERS:
            self._actions.popitem(last=False)
        start = self._clock() - _WINDOW_SECONDS
        while actions and actions[0] <= start:
            actions.popleft()
        return actions


def _find_sender() -> str:
    """Whose actions these are: a person's of a channel, else those of what
    runs by itself (cron, gateway), else the owner's at the terminal."""
    turn = current_turn.get()
    if turn is None or (turn.channel is None and turn.origin in (
            "ask", "agent", "tool")):
        return "owner"
    if turn.sender is None:
        return turn.origin
    if turn.person is not None:
        return turn.person
    channel = (turn.channel or "").partition(":")[0]  # whatever the room
    return f"{channel}:{turn.sender}"
