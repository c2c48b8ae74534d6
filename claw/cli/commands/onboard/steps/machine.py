"""Completion and man pages, and the service."""

import os
from collections.abc import Callable

from claw.cli.commands.onboard.wizard import Wizard
from claw.cli.docs.catalog import catalog
from claw.cli.docs.completions import script
from claw.cli.docs.manual import pages
from claw.core.errors import ClawError
from claw.wiring.channels.names import list_configured
from claw.wiring.setup.onboard.machine import (
    SHELLS,
    find_shell,
    place_completion,
    write_completion,
    write_man_pages,
)
from claw.wiring.setup.service.manager import find_manager

COMPLETION, SERVICE = "completion", "service"


def ask_machine(w: Wizard) -> None:
    """Each is offered, and a failure of one ends nothing."""
    shell = find_shell(os.environ)
    if w.confirm(COMPLETION, "Completion and man pages"
                 + (f" for {shell}?" if shell else "?"),
                 suggested=w.asks, flag="--completion"):
        _try(w, COMPLETION, lambda: _write_pages(w, shell))
    if not (list_configured(w.writer.read()) or w.answers.get(SERVICE)):
        return
    if w.confirm(SERVICE, "Keep claw listen running, as a service?",
                 suggested=False, flag="--service"):
        _try(w, SERVICE, lambda: _install_service(w))


def _try(w: Wizard, name: str, work: Callable[[], None]) -> None:
    if w.chosen.dry_run:
        return
    try:
        work()
    except ClawError as error:
        w.explain(error)
        w.answers.give(name, "no")
        w.exit_code = error.exit_code


def _write_pages(w: Wizard, shell: str | None) -> None:
    commands = catalog()
    if shell is not None:
        found = write_completion(shell, script(shell, commands), os.environ)
        w.mark("ok", f"completion: {found.files[0]}")
        if found.left:
            w.say(found.left, "       ")
    else:
        w.mark("warn", "no completion: SHELL names none of "
               + ", ".join(SHELLS), "claw completion bash > "
               f"{place_completion('bash', os.environ)}")
    found = write_man_pages(pages(commands), os.environ)
    w.mark("ok", f"{len(found.files)} man pages: {found.files[0].parent}")


def _install_service(w: Wizard) -> None:
    manager = find_manager(w.run.places)
    manager.install(start=True)
    w.mark("ok", f"service: {manager.file}")
