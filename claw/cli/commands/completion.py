"""claw completion: the completion script of a shell."""

from typing import Annotated

import typer

from claw.cli.docs.catalog import catalog
from claw.cli.docs.completions import SHELLS, script
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import UsageError
from claw.core.registry import nearest


@examples('eval "$(claw completion bash)"',
          "claw completion zsh > ~/.zfunc/_claw",
          "claw completion fish > ~/.config/fish/completions/claw.fish")
def completion(
        context: typer.Context,
        shell: Annotated[str, typer.Argument(
            metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the completion script of a shell."""
    if shell not in SHELLS:
        near = nearest(shell, SHELLS)
        raise UsageError(f"no completion for {shell!r}",
                         hint=f'did you mean "{near}"?' if near
                         else "one of: " + ", ".join(SHELLS))
    run = Invocation.of(context)
    text = script(shell, catalog())
    run.print_result({"shell": shell, "script": text}, text)
