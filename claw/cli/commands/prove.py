"""claw prove: kill and starve a real claw listen here, and count."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.bars import align
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.output import Output
from claw.core.errors import UsageError
from claw.core.registry import nearest
from claw.testing.prove import PROOFS, Bench, Proof, names, prove

_HEAD = ("proof", "channel", "messages", "kills", "lost",
         "doubled text/part/file", "marked", "order", "notices", "strays",
         "recovery ms p50/p95")


@examples("claw prove", "claw prove --only kills --kills 1000",
          "claw prove --only points-webhook --keep",
          "claw prove --json | jq '.proofs[] | select(.ok | not)'")
def run(
        context: typer.Context,
        only: Annotated[list[str] | None, typer.Option(
            "--only", metavar="NAME",
            help="Only this proof, or all that begin with this word; may "
                 "be given again.")] = None,
        channel: Annotated[str | None, typer.Option(
            "--channel", metavar="NAME",
            help="Only proofs on this channel: telegram or webhook."
        )] = None,
        kills: Annotated[int, typer.Option(
            "--kills", metavar="N", min=1,
            help="How often a random SIGKILL strikes.")] = 50,
        seed: Annotated[int, typer.Option(
            "--seed", metavar="N",
            help="Where the random times begin.")] = 1,
        pause: Annotated[float, typer.Option(
            "--pause", metavar="SECONDS", min=1,
            help="How long a process is stopped (its lease is 15 s)."
        )] = 20,
        keep: Annotated[bool, typer.Option(
            "--keep", help="Keep the folder of every run.")] = False,
) -> None:
    """Prove on this machine that no message is lost.

    A real claw listen serves a fake platform and a scripted model on
    127.0.0.1. It is killed at every crash point and at random, cut off,
    stopped, and left without disk. The table says what the people got:
    lost, doubled without a note, marked as possibly repeated, out of
    order. Everything takes about ten minutes. Exits 1 when a promise is
    broken; the folder of that run is kept.
    """
    called = Invocation.of(context)
    chosen = _choose(only or [], channel)
    bench = Bench(Path(tempfile.mkdtemp(prefix="claw-prove-")), kills=kills,
                  seed=seed, pause_s=pause, keep=keep, say=called.out.note)
    proofs = _run_proofs(chosen, bench, called.out)
    kept = all(p.ok for p in proofs)
    called.print_result({"ok": kept, "seed": seed,
                         "proofs": [p.to_json() for p in proofs]},
                        table(proofs))
    if not kept:
        raise typer.Exit(1)


def _choose(only: Sequence[str], channel: str | None) -> list[str]:
    """The names of the proofs to run. Raises UsageError."""
    channels = sorted({row.channel for row in PROOFS.values()})
    if channel is not None and channel not in channels:
        raise UsageError(f"no proof runs on channel {channel!r}",
                         hint=f"choose from {', '.join(channels)}")
    for name in only:
        if not names([name]):
            near = nearest(name, [
                *PROOFS, *(key.partition("-")[0] for key in PROOFS)])
            raise UsageError(
                f"there is no proof {name!r}",
                hint=f'did you mean "{near}"?' if near
                else f"choose from {', '.join(PROOFS)}")
    found = names(only, channel)
    if not found:
        raise UsageError(f"none of these runs on channel {channel!r}")
    return found


def _run_proofs(chosen: Sequence[str], bench: Bench, out: Output
            ) -> list[Proof]:
    """Run them, saying what each broke; the folder goes where nothing is
    kept in it."""
    proofs = []
    try:
        for name in chosen:
            proofs.append(proof := prove(name, bench))
            for what in proof.broken:
                out.warn(f"{proof.id}: {what} (seed {bench.seed})")
            for folder in dict.fromkeys(proof.kept):
                out.warn(f"{proof.id}: kept {folder}")
    finally:
        if any(bench.root.iterdir()):
            out.note(f"kept: {bench.root}")
        else:
            bench.root.rmdir()
    return proofs


def table(proofs: Sequence[Proof]) -> str:
    """The rows in columns, and what each measured besides."""
    lines = align([_HEAD, *map(_row, proofs)], range(2, len(_HEAD)))
    extras = [f"{p.id}: " + ", ".join(
        f"{key.replace('_', ' ')} {_format_value(value)}"
        for key, value in p.more.items()) for p in proofs if p.more]
    bad = sum(not proof.ok for proof in proofs)
    verdict = ("every promise was kept" if not bad
               else f"{bad} of {len(proofs)} proofs broke a promise")
    return "\n".join([*lines, "", *extras, verdict])


def _row(proof: Proof) -> tuple[str, ...]:
    tally, recovery = proof.tally, proof.to_json()["recovery_ms"]
    doubled = f"{tally.duplicated}/{tally.parts}/{tally.files}"
    numbers = (tally.messages, proof.kills, tally.lost, doubled,
               tally.marked, tally.out_of_order, tally.notices, tally.strays)
    return (PROOFS[proof.id].title + ("" if proof.ok else " (BROKEN)"),
            proof.channel, *map(str, numbers),
            f"{recovery['p50']:.0f}/{recovery['p95']:.0f}"
            if recovery else "-")


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "/".join(f"{part:g}" for part in value.values())
    return f"{value:g}" if isinstance(value, float) else str(value)
