"""claw gateway token, pair: who may call the gateway."""

from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UsageError
from claw.core.minutes import format_minute
from claw.core.times import rfc3339
from claw.gateway.keys import OWNER, KeyRow
from claw.gateway.settings import GatewaySettings, format_address
from claw.security.visible import visible
from claw.wiring.gateway.keys import open_keys

_ACTIONS = ("add", "list", "rotate", "revoke")
SeesOption = Annotated[str | None, typer.Option(
    "--sees", metavar="owner|SENDER",
    help="Whose memory the key sees: yours, or that of a sender. Without "
         "it sees none.")]


@examples("claw gateway token add laptop --sees owner",
          "claw gateway token list",
          "claw gateway token rotate laptop",
          "claw gateway token revoke laptop phone")
def token(context: typer.Context,
          action: Annotated[str, typer.Argument(
              metavar="add|list|rotate|revoke",
              help="What to do.")] = "list",
          names: Annotated[list[str] | None, typer.Argument(
              metavar="[NAME]...", show_default=False,
              help="The key's name, of your choice.")] = None,
          sees: SeesOption = None) -> None:
    """Make keys of the gateway, list them, change them, take them back.

    A key is printed once and kept as its hash. One that is rotated or
    revoked is refused from the next call on; nothing has to be restarted.
    """
    run = Invocation.of(context)
    if action not in _ACTIONS:
        raise UsageError(f"{action}: there is no such action",
                         hint="one of: " + ", ".join(_ACTIONS))
    if sees is not None and action != "add":
        raise UsageError("--sees is for: claw gateway token add")
    if action == "list":
        if names:
            raise UsageError("list takes no name")
        _list(run)
    elif action == "revoke":
        _revoke(run, names or [])
    elif len(names or ()) != 1:
        raise UsageError(f"{action} takes one name",
                         hint=f"claw gateway token {action} laptop")
    else:
        _make(run, action, (names or [""])[0], sees)


@examples("claw gateway pair", "claw gateway pair phone --sees owner")
def pair(context: typer.Context,
         name: Annotated[str | None, typer.Argument(
             metavar="[NAME]", show_default=False,
             help="The name of the key; without it the device "
                  "says one.")] = None,
         sees: SeesOption = None) -> None:
    """Print a code for which one device gets a key.

    The device posts it to /pair in the header X-Pairing-Code. It is good
    once, for an hour (gateway.pairing_dashboard.code_ttl_secs).
    """
    run = Invocation.of(context)
    settings, shown = make_code(run, name, _clean(sees))
    run.print_result({"code": shown, "expires_in_s":
                      settings.pairing_dashboard.code_ttl_secs}, shown)
    run.out.note(f"curl -X POST -H 'X-Pairing-Code: {shown}' "
                 f"{format_address(settings)}/pair")


def make_code(run: Invocation, name: str | None, sees: str | None
              ) -> tuple[GatewaySettings, str]:
    """A new pairing code as it is typed, and the settings of its
    gateway."""
    settings = run.settings.decode("gateway", GatewaySettings)
    codes = settings.pairing_dashboard
    keys = open_keys(run.settings)
    try:
        code = keys.add_code(codes.code_length, codes.code_ttl_secs,
                             codes.max_pending_codes, name, sees)
    finally:
        keys.close()
    return settings, "-".join(code[at:at + 4]
                              for at in range(0, len(code), 4))


def _make(run: Invocation, action: str, name: str, sees: str | None
          ) -> None:
    keys = open_keys(run.settings)
    try:
        made = keys.add(name, _clean(sees)) if action == "add" \
            else keys.rotate(name)
    finally:
        keys.close()
    run.out.redactor = None  # this one time it is what was asked for
    run.print_result({"name": name, "token": made}, made)
    run.out.note("this is shown once; send it as: Authorization: Bearer "
                 "TOKEN")


def _list(run: Invocation) -> None:
    keys = open_keys(run.settings)
    try:
        rows = keys.list()
    finally:
        keys.close()
    if not run.print_json_rows("keys", [_to_json(row) for row in rows]):
        run.out.table([[visible(row.name), f"sees {row.sees or 'no memory'}",
                        f"made {_minute(row.created_at)}",
                        f"used {_minute(row.used_at)}"] for row in rows])
        if not rows:
            run.out.note("nobody has a key (claw gateway token add NAME)")


def _revoke(run: Invocation, names: list[str]) -> None:
    if not names:
        raise UsageError("revoke takes names",
                         hint="list them with: claw gateway token list")
    keys = open_keys(run.settings)
    try:
        gone = [name for name in dict.fromkeys(names) if keys.revoke(name)]
    finally:
        keys.close()
    if run.as_json:
        run.out.document({"revoked": gone})
    for name in names:
        if name not in gone:
            run.out.warn(f"no such key: {name}")
    if len(gone) < len(set(names)):
        raise typer.Exit(ExitCode.NEGATIVE)


def _clean(sees: str | None) -> str | None:
    if sees is not None and not sees.strip():
        raise UsageError("--sees is empty",
                         hint=f"{OWNER}, or a sender's id")
    return sees


def _minute(seconds: float | None) -> str:
    return "never" if seconds is None else format_minute(rfc3339(seconds))


def _to_json(row: KeyRow) -> dict[str, Any]:
    return {"name": row.name, "sees": row.sees, **{
        key: None if value is None else rfc3339(value) for key, value in (
            ("created_at", row.created_at), ("rotated_at", row.rotated_at),
            ("used_at", row.used_at))}}
