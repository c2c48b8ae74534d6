"""claw gateway serve: the gateway alone."""

import asyncio

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.event_log import EventLog
from claw.core.failpoint import install_from_environment
from claw.storage.backup.journal import finish_restore
from claw.wiring.workspace.trust import require_trust


@examples("claw gateway", "claw gateway serve --log-format json",
          "CLAW_GATEWAY__PORT=8080 claw gateway")
def serve(context: typer.Context) -> None:
    """Serve HTTP for other programs, without the channels.

    claw listen serves it too, with gateway.enabled set. It listens at
    gateway.host and gateway.port (127.0.0.1:42617) until SIGTERM or Ctrl-C;
    what is being answered then may end. A changed config.toml is taken
    over.
    """
    run = Invocation.of(context)
    if said := finish_restore(run.places.home, run.places.workspace):
        run.out.note(said)
    require_trust(run.use_workspace(asks=True))
    install_from_environment()
    from claw.wiring.gateway.serve import serve_alone
    asyncio.run(serve_alone(run.places, EventLog(run.out,
                                                 verbose=run.verbose)))
