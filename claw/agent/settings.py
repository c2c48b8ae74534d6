"""Settings of the agent: [agent], [pacing] and [query_classification].

Every key is optional. Keys marked "not read yet" are accepted so that an
existing config.toml loads; `INERT` lists them for `claw config check`.
"""

from typing import Literal

import msgspec

DEFAULT_ITERATIONS = 10

INERT = ("agent.max_context_tokens", "agent.history_pruning",
         "agent.context_aware_tools", "agent.eval")

FilterMode = Literal["always", "dynamic"]


class ThinkingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent.thinking]: the level of a turn without a /think directive."""

    default_level: str = "medium"


class HistoryPruningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent.history_pruning]: not read yet."""

    enabled: bool = False
    max_tokens: int = 8192
    keep_recent: int = 4
    collapse_tool_results: bool = True


class EvalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent.eval]: not read yet."""

    enabled: bool = False
    min_quality_score: float = 0.5
    max_retries: int = 1


class AutoClassifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent.auto_classify]: the hint for each estimated difficulty."""

    simple_hint: str | None = None
    standard_hint: str | None = None
    complex_hint: str | None = None


class ToolFilterGroup(msgspec.Struct, frozen=True, kw_only=True):
    """[[agent.tool_filter_groups]]: which MCP tools a turn is offered.

    `tools` are names with at most one "*". A dynamic group counts only
    when the message contains one of `keywords`.
    """

    mode: FilterMode = "always"
    tools: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent].

    `max_tool_iterations` 0 means 10, `max_system_prompt_chars` 0 means no
    limit. `compact_context` cuts each workspace file of the prompt at
    6,000 characters (else 20,000). `max_context_tokens`,
    `history_pruning`, `context_aware_tools` and `eval` are not read yet.
    """

    compact_context: bool = False
    max_tool_iterations: int = DEFAULT_ITERATIONS
    max_history_messages: int = 50
    max_context_tokens: int = 32_000
    parallel_tools: bool = False
    tool_dispatcher: str = "auto"
    tool_call_dedup_exempt: tuple[str, ...] = ()
    tool_filter_groups: tuple[ToolFilterGroup, ...] = ()
    max_system_prompt_chars: int = 0
    thinking: ThinkingSettings = ThinkingSettings()
    history_pruning: HistoryPruningSettings = HistoryPruningSettings()
    context_aware_tools: bool = False
    eval: EvalSettings = EvalSettings()
    auto_classify: AutoClassifySettings | None = None

    @property
    def iterations(self) -> int:
        """How many model calls a turn may make."""
        return (self.max_tool_iterations if self.max_tool_iterations > 0
                else DEFAULT_ITERATIONS)


class PacingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[pacing]: limits in time, and the loop detector.

    `message_timeout_scale_max` is read by the channel runtime.
    """

    step_timeout_secs: float | None = None
    loop_detection_min_elapsed_secs: float | None = None
    loop_ignore_tools: tuple[str, ...] = ()
    message_timeout_scale_max: float | None = None
    loop_detection_enabled: bool = True
    loop_detection_window_size: int = 20
    loop_detection_max_repeats: int = 3


class ClassificationRule(msgspec.Struct, frozen=True, kw_only=True):
    """[[query_classification.rules]]; lengths in UTF-8 bytes, inclusive."""

    hint: str = ""
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    min_length: int | None = None
    max_length: int | None = None
    priority: int = 0


class QueryClassificationSettings(msgspec.Struct, frozen=True,
                                  kw_only=True):
    """[query_classification]"""

    enabled: bool = False
    rules: tuple[ClassificationRule, ...] = ()
