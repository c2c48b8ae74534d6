"""claw model alias: short names for models."""

from typing import Annotated, Any

import typer

import claw.providers.catalog.models as lists
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ProviderOption
from claw.cli.show.output import join_lines
from claw.config.edit import set_table, unset_value
from claw.core.errors import NotFoundError, UsageError
from claw.core.registry import nearest
from claw.providers.catalog.aliases import resolve_model
from claw.providers.catalog.lookup import find_row
from claw.providers.catalog.vendors import display_name, vendors
from claw.providers.resilience.router import HINT
from claw.providers.settings import ModelAliasSettings
from claw.wiring.config.sections import validate
from claw.wiring.models.providers import read_aliases, read_named_providers

_TABLE = "model_aliases"


@examples("claw model alias fast llama-3.3-70b-versatile -p groq",
          'claw ask -m fast "a rhyme on tea"', "claw model alias",
          "claw model alias --remove fast")
def alias(context: typer.Context,
          name: Annotated[str | None, typer.Argument(
              metavar="[NAME]", show_default=False,
              help="The short name; alone: what it stands for.")] = None,
          model: Annotated[str | None, typer.Argument(
              metavar="[MODEL]", show_default=False,
              help="The model, or another alias.")] = None,
          provider: ProviderOption = None,
          remove: Annotated[bool, typer.Option(
              "--remove", help="Remove the name.")] = False) -> None:
    """List the short names of models, or set one.

    -m NAME then asks for the model, at the provider of -p where one was
    given; so do the templates, /model, and routes in config.toml. Prints
    name, model and provider, a line each. Exits 1 for an unknown name.
    """
    run = Invocation.of(context)
    aliases = read_aliases(run.settings)
    if name is None:
        if remove or provider is not None:
            raise UsageError("no alias is named",
                             hint="claw model alias NAME MODEL")
        rows = [_to_json(each, row) for each, row in aliases.items()]
        if not run.print_json_rows("aliases", rows):
            run.out.table([_list_cells(row) for row in rows])
            if not rows:
                run.out.note("no short names are set "
                             "(claw model alias NAME MODEL sets one)")
        return
    if model is not None:
        if remove:
            raise UsageError("--remove takes a name alone")
        aliases[name] = _set(run, name, model, provider)
    elif provider is not None:
        raise UsageError(f"no model is named for {name}",
                         hint=f"claw model alias {name} MODEL -p {provider}")
    if name not in aliases:
        near = nearest(name, aliases)
        raise NotFoundError(f"no such alias: {name}", hint=f"did you mean "
                            f'"{near}"?' if near else
                            f"set it with: claw model alias {name} MODEL")
    if remove:
        unset_value(run.places, (_TABLE, name))
    row = _to_json(name, aliases[name])
    run.print_result({**row, "removed": remove},
                     "\t".join(_list_cells(row)).rstrip())


def _set(run: Invocation, name: str, model: str, provider: str | None
         ) -> ModelAliasSettings:
    """Write an alias, and say what it hides. Raises UsageError."""
    if name != name.strip() or not name or name.startswith(HINT) \
            or not name.isprintable():
        raise UsageError(f"no alias can be called {name!r}",
                         hint="a name is one word, as in: fast")
    if not model.strip():
        raise UsageError("the model is empty")
    if provider is not None:  # ConfigError for one that nobody knows
        find_row(provider, read_named_providers(run.settings), {})
    row = ModelAliasSettings(model=model.strip(), provider=provider)
    resolve_model({**read_aliases(run.settings), name: row}, name)
    values = {"model": row.model}
    if provider is not None:
        values["provider"] = provider
    set_table(run.places, (_TABLE, name), values, validate)
    hidden = _find_model(run, name)
    if hidden is not None and row.model != name:
        run.out.warn(f"{name} is also a model of {hidden}: -m {name} asks "
                     "for the alias now")
    return row


def _find_model(run: Invocation, name: str) -> str | None:
    """Who has a model of that name, as far as lists are at hand."""
    path = run.places.workspace / "state" / lists.FILE
    for vendor in vendors():
        found = lists.load_models(path, display_name(vendor.name),
                                  float("inf"))
        if name == vendor.model or (found and name in found.models):
            return display_name(vendor.name)
    return None


def _to_json(name: str, row: ModelAliasSettings) -> dict[str, Any]:
    return {"name": name, "model": row.model, "provider": row.provider}


def _list_cells(row: dict[str, Any]) -> list[str]:
    return [join_lines(row[key] or "")
            for key in ("name", "model", "provider")]
