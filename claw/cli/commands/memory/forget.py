"""claw memory forget: remove."""

import shlex
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from claw.cli.commands.memory.common import (
    CategoryOption,
    clean_category,
    open_memory,
    to_one_line,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import is_terminal
from claw.core.errors import ExitCode, NotFoundError, UsageError
from claw.core.memory import (
    ForgetsForGood,
    ForgetsMany,
    KeepsForGood,
    KeepsVersions,
    Memory,
    RestoresMemories,
)
from claw.memory import times
from claw.memory.settings import MemorySettings
from claw.text.plural import memories

_NAMED = 10  # keys in a hint

OlderOption = Annotated[str | None, typer.Option(
    "--older-than", metavar="AGE",
    help="Last changed longer ago: 30d, 12h, or a time.")]
WhoOption = Annotated[str | None, typer.Option(
    "--who", metavar="NAME",
    help="All that this person said: a sender's id or name, or one of "
         "[people].")]
ForGoodFlag = Annotated[bool, typer.Option(
    "--for-good",
    help="Remove every earlier state and vector too; undo can't bring it "
    "back.")]
ProveFlag = Annotated[bool, typer.Option(
    "--prove", help="Remove it for good from every file that claw keeps, "
    "and search them all.")]
EverywhereFlag = Annotated[bool, typer.Option(
    "--everywhere",
    help="With --prove: from your own text files in the workspace too.")]


@examples("claw memory forget colour",
          "claw memory forget address --for-good",
          "claw memory forget address --prove",
          "claw memory forget --who mina --prove",
          "claw memory forget --category conversation --older-than 30d --yes")
def forget(
        context: typer.Context,
        keys: Annotated[list[str] | None, typer.Argument(
            metavar="[KEY]...", help="Exactly these keys.")] = None,
        category_name: CategoryOption = None,
        older_than: OlderOption = None,
        who: WhoOption = None,
        yes: Annotated[bool, typer.Option(
            "--yes", help="Do not ask before removing.")] = False,
        for_good: ForGoodFlag = False,
        proven: ProveFlag = False,
        everywhere: EverywhereFlag = False,
        ) -> None:
    """Remove memories by key, sender, or category and age.

    What is forgotten can be brought back for a while (claw memory undo);
    what is forgotten with --for-good or --prove can't.

    --for-good takes it out of the memory. --prove also takes its text, each
    of its sentences and each code in it out of the snapshot, sessions,
    queue, caches, archives and copies of the memory, where it says
    [forgotten] from then on; with --who the conversations with that person
    go whole. Then every file of the workspace and of claw's home is
    searched. What still holds it is named with its date: compressed
    backups, and files of your own. Exits 1 then. One that was killed is
    finished by the next.
    """
    run = Invocation.of(context)
    names = list(dict.fromkeys(keys or []))
    by_rule = category_name is not None or older_than is not None
    _check(names, who, by_rule=by_rule, proven=proven, everywhere=everywhere)
    if proven:
        from claw.cli.commands.memory.prove import forget_with_proof
        forget_with_proof(run, names, who, yes=yes, everywhere=everywhere)
    elif who is not None:
        _forget_person(run, names, who, yes=yes, for_good=for_good)
    elif by_rule:
        _forget_by_rule(run, keys, clean_category(category_name),
                        _parse_age(older_than), yes=yes, for_good=for_good)
    else:
        _forget_keys(run, names, for_good=for_good)


def _check(names: list[str], who: str | None, *, by_rule: bool,
           proven: bool, everywhere: bool) -> None:
    """Raises UsageError for options that do not go together."""
    if everywhere and not proven:
        raise UsageError("--everywhere is for --prove",
                         hint="add --prove, or leave --everywhere out")
    if by_rule and (proven or who is not None):
        raise UsageError("--prove and --who go with no category or age",
                         hint="name keys, or --who")
    if not (names or by_rule or proven or who is not None):
        raise UsageError("nothing was named to forget",
                         hint="name keys, --who, --category or --older-than")


def _parse_age(text: str | None) -> str | None:
    """The time so long ago. Raises UsageError."""
    try:
        return None if text is None else times.before(text, datetime.now(UTC))
    except ValueError as error:
        raise UsageError(f"--older-than: {text!r} is no age",
                         hint="write 30d, 12h, 2w or 2026-11-20") from error


def _forget_person(run: Invocation, keys: list[str], who: str, *,
                   yes: bool, for_good: bool) -> None:
    """The memories of what somebody said; nothing but memories."""
    from claw.memory.forgetting.people import find_ids
    from claw.wiring.channels.people import list_ids_of
    ids = set(find_ids(run.places.workspace, who,
                       list_ids_of(run.settings, who)))
    with open_memory(run) as memory:
        said = [entry.key for entry in memory.list() if entry.sender in ids]
    if not said:
        raise NotFoundError(f"no memory is of what {who} said",
                            hint="ids of senders: claw memory "
                                 "list --json")
    if not yes:
        _confirm(f"{memories(len(said))} of what {who} said",
                 for_good=for_good)
    _forget_keys(run, list(dict.fromkeys([*keys, *said])), for_good=for_good)


def _forget_keys(run: Invocation, keys: list[str], *, for_good: bool) -> None:
    with open_memory(run, readonly=False, makes=False) as memory:
        forget_one = memory.forget
        if for_good and not isinstance(memory, KeepsForGood):
            forget_one = _require_purging(memory).purge
        gone = [key for key in keys if forget_one(key)]
        missing = [key for key in keys if key not in set(gone)]
        stuck = [why for key in missing
                 if (why := _why_kept(memory, key)) is not None]
        # what undo could bring back
        back = [key for key in gone if not for_good
                and isinstance(memory, KeepsVersions)
                and any(version.ended_by == "forgotten"
                        for version in memory.history(key)[:1])]
    if not (run.as_json and stuck):
        run.print_result({"forgotten": len(gone), "missing": missing},
                         "\n".join(gone))
    _say_undo(run, back)
    if stuck:
        raise NotFoundError("; ".join(stuck))
    for key in missing:
        run.out.note(f"no memory under {key!r} "
                     "(claw memory list shows the keys)")
    if missing:
        raise typer.Exit(ExitCode.NEGATIVE)


def _why_kept(memory: Memory, key: str) -> str | None:
    """Why a memory that was to go is still there; None where it is not."""
    if isinstance(memory, KeepsForGood):
        why = memory.why_kept(key)
        return None if why is None else f"{key!r} stays: {why}"
    return None if memory.get(key) is None else \
        f'the memory backend "{memory.name}" can\'t forget {key!r}'


def _forget_by_rule(
        run: Invocation, keys: list[str] | None, name: str | None,
        before: str | None, *, yes: bool, for_good: bool) -> None:
    if not yes:
        what = f'all of category "{name}"' if name else "all memories"
        age = f" last changed before {before}" if before else ""
        _confirm(f"{what}{age}", for_good=for_good)
    with open_memory(run, readonly=False, makes=False) as memory:
        if not isinstance(memory, ForgetsMany):
            raise UsageError(
                f'the memory backend "{memory.name}" can\'t forget by rule',
                hint="name the keys")
        removed = (_purge_by_rule(memory, keys, name, before) if for_good
                   else memory.forget_where(name, before, keys or None))
        keeps = not for_good and isinstance(memory, KeepsVersions)
    run.print_result({"forgotten": removed, "missing": []}, str(removed))
    _say_undo(run, [], more=removed if keeps else 0)
    if not removed:
        raise typer.Exit(ExitCode.NEGATIVE)


def _require_purging(memory: Memory) -> ForgetsForGood:
    if isinstance(memory, ForgetsForGood):
        return memory
    raise UsageError(
        f'the memory backend "{memory.name}" can\'t forget for good',
        hint="leave --for-good out")


def _purge_by_rule(memory: Memory, keys: list[str] | None, name: str | None,
                   before: str | None) -> int:
    """One by one: what was removed stays so when the rest fails."""
    store = _require_purging(memory)
    if not isinstance(memory, RestoresMemories):
        raise UsageError(
            f'the memory backend "{memory.name}" can\'t forget for good by '
            "rule", hint="name the keys")
    bound = None if before is None else before.removesuffix("Z")
    found = [entry.key for entry in memory.entries()
             if name in (None, entry.category)
             and (bound is None or entry.updated_at < bound)
             and (not keys or entry.key in keys)]
    return sum(store.purge(key) for key in found)


def _say_undo(run: Invocation, keys: list[str], *, more: int = 0) -> None:
    """Say what brings back these keys, or one of `more` that were not
    named."""
    if not keys and not more:
        return
    days = run.settings.decode("memory", MemorySettings).undo_retention_days
    if more or len(keys) > _NAMED:
        named = "KEY brings one"
    else:
        names = " ".join(to_one_line(shlex.quote(key)) for key in keys)
        named = f"{names} brings {'it' if len(keys) == 1 else 'them'}"
    if days:
        run.out.note(f"claw memory undo {named} back ({days} days)")


def _confirm(what: str, *, for_good: bool) -> None:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("removing by rule needs a yes",
                         hint="add --yes when you mean it")
    end = " for good" if for_good else ""
    if not typer.confirm(f"Forget {what}{end}?", err=True):
        raise typer.Exit(ExitCode.DENIED)
