"""claw prove: kill and starve a real claw listen here, and count."""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.bars import align
from claw.cli.show.output import Output
from claw.core.errors import UsageError
from claw.core.registry import nearest
from claw.testing.prove import PROOFS, Bench, Proof, names, prove

_HEAD = ("proof", "channel", "messages", "kills", "lost",
         "doubled text/part/file", "marked", "order", "notices", "strays",
         "recovery ms p50/p95")

KILLS, SHORT_KILLS, SHORT_POINTS = 50, 4, 2
AT_ONCE = 3  # proofs of the short set: most of them wait most of the time


@examples("claw prove", "claw prove --all",
          "claw prove --only kills --kills 1000",
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
            help="Only proofs on this channel, e.g. telegram.")] = None,
        everything: Annotated[bool, typer.Option(
            "--all", help="Every proof, at its full length: about "
                          "ten minutes.")] = False,
        kills: Annotated[int | None, typer.Option(
            "--kills", metavar="N", min=1,
            help="How often a random SIGKILL strikes (50; 4 in the short "
                 "set).")] = None,
        seed: Annotated[int, typer.Option(
            "--seed", metavar="N",
            help="Seed of the random times.")] = 1,
        pause: Annotated[float, typer.Option(
            "--pause", metavar="SECONDS", min=1,
            help="How long a process is stopped (its lease is 15 s)."
        )] = 20,
        keep: Annotated[bool, typer.Option(
            "--keep", help="Keep the folder of every run.")] = False,
) -> None:
    """Prove on this machine that no message is lost.

    A real claw listen serves a fake platform and a scripted model, for
    answers of one message, of several, and with files. It is killed,
    restarted, cut off, and left without disk or power. The table says what
    the people got: lost, doubled without a note, marked as possibly
    repeated, out of order, notified of something else than the answer.

    Without options each line of the README's promise is proved once, in
    less than two minutes. --all and --only run proofs at full length. A
    power cut is a SIGKILL after which the queue's files hold only what was
    synced, or some of the rest; it and the pulled cable need Linux, and
    are skipped where they can't be. Exits 1 when a promise is broken; the
    folder of that run is kept.
    """
    called = Invocation.of(context)
    short = not (everything or only)
    chosen = _choose(only or [], channel, short=short)
    bench = Bench(Path(tempfile.mkdtemp(prefix="claw-prove-")),
                  kills=kills or (SHORT_KILLS if short else KILLS),
                  points=SHORT_POINTS if short else None, short=short,
                  lanes=1 if short else 2, seed=seed, pause_s=pause,
                  keep=keep, say=called.out.note)
    proofs = _run_proofs(chosen, bench, called.out)
    kept = all(p.ok for p in proofs)
    called.print_result({"ok": kept, "seed": seed,
                         "proofs": [p.to_json() for p in proofs]},
                        table(proofs))
    if not kept:
        raise typer.Exit(1)


def _choose(only: Sequence[str], channel: str | None, *, short: bool
            ) -> list[str]:
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
    found = names(only, channel, short=short)
    if not found:
        raise UsageError(f"none of these runs on channel {channel!r}")
    return found


def _run_proofs(chosen: Sequence[str], bench: Bench, out: Output
            ) -> list[Proof]:
    """Run them, saying what each broke; the folder goes where nothing is
    kept in it."""
    proofs = []
    try:
        for proof in _each(chosen, bench):
            proofs.append(proof)
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


def _each(chosen: Sequence[str], bench: Bench) -> Iterator[Proof]:
    """Proofs in their order; of the short set three run at once. The threads
    are daemons: Ctrl-C waits for no proof's end."""
    results = [Future[Proof]() for _ in chosen]
    waiting = iter(zip(chosen, results, strict=True))

    def work() -> None:
        for name, result in waiting:
            try:
                result.set_result(prove(name, bench))
            except BaseException as error:  # raised where it is waited for
                result.set_exception(error)
    for _ in range(AT_ONCE if bench.short else 1):
        threading.Thread(target=work, daemon=True).start()
    for result in results:
        yield result.result()


def table(proofs: Sequence[Proof]) -> str:
    """The rows in columns, and what each measured besides."""
    lines = align([_HEAD, *map(_row, proofs)], range(2, len(_HEAD)))
    extras = [f"{p.id}: " + ", ".join(
        f"{key.replace('_', ' ')} {_format_value(value)}"
        for key, value in p.more.items()) for p in proofs if p.more]
    skipped = [f"{p.id}: skipped: {p.skipped}" for p in proofs if p.skipped]
    bad = sum(not proof.ok for proof in proofs)
    verdict = ([f"broken: {line}" for line in dict.fromkeys(
        p.promise for p in proofs if not p.ok)]
        + [f"{bad} of {len(proofs)} proofs broke a promise"] if bad
        else ["every promise was kept"])
    return "\n".join([*lines, "", *extras, *skipped, *verdict])


def _row(proof: Proof) -> tuple[str, ...]:
    tally, recovery = proof.tally, proof.to_json()["recovery_ms"]
    doubled = f"{tally.duplicated}/{tally.parts}/{tally.files}"
    numbers = (tally.messages, proof.kills, tally.lost, doubled,
               tally.marked, tally.out_of_order, tally.notices, tally.strays)
    return (PROOFS[proof.id].title + (" (skipped)" if proof.skipped else
                                      "" if proof.ok else " (BROKEN)"),
            proof.channel, *map(str, numbers),
            f"{recovery['p50']:.0f}/{recovery['p95']:.0f}"
            if recovery else "-")


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "/".join(f"{part:g}" for part in value.values())
    return f"{value:g}" if isinstance(value, float) else str(value)
