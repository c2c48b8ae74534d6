"""claw memory pin: keep memories from hygiene."""

from typing import Annotated

import typer

from claw.cli.commands.memory.common import (
    CategoryOption,
    clean_category,
    open_memory,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UsageError
from claw.core.memory import PinsMemories


@examples("claw memory pin address", "claw memory pin --category conversation",
          "claw memory pin --off address")
def pin(context: typer.Context,
        keys: Annotated[list[str] | None, typer.Argument(
            metavar="[KEY]...", help="Exactly these keys.")] = None,
        category_name: CategoryOption = None,
        off: Annotated[bool, typer.Option(
            "--off", help="Let hygiene remove them again, imported ones "
                          "too.")] = False) -> None:
    """Pin memories, so that hygiene never removes them.

    Imported memories are pinned from the start. Exits 1 when there is no
    such memory.
    """
    run = Invocation.of(context)
    if bool(keys) == (category_name is not None):
        raise UsageError("name keys, or --category",
                         hint="claw memory pin KEY..., or claw memory pin "
                              "--category conversation")
    with open_memory(run, readonly=False, makes=False) as memory:
        if not isinstance(memory, PinsMemories):
            raise UsageError(
                f'the memory backend "{memory.name}" can\'t pin memories',
                hint="claw config set memory.conversation_retention_days 0 "
                     "keeps all conversation")
        wanted = list(dict.fromkeys(keys)) if keys else None
        done = memory.pin(wanted, clean_category(category_name), on=not off)
    missing = [key for key in wanted or () if key not in done]
    run.print_result(
        {"released" if off else "pinned": len(done), "missing": missing},
        "\n".join(done) if wanted else str(len(done)))
    for key in missing:
        run.out.note(f"no memory under {key!r} "
                     "(claw memory list shows the keys)")
    if missing or not done:
        raise typer.Exit(ExitCode.NEGATIVE)
