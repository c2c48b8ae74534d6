"""Settings of hooks: [hooks] and [[hooks.command]]."""

import re
from typing import Annotated, Literal

import msgspec

# Names with * and ?. A regular expression would match nothing, and a guard
# that never runs looks like one that says yes.
_MATCHER = re.compile(r"[\w*?-]+(\|[\w*?-]+)*")


class WebhookAuditSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[hooks.builtin.webhook_audit]: tell a web address of tool calls.

    enabled: post each tool call that ran
    url: where to; https, and no private address
    tool_patterns: names of tools, * and ? stand for anything
    include_args: post the arguments too, without credentials
    max_args_bytes: where the JSON of the arguments is cut
    """

    enabled: bool = False
    url: str = ""
    tool_patterns: tuple[str, ...] = ("*",)
    include_args: bool = False
    max_args_bytes: int = 4096


class BuiltinHooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[hooks.builtin]

    command_logger: write a log line for each tool call
    """

    command_logger: bool = False
    webhook_audit: WebhookAuditSettings = WebhookAuditSettings()


class CommandHookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[[hooks.command]]: a program of the owner's that runs at a place.

    event: where, such as before_tool_call
    command: the program and its arguments; no shell reads them
    matcher: for which tools, as in "shell|git_*"
    timeout_secs: seconds that it may take
    on_failure: continue, or cancel: what a guard that fails stops
    """

    event: str = ""
    command: tuple[str, ...] = ()
    matcher: str = "*"
    timeout_secs: Annotated[float, msgspec.Meta(gt=0, le=600)] = 30.0
    on_failure: Literal["continue", "cancel"] = "continue"

    def __post_init__(self) -> None:
        if not _MATCHER.fullmatch(self.matcher):
            raise ValueError("matcher takes names of tools with * and ?, "
                             'apart by |, as in "shell|git_*"')


class HooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[hooks]

    enabled: run hooks at all
    use: names of installed third-party hooks to run
    command: programs of your own to run, each with event, command, matcher,
        timeout_secs and on_failure; see docs/hooks.md
    """

    enabled: bool = True
    use: tuple[str, ...] = ()
    command: tuple[CommandHookSettings, ...] = ()
    builtin: BuiltinHooksSettings = BuiltinHooksSettings()
