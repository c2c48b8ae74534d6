"""model_switch: another model for the rest of a turn."""

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.turn import SwitchesModel, current_turn
from claw.tools.offer.checked import CheckedTool


class ModelSwitch(CheckedTool):
    """Chooses among the models that the owner has set up as routes."""

    name = "model_switch"
    labels_itself = True
    description = ("Tell which model answers and which others there are, or "
                   "go on with another one from the next step on.")

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy

    def parameters_schema(self) -> Schema:
        return closed_object(
            action=string("What to do", enum=["get", "list_models", "set"]),
            model=optional(string("Name of the route to go on with")))

    def only_reads(self, args: Arguments) -> bool:
        return args.get("action") in ("get", "list_models")

    async def run(self, args: Arguments) -> ToolResult:
        reads = self.only_reads(args)
        self._policy.enforce("read" if reads else "act")
        turn = current_turn.get()
        models: SwitchesModel | None = turn.models if turn else None
        if models is None:
            raise UnavailableError("no model is answering here")
        if not reads:
            if not args.get("model"):
                raise UsageError("set needs model")
            models.switch_model(args["model"])
            return ToolResult(output=f"The next step is for {args['model']}")
        if args["action"] == "get":
            return ToolResult(output=models.current_model())
        return ToolResult(output="\n".join(models.list_models())
                          or "No other models are set up.")
