"""claw gateway link: the way of a browser to the page."""

import typer

from claw.cli.commands.gateway.token import make_code
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.minutes import format_span
from claw.gateway.keys import OWNER
from claw.gateway.settings import format_address


@examples("claw gateway link", 'xdg-open "$(claw gateway link -q)"')
def link(context: typer.Context) -> None:
    """Print a link that signs one browser in to the page.

    The page shows conversations, memory, channels and spending, and may do
    what you may: open the link on your own devices only. The code in it is
    good once, for an hour; it stands behind the #, so that no server and no
    proxy sees it.
    """
    run = Invocation.of(context)
    settings, code = make_code(run, "browser", OWNER)
    url = f"{format_address(settings)}/#code={code}"
    codes = settings.pairing_dashboard
    run.print_result({"url": url, "expires_in_s": codes.code_ttl_secs}, url)
    run.out.note(f"good once, for {format_span(codes.code_ttl_secs)}; "
                 "claw gateway token list shows who is signed in")
