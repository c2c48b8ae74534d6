"""The settings of [autonomy] with those of a channel or a job laid over.

Pure. A list that says what may be is cut down to what both name, one that
says what may not be is joined, of two limits the lower one counts. The one
thing that is added is `auto_approve` of a channel.
"""

from collections.abc import Sequence

import msgspec

from claw.core.errors import UsageError
from claw.security.settings import AutonomySettings, Level, NarrowerSettings

_LEVELS: tuple[Level, ...] = ("readonly", "supervised", "full")
ANY = "*"


class EffectiveSettings(AutonomySettings, frozen=True, kw_only=True):
    """[autonomy] as it holds for a turn. `outer_level` is what it has
    without what narrows it, `tools` None offers all but the excluded."""

    outer_level: Level = "supervised"
    tools: tuple[str, ...] | None = None
    excluded_tools: tuple[str, ...] = ()
    max_cost_per_turn_cents: int | None = None

    def offers(self, tool: str) -> bool:
        return not {tool, ANY}.intersection(self.excluded_tools) and (
            self.tools is None
            or bool({tool, ANY}.intersection(self.tools)))


def apply(base: AutonomySettings, own: NarrowerSettings | None
          ) -> EffectiveSettings:
    """The settings as they hold where `own` is laid over them."""
    own = own or NarrowerSettings()
    given = {name: getattr(base, name) for name in base.__struct_fields__}
    commands = base.allowed_commands if own.allowed_commands is None \
        else _cut(base.allowed_commands, own.allowed_commands)
    return EffectiveSettings(**given | {
        "level": _lower(base.level, own.level), "outer_level": base.level,
        "tools": own.tools, "excluded_tools": own.excluded_tools,
        "allowed_commands": list(commands),
        "auto_approve": _join(base.auto_approve, own.auto_approve),
        "always_ask": _join(base.always_ask, own.always_ask),
        "max_actions_per_hour": _least(base.max_actions_per_hour,
                                       own.max_actions_per_hour),
        "max_cost_per_turn_cents": own.max_cost_per_turn_cents})


def combine(one: NarrowerSettings | None, other: NarrowerSettings | None
            ) -> NarrowerSettings | None:
    """Both at once. What either would add holds where both say so."""
    if one is None or other is None:
        return one or other
    return NarrowerSettings(
        level=one.level if other.level is None
        else _lower(other.level, one.level),
        tools=_cut_maybe(one.tools, other.tools),
        excluded_tools=tuple(_join(one.excluded_tools,
                                   other.excluded_tools)),
        allowed_commands=_cut_maybe(one.allowed_commands,
                                    other.allowed_commands),
        auto_approve=tuple(tool for tool in one.auto_approve
                           if tool in other.auto_approve),
        always_ask=tuple(_join(one.always_ask, other.always_ask)),
        max_actions_per_hour=_least(one.max_actions_per_hour,
                                    other.max_actions_per_hour),
        max_cost_per_turn_cents=_least(one.max_cost_per_turn_cents,
                                       other.max_cost_per_turn_cents))


def read_policy(given: object) -> NarrowerSettings:
    """The policy of a job, of a JSON object. Raises UsageError for what is
    none, and for one that allows something."""
    try:
        policy = msgspec.convert(given, _Strict)
    except msgspec.ValidationError as error:
        raise UsageError(f"the policy is wrong: {error}") from error
    if policy.auto_approve:
        raise UsageError("a job's policy takes away and allows nothing: "
                         "auto_approve is the owner's to set")
    return NarrowerSettings(**msgspec.structs.asdict(policy))


class _Strict(NarrowerSettings, frozen=True, kw_only=True,
              forbid_unknown_fields=True):
    """A name that is misspelt takes nothing away."""


def _lower(level: Level, other: Level | None) -> Level:
    return level if other is None else min(level, other, key=_LEVELS.index)


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None),
               default=None)


def _join(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _cut(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """What both name; a * names everything."""
    if ANY in one:
        return tuple(other)
    return tuple(name for name in one if ANY in other or name in other)


def _cut_maybe(one: tuple[str, ...] | None, other: tuple[str, ...] | None
               ) -> tuple[str, ...] | None:
    return one if other is None else other if one is None \
        else _cut(one, other)
