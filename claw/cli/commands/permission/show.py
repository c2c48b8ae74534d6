"""claw permission show: what the agent may do, here or in a channel."""

from typing import Annotated, Any

import typer

from claw.agent.settings import AgentSettings
from claw.cli.commands.cron.common import find, open_store
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.memory.none import NoneMemory
from claw.security.visible import visible
from claw.tools import REGISTRY
from claw.tools.offer.shelf import ToolSearch
from claw.wiring.tools.build import build_policy, build_tools
from claw.wiring.tools.effective import describe_rules

_COMMANDS = {"shell", "git_operations"}
_SHOWN = (
    ("level", "level"), ("runs_unasked", "runs unasked"), ("asks", "asks"),
    ("refused", "refused"), ("not_offered", "not offered"),
    ("allowed_commands", "commands"), ("permissions", "allowed for a while"))


@examples("claw permission show", "claw permission show --channel telegram",
          "claw permission show --channel telegram --json | jq .asks")
def show(context: typer.Context,
         channel: Annotated[str, typer.Option(
             "--channel", metavar="NAME",
             help="In turns that come through this channel.")] = "",
         job: Annotated[str, typer.Option(
             "--job", metavar="JOB",
             help="In runs of this job: its name or id.")] = ""
         ) -> None:
    """Show what the agent may do: unasked, after a yes, and not at all.

    Without an option in your own turns (ask, agent). A turn that has read
    foreign text asks before more than that; of commands those that only
    read run unasked.
    """
    run = Invocation.of(context)
    if channel and job:
        raise UsageError("--channel and --job exclude each other",
                         hint="a job has the policy that it was made with")
    policy = build_policy(run.settings)
    kept = None
    if job:
        kept = find(open_store(run), job)
    tools = build_tools(run.settings, policy, memory=NoneMemory(),
                        notify=run.out.warn)
    named = {tool.name for tool in tools}
    offered = named.union(*(tool.shelf.names for tool in tools
                            if isinstance(tool, ToolSearch)),
                          _list_of_turns(run.settings, channel))
    tools += build_tools(run.settings, policy, memory=NoneMemory(),
                         notify=run.out.warn, names=[
                             name for name in REGISTRY.names()
                             if name not in named])
    rules = describe_rules(run.settings, policy, tools, offered,
                           channel or None, kept)
    if run.as_json:
        run.out.document(rules)
    else:
        run.out.table(_list_rows(rules))


def _list_of_turns(tree: Tree, channel: str) -> set[str]:
    """Tools that a running turn brings the parts for."""
    found = {"ask_user", "llm_task"}
    if channel:
        found |= {"message", "poll", "reaction"}
    for name, table in (("delegate", "agents"), ("swarm", "swarms")):
        if tree.names(table):
            found.add(name)
    return found.difference(
        tree.decode("agent", AgentSettings).excluded_tools)


def _list_rows(rules: dict[str, Any]) -> list[list[str]]:
    """The rules for people; what the channel or job itself says last."""
    rows = [[label, visible(value if isinstance(value, str)
                            else ", ".join(value))]
            for name, label in _SHOWN if (value := rules[name])
            and (label != "commands" or _COMMANDS.intersection(
                [*rules["runs_unasked"], *rules["asks"]]))]
    folders = [rules["workspace"], *rules["allowed_roots"]] \
        if rules["workspace_only"] else ["everything but the forbidden paths"]
    rows.append(["files", visible(", ".join(folders))])
    rows.append(["actions", f"{rules['max_actions_per_hour']} an hour"])
    if rules["max_cost_per_turn_cents"]:
        rows.append(["cost", f"{rules['max_cost_per_turn_cents']} cents a "
                             "turn"])
    place = f"autonomy.channels.{rules['channel']}" if rules["channel"] \
        else "the job"
    rows += [[f"{place}.{name}" if rules["channel"] else f"{place}: {name}",
              visible(value if isinstance(value, str) else ", ".join(value)
                      if isinstance(value, list | tuple) else str(value))]
             for name, value in rules["own"].items()]
    return rows
