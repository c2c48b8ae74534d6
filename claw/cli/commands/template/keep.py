"""Keeping a template, from a file or from what a question said."""

from claw.cli.invocation import Invocation
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import RefusedError, UsageError
from claw.wiring.templates import save_template


def keep_template(run: Invocation, name: str, text: str, *,
                  force: bool) -> None:
    """Keep a template as the owner's and print where. One that is there is
    replaced with `force`, or after a yes at the terminal. Raises UsageError
    for a text with a secret: templates are shown, shared and sent."""
    from claw.wiring.workspace.secrets import build_redactor
    if build_redactor(run.settings)(text) != text:
        raise UsageError(
            "there is a key or password in it, and a template keeps none",
            hint="leave it out; claw config set api_key keeps one encrypted")
    data = text.encode("utf-8", "replace")
    try:
        path = save_template(run.places, name, data, force=force)
    except RefusedError as error:
        if not may_ask() or not confirm(
                run.out, f"{error.message}. Replace it?", default=False):
            raise
        path = save_template(run.places, name, data, force=True)
    run.print_result({"name": name, "path": str(path)}, str(path))
