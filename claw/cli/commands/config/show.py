"""claw config show, get, path, check, schema: looking at the settings."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import to_json
from claw.config.display import to_toml
from claw.config.keys import Path, join_key, split_key
from claw.config.known import real_path
from claw.config.tree import Tree, load
from claw.config.validate import Finding
from claw.core.errors import ConfigError, NotFoundError, UsageError
from claw.core.registry import nearest
from claw.text.plural import plural
from claw.wiring.checks.config import check_settings
from claw.wiring.config.sections import is_meaningful, unknown
from claw.wiring.config.view import Row, hidden, row, rows, schema

PLACES = ("home", "workspace", "file")


def format_row(entry: Row, *, origin: bool = False) -> str:
    """`key = value` in TOML, its source as a comment."""
    try:
        value = to_toml(entry.value)
    except ValueError:  # bytes of a variable that are no text
        value = to_json(entry.value)
    return (f"{entry.key} = {value}"
            + (f"  # {entry.source}" if origin else ""))


def resolve_key(tree: Tree, name: str) -> Path:
    """The path of a setting that a user names. UsageError when it means
    nothing."""
    path = real_path(split_key(name))
    if path and not tree.has(path) and not is_meaningful(path):
        error = unknown(tree, path)
        raise UsageError(f"{join_key(error.path)}: {error.problem}",
                         hint=error.hint)
    return path


@examples("claw config show", "claw config show memory",
          "claw config show --origin | grep -v default",
          "claw config show --json | jq -r '.settings[].key'")
def show(context: typer.Context,
         section: Annotated[str, typer.Argument(
             metavar="[SECTION]", help="Only what is below this table."
         )] = "",
         origin: Annotated[bool, typer.Option(
             "--origin", help="Show where each comes from: config.toml "
                              "with its line, an environment variable, a "
                              "flag, or the default.")] = False) -> None:
    """Show every setting in force.

    The lines are TOML. Secrets are masked. Settings without a value are
    left out.
    """
    run = Invocation.of(context)
    found = rows(run.settings, resolve_key(run.settings, section))
    if not run.print_json_rows("settings", (r.to_json() for r in found)):
        for entry in found:
            run.out.result(format_row(entry, origin=origin))


@examples("claw config get memory.backend",
          'claw config get \'model_providers."my.host".base_url\'',
          "claw config get --reveal api_key")
def get(context: typer.Context,
        key: Annotated[str, typer.Argument(
            metavar="KEY", help="A dotted name: memory.backend.")],
        reveal: Annotated[bool, typer.Option(
            "--reveal", help="Print a secret unmasked.")] = False) -> None:
    """Print one setting, its default where it is not set.

    Text is printed bare, lists and numbers as TOML, a table with all its
    settings. Exits 1 when there is no value.
    """
    run = Invocation.of(context)
    tree = run.settings
    path = resolve_key(tree, key)
    below = [r for r in rows(tree, path) if r.path != path]
    if below and not isinstance(tree.node_or(path), list):
        run.print_result({"settings": [r.to_json() for r in below],
                          "total": len(below)},
                         "\n".join(map(format_row, below)))
        return
    entry = row(tree, path)
    if tree.has(path):
        plain = tree.get(path)
        value = plain if reveal else hidden(path, plain)
        if reveal:
            run.out.redactor = None
        entry = Row(path, value, entry.origin, entry.line, entry.variable)
    if entry.value is None:
        raise NotFoundError(f"{join_key(path)} is not set",
                            hint=f"claw config set {join_key(path)} VALUE")
    run.print_result(
        entry.to_json(), entry.value if isinstance(entry.value, str)
        or run.as_json else to_toml(entry.value))


@examples("claw config path", 'cd "$(claw config path workspace)"')
def path(context: typer.Context,
         which: Annotated[str, typer.Argument(
             metavar="[home|workspace|file]",
             help="Print only this one, bare.")] = "") -> None:
    """Print where the settings and the workspace are.

    `home` holds config.toml (`file`) and the key of the secrets. The
    comments say which rule chose each place. Nothing is created.
    """
    run = Invocation.of(context)
    places = run.places
    found = {"home": str(places.home), "workspace": str(places.workspace),
             "file": str(places.config_file)}
    if which and which not in PLACES:
        near = nearest(which, PLACES)
        raise UsageError(f"no place is called {which!r}",
                         hint=f'did you mean "{near}"?' if near
                         else "one of: " + ", ".join(PLACES))
    if run.as_json:
        run.out.document({
            "home": found["home"], "workspace": found["workspace"],
            "config_file": found["file"],
            "home_origin": places.home_origin,
            "workspace_origin": places.workspace_origin})
    elif which:
        run.out.result(found[which])
    else:
        run.out.result(f"home = {to_json(found['home'])}"
                       f"  # {places.home_origin}")
        run.out.result(f"workspace = {to_json(found['workspace'])}"
                       f"  # {places.workspace_origin}")
        run.out.result(f"file = {to_json(found['file'])}")


@examples("claw config check", "claw config check --json")
def check(context: typer.Context) -> None:
    """Check every setting and say what is wrong.

    Errors, warnings and settings without effect go to stderr. Exits 3 when
    there is an error. Warnings do not keep claw from starting. No server is
    contacted.
    """
    run = Invocation.of(context)
    tree = load(run.places)
    found = check_settings(tree)
    told = [warning for warning in tree.warnings
            if "unknown key" not in warning]  # those are findings
    for warning in told:
        run.out.warn(warning)
    failed = any(f.level == "error" for f in found)
    if not run.as_json:
        _say(run, found)
    file = run.places.config_file
    verdict = _count_warnings(found, len(told))
    verdict = f"{file}: {verdict}" if file.exists() else \
        f"no {file}: defaults and environment are used" \
        + (f"; {verdict}" if verdict != "ok" else "")
    run.print_result({"ok": not failed, "total": len(found), "findings": [
        {"level": f.level, "key": f.key, "line": f.line,
         "message": f.message, "hint": f.hint} for f in found]},
        "" if failed else verdict)
    if failed:
        raise typer.Exit(ConfigError.exit_code)


@examples("claw config schema > claw.schema.json",
          "claw config schema | jq '.\"$defs\" | keys'")
def schema_(context: typer.Context) -> None:
    """Print a JSON Schema of all settings, for editors."""
    Invocation.of(context).out.document(schema())


def _count_warnings(found: list[Finding], more: int) -> str:
    count = more + sum(f.level == "warning" for f in found)
    return f"{plural(count, 'warning')}, no error" if count else "ok"


def _say(run: Invocation, found: list[Finding]) -> None:
    for finding in found:
        hint = f" ({finding.hint})" if finding.hint else ""
        if finding.level == "error":
            run.out.error(ConfigError(finding.text, hint=finding.hint))
        elif finding.level == "warning":
            run.out.warn(finding.text + hint)
        else:
            run.out.note(finding.text + hint)
