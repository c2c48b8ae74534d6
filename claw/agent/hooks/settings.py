"""Settings of hooks: [hooks]."""

import msgspec


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


class HooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[hooks]

    enabled: run hooks at all
    use: names of installed third-party hooks to run
    """

    enabled: bool = True
    use: tuple[str, ...] = ()
    builtin: BuiltinHooksSettings = BuiltinHooksSettings()
