"""Settings of the agent: [agent], [pacing], [query_classification] and
[multimodal].

Every key is optional. Keys marked "not read yet" are accepted so that an
existing config.toml loads; `INERT` lists them for `claw config check`.
"""

from typing import Annotated, Literal

import msgspec

DEFAULT_ITERATIONS = 10

INERT = ("agent.max_context_tokens", "agent.history_pruning",
         "agent.context_aware_tools", "agent.eval", "agent.auto_classify",
         "agent.tool_filter_groups")

FilterMode = Literal["always", "dynamic"]


class ThinkingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agent.thinking]

    default_level: off, minimal, low, medium, high or max, for messages
        without /think:LEVEL
    """

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
    """[agent]; the keys without a meaning here stand in INERT.

    compact_context: cut each workspace file of the prompt at 6,000
        characters, not at 20,000
    max_tool_iterations: model calls in one turn; 0 means 10
    max_history_messages: messages of the conversation that are sent
    parallel_tools: run the tool calls of one answer side by side
    tool_dispatcher: how tools are offered: native, xml, or auto
    tool_call_dedup_exempt: tools that may be called twice alike
    excluded_tools: tools that are not offered unless a command names them,
        built-in ones or those of installed packages
    offered_tools: tools that stand in every prompt beside the usual ones,
        rather than being found by tool_search
    receipts: say under an answer that claims an act when no tool call did it
    max_system_prompt_chars: longest system prompt; 0 means no limit
    """

    compact_context: bool = False
    max_tool_iterations: int = DEFAULT_ITERATIONS
    max_history_messages: int = 50
    max_context_tokens: int = 32_000
    parallel_tools: bool = False
    tool_dispatcher: str = "auto"
    tool_call_dedup_exempt: tuple[str, ...] = ()
    excluded_tools: tuple[str, ...] = ()
    offered_tools: tuple[str, ...] = ()
    receipts: bool = True
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


_TaskSeconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]


class DelegateSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[delegate]: what holds for [agents.<name>] that say nothing of it.

    timeout_secs: seconds for an answer without tools
    agentic_timeout_secs: seconds for a turn with tools, waiting for the
        owner apart
    """

    timeout_secs: _TaskSeconds = 120
    agentic_timeout_secs: _TaskSeconds = 300


class NamedAgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[agents.<name>]: an agent that the delegate tool hands tasks to.

    provider: the provider it asks; unset: the usual one
    model: the model it asks
    system_prompt: who it is, and how it works
    api_key: its key, where it is another than the provider's; kept encrypted
    temperature: sampling temperature, 0 to 2
    max_depth: how many turns deep a task may be handed to it
    agentic: give it the tools of allowed_tools
    allowed_tools: the tools it may use; never delegate
    max_iterations: model calls in one of its turns with tools
    timeout_secs: as in [delegate], for this one
    agentic_timeout_secs: as in [delegate], for this one
    """

    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    api_key: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    max_depth: Annotated[int, msgspec.Meta(ge=0)] = 3
    agentic: bool = False
    allowed_tools: tuple[str, ...] = ()
    max_iterations: Annotated[int, msgspec.Meta(ge=1)] = 10
    timeout_secs: _TaskSeconds | None = None
    agentic_timeout_secs: _TaskSeconds | None = None


class PacingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[pacing]: limits in time, and the loop detector.

    step_timeout_secs: seconds for one model call
    loop_detection_min_elapsed_secs: look for loops after these seconds
    loop_ignore_tools: tools that never count as a loop
    message_timeout_scale_max: how many times message_timeout_secs a
        channel's turn with tools may take; 4 where it is not set
    loop_detection_enabled: stop a turn that goes in circles
    loop_detection_window_size: how many tool calls it looks back
    loop_detection_max_repeats: how many equal calls make a loop
    """

    step_timeout_secs: float | None = None
    loop_detection_min_elapsed_secs: float | None = None
    loop_ignore_tools: tuple[str, ...] = ()
    message_timeout_scale_max: float | None = None
    loop_detection_enabled: bool = True
    loop_detection_window_size: int = 20
    loop_detection_max_repeats: int = 3


class ClassificationRule(msgspec.Struct, frozen=True, kw_only=True):
    """[[query_classification.rules]]; lengths in UTF-8 bytes, inclusive.

    hint: the name of a row of [[model_routes]], whose model is asked
    keywords: a message fits that holds one of them, in any case
    patterns: the same, in this very case
    min_length: only messages of at least so many bytes
    max_length: only messages of at most so many bytes
    priority: rules with a higher one are tried first
    """

    hint: str = ""
    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    min_length: int | None = None
    max_length: int | None = None
    priority: int = 0


class QueryClassificationSettings(msgspec.Struct, frozen=True,
                                  kw_only=True):
    """[query_classification]: which messages of channels go to which
    model.

    enabled: look at the rules
    rules: hint, keywords, patterns, min_length, max_length and priority of
        each rule; the first that fits names the model
    """

    enabled: bool = False
    rules: tuple[ClassificationRule, ...] = ()


class MultimodalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[multimodal]: the images that a model is shown.

    max_images: most images in one request, 1 to 16; the newest are sent
    max_image_size_mb: the largest image, in MiB, 1 to 20
    allow_remote_fetch: fetch images that a message names by their address
    vision_provider: the provider that is asked about images where the
        usual one takes none
    vision_model: its model; unset: its own default
    """

    max_images: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    max_image_size_mb: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    allow_remote_fetch: bool = False
    vision_provider: str | None = None
    vision_model: str | None = None
