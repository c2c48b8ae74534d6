"""claw listen: run the channels."""

import asyncio
from typing import Annotated

import typer

from claw.channels import REGISTRY
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ModelOption, ProviderOption
from claw.cli.show.check_list import show
from claw.cli.show.event_log import EventLog
from claw.core.failpoint import install_from_environment
from claw.core.log import Log
from claw.runtime.process.heap import use_one_heap
from claw.storage.backup.journal import finish_restore
from claw.wiring.checks.listen import check
from claw.wiring.workspace.trust import require_trust

STUCK_S = 60.0


@examples("claw listen", "claw listen --check",
          "claw listen --channel cli -p offline",
          "claw listen --log-format json 2>>claw.log")
def listen(
        context: typer.Context,
        channel: Annotated[list[str] | None, typer.Option(
            "--channel", metavar="NAME",
            help="Run only this channel; may be given again. "
                 "cli reads messages from stdin.")] = None,
        check_only: Annotated[bool, typer.Option(
            "--check", help="Look at settings, channels and queue, start "
                            "nothing.")] = False,
        provider: ProviderOption = None,
        model: ModelOption = None,
) -> None:
    """Run the configured channels and answer what comes in.

    Each message is on disk before its platform hears "received", and is
    answered once and in order, even after a crash. SIGTERM and Ctrl-C let
    running answers finish; SIGHUP or a changed config.toml loads new
    settings. A second claw listen for the same workspace stands by and
    takes over.
    """
    run = Invocation.of(context)
    if check_only:
        _check(run, channel or [])
        return
    if said := finish_restore(run.places.home, run.places.workspace):
        run.out.note(said)
    require_trust(run.use_workspace(asks=True))
    log = EventLog(run.out, verbose=run.verbose)
    install_from_environment()
    use_one_heap()
    asyncio.run(_serve(run, channel or [], log, provider, model))


async def _serve(run: Invocation, only: list[str], log: Log,
                 provider: str | None, model: str | None) -> None:
    from claw.runtime.process.watchdog import LoopWatch
    from claw.wiring.listen.service import open_service
    watch = LoopWatch(STUCK_S)
    async with open_service(
            run.places, only, log, provider=provider, model=model,
            console={"jsonl": run.jsonl}) as service:
        watch.start()
        try:
            await service.run()
        finally:
            watch.stop()


def _check(run: Invocation, only: list[str]) -> None:
    """Say what would run; exit 3 (or the error's code) where it could
    not."""
    for name in only:
        if name not in REGISTRY.all_names():
            raise REGISTRY.unknown(name)
    found = check(run.places, only)
    if run.as_json:
        run.out.document({"ok": not found.code, "checks": [
            item.to_json() for item in found.checks]})
    else:
        show(found.checks, run.out)
    if found.code:
        raise typer.Exit(found.code)
