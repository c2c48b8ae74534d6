"""claw memory forget --prove: out of every file, and searched for."""

import sys
from contextlib import AbstractContextManager
from typing import Any

import typer

from claw.cli.commands.memory.common import (
    fit_screen,
    open_memory,
    to_one_line,
)
from claw.cli.invocation import Invocation
from claw.cli.show.output import is_terminal
from claw.core.errors import ExitCode, NotFoundError, UsageError
from claw.core.memory import Memory
from claw.memory.forgetting.files import is_own
from claw.memory.forgetting.prove import (
    Plan,
    Proof,
    make_order,
    make_plan,
    prove,
)
from claw.memory.forgetting.search import Hit
from claw.text.plural import memories, plural
from claw.wiring.channels.people import list_ids_of
from claw.wiring.memory.documents import list_originals

_NAMED = 10


def forget_with_proof(run: Invocation, keys: list[str], who: str | None, *,
                      yes: bool, everywhere: bool) -> None:
    """Forget keys, and what a person said, out of every file."""
    def opening() -> AbstractContextManager[Memory]:
        return open_memory(run, readonly=False)

    workspace = run.use_workspace().workspace
    home = run.places.home
    order = make_order(opening, workspace, home, keys, who,
                       list_ids_of(run.settings, who or ""))
    missing = [key for key in keys if key not in order.keys]
    if not order.keys and not order.texts:
        if not keys and who is None:
            raise UsageError("nothing was named to forget",
                             hint="name keys, or --who")
        raise NotFoundError(
            f"{who} said nothing that is kept" if who is not None
            else "no memory under " + ", ".join(map(repr, keys)),
            hint="ids of senders: claw memory list --json" if who is not None
            else "claw memory list shows the keys")
    undone = [key for key in order.keys if key not in keys]
    if who is None and undone:
        run.out.note("an earlier run was not finished, and goes on: "
                     + ", ".join(map(to_one_line, undone[:_NAMED]))
                     + (" ..." if len(undone) > _NAMED else ""))
    with run.out.waiting("searching"):
        plan = make_plan(workspace, home, order)
    _confirm(run, plan, who, yes=yes)
    with run.out.waiting("forgetting"):
        proof = prove(opening, workspace, home, plan,
                      everywhere=everywhere, progress=run.out.progress,
                      originals=list_originals(run.settings))
    if run.as_json:
        run.out.document(_to_json(proof, missing))
    else:
        _print(run, proof)
    for key in missing:
        run.out.note(f"no memory under {key!r} "
                     "(claw memory list shows the keys)")
    if missing or not proof.is_done:
        raise typer.Exit(ExitCode.NEGATIVE)


def _confirm(run: Invocation, plan: Plan, who: str | None, *,
             yes: bool) -> None:
    if yes:
        return
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        if who is None:  # named one by one, as with --for-good
            return
        raise UsageError("forgetting all that somebody said needs a yes",
                         hint="add --yes when you mean it")
    for key in plan.order.keys[:_NAMED]:
        run.out.note(to_one_line(key))
    if len(plan.order.keys) > _NAMED:
        run.out.note(f"... {len(plan.order.keys) - _NAMED:,} more")
    for hit in plan.found:
        run.out.note(f"in {to_one_line(hit.path)}")
    what = memories(len(plan.order.keys))
    talks = plan.order.sessions
    if talks:
        what += " and " + plural(len(talks), "conversation")
    if not typer.confirm(f"Forget {what} for good, in every file?",
                         err=True):
        raise typer.Exit(ExitCode.DENIED)


def _print(run: Invocation, proof: Proof) -> None:
    rows = [f"cleaned  {to_one_line(hit.path)}" for hit in proof.found
            if hit.path not in {left.path for left in proof.left}]
    rows += [f"left     {to_one_line(hit.path)}  {hit.date}"
             for hit in (*proof.left, *proof.outside)]
    if rows:
        run.out.result(fit_screen(run, rows))
    run.out.note(memories(len(proof.order.keys))
                 + " forgotten for good")
    if proof.short:
        run.out.note(f"{plural(len(proof.short), 'text')} of fewer than 8 "
                     "bytes, or of claw's own words, not searched for: such "
                     "words are everywhere")
    for name in proof.unread:
        run.out.warn(f"{name} can't be read, so it was not searched")
    for problem in proof.problems:
        run.out.warn(problem)
    _explain_left(run, proof)
    size = f"{proof.size_bytes / 1e6:,.1f} MB"
    run.out.note(f"searched {plural(proof.files, 'file')}, {size}: "
                 + ("nothing is left" if proof.is_done else
                    "not all of it is gone"))


def _explain_left(run: Invocation, proof: Proof) -> None:
    backups = [*(hit for hit in proof.left if hit.packed), *proof.outside]
    if backups:
        run.out.warn("copies of " + ", ".join(
            f"{hit.date} ({hit.path})" for hit in backups)
            + " still hold it: claw leaves them as they are")
    own = [hit for hit in proof.left if not hit.packed]
    if named := [hit.path for hit in own if hit.path in proof.named]:
        run.out.warn("a single word or number stays in the names of files: "
                     + ", ".join(map(to_one_line, named))
                     + " (rename or remove them)")
    own = [hit for hit in own if hit.path not in proof.named]
    theirs = [hit.path for hit in own if not is_own(hit.path)]
    if theirs:
        run.out.warn("files of your own still hold it: "
                     + ", ".join(theirs)
                     + " (--everywhere takes it out of these too)")
    if len(theirs) < len(own):
        run.out.warn("names of categories, sessions and models stay as they "
                     "are" + ("; run the same command again for the rest"
                              if proof.goes_on else ""))


def _to_json(proof: Proof, missing: list[str]) -> dict[str, Any]:
    return {"forgotten": len(proof.order.keys), "missing": missing,
            "keys": list(proof.order.keys), "proven": proof.is_done,
            "found": list(map(_place, proof.found)),
            "left": [_place(hit) for hit in (*proof.left, *proof.outside)],
            "unread": list(proof.unread), "problems": list(proof.problems),
            "not_searched": len(proof.short),
            "searched": {"files": proof.files,
                         "size_bytes": proof.size_bytes}}


def _place(hit: Hit) -> dict[str, Any]:
    return {"path": hit.path, "date": hit.date, "packed": hit.packed}
