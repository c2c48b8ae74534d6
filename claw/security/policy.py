"""SecurityPolicy: what tools ask before they touch anything.

Built once from settings, workspace and clock, handed to tools in
ToolDeps.policy, and checked inside their `execute`.
"""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from claw.core.errors import DeniedError
from claw.core.turn import Approves
from claw.security import beneath
from claw.security.commands import GateRules, Verdict, judge
from claw.security.paths import PathRules, expand, expand_all
from claw.security.settings import AutonomySettings

if TYPE_CHECKING:
    from claw.security.sandbox import Sandbox

Operation: TypeAlias = Literal["read", "act"]

_WINDOW_SECONDS = 3600.0
_GRANT_SECONDS = 300.0


class SecurityPolicy:
    """The limits of one process.

    `home` is the person's (for ~), `config_dir` holds config.toml and the
    key, `sandbox` stands around commands (None: no tool may run one).
    `approver` is whom tools ask themselves, `notify` hears what the owner
    should know of what they did.
    """

    def __init__(self, settings: AutonomySettings, workspace: Path, *,
                 home: Path, config_dir: Path | None = None,
                 sandbox: "Sandbox | None" = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.level = settings.level
        self.sandbox = sandbox
        self.approver: Approves | None = None
        self.notify: Callable[[str], None] = lambda text: None
        self.asked: set[str] = set()
        self._clock = clock
        roots = expand_all(settings.allowed_roots, home)
        self.paths = PathRules(
            roots=tuple(r.resolve() for r in (workspace, *roots)),
            forbidden=expand_all(settings.forbidden_paths, home),
            workspace_only=settings.workspace_only, home=home,
            config_dir=config_dir.resolve() if config_dir else None)
        self._gate = GateRules(
            level=settings.level, allowed=tuple(settings.allowed_commands),
            ask_medium=settings.require_approval_for_medium_risk,
            block_high=settings.block_high_risk_commands,
            home=str(expand("~", home)))
        self._actions: deque[float] = deque()
        self._grants: dict[str, float] = {}

    @property
    def workspace(self) -> Path:
        return self.paths.workspace

    def check_command(self, command: str, *, approved: bool = False
                      ) -> Verdict:
        """The gate's verdict; `approved` is the owner's yes."""
        return judge(command, self._gate, self.paths.allows,
                     approved=approved)

    def is_path_allowed(self, path: str) -> bool:
        """Whether a path may be named (it is checked again when opened)."""
        return self.paths.allows(path)

    def read_beneath(self, path: str, max_bytes: int) -> bytes:
        """A file's bytes. Raises DeniedError ("Path not allowed ..."),
        NotFoundError, UsageError, StorageError."""
        root, relative = self.paths.locate(path)
        return beneath.read(root, relative, self.paths.reaches, max_bytes)

    def write_beneath(self, path: str, data: bytes) -> None:
        """Write a file whole, making parents. Raises as read_beneath."""
        root, relative = self.paths.locate(path)
        beneath.write(root, relative, data, self.paths.reaches)

    def enforce(self, operation: Operation) -> None:
        """Count one action. Raises DeniedError in read-only mode (for
        "act") and when the hour's actions are used up."""
        if operation == "act" and self.level == "readonly":
            raise DeniedError(
                "Security policy: read-only mode, nothing may be changed",
                hint='set autonomy.level = "supervised"')
        if not self.record():
            raise self.rate_limited()

    def record(self) -> bool:
        """Count one action; whether it is within the hour's limit."""
        self._forget_old()
        self._actions.append(self._clock())
        return len(self._actions) <= self.settings.max_actions_per_hour

    def is_limited(self) -> bool:
        """Whether the hour's actions are used up; a limit of 0 always is."""
        self._forget_old()
        return len(self._actions) >= self.settings.max_actions_per_hour

    def rate_limited(self) -> DeniedError:
        limit = self.settings.max_actions_per_hour
        return DeniedError(
            f"Rate limit exceeded: {limit} actions in the last hour",
            hint="raise autonomy.max_actions_per_hour")

    def grant(self, key: str) -> None:
        """Remember the owner's yes to one call (see approval.py)."""
        self._grants[key] = self._clock() + _GRANT_SECONDS

    def take_grant(self, key: str) -> bool:
        """Use up the yes to this very call; it is good once, for five
        minutes."""
        return self._grants.pop(key, 0.0) > self._clock()

    def prompt_summary(self) -> str:
        """The rules, in lines for the system prompt."""
        own = self.settings
        roots = ", ".join(map(str, self.paths.roots[1:])) or "none"
        boundary = ("the workspace only" if own.workspace_only
                    else "everything but the forbidden paths")
        risk = ("blocked unless named in the allowed commands"
                if own.block_high_risk_commands else "possible")
        medium = ("need approval" if self.level == "supervised"
                  and own.require_approval_for_medium_risk else "run")
        return "\n".join((
            f"- Autonomy level: {self.level}",
            f"- Files: {boundary}; workspace {self.workspace}; further "
            f"roots: {roots}",
            "- Allowed commands: " + ", ".join(own.allowed_commands),
            "- Forbidden paths: " + ", ".join(own.forbidden_paths),
            f"- Medium-risk commands {medium}; high-risk commands are "
            f"{risk}",
            f"- At most {own.max_actions_per_hour} actions an hour"))

    def _forget_old(self) -> None:
        start = self._clock() - _WINDOW_SECONDS
        while self._actions and self._actions[0] <= start:
            self._actions.popleft()
