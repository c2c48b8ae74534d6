"""claw model list: every model that claw knows of."""

from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ProviderOption
from claw.cli.show.bars import lay_out
from claw.cli.show.output import join_lines
from claw.wiring.models.known_models import KnownModel, list_known_models


@examples("claw model list", "claw model list -p groq",
          "claw model list --all | grep claude",
          "claw model list --all --json | jq -r '.models[].model'")
def list_(context: typer.Context, provider: ProviderOption = None,
          every: Annotated[bool, typer.Option(
              "--all", help="Models of every provider that claw knows.")
          ] = False) -> None:
    """List the models of the providers that are set up, with prices.

    Nobody is asked: it knows the models of the settings and of the list of
    prices, and those that claw provider models has fetched. A line each:
    provider, model, US dollars for a million tokens in and out, short
    names.
    """
    run = Invocation.of(context)
    found = list_known_models(run.settings, provider, every=every)
    if not run.print_json_rows("models", map(_to_json, found)) and found:
        rows = [_to_cells(one) for one in found]
        run.out.result("\n".join(
            lay_out(rows, run.out.columns) if run.out.on_terminal
            else ("\t".join(row).rstrip() for row in rows)))
    if not found and not run.as_json:
        run.out.note(
            f"no model of {provider} is known (ask for its list: claw "
            f"provider models {provider})" if provider
            else "no provider with a known model is set up (see: claw model "
                 "list --all)")


def _to_cells(one: KnownModel) -> list[str]:
    return [join_lines(one.provider), join_lines(one.model), _format(one),
            join_lines(", ".join(one.aliases))]


def _format(one: KnownModel) -> str:
    if one.price is None:
        return "price unknown"
    if one.price.free:
        return "free"
    return f"${one.price.input:g} in, ${one.price.output:g} out"


def _to_json(one: KnownModel) -> dict[str, Any]:
    return {"provider": one.provider, "model": one.model,
            "input_usd": one.price and one.price.input,
            "output_usd": one.price and one.price.output,
            "aliases": list(one.aliases)}
