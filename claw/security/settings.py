"""Settings of security: [autonomy], [security.sandbox],
[security.resources] and [security.prompt_guard]. Key names and defaults are
the reference's."""

import re
from typing import Annotated, Literal

import msgspec

from claw.security.permissions import PermissionSettings
from claw.security.shell.words import words

# What every system has in its own folders, and so is never looked for.
UTILITIES = words(
    "sort cut uniq tr sed awk tar diff cmp comm basename dirname realpath "
    "readlink stat nl tac rev fold column paste join seq md5sum sha1sum "
    "sha256sum which type id whoami true false test [ printf expr sleep cd "
    "mkdir touch cp mv")
ALLOWED_COMMANDS = words(
    "git npm cargo ls cat grep find echo pwd wc head tail date df du uname "
    "uptime hostname free python python3 pip node "
    # not in the reference's list
    "file tree jq") + UTILITIES
FORBIDDEN_PATHS = words(
    "/etc /root /home /usr /bin /sbin /lib /opt /boot /dev /proc /sys /var "
    "/tmp ~/.ssh ~/.gnupg ~/.aws ~/.config")
AUTO_APPROVE = words(
    "file_read memory_recall web_search_tool web_fetch calculator "
    "glob_search content_search image_info weather")

# Accepted because the reference's files have them; nothing reads them yet.
INERT = ("autonomy.non_cli_excluded_tools", "security.sandbox.firejail_args")

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


Level = Literal["readonly", "supervised", "full"]


class NarrowerSettings(msgspec.Struct, frozen=True, kw_only=True,
                       omit_defaults=True):
    """[autonomy.channels.NAME]: what the agent may do in turns that come
    through this channel. All but auto_approve takes something away.

    level: readonly, supervised or full, where that is less than
        autonomy.level
    tools: the only tools that are offered
    excluded_tools: tools that are not offered
    allowed_commands: of autonomy.allowed_commands these alone
    auto_approve: more tools that run unasked here
    always_ask: more tools that always ask here
    max_actions_per_hour: most tool calls of one person an hour, where that
        is less than autonomy.max_actions_per_hour
    max_cost_per_turn_cents: the most that models may cost in a turn, in
        cents
    """

    level: Level | None = None
    tools: tuple[str, ...] | None = None
    excluded_tools: tuple[str, ...] = ()
    allowed_commands: tuple[str, ...] | None = None
    auto_approve: tuple[str, ...] = ()
    always_ask: tuple[str, ...] = ()
    max_actions_per_hour: Annotated[int, msgspec.Meta(ge=0)] | None = None
    max_cost_per_turn_cents: Annotated[int, msgspec.Meta(ge=1)] | None = None


class AutonomySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[autonomy]: what the agent may do without asking.

    level: readonly, supervised (risky calls ask) or full
    workspace_only: files outside the workspace are out of reach
    allowed_commands: programs that the agent may run
    forbidden_paths: paths that stay out of reach
    max_actions_per_hour: most tool calls of one person an hour; the owner at
        the terminal, cron and each sender of a channel count apart
    max_cost_per_day_cents: the most that models may cost in a day, in
        cents, beside cost.daily_limit_usd: the lower one counts; 0 for none
    require_approval_for_medium_risk: ask before commands of medium risk
    block_high_risk_commands: refuse commands of high risk
    shell_env_passthrough: variables that commands may see
    auto_approve: more tools that run unasked
    always_ask: tools that always ask
    allowed_roots: folders beside the workspace that the agent may use
    permissions: what runs unasked for a while; see claw permission
    channels: what holds for one channel, by its name
    """

    level: Level = "supervised"
    workspace_only: bool = True
    allowed_commands: list[str] = msgspec.field(
        default_factory=lambda: list(ALLOWED_COMMANDS))
    forbidden_paths: list[str] = msgspec.field(
        default_factory=lambda: list(FORBIDDEN_PATHS))
    max_actions_per_hour: int = 20
    max_cost_per_day_cents: int = 0  # the reference has 500
    require_approval_for_medium_risk: bool = True
    block_high_risk_commands: bool = True
    shell_env_passthrough: list[str] = []
    auto_approve: list[str] = []
    always_ask: list[str] = []
    allowed_roots: list[str] = []
    non_cli_excluded_tools: list[str] = []
    permissions: dict[str, PermissionSettings] = {}
    channels: dict[str, NarrowerSettings] = {}

    def __post_init__(self) -> None:
        if self.max_actions_per_hour < 0:
            raise ValueError("max_actions_per_hour must be 0 or more")
        if self.max_cost_per_day_cents < 0:
            raise ValueError("max_cost_per_day_cents must be 0 or more")
        for name in self.shell_env_passthrough:
            if not _ENV_NAME.match(name):
                raise ValueError(
                    f"shell_env_passthrough: not a variable's name: {name!r}")

    def approved_tools(self) -> frozenset[str]:
        """Tools that run unasked: the defaults and the user's own, less
        those in always_ask."""
        return (frozenset(AUTO_APPROVE) | frozenset(self.auto_approve)
                ) - frozenset(self.always_ask)


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[security.sandbox]: what stands around a child process.

    `enabled`, `backend` and `firejail_args` are the reference's keys;
    firejail and docker are not used and `Sandbox.describe` says so.

    mode: auto (the best there is), required (no sandbox, no command) or
        off
    network: whether commands may use the network: off or on
    enabled: false means the same as mode = "off"
    backend: auto, landlock, bubblewrap, or none (mode = "off")
    """

    mode: Literal["auto", "required", "off"] = "auto"
    network: Literal["off", "on"] = "off"
    enabled: bool | None = None
    backend: Literal["auto", "landlock", "firejail", "bubblewrap", "docker",
                     "none"] = "auto"
    firejail_args: list[str] = []

    def effective_mode(self) -> Literal["auto", "required", "off"]:
        """`required` wins over the reference's two ways to say off."""
        if self.mode == "auto" and (self.enabled is False
                                    or self.backend == "none"):
            return "off"
        return self.mode


class ResourceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[security.resources]: limits of each command.

    The kernel counts threads where this says subprocesses, and node alone
    starts eleven, so each stands for 16 tasks.

    max_memory_mb: data of each process, in MiB
    max_cpu_time_seconds: seconds of processor time of a command
    max_subprocesses: most processes of a command
    max_disk_mb: most that a command may write to the disk, in MiB; one
        that writes more is ended
    max_files: most files that a command may make
    memory_monitoring: false lifts max_memory_mb
    """

    max_memory_mb: int = 512
    max_cpu_time_seconds: int = 60
    max_subprocesses: int = 10
    max_disk_mb: int = 1024
    max_files: int = 20_000
    memory_monitoring: bool = True

    def __post_init__(self) -> None:
        for key in ("max_memory_mb", "max_cpu_time_seconds",
                    "max_subprocesses", "max_disk_mb", "max_files"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be 1 or more")

    @property
    def max_tasks(self) -> int:
        return 16 * self.max_subprocesses


class PromptGuardSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[security.prompt_guard]: foreign text that speaks to the model. A
    hint, not a boundary.

    action: off, warn (the model reads it under a warning) or block (it is
        left out)
    sensitivity: block leaves out what scores higher, from 0 to 1
    """

    action: Literal["off", "warn", "block"] = "warn"
    sensitivity: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.7
