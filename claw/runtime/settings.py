"""Settings of the channel runtime: [channels_config], [strangers],
[media_pipeline], [link_enricher] and [heartbeat]."""

from typing import Annotated, Any, Literal

import msgspec

MIN_TIMEOUT_S = 30.0

INERT = ("channels_config.session_backend",
         "channels_config.session_ttl_hours",
         "media_pipeline.summarize_video")

SessionBackend = Literal["jsonl", "sqlite"]


class ChannelsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[channels_config]: what all channels share.

    cli: claw listen --channel cli reads lines from stdin
    message_timeout_secs: seconds for one message, at least 30; a turn with
        tools gets up to pacing.message_timeout_scale_max times as long
    ack_reactions: show 👀 on receipt, then ✅ or ⚠️
    show_tool_calls: say each tool call in a message of its own
    session_persistence: keep conversations over a restart
    session_backend: how they are kept; always jsonl
    session_ttl_hours: not read yet
    debounce_ms: wait so long for more of the same person before answering;
        0 means off
    files_keep_days: days until a file that was sent, or a spoken answer, is
        removed (0: never)
    """

    cli: bool = True
    message_timeout_secs: float = 300.0
    ack_reactions: bool = True
    show_tool_calls: bool = False
    session_persistence: bool = True
    session_backend: SessionBackend = "sqlite"
    session_ttl_hours: int = 0
    debounce_ms: int = 0
    files_keep_days: Annotated[int, msgspec.Meta(ge=0)] = 30

    @property
    def timeout_s(self) -> float:
        return max(MIN_TIMEOUT_S, self.message_timeout_secs)


class StrangersSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[strangers]: people whom no allow-list names, where "*" lets everybody
    in. 0 for no limit.

    messages_per_hour: how many of one stranger are answered
    tokens_per_day: tokens that answers to one may take
    cost_per_day_cents: what they may cost
    all_messages_per_hour: how many of all strangers together are answered
    all_tokens_per_day: tokens that answers to all of them may take
    all_cost_per_day_cents: what these may cost
    """

    messages_per_hour: Annotated[int, msgspec.Meta(ge=0)] = 20
    tokens_per_day: Annotated[int, msgspec.Meta(ge=0)] = 100_000
    cost_per_day_cents: Annotated[int, msgspec.Meta(ge=0)] = 25
    all_messages_per_hour: Annotated[int, msgspec.Meta(ge=0)] = 100
    all_tokens_per_day: Annotated[int, msgspec.Meta(ge=0)] = 1_000_000
    all_cost_per_day_cents: Annotated[int, msgspec.Meta(ge=0)] = 200

    def each(self) -> tuple[int, int, int]:
        """Messages of an hour, tokens and cents of a day, for one."""
        return (self.messages_per_hour, self.tokens_per_day,
                self.cost_per_day_cents)

    def together(self) -> tuple[int, int, int]:
        """The same for all of them."""
        return (self.all_messages_per_hour, self.all_tokens_per_day,
                self.all_cost_per_day_cents)


class MediaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[media_pipeline]: what a message says of its attachments.

    enabled: tell the model what is attached, a line for each attachment
    transcribe_audio: with what is said in it
    describe_images: say that a model which sees will look at images
    summarize_video: known, not used yet
    """

    enabled: bool = False
    transcribe_audio: bool = True
    describe_images: bool = True
    summarize_video: bool = True


class LinkEnricherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[link_enricher]: what a message says of the pages it links to.

    enabled: fetch the pages that a message links to, and tell their titles
    max_links: how many pages of one message
    timeout_secs: seconds for one page
    """

    enabled: bool = False
    max_links: Annotated[int, msgspec.Meta(ge=0)] = 3
    timeout_secs: Annotated[float, msgspec.Meta(gt=0)] = 10


class HeartbeatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[heartbeat]: tasks of HEARTBEAT.md while claw listen runs, and a tick
    for hooks.

    enabled: do the tasks of HEARTBEAT.md in the workspace, a line "- text"
        each, as the job "heartbeat", and tell on_heartbeat_tick
    interval_minutes: how often
    message: a task for when the file has none
    target: the channel that tells what came of it; an answer HEARTBEAT_OK
        is not told
    to: the chat
    """

    enabled: bool = False
    interval_minutes: Annotated[float, msgspec.Meta(gt=0)] = 5
    message: str | None = None
    target: str | None = None
    to: str | None = None

    @property
    def interval_s(self) -> float:
        return self.interval_minutes * 60


class ChannelOptions(msgspec.Struct, frozen=True):
    """What the runtime reads of a channel's own settings. `debounce_s` and
    `ack_reactions` None: those of all channels."""

    interrupt: bool = False
    ack_reactions: bool | None = None
    debounce_s: float | None = None

    @classmethod
    def of(cls, settings: Any) -> "ChannelOptions":
        """Of a channel's settings struct; what it lacks is the default."""
        wait = getattr(settings, "debounce_ms", None)
        return cls(
            bool(getattr(settings, "interrupt_on_new_message", False)),
            getattr(settings, "ack_reactions", None),
            wait / 1000 if wait else None)
